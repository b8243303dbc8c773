-- Means of the PM metrics of each GPU.
--
-- computed: Means over time of the samples that have a value.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: Only of samples that ended later; NULL for all.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of the value.
--   value DOUBLE: The mean.
SELECT gpus.gpu, metric, any_value(units.unit) AS unit,
       sum(value * (end_ns - start_ns)) / sum(end_ns - start_ns) AS value
FROM pm_value
JOIN (SELECT device_uuid, min(gpu) AS gpu FROM gpu GROUP BY device_uuid) AS gpus
    USING (device_uuid)
LEFT JOIN (SELECT metric, any_value(unit) AS unit FROM pm_metric GROUP BY metric) AS units
    USING (metric)
WHERE (from_ns IS NULL OR end_ns > from_ns) AND end_ns > start_ns
GROUP BY gpus.gpu, metric

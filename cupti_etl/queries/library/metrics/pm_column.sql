-- The metrics of the trace: what each column of pm_sample means, over all GPUs.
--
-- computed: The rows of pm_metric, one a metric; their numbers are in the order of the names.
-- needs: pm_metric
-- requires:
--   pm_metric: no PM samples were recorded (capture --pm).
-- columns:
--   place BIGINT: Number of the metric, from 1.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of its values.
--   aggregation VARCHAR: mean (a level, weighted by time) or sum (a count during the sample).
SELECT row_number() OVER (ORDER BY metric) AS place, metric, any_value(unit) AS unit,
       coalesce(any_value(aggregation), 'mean') AS aggregation
FROM pm_metric
WHERE metric IS NOT NULL
GROUP BY metric

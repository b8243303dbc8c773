-- Traffic of PCIe, NVLink and device memory: how much, and how much of it copies and communication
-- explain.
--
-- computed: bytes are the sum over samples; of a level in per cent its share of the peak. Counted
--   is what the copies of that direction that lie under samples moved: HtoD received over PCIe,
--   DtoH sent, peer copies over NVLink, DtoD read and written. During copies and communication are
--   sums of value x overlap over runs: where several run at once each counts in full. Not
--   explained is bytes less the counted ones and those during communication, at least 0.
-- requires: pm_sample
-- limits: What is not explained can be zero-copy access, RDMA, other processes, unified memory,
--   or, of device memory, all that kernels do; a link counts its protocol too. Copies of unknown
--   size are not among the counted ones.
-- columns:
--   device_uuid VARCHAR: The GPU.
--   gpu BIGINT: Number of the GPU, as in gpu; NULL if no traced process used it.
--   link VARCHAR: pcie_rx, pcie_tx, nvlink_rx, nvlink_tx, c2c_rx, c2c_tx, dram_read, dram_write or
--     dram.
--   metric VARCHAR: The metric it is taken from.
--   bytes DOUBLE [bytes]: Traffic under the samples; NULL if only a share is known.
--   mean_gbps DOUBLE [gigabytes/s]: bytes over the time under samples.
--   mean_pct DOUBLE [%]: Mean level as a share of the peak; NULL if the peak is not known.
--   busiest_pct DOUBLE [%]: Largest level of a sample as a share of the peak.
--   counted_bytes BIGINT [bytes]: Moved by recorded copies in this direction, under samples.
--   copy_bytes DOUBLE [bytes]: Traffic while copies ran.
--   communication_bytes DOUBLE [bytes]: Traffic while communication kernels ran.
--   unexplained_bytes DOUBLE [bytes]: The rest.
--   unexplained_pct DOUBLE [%]: unexplained_bytes as a share of bytes.
--   sampled_ns BIGINT [ns]: Time under samples.
WITH links AS (
    SELECT about.device_uuid, about.metric,
           regexp_extract(about.metric, '^(.*)_(bytes|pct)$', 1) AS link, about.unit,
           coalesce(about.aggregation, 'mean') AS aggregation,
           -- In bytes a nanosecond.
           coalesce(CASE WHEN about.unit != '%' THEN about.peak / 1e9 END,
                    CASE WHEN about.metric LIKE 'dram%' THEN bandwidth_kbps / 1e6 END) AS peak
    FROM pm_metric AS about
    LEFT JOIN (
        SELECT device_uuid, any_value(global_memory_bandwidth_kbps) AS bandwidth_kbps
        FROM device
        GROUP BY device_uuid
    ) AS devices ON devices.device_uuid = about.device_uuid
    WHERE regexp_matches(about.metric,
                         '^((pcie|nvlink|c2c)_[rt]x|dram(_read|_write)?)_(bytes|pct)$')
),
-- What to multiply by for bytes: a count has them, of a level it is its time times the peak.
scaled AS (
    SELECT *, CASE WHEN unit = '%' THEN peak / 100 WHEN aggregation = 'sum' THEN 1.0
                   ELSE 1e-9 END AS scale
    FROM links
),
totals AS (
    SELECT pm_value.device_uuid, pm_value.metric,
           sum(value * CASE aggregation WHEN 'sum' THEN 1 ELSE end_ns - start_ns END * scale)
               AS bytes,
           TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS sampled_ns,
           max(CASE WHEN unit = '%' THEN value
                    ELSE 100 * value * scale / CASE aggregation WHEN 'sum'
                         THEN end_ns - start_ns ELSE 1 END / peak END) AS busiest_pct,
           sum(CASE WHEN unit = '%' THEN value * (end_ns - start_ns) END)
               / sum(end_ns - start_ns) AS level_pct
    FROM pm_value
    JOIN scaled USING (device_uuid, metric)
    WHERE isfinite(value)
    GROUP BY pm_value.device_uuid, pm_value.metric
),
during AS (
    SELECT runs.device_uuid, _pm_column.metric,
           sum(amount) FILTER (WHERE work.category = 'copy') AS copy_bytes,
           sum(amount) FILTER (WHERE work.category = 'communication') AS communication_bytes
    FROM _activity_sampled AS runs
    JOIN _activity_group AS work
        ON work.device_uuid = runs.device_uuid
        AND work.activity_group = runs.activity_group
        AND work.category != 'compute'
    CROSS JOIN _pm_column
    JOIN scaled ON scaled.metric = _pm_column.metric AND scaled.device_uuid = runs.device_uuid,
        LATERAL (
            SELECT runs.sampled[_pm_column.place] * scale
                   * CASE scaled.aggregation WHEN 'sum' THEN 1 ELSE runs.covered_ns END AS amount
        )
    GROUP BY runs.device_uuid, _pm_column.metric
),
copies AS (
    SELECT process_id, device_id, start_ns, end_ns, bytes, copy_kind,
           unnest(CASE copy_kind WHEN 'HtoD' THEN ['pcie_rx', 'c2c_rx', 'dram_write', 'dram']
                                 WHEN 'DtoH' THEN ['pcie_tx', 'c2c_tx', 'dram_read', 'dram']
                                 WHEN 'DtoD' THEN ['dram_read', 'dram_write', 'dram', 'dram']
                                 WHEN 'PtoP' THEN ['nvlink_tx', 'dram_read', 'dram']
                                 ELSE [] END) AS link
    FROM (FROM memcpy UNION ALL BY NAME FROM memcpy_p2p)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
),
spans AS (
    SELECT device_uuid, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM pm_value
    GROUP BY device_uuid
),
counted AS (
    SELECT gpu.device_uuid, copies.link, TRY_CAST(sum(copies.bytes) AS BIGINT) AS counted_bytes
    FROM copies
    JOIN gpu ON gpu.process_id = copies.process_id AND gpu.device_id = copies.device_id
    JOIN spans
        ON spans.device_uuid = gpu.device_uuid
        AND copies.start_ns >= spans.first_ns
        AND copies.end_ns <= spans.last_ns
    GROUP BY gpu.device_uuid, copies.link
),
numbers AS (
    SELECT device_uuid, any_value(gpu) AS gpu FROM gpu GROUP BY device_uuid
)
SELECT scaled.device_uuid, numbers.gpu, scaled.link, scaled.metric, bytes,
       bytes / sampled_ns AS mean_gbps,
       coalesce(level_pct, 100 * bytes / sampled_ns / peak) AS mean_pct, busiest_pct,
       coalesce(counted_bytes, 0) AS counted_bytes, coalesce(copy_bytes, 0) AS copy_bytes,
       coalesce(communication_bytes, 0) AS communication_bytes,
       greatest(bytes - coalesce(counted_bytes, 0) - coalesce(communication_bytes, 0), 0)
           AS unexplained_bytes,
       100.0 * unexplained_bytes / nullif(bytes, 0) AS unexplained_pct, sampled_ns
FROM scaled
JOIN totals ON totals.device_uuid = scaled.device_uuid AND totals.metric = scaled.metric
LEFT JOIN during ON during.device_uuid = scaled.device_uuid AND during.metric = scaled.metric
LEFT JOIN counted ON counted.device_uuid = scaled.device_uuid AND counted.link = scaled.link
LEFT JOIN numbers ON numbers.device_uuid = scaled.device_uuid
ORDER BY scaled.device_uuid, scaled.link, scaled.metric

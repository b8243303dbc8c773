-- Times between two activities of a GPU in which nothing ran on it.
--
-- computed: What lies between neighbours of busy_interval (work = any), but for times in some of
--   which work of the GPU was not recorded (_not_recorded).
-- needs: _busy_interval, _not_recorded
-- scope: start_ns to end_ns, gap_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When the GPU became idle.
--   end_ns BIGINT [epoch ns]: When it went on.
--   gap_ns BIGINT [ns]: Length.
SELECT gpu, start_ns, end_ns, end_ns - start_ns AS gap_ns
FROM (
    SELECT gpu, end_ns AS start_ns,
           lead(start_ns) OVER (PARTITION BY gpu ORDER BY start_ns) AS end_ns
    FROM _busy_interval
    WHERE work = 'any'
) AS gap
WHERE end_ns IS NOT NULL
      AND NOT EXISTS (
          SELECT 1 FROM _not_recorded AS off
          WHERE off.gpu = gap.gpu AND off.start_ns < gap.end_ns AND off.end_ns > gap.start_ns
      )

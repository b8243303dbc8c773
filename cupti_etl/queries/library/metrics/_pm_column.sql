-- The metrics of the trace: what each column of pm_sample means, over all GPUs.
--
-- computed: The rows of pm_metric, one a metric; their numbers are in the order of the names. A
--   ratio is known by its name (of hits, or .ratio), and stands as mean in pm_metric.
-- requires:
--   pm_metric: no PM samples were recorded (capture with --pm).
-- scope: whole
-- columns:
--   place BIGINT: Number of the metric, from 1.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of its values.
--   aggregation VARCHAR: mean (a level, weighted by time), ratio (of two counts that were not
--     recorded, so that a mean weighted by time is only near it) or sum (a count).
--   is_union BOOLEAN: Whether what several kernels do at once counts once, as time in which any
--     of them is active; known by the name.
SELECT row_number() OVER (ORDER BY metric) AS place, metric, any_value(unit) AS unit,
       CASE WHEN regexp_matches(metric, '_hit_(l1_)?pct$|_hit_rate|\.ratio$') THEN 'ratio'
            ELSE coalesce(any_value(aggregation), 'mean') END AS aggregation,
       regexp_matches(metric, '^(sm|gr)_active_pct$|cycles_active') AS is_union
FROM pm_metric
WHERE metric IS NOT NULL
GROUP BY metric

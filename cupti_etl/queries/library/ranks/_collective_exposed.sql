-- How much of each collective operation was exposed.
--
-- computed: What compute on the same GPU did not cover (union) of the operations of _collective.
-- requires: _collective
-- materialized: Compute is looked up by both ends of each operation, which takes a sort of it.
-- scope: start_ns
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id, gpu, kind, number, start_ns of _collective
--   exposed_ns BIGINT [ns]: Time without compute beside it.
WITH compute AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM _busy_interval WHERE work = 'compute'
),
edges AS (
    SELECT process_id, gpu, kind, number, start_ns AS begin_ns, end_ns - begin_ns AS length_ns,
           unnest([begin_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM _collective
)
SELECT process_id, edges.gpu, kind, number, any_value(begin_ns) AS start_ns,
       any_value(length_ns) - TRY_CAST(coalesce(sum(sign * (
           busy_before_ns + least(at_ns, compute.end_ns) - compute.start_ns
       )), 0) AS BIGINT) AS exposed_ns
FROM edges
ASOF LEFT JOIN compute ON compute.gpu = edges.gpu AND compute.start_ns <= edges.at_ns
GROUP BY process_id, edges.gpu, kind, number;

-- merge
FROM partial

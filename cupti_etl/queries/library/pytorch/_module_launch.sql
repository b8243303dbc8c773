-- Which module of PyTorch asked for what: each call that asked for work, with its module.
--
-- computed: The innermost module around the innermost range of the call's thread. Where a backward
--   pass is met on the way (_operator_forward), the way goes on from the operator that it is of:
--   what a backward pass asked for is of the module of the forward pass.
-- limits: What no module asked for is not here, nor work whose call is not known.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins a call and its work.
--   from_ns BIGINT [epoch ns]: When the call was entered, as ids may begin anew, or when its work
--     began, if that is said to be earlier.
--   range_id BIGINT: The module's run, as in nvtx_range.
WITH RECURSIVE modules AS MATERIALIZED (
    SELECT range_id, process_id FROM _module
),
asked AS MATERIALIZED (
    SELECT call.process_id, call.correlation_id, from_ns, innermost.range_id
    FROM (
        SELECT process_id, correlation_id, api_start_ns, any_value(thread_id) AS thread_id,
               least(api_start_ns, min(start_ns)) AS from_ns
        FROM launch_to_gpu
        WHERE process_id IN (SELECT process_id FROM modules)
        GROUP BY process_id, correlation_id, api_start_ns
    ) AS call
    ASOF JOIN _range_served AS innermost
        ON innermost.process_id = call.process_id
        AND innermost.thread_id = call.thread_id
        AND innermost.at_ns <= call.api_start_ns
),
passes AS MATERIALIZED (
    SELECT range_id, forward_range_id FROM _operator_forward WHERE forward_range_id IS NOT NULL
),
climbing AS (
    SELECT range_id, range_id AS at_id FROM asked WHERE range_id IS NOT NULL
    UNION
    SELECT climbing.range_id, coalesce(passes.forward_range_id, path.parent_range_id)
    FROM climbing
    JOIN _range_path AS path ON path.range_id = climbing.at_id
    LEFT JOIN passes ON passes.range_id = climbing.at_id
    WHERE climbing.at_id NOT IN (SELECT range_id FROM modules)
        AND coalesce(passes.forward_range_id, path.parent_range_id) IS NOT NULL
)
SELECT asked.process_id, correlation_id, from_ns, modules.range_id
FROM asked
JOIN climbing ON climbing.range_id = asked.range_id
JOIN modules ON modules.range_id = climbing.at_id

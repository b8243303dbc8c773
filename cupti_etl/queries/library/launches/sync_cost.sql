-- What waiting for the device costs each host thread, and whether the device worked meanwhile.
--
-- computed: Calls that block until the device is done, by thread, function and GPU: those that
--   synchronize or copy, as their name says (_host_span), copies for which their call waits, as
--   asynchronous ones to and from pageable memory do (_blocking_copy; PyTorch's item(), for one),
--   and calls that free or unpin memory while the GPU works, as caches do that are emptied. A
--   thread's calls do not overlap, so their sum is a union. busy_ns is the part in which the GPU
--   had any activity; in idle_ns host and device both waited. The range is the innermost NVTX range
--   at the time of the longest call.
-- requires: gpu_activity, api_call, _gpu_span
-- none: no call that waits for a GPU was recorded.
-- materialized: Made once for an opened trace, as it looks at all calls.
-- limits: A process with several GPUs has a row for each; the time waited is the same in all.
-- front: Where does the host wait for the GPU?
-- first: total_ns, calls, idle_ns, name, longest_range, max_ns
-- label: longest_range = range(longest_range)
-- lookup: _busy_interval
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread that waited.
--   name VARCHAR: Function called.
--   reason VARCHAR: Why it waits: it synchronizes, copies or frees.
--   gpu BIGINT: A GPU of the process, as in gpu.
--   calls BIGINT [calls]: Calls that returned.
--   total_ns BIGINT [ns]: Time in them.
--   busy_ns BIGINT [ns]: Of this, while the GPU was busy.
--   idle_ns BIGINT [ns]: Of this, while the GPU was idle.
--   gap_ns BIGINT [ns]: Of idle_ns, between two activities of the GPU: before its first and after
--     its last, waiting delays no work on it.
--   median_ns DOUBLE [ns]: Median duration of a call.
--   max_ns BIGINT [ns]: Longest.
--   longest_start_ns BIGINT [epoch ns]: When the longest began.
--   longest_range VARCHAR: Path of the NVTX range around it; NULL outside ranges.
WITH RECURSIVE waits AS (
    SELECT process_id, thread_id, name, start_ns, end_ns,
           CASE WHEN contains(name, 'Synchronize') THEN 'synchronizes' ELSE 'copies' END AS reason
    FROM _host_span
    WHERE source = 'api_call' AND class = 2 AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT process_id, thread_id, name, start_ns, end_ns, 'frees' FROM _freeing_call
    UNION ALL
    SELECT process_id, thread_id, name, start_ns, end_ns, 'copies' FROM _blocking_copy
),
-- Of a runtime call and the driver call inside it, the outer one; what was found twice, once.
outermost AS (
    SELECT *
    FROM (
        SELECT *, max(end_ns) OVER (
                   PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
               ) AS until_ns
        FROM waits
    )
    WHERE until_ns IS NULL OR start_ns >= until_ns
),
used AS (
    SELECT DISTINCT process_id, gpu FROM _stream_span
),
busy AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM _busy_interval WHERE work = 'any'
),
edges AS (
    SELECT process_id, thread_id, name, reason, gpu, start_ns,
           unnest([start_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM outermost
    JOIN used USING (process_id)
),
spans AS (
    SELECT gpu, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM busy GROUP BY gpu
),
covered AS (
    SELECT process_id, thread_id, name, reason, edges.gpu, edges.start_ns,
           max(at_ns) - min(at_ns) AS wait_ns,
           TRY_CAST(sum(sign * least(greatest(at_ns, first_ns), last_ns)) AS BIGINT) AS between_ns,
           TRY_CAST(sum(sign * coalesce(busy_before_ns + least(at_ns, busy.end_ns)
               - busy.start_ns, 0)) AS BIGINT) AS busy_ns
    FROM edges
    LEFT JOIN spans ON spans.gpu = edges.gpu
    ASOF LEFT JOIN busy ON busy.gpu = edges.gpu AND busy.start_ns <= edges.at_ns
    GROUP BY process_id, thread_id, name, reason, edges.gpu, edges.start_ns
),
sums AS (
    SELECT process_id, thread_id, name, reason, gpu, count(*) AS calls,
           TRY_CAST(sum(wait_ns) AS BIGINT) AS total_ns,
           TRY_CAST(sum(busy_ns) AS BIGINT) AS busy_ns,
           TRY_CAST(sum(wait_ns - busy_ns) AS BIGINT) AS idle_ns,
           TRY_CAST(sum(between_ns - busy_ns) AS BIGINT) AS gap_ns,
           median(wait_ns) AS median_ns, max(wait_ns) AS max_ns,
           arg_max(start_ns, (wait_ns, -start_ns)) AS longest_start_ns
    FROM covered
    -- While the GPU is idle there is nothing to wait for.
    WHERE reason <> 'frees' OR busy_ns > 0
    GROUP BY process_id, thread_id, name, reason, gpu
),
-- The ranges around the longest calls, and their names from the innermost outwards.
around AS MATERIALIZED (
    SELECT longest.*, ranges.range_id, parent_range_id, depth, ranges.name
    FROM (SELECT DISTINCT process_id, thread_id, longest_start_ns FROM sums) AS longest
    JOIN _range_span AS ranges
        ON ranges.process_id = longest.process_id
        AND ranges.thread_id = longest.thread_id
        AND ranges.start_ns <= longest_start_ns
        AND ranges.end_ns > longest_start_ns
    JOIN _range_parent USING (range_id)
),
climbing AS (
    SELECT process_id, thread_id, longest_start_ns, parent_range_id, name AS path
    FROM around
    QUALIFY row_number() OVER (
        PARTITION BY process_id, thread_id, longest_start_ns ORDER BY depth DESC, range_id
    ) = 1
    UNION ALL
    SELECT around.process_id, around.thread_id, around.longest_start_ns, around.parent_range_id,
           concat(around.name, ' / ', climbing.path)
    FROM climbing
    JOIN around
        ON around.range_id = climbing.parent_range_id
        AND around.process_id = climbing.process_id
        AND around.thread_id = climbing.thread_id
        AND around.longest_start_ns = climbing.longest_start_ns
)
SELECT sums.*, climbing.path AS longest_range
FROM sums
LEFT JOIN climbing
    ON climbing.process_id = sums.process_id
    AND climbing.thread_id = sums.thread_id
    AND climbing.longest_start_ns = sums.longest_start_ns
    AND climbing.parent_range_id IS NULL
ORDER BY total_ns DESC, gpu, sums.thread_id, name, sums.process_id;

-- merge
FROM partial
ORDER BY total_ns DESC, gpu, thread_id, name, process_id

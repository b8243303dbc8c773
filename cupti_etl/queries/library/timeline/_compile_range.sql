-- Times in which a process compiled kernels, as ranges and stacks show it.
--
-- computed: Ranges of XLA's compiler (its autotuner's among them), of torch.compile
--   (..., "(dynamo_timed)"), of nvFuser's, and frames of Dynamo and Triton that compile; the union
--   for each process, whatever the thread.
-- requires: marker
-- materialized: Made once for an opened trace, as it goes through all ranges.
-- limits: Names decide: without ranges of a compiler nothing is known of it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: Begin of an interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   name VARCHAR: The module of XLA, or the range, with which it began.
WITH compiling AS (
    SELECT process_id, start_ns, end_ns,
           coalesce(nullif(regexp_extract(name, ':#module=([^,#]+)', 1), ''), name) AS name
    FROM _range_span
    -- Recording a CUDA graph is no compiling.
    WHERE end_ns > start_ns AND NOT starts_with(name, 'CUDAGraphNode')
        AND regexp_matches(
            name,
            '^Xla(Compile|Emit|Optimize|Pass)\w*:#|\(dynamo_timed\)|^executor_utils::Nvrtc::|'
            'torch/_dynamo/convert_frame\.py\(\d+\): _compile$|'
            'torch/_inductor/compile_fx\.py\(\d+\): compile_fx$|'
            '(^|/)triton/compiler/compiler\.py\(\d+\): compile$'
        )
),
runs AS (
    SELECT *, sum(is_first) OVER (
               PARTITION BY process_id ORDER BY start_ns, end_ns DESC ROWS UNBOUNDED PRECEDING
           ) AS run
    FROM (
        SELECT *, CASE WHEN start_ns <= max(end_ns) OVER (
                           PARTITION BY process_id ORDER BY start_ns, end_ns DESC
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                       ) THEN 0 ELSE 1 END AS is_first
        FROM compiling
    )
)
SELECT process_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
       arg_min(name, (start_ns, -end_ns, name)) AS name
FROM runs
GROUP BY process_id, run

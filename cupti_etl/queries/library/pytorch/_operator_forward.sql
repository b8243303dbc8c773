-- Of which operator of the forward pass each backward pass of PyTorch is.
--
-- computed: A backward pass is the outermost range of its sequence number, and what of autograd's
--   engine (evaluate_function) is around it without a number. It is of the last
--   operator that began with that number before it and is no backward pass itself: that one made
--   the function that runs. Numbers count on each thread: if operators of several threads have
--   one, as activation checkpointing runs them again, it is that of the thread that the pass tells,
--   which is the one that most other passes with its number of the thread were on, and that has no
--   other number; where they do not tell, the operator is not known. What other threads did has not
--   made it, although that of its own was not recorded.
-- requires: _operator
-- scope: whole
-- columns:
--   range_id BIGINT: The backward pass, as in nvtx_range.
--   forward_range_id BIGINT: Its operator; NULL if several may be meant, or none was recorded.
--   is_ambiguous BOOLEAN: Whether operators of several threads have its number.
WITH numbered AS (
    SELECT process_id, thread_id, range_id, parent_range_id, start_ns, place, sequence, is_backward,
           forward_thread
    FROM _operator
    WHERE sequence >= 0 AND kind = 'operator'
),
engine AS (
    SELECT range_id, start_ns
    FROM _operator
    WHERE sequence IS NULL AND starts_with(name, 'autograd::engine::evaluate_function: ')
),
passes AS (
    SELECT numbered.process_id, coalesce(engine.range_id, numbered.range_id) AS range_id,
           coalesce(engine.start_ns, numbered.start_ns) AS start_ns, numbered.sequence,
           numbered.forward_thread
    FROM numbered
    LEFT JOIN numbered AS around ON around.range_id = numbered.parent_range_id
    LEFT JOIN engine ON engine.range_id = numbered.parent_range_id
    WHERE numbered.is_backward
        AND NOT coalesce(around.is_backward AND around.sequence = numbered.sequence, false)
),
makers AS (
    SELECT process_id, thread_id, sequence, arg_max(range_id, place) AS range_id,
           min(start_ns) AS start_ns
    FROM numbered
    WHERE NOT is_backward
    GROUP BY process_id, thread_id, sequence
),
found AS (
    SELECT passes.process_id, passes.range_id, forward_thread, makers.thread_id,
           makers.range_id AS forward_range_id, count(*) OVER (PARTITION BY passes.range_id) AS n
    FROM passes
    LEFT JOIN makers
        ON makers.process_id = passes.process_id
        AND makers.sequence = passes.sequence
        AND makers.start_ns <= passes.start_ns
),
-- Which thread PyTorch's number of it means: each thread has one.
threads AS (
    SELECT process_id, forward_thread, thread_id
    FROM (
        SELECT process_id, forward_thread, thread_id, count(*) AS passes
        FROM found
        WHERE n = 1 AND thread_id IS NOT NULL AND forward_thread IS NOT NULL
        GROUP BY process_id, forward_thread, thread_id
    )
    QUALIFY row_number() OVER (
            PARTITION BY process_id, forward_thread ORDER BY passes DESC, thread_id
        ) = 1
        AND row_number() OVER (
            PARTITION BY process_id, thread_id ORDER BY passes DESC, forward_thread
        ) = 1
),
told AS (
    SELECT found.range_id, forward_range_id,
           coalesce(meant.thread_id <> found.thread_id, false)
               OR coalesce(owner.forward_thread <> found.forward_thread, false) AS is_other
    FROM found
    LEFT JOIN threads AS meant USING (process_id, forward_thread)
    LEFT JOIN threads AS owner
        ON owner.process_id = found.process_id
        AND owner.thread_id = found.thread_id
)
SELECT range_id,
       CASE WHEN count(*) FILTER (WHERE NOT is_other) = 1
            THEN any_value(forward_range_id) FILTER (WHERE NOT is_other) END AS forward_range_id,
       count(*) FILTER (WHERE NOT is_other) > 1 AS is_ambiguous
FROM told
GROUP BY range_id

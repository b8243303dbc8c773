-- Operators of PyTorch and the ranges of record_function, one by one, as a tree.
--
-- computed: Ranges of _operator_span, with what their names and arguments say.
-- requires:
--   _operator_process: no operators of PyTorch were recorded.
-- materialized: Made once for an opened trace, as every query about operators reads it.
-- limits: A range that did not end is not here.
-- scope: host start_ns
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread that ran it.
--   range_id BIGINT: The range, as in nvtx_range.
--   name VARCHAR: Name, without what PyTorch writes behind it; ProfilerStep* for all its steps.
--   kind VARCHAR: operator or annotation.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
--   parent_range_id, place, last_place, is_crossed of _operator_place
--   external_id BIGINT: By which its API calls know it; NULL if they do not.
--   sequence BIGINT: Number by which autograd knows it, on its thread; NULL if it has none.
--   is_backward BOOLEAN: Whether it runs a function of the backward pass.
--   forward_thread BIGINT: PyTorch's number of the thread that counted sequence in the forward
--     pass, if it is of the backward pass; NULL if that was not recorded.
--   input_dims VARCHAR: Sizes of its inputs, as JSON; NULL if they were not recorded.
--   input_types VARCHAR: Types of its inputs, as JSON.
--   concrete_inputs VARCHAR: Values of inputs that are no tensors, as JSON.
WITH payloads AS (
    SELECT process_id, marker_id, any_value(payload) AS payload
    FROM marker_data
    WHERE payload >= 0 AND payload_kind IN ('int64', 'uint64')
    GROUP BY process_id, marker_id
),
said AS (
    SELECT process_id, marker_id,
           any_value(json_extract(
               CASE WHEN json_valid(arguments) THEN arguments END,
               ['$."Sequence number"', '$."Fwd thread id"', '$."Input Dims"', '$."Input type"',
                '$."Concrete Inputs"', '$."Input dims"']
           )) AS said
    FROM argument
    -- Functions of Python, of which there are more, have arguments, too.
    SEMI JOIN _operator_span USING (process_id, marker_id)
    GROUP BY process_id, marker_id
),
described AS (
    SELECT *,
           CASE WHEN is_nvtx OR is_ours
                THEN regexp_extract(name, '^(.*?)(?:, (?:seq|op_id|sizes) = .*)?$', 1)
                WHEN starts_with(name, 'ProfilerStep#') THEN 'ProfilerStep*'
                ELSE name END AS plain_name,
           CASE WHEN NOT is_nvtx AND NOT is_ours THEN nullif(payload, 0) END AS external_id,
           CASE WHEN is_ours THEN payload
                WHEN is_nvtx
                THEN try_cast(nullif(regexp_extract(name, ', seq = (\d+)', 1), '') AS BIGINT)
                ELSE try_cast(said[1] AS BIGINT) END AS sequence,
           CASE WHEN is_nvtx OR is_ours THEN nullif(regexp_extract(
                    name, ', sizes = (\[.*?\])(?:, (?:input_op_ids|types) = .*)?$', 1
                ), '')
                -- PyTorch 1.8 wrote it with a small letter.
                ELSE CAST(coalesce(said[3], said[6]) AS VARCHAR) END AS input_dims,
           CASE WHEN is_ours THEN nullif(regexp_extract(name, ', types = (\[.*\])$', 1), '')
                ELSE CAST(said[4] AS VARCHAR) END AS input_types,
           CAST(said[5] AS VARCHAR) AS concrete_inputs,
           coalesce(try_cast(said[2] AS BIGINT) > 0, false)
               OR coalesce(domain = 'pytorch.backward', false)
               OR (is_ours AND starts_with(name, 'autograd::engine::evaluate_function: '))
               OR (is_nvtx AND regexp_matches(
                   name, '^autograd::engine::evaluate_function: |^[\w:]+Backward\d*(,|$)'
               )) AS is_backward,
           CASE WHEN try_cast(said[2] AS BIGINT) > 0
                THEN try_cast(said[2] AS BIGINT) END AS forward_thread
    FROM _operator_span
    LEFT JOIN payloads USING (process_id, marker_id)
    LEFT JOIN said USING (process_id, marker_id)
)
SELECT process_id, thread_id, described.range_id, plain_name AS name,
       CASE WHEN domain IN ('user_annotation', 'pytorch.annotation') THEN 'annotation'
            ELSE 'operator' END AS kind,
       start_ns, end_ns, parent_range_id, place, last_place, is_crossed, external_id, sequence,
       is_backward, forward_thread, input_dims, input_types, concrete_inputs
FROM described
JOIN _operator_place ON _operator_place.range_id = described.range_id

-- Operators of PyTorch and the ranges of record_function, one by one, as a tree.
--
-- computed: Ranges of the domains cpu_op and user_annotation of PyTorch's traces, and of
--   pytorch.operator, .backward and .annotation of captures with --pytorch; in other processes with
--   a range named aten::..., as under emit_nvtx, those of NVTX that are named NAMESPACE::NAME or
--   have PyTorch's numbers (seq, op_id) in their text. place counts them in the order of their
--   starts, thread by thread, the longer first; last is the place of the last one inside.
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
--   parent_range_id BIGINT: The innermost one that lasts as long; NULL if there is none.
--   place BIGINT: Its number among all.
--   last_place BIGINT: Number of the last one inside it; its own if there is none.
--   is_crossed BOOLEAN: Whether it outlasts one in which it began, or one that began in it does.
--   external_id BIGINT: By which its API calls know it; NULL if they do not.
--   sequence BIGINT: Number by which autograd knows it, on its thread; NULL if it has none.
--   is_backward BOOLEAN: Whether it runs a function of the backward pass.
--   forward_thread BIGINT: PyTorch's number of the thread that counted sequence in the forward
--     pass, if it is of the backward pass; NULL if that was not recorded.
--   input_dims VARCHAR: Sizes of its inputs, as JSON; NULL if they were not recorded.
--   input_types VARCHAR: Types of its inputs, as JSON.
--   concrete_inputs VARCHAR: Values of inputs that are no tensors, as JSON.
WITH RECURSIVE aten AS (
    SELECT DISTINCT process_id FROM _range_span WHERE starts_with(name, 'aten::')
    EXCEPT
    SELECT process_id FROM _range_span WHERE domain = 'pytorch.operator'
),
spans AS (
    SELECT *, domain IS NULL AS is_nvtx, coalesce(starts_with(domain, 'pytorch.'), false) AS is_ours
    FROM _range_span
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
        AND (
            domain IN ('cpu_op', 'Operator', 'operator', 'user_annotation', 'pytorch.operator',
                       'pytorch.backward', 'pytorch.annotation')
            OR (
                domain IS NULL
                AND process_id IN (FROM aten)
                AND regexp_matches(
                    name, '^\w+(::\w+)+(: [\w:]+)?(\.\w+)?(,|$)|, (seq|op_id) = \d+(,|$)'
                )
            )
        )
),
payloads AS (
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
    SEMI JOIN spans USING (process_id, marker_id)
    GROUP BY process_id, marker_id
),
described AS (
    SELECT spans.*,
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
    FROM spans
    LEFT JOIN payloads USING (process_id, marker_id)
    LEFT JOIN said USING (process_id, marker_id)
),
-- What ends lets go before the next begins; what lasts no time has nothing inside.
events AS (
    SELECT process_id, thread_id, start_ns AS at_ns,
           CASE WHEN end_ns > start_ns THEN 1 ELSE 2 END AS turn, -end_ns AS longer, range_id,
           end_ns, 1 AS step
    FROM spans
    UNION ALL
    SELECT process_id, thread_id, end_ns, CASE WHEN end_ns > start_ns THEN 0 ELSE 2 END,
           -end_ns, range_id, end_ns, -1
    FROM spans
),
swept AS (
    SELECT range_id, end_ns, step, row_number() OVER line AS event, sum(step) OVER line AS depth
    FROM events
    WINDOW line AS (
        ORDER BY process_id, thread_id, at_ns, turn, longer, range_id, step DESC
        ROWS UNBOUNDED PRECEDING
    )
),
-- So many began by then as there are events and open ones, halved.
placed AS MATERIALIZED (
    SELECT range_id, any_value(end_ns) AS end_ns, min((event + depth) // 2)::BIGINT AS place,
           max((event + depth) // 2)::BIGINT AS last_place,
           max(CASE WHEN step = 1 THEN depth - 1 END)::BIGINT AS depth
    FROM swept
    GROUP BY range_id
),
-- The one around is the last before that is less deep by one.
found AS MATERIALIZED (
    SELECT placed.range_id, around.range_id AS around_id,
           around.end_ns >= placed.end_ns AS is_inside
    FROM placed
    ASOF JOIN placed AS around ON around.depth = placed.depth - 1 AND around.place < placed.place
),
-- All of threads in which one begins in another and outlasts it, as what Gloo marks until it is
-- done: there the number of open ones does not say which is around.
on_crossed_threads AS MATERIALIZED (
    SELECT range_id
    FROM spans
    WHERE (process_id, thread_id) IN (
        SELECT (process_id, thread_id) FROM spans JOIN found USING (range_id) WHERE NOT is_inside
    )
),
-- One is crossed if when it ends others are open than before it began.
crossing AS (
    SELECT range_id
    FROM (
        SELECT range_id, step, place, sum(step) OVER line AS open,
               sum(step * place) OVER line AS places
        FROM events
        JOIN placed USING (range_id)
        SEMI JOIN on_crossed_threads USING (range_id)
        WINDOW line AS (
            ORDER BY process_id, thread_id, at_ns, turn, longer, range_id, step DESC
            ROWS UNBOUNDED PRECEDING
        )
    )
    GROUP BY range_id
    HAVING sum(step * open) != 1 OR sum(step * places) != any_value(place)
),
nesting AS MATERIALIZED (
    SELECT range_id, parent_range_id FROM _range_parent WHERE EXISTS (FROM on_crossed_threads)
),
climbing AS (
    SELECT range_id, parent_range_id AS around_id
    FROM nesting
    SEMI JOIN on_crossed_threads USING (range_id)
    UNION ALL
    SELECT climbing.range_id, around.parent_range_id
    FROM climbing
    JOIN nesting AS around ON around.range_id = climbing.around_id
    WHERE climbing.around_id NOT IN (SELECT range_id FROM spans)
),
parents AS (
    SELECT range_id, around_id AS parent_range_id
    FROM found
    ANTI JOIN on_crossed_threads USING (range_id)
    UNION ALL
    SELECT range_id, around_id
    FROM climbing
    WHERE around_id IN (SELECT range_id FROM spans)
)
SELECT described.process_id, described.thread_id, described.range_id, plain_name AS name,
       CASE WHEN domain IN ('user_annotation', 'pytorch.annotation') THEN 'annotation'
            ELSE 'operator' END AS kind,
       start_ns, described.end_ns, parent_range_id, place, last_place,
       crossing.range_id IS NOT NULL AS is_crossed, external_id, sequence, is_backward,
       forward_thread, input_dims, input_types, concrete_inputs
FROM described
JOIN placed ON placed.range_id = described.range_id
LEFT JOIN parents ON parents.range_id = described.range_id
LEFT JOIN crossing ON crossing.range_id = described.range_id

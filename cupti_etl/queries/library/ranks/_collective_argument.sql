-- What a trace says of the collective that a call started: the arguments that PyTorch gave it.
--
-- computed: _collective_said, of the work on a GPU that has the call's id, else of the operator
--   that made the call (external_correlation).
-- requires:
--   _collective_said: no arguments of collectives were recorded.
-- materialized: Made once for an opened trace, as it is looked for among all arguments.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The call.
--   arguments VARCHAR: The arguments, a JSON object; NULL where the work of one call has several.
--   pieces BIGINT [pieces of work]: With how much work on a GPU they stand; 1 for those of an
--     operator.
WITH of_work AS (
    SELECT process_id, correlation_id,
           CASE WHEN count(DISTINCT arguments) = 1 THEN any_value(arguments) END AS arguments,
           count(*) AS pieces
    FROM _collective_said
    WHERE correlation_id IS NOT NULL
    GROUP BY process_id, correlation_id
),
of_operator AS (
    SELECT calls.process_id, calls.correlation_id, any_value(said.arguments) AS arguments
    FROM _collective_said AS said
    JOIN marker_data AS payload USING (process_id, marker_id)
    JOIN external_correlation AS calls
        ON calls.process_id = said.process_id
        AND calls.external_id = payload.payload
    GROUP BY calls.process_id, calls.correlation_id
)
FROM of_work
UNION ALL
SELECT process_id, correlation_id, arguments, 1
FROM of_operator
ANTI JOIN of_work USING (process_id, correlation_id)

-- Whether sizes of inputs of operators were recorded, of any process.
--
-- computed: One row if an operator has them, else none.
-- rare: Sizes are recorded on demand, and to count operations goes over all that was launched.
-- scope: whole
-- columns:
--   is_recorded BOOLEAN: True.
SELECT true AS is_recorded
FROM _operator
WHERE input_dims IS NOT NULL
LIMIT 1

-- Whether API calls were recorded, of any process.
--
-- computed: One row if there is a call, else none.
-- scope: whole
-- columns:
--   is_recorded BOOLEAN: True.
SELECT true AS is_recorded
FROM api_call
LIMIT 1;

-- merge
SELECT DISTINCT is_recorded
FROM partial

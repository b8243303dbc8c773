-- Names of ranges that are steps, and what those are called together that differ by their numbers.
--
-- computed: From the names of _step_range, of all processes.
-- scope: whole
-- columns:
--   name VARCHAR: Name of a step.
--   kind VARCHAR: The same with * for its numbers.
SELECT DISTINCT name, regexp_replace(name, '[0-9]+', '*', 'g') AS kind
FROM _step_range
WHERE name IS NOT NULL;

-- merge
SELECT DISTINCT name, kind FROM partial

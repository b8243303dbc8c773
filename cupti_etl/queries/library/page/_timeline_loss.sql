-- When records of a process were lost, and when it was not recorded at all.
--
-- computed: The rows of loss of records that are in no table; of those without a time, the
--   process's own. Between two windows of a process nothing is recorded; nor is it before the first
--   one, if something else than its start opened that, and behind the last one likewise.
-- scope: whole
-- columns:
--   process_id BIGINT: The process; NULL for losses that are of none.
--   start_ns BIGINT [epoch ns]: The earliest time that it concerns.
--   end_ns BIGINT [epoch ns]: The latest time; NULL if it did not end.
--   cause VARCHAR: As in loss, or "recording off".
--   table_name VARCHAR: Table that lacks the records; NULL for all.
--   records BIGINT [records]: How many; NULL if it is not known.
--   detail VARCHAR: The cause in a sentence.
WITH processes AS (
    SELECT process_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM process
    GROUP BY process_id
),
-- Edges of windows, with those of the process around them.
off AS (
    SELECT process_id, windows.start_ns AS until_ns,
           coalesce(lag(coalesce(windows.end_ns, windows.start_ns)) OVER earlier,
                    CASE WHEN opened_by <> 'process' THEN processes.start_ns END) AS since_ns
    FROM capture_window AS windows
    LEFT JOIN processes USING (process_id)
    WINDOW earlier AS (PARTITION BY process_id ORDER BY windows.start_ns)
    UNION ALL
    SELECT process_id, any_value(processes.end_ns), max(windows.end_ns)
    FROM capture_window AS windows
    JOIN processes USING (process_id)
    GROUP BY process_id
    HAVING arg_max(closed_by, windows.start_ns) <> 'process'
)
SELECT loss.process_id, coalesce(loss.start_ns, processes.start_ns) AS start_ns,
       coalesce(loss.end_ns, processes.end_ns) AS end_ns, cause, table_name, records, detail
FROM loss
LEFT JOIN processes ON processes.process_id = loss.process_id
WHERE coalesce(loss.start_ns, processes.start_ns) IS NOT NULL AND is_stored IS NOT true
UNION ALL
SELECT process_id, since_ns, until_ns, 'recording off', NULL, NULL,
       'nothing was recorded: see capture_window'
FROM off
WHERE until_ns > since_ns

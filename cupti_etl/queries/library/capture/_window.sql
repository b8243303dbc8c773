-- The stretches of time in which each process was recorded, numbered.
--
-- computed: Rows of capture_window; one that stands for several is one.
-- requires: capture_window
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   number BIGINT: Of the window, from 1, in the order of time.
--   begin_ns BIGINT [epoch ns]: When records began to be switched on: what comes from then on is
--     of this window.
--   start_ns BIGINT [epoch ns]: When all records were on.
--   end_ns BIGINT [epoch ns]: When they began to be switched off; of one that was open at the end,
--     the end of the process.
--   is_several BOOLEAN: Whether it stands for several, between which it was closed.
--   is_whole BOOLEAN: Whether the begin of the process opened it, and its end closed it.
SELECT seen.process_id,
       row_number() OVER (PARTITION BY seen.process_id ORDER BY seen.start_ns) AS number,
       seen.start_ns - coalesce(seen.switch_on_ns, 0) AS begin_ns,
       seen.start_ns, coalesce(seen.end_ns, ended.end_ns) AS end_ns,
       coalesce(seen.windows > 1, false) AS is_several,
       coalesce(seen.windows, 1) = 1 AND coalesce(seen.opened_by, 'process') = 'process'
           AND coalesce(seen.closed_by, 'process') = 'process' AS is_whole
FROM capture_window AS seen
LEFT JOIN (SELECT process_id, max(end_ns) AS end_ns FROM process GROUP BY process_id) AS ended
    ON ended.process_id = seen.process_id
WHERE seen.start_ns IS NOT NULL

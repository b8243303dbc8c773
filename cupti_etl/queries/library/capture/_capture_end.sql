-- Whether a capture has ended, and its counts can be compared with what is there.
--
-- computed: One row. Counts are written when a capture has ended, its row of "capture" after them.
-- scope: whole
-- columns:
--   is_over BOOLEAN: Whether all captures of the trace have ended.
SELECT count(*) = count(end_ns)
       AND (count(*) > 0 OR (SELECT count(*) FROM row_count) > 0) AS is_over
FROM capture

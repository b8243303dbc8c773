-- What was lost, by cause: as the capture says, and as the processes and the tables give away.
--
-- computed: Beside the rows of loss, a killed or failed process of which nothing is known to be
--   lost, records of a finished process of which neither a row nor a loss is known, a process that
--   still says "tracing" after the capture has ended, and rows that a capture counted at its end
--   and that are no longer there, and ranks of a job that never wrote. Records are summed.
-- scope: whole
-- columns:
--   cause VARCHAR: As in loss; or killed, failed, unaccounted, tracing, rank_missing
--     or "missing from" a table.
--   records BIGINT [records]: Records that the cause concerns; NULL if the number is not known.
--   lost BIGINT [records]: Of these, those that are in no table.
--   start_ns BIGINT [epoch ns]: Earliest time that is known.
--   end_ns BIGINT [epoch ns]: Latest time.
--   detail VARCHAR: The tables and the cause, in words.
WITH tables AS (
    SELECT * FROM _table_rows
),
captures AS (
    SELECT count(*) AS n, count(end_ns) AS ended, count(row_counts) AS with_counts,
           TRY_CAST(sum(row_counts) AS BIGINT) AS row_counts,
           (SELECT is_over FROM _capture_end) AS is_over
    FROM capture
),
counted AS (
    SELECT table_name, TRY_CAST(sum(stored) AS BIGINT) AS counted FROM row_count GROUP BY table_name
    UNION ALL
    SELECT 'row_count', row_counts FROM captures
),
-- Rows of a lost part are a loss already.
gone AS (
    SELECT table_name, CASE WHEN count(*) = count(records) THEN sum(records) END AS records
    FROM loss
    WHERE cause = 'part_lost'
    GROUP BY table_name
),
missing AS (
    SELECT there.table_name, counted, rows
    FROM captures, counted
    JOIN tables AS there ON there.table_name = counted.table_name
    LEFT JOIN gone ON gone.table_name = counted.table_name
    -- Of several traces, rows with the same key are shown once.
    WHERE is_over AND (n <= 1 OR NOT has_key)
        AND rows < counted::HUGEINT - CASE WHEN gone.table_name IS NULL THEN 0 ELSE records END
    UNION ALL
    SELECT 'all tables', stored, rows
    FROM captures,
         (SELECT TRY_CAST(sum(stored) AS BIGINT) AS stored FROM process),
         (SELECT TRY_CAST(sum(rows) AS BIGINT) AS rows FROM tables
          WHERE is_recorded AND table_name <> 'pm_sample' OR table_name = 'argument')
    WHERE is_over AND n = 1 AND with_counts = 0 AND rows < stored AND NOT EXISTS (FROM gone)
),
-- What the loss table does not say, but the processes and the tables do.
implied AS (
    SELECT CASE state WHEN 'finished' THEN 'unaccounted' ELSE state END AS cause,
           CASE state WHEN 'finished'
                THEN TRY_CAST(emitted::HUGEINT - stored - lost AS BIGINT) END AS records,
           concat('process ', pid, ': ', CASE state
               WHEN 'finished' THEN 'neither a row nor a loss is known'
               WHEN 'tracing' THEN 'the capture has ended, and it is not said how this did'
               ELSE coalesce(detail, state) END) AS detail,
           start_ns, end_ns
    FROM _process_loss, captures
    WHERE state IN ('killed', 'failed') AND causes = 0
        OR state = 'finished' AND emitted > stored::HUGEINT + lost
        OR state = 'tracing' AND is_over
    UNION ALL
    SELECT 'missing from ' || table_name, TRY_CAST(counted::HUGEINT - rows AS BIGINT),
           concat('of ', counted, ' rows that were counted at the end, ', rows, ' are there'),
           NULL, NULL
    FROM missing
    UNION ALL
    -- While captures run, ranks may still begin; one that was killed has no end.
    SELECT 'rank_missing', NULL,
           concat('of ', world_size, ' ranks of the job, ', ranks,
                  CASE WHEN ranks = 1 THEN ' is' ELSE ' are' END,
                  ' in the trace; not there: ', absent),
           start_ns, end_ns
    FROM _rank_missing, captures
    WHERE NOT is_imported AND ended > 0
)
SELECT cause,
       CASE WHEN count(*) = count(records) THEN TRY_CAST(sum(records) AS BIGINT) END AS records,
       CASE WHEN count(*) FILTER (WHERE is_stored IS NOT true AND records IS NULL) = 0
            THEN TRY_CAST(coalesce(sum(records) FILTER (WHERE is_stored IS NOT true), 0) AS BIGINT)
       END AS lost,
       min(start_ns) AS start_ns, max(end_ns) AS end_ns,
       concat_ws('; ', string_agg(DISTINCT table_name, ', ' ORDER BY table_name),
                 any_value(detail)) AS detail
FROM (SELECT cause, table_name, records, is_stored, start_ns, end_ns, detail FROM loss
      UNION ALL
      SELECT cause, NULL, records, false, start_ns, end_ns, detail FROM implied)
GROUP BY cause

-- Whether the trace can be believed: what is in it, what was lost, and a verdict.
--
-- computed: One row for the verdict, then one for each table, each process, each cause of loss and
--   each kind of overhead. The verdict is "complete", or "nothing captured" (no row of GPU work,
--   API calls or markers), or "losses: " and how many records each cause concerns ("?" if that is
--   not known), or the latter two together; "so far" is added while a capture runs. Of an imported
--   process nobody counted what it emitted: "no losses known, imported" then takes the place of
--   "complete", and numbers of lost records are NULL. A killed or failed process counts as a loss
--   even where no number is known, and so do records that a process was handed and of which neither
--   a row nor a loss is known. Overheads are sums of durations: those of several threads each count
--   in full.
-- needs: _table_extent, capture, process, loss, overhead
-- limits: Overhead is not among the kinds that a capture records by default.
-- columns:
--   section VARCHAR: verdict, table, process, loss or overhead.
--   subject VARCHAR: The verdict, or the name of the table, the process, the cause or the kind.
--   records BIGINT [records]: Rows of the table, or of the kind of overhead; records handed to the
--     process; records lost.
--   stored BIGINT [records]: Of these, those that are in a table; not for a loss.
--   lost BIGINT [records]: Records that are not; NULL if the number is not known.
--   start_ns BIGINT [ns]: Earliest time in the table, of the process, the loss or the overhead.
--   span_ns BIGINT [ns]: From there to the latest.
--   records_per_s DOUBLE [records/s]: records divided by span_ns.
--   overhead_ns BIGINT [ns]: Time that the kind of overhead took, summed.
--   overhead_pct DOUBLE [%]: overhead_ns as a share of the time from the first record to the last
--     of all tables.
--   detail VARCHAR: State of the process, or the cause of the loss, in words.
WITH extent AS (
    SELECT * FROM _table_extent
),
losses AS (
    SELECT process_id, cause, table_name, start_ns, end_ns, detail, records,
           coalesce(is_stored, false) AS is_stored
    FROM loss
),
lost_of AS (
    SELECT process_id,
           count(*) AS causes,
           -- A single unknown number makes the sum unknown.
           CASE WHEN count(*) FILTER (WHERE NOT is_stored AND records IS NULL) = 0
                THEN coalesce(sum(records) FILTER (WHERE NOT is_stored), 0) END AS lost
    FROM losses
    GROUP BY process_id
),
processes AS (
    SELECT process.*, coalesce(lost_of.causes, 0) AS causes,
           CASE WHEN process.state = 'imported' THEN NULL
                WHEN lost_of.process_id IS NULL THEN 0 ELSE lost_of.lost END::BIGINT AS lost
    FROM process
    LEFT JOIN lost_of ON lost_of.process_id = process.process_id
),
-- What the loss table does not say, but the processes do.
implied AS (
    SELECT state AS cause, NULL::BIGINT AS records,
           concat('process ', pid, ': ', coalesce(detail, state)) AS detail, start_ns, end_ns
    FROM processes
    WHERE state IN ('killed', 'failed') AND causes = 0
    UNION ALL
    SELECT 'unaccounted', emitted - stored - lost,
           concat('process ', pid, ': neither a row nor a loss is known'), start_ns, end_ns
    FROM processes
    WHERE state = 'finished' AND emitted > stored + lost
),
causes AS (
    SELECT cause,
           CASE WHEN count(*) = count(records) THEN sum(records)::BIGINT END AS records,
           CASE WHEN count(*) FILTER (WHERE NOT is_stored AND records IS NULL) = 0
                THEN coalesce(sum(records) FILTER (WHERE NOT is_stored), 0)::BIGINT END AS lost,
           min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           concat_ws('; ', string_agg(DISTINCT table_name, ', ' ORDER BY table_name),
                     any_value(detail)) AS detail
    FROM (SELECT cause, table_name, records, is_stored, start_ns, end_ns, detail FROM losses
          UNION ALL
          SELECT cause, NULL, records, false, start_ns, end_ns, detail FROM implied)
    GROUP BY cause
),
imported AS (
    SELECT count(*) > 0 AS is_any FROM process WHERE state = 'imported'
),
verdict AS (
    SELECT CASE
               WHEN nothing AND lost IS NULL THEN 'nothing captured'
               WHEN nothing THEN 'nothing captured; losses: ' || lost
               WHEN lost IS NULL AND (SELECT is_any FROM imported)
                   THEN 'no losses known, imported'
               WHEN lost IS NULL THEN 'complete'
               ELSE 'losses: ' || lost
           END
           || CASE WHEN (SELECT count(*) FROM capture WHERE end_ns IS NULL) > 0
                   THEN ' so far' ELSE '' END AS subject
    FROM (
        SELECT (SELECT coalesce(sum(rows), 0) = 0 FROM extent WHERE is_activity) AS nothing,
               (SELECT string_agg(concat(cause, ' ', coalesce(records::VARCHAR, '?')), ', '
                                  ORDER BY cause)
                FROM causes) AS lost
    )
)
SELECT section, subject, records, stored, lost, start_ns, end_ns - start_ns AS span_ns,
       1e9 * records / nullif(end_ns - start_ns, 0) AS records_per_s, overhead_ns,
       100.0 * overhead_ns
           / nullif((SELECT max(end_ns) - min(start_ns) FROM extent WHERE is_activity), 0)
           AS overhead_pct,
       detail
FROM (
    SELECT 1 AS place, 'verdict' AS section, subject,
           (SELECT sum(emitted) FROM process)::BIGINT AS records,
           (SELECT sum(stored) FROM process)::BIGINT AS stored,
           (SELECT CASE WHEN count(*) = count(lost) AND NOT (SELECT is_any FROM imported)
                        THEN coalesce(sum(lost), 0) END
            FROM causes)::BIGINT AS lost,
           (SELECT min(start_ns) FROM capture) AS start_ns,
           (SELECT max(end_ns) FROM capture) AS end_ns,
           NULL::BIGINT AS overhead_ns, NULL::VARCHAR AS detail
    FROM verdict
    UNION ALL
    SELECT 2, 'table', table_name, rows, rows,
           (SELECT CASE WHEN count(*) = count(records) AND NOT (SELECT is_any FROM imported)
                        THEN coalesce(sum(records), 0) END
            FROM losses
            WHERE losses.table_name = extent.table_name AND NOT losses.is_stored)::BIGINT,
           start_ns, end_ns, NULL, NULL
    FROM extent
    UNION ALL
    SELECT 3, 'process',
           concat('pid ', pid, coalesce(' rank ' || rank, ''), coalesce(' on ' || host, '')),
           emitted, stored, lost, start_ns, end_ns, NULL, concat_ws(': ', state, detail)
    FROM processes
    UNION ALL
    SELECT 4, 'loss', cause, records, NULL, lost, start_ns, end_ns, NULL, detail
    FROM causes
    UNION ALL
    SELECT 5, 'overhead', coalesce(overhead_kind, 'unknown'), count(*), count(*), NULL,
           min(start_ns), max(end_ns), sum(end_ns - start_ns)::BIGINT, NULL
    FROM overhead
    GROUP BY 3
)
ORDER BY place, subject

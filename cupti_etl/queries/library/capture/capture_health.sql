-- Whether the trace can be believed: what is in it, what was lost, and a verdict.
--
-- computed: One row for the verdict, then one for each table (with an imported process, for each
--   that has rows), each process, each cause of loss, each kind of overhead, each kind of thing
--   that an import did not keep and each table of which rows were discarded. The verdict is
--   "complete", or "nothing captured" (no row of GPU work, API calls or markers), or "losses: " and
--   how many records each cause concerns ("?" if that is not known), or the latter two together;
--   "so far" is added while a capture runs. Of an imported process nobody counted what it emitted:
--   "no losses known, imported" then takes the place of "complete", and numbers of lost records are
--   NULL. What an import did not keep because it is unsupported or invalid is added as "not kept: "
--   with how many events of each; nothing of it counts as stored or lost. So are rows that a
--   capture discarded, as --flight-recorder or --retain asked for, by reason. A killed or failed
--   process counts as a loss even where no number is known, and so do records that a process was
--   handed and of which neither a row nor a loss is known. When a capture has ended, rows that it
--   counted and that are no longer there are "missing from" their table (of an older trace without
--   row_count, from all tables of records together), and a process that still says "tracing" is a
--   loss, and so are ranks of a job that are not in the trace. Overheads are sums of durations:
--   those of several threads each count in full.
-- limits: Overhead is not among the kinds that a capture records by default.
-- front: Can I believe this trace?
-- first: section, subject, detail, lost, stored
-- materialized: It reads the extent of each table, and whoever asks anything is told of losses.
-- alias: diagnostics_summary
-- scope: whole
-- columns:
--   section VARCHAR: verdict, table, process, loss, overhead, skipped or discarded.
--   subject VARCHAR: The verdict, or the name of the table, the process, the cause or the kind.
--   records BIGINT [records]: Rows of the table, or of the kind of overhead; records handed to the
--     process; records lost; events that an import did not keep; rows that were
--     discarded.
--   stored BIGINT [records]: Of these, those that are in a table; not for a loss.
--   lost BIGINT [records]: Records that are not; NULL if the number is not known.
--   start_ns BIGINT [epoch ns]: Earliest time in the table, of the process, the loss or the
--     overhead.
--   span_ns BIGINT [ns]: From there to the latest.
--   records_per_s DOUBLE [records/s]: records divided by span_ns.
--   overhead_ns BIGINT [ns]: Time that the kind of overhead took, summed.
--   overhead_pct DOUBLE [%]: overhead_ns as a share of the time from the first record to the last
--     of all tables; over 100 where several threads had it at once.
--   detail VARCHAR: State of the process, the cause of the loss, or the category of what was not
--     kept and why, in words.
WITH extent AS (
    SELECT * FROM _table_extent
),
causes AS (
    SELECT * FROM _loss_cause
),
imported AS (
    SELECT count(*) > 0 AS is_any FROM process WHERE state = 'imported'
),
skipped AS (
    SELECT category, what, any_value(detail) AS detail,
           CASE WHEN count(*) = count(events) THEN TRY_CAST(sum(events) AS BIGINT) END AS events
    FROM import_skipped
    GROUP BY category, what
),
not_kept AS (
    SELECT string_agg(concat(category, CASE WHEN is_known OR events IS NULL THEN ' '
                                            ELSE ' at least ' END,
                             coalesce(events::VARCHAR, '?')), ', ' ORDER BY category) AS what
    FROM (SELECT category, TRY_CAST(sum(events) AS BIGINT) AS events,
                 count(*) = count(events) AS is_known
          FROM skipped
          WHERE category != 'redundant'
          GROUP BY category
          UNION ALL
          SELECT reason, TRY_CAST(sum(rows) AS BIGINT), true FROM discarded GROUP BY reason)
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
           || coalesce('; not kept: ' || (SELECT what FROM not_kept), '')
           || CASE WHEN (SELECT is_over FROM _capture_end) THEN '' ELSE ' so far' END AS subject
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
           TRY_CAST((SELECT sum(emitted) FROM process) AS BIGINT) AS records,
           TRY_CAST((SELECT sum(stored) FROM process) AS BIGINT) AS stored,
           TRY_CAST((SELECT CASE WHEN count(*) = count(lost) AND NOT (SELECT is_any FROM imported)
                        THEN coalesce(sum(lost), 0) END
            FROM causes) AS BIGINT) AS lost,
           (SELECT min(start_ns) FROM capture) AS start_ns,
           (SELECT max(end_ns) FROM capture) AS end_ns,
           NULL::BIGINT AS overhead_ns, NULL::VARCHAR AS detail
    FROM verdict
    UNION ALL
    SELECT 2, 'table', table_name, rows, rows,
           TRY_CAST((SELECT CASE WHEN count(*) = count(records)
                                  AND NOT (SELECT is_any FROM imported)
                        THEN coalesce(sum(records), 0) END
            FROM loss
            WHERE loss.table_name = extent.table_name AND is_stored IS NOT true) AS BIGINT),
           start_ns, end_ns, NULL, NULL
    FROM extent
    WHERE is_recorded AND (rows > 0 OR NOT (SELECT is_any FROM imported))
    UNION ALL
    SELECT 3, 'process',
           concat(coalesce('pid ' || pid, 'without a pid'), coalesce(' rank ' || rank, ''),
                  coalesce(' on ' || host, '')),
           emitted, stored, lost, start_ns, end_ns, NULL, concat_ws(': ', state, detail)
    FROM _process_loss
    UNION ALL
    SELECT 4, 'loss', cause, records, NULL, lost, start_ns, end_ns, NULL, detail
    FROM causes
    UNION ALL
    SELECT 5, 'overhead', coalesce(overhead_kind, 'unknown'), count(*), count(*), NULL,
           min(start_ns), max(end_ns), TRY_CAST(sum(end_ns - start_ns) AS BIGINT), NULL
    FROM overhead
    GROUP BY 3
    UNION ALL
    SELECT 6, 'skipped', what, events, NULL, NULL, NULL, NULL, NULL,
           concat_ws(': ', category, detail)
    FROM skipped
    UNION ALL
    SELECT 7, 'discarded', table_name, rows, NULL, NULL, NULL, NULL, NULL,
           concat('all that ended later is there; ', reason, ': ', detail)
    FROM discarded
)
ORDER BY place, subject

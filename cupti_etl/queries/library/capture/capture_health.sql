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
--   those of several threads each count in full, and what lies in another of its kind and thread
--   does not.
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
-- One row each.
processes AS (
    SELECT coalesce(bool_or(state = 'imported'), false) AS is_imported,
           TRY_CAST(sum(emitted) AS BIGINT) AS emitted, TRY_CAST(sum(stored) AS BIGINT) AS stored
    FROM process
),
activity AS (
    -- Who records takes time where there is nothing, too.
    SELECT coalesce(sum(rows) FILTER (WHERE table_name <> 'overhead'), 0) = 0 AS is_nothing,
           max(end_ns) - min(start_ns) AS span_ns
    FROM extent
    WHERE is_activity
),
losses AS (
    SELECT string_agg(concat(cause, ' ', coalesce(records::VARCHAR, '?')), ', ' ORDER BY cause)
               AS what,
           CASE WHEN count(*) = count(lost)
                THEN TRY_CAST(coalesce(sum(lost), 0) AS BIGINT) END AS lost
    FROM causes
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
lost_of_table AS (
    SELECT table_name, CASE WHEN count(*) = count(records) THEN sum(records) END AS lost
    FROM loss
    WHERE is_stored IS NOT true
    GROUP BY table_name
)
SELECT section, subject, records, stored, lost, start_ns, end_ns - start_ns AS span_ns,
       1e9 * records / nullif(end_ns - start_ns, 0) AS records_per_s, overhead_ns,
       100.0 * overhead_ns / nullif(activity.span_ns, 0) AS overhead_pct, detail
FROM activity, (
    SELECT 1 AS place, 'verdict' AS section,
           CASE WHEN is_nothing AND losses.what IS NULL THEN 'nothing captured'
                WHEN is_nothing THEN 'nothing captured; losses: ' || losses.what
                WHEN losses.what IS NOT NULL THEN 'losses: ' || losses.what
                WHEN is_imported THEN 'no losses known, imported'
                ELSE 'complete' END
               || coalesce('; not kept: ' || not_kept.what, '')
               || CASE WHEN is_over THEN '' ELSE ' so far' END AS subject,
           emitted AS records, stored, CASE WHEN NOT is_imported THEN lost END AS lost, start_ns,
           end_ns, NULL::BIGINT AS overhead_ns, NULL::VARCHAR AS detail
    FROM _capture_end, processes, activity, losses, not_kept,
         (SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM capture)
    UNION ALL
    SELECT 2, 'table', extent.table_name, rows, rows,
           CASE WHEN is_imported THEN NULL WHEN lost_of_table.table_name IS NULL THEN 0
                ELSE TRY_CAST(lost AS BIGINT) END,
           start_ns, end_ns, NULL, NULL
    FROM processes, extent
    LEFT JOIN lost_of_table ON lost_of_table.table_name = extent.table_name
    WHERE is_recorded AND (rows > 0 OR NOT is_imported)
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
           min(start_ns), max(end_ns), TRY_CAST(sum(own_ns) AS BIGINT), NULL
    FROM (
        SELECT *, end_ns - least(end_ns, greatest(start_ns, max(end_ns) OVER (
                   PARTITION BY process_id, thread_id, overhead_kind ORDER BY start_ns
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
               ))) AS own_ns
        FROM overhead
    )
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
ORDER BY place, subject, start_ns

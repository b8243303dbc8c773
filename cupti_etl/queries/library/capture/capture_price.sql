-- How much of each process was recorded, and how much longer it took for that.
--
-- computed: The driver numbers launches, recorded or not (_window_run), so the pace of launches is
--   known in each window and in the times before and after it. price_pct is how much longer all
--   windows took than the same launches at the pace around each; its error is that of the
--   jackknife, leaving out one window at a time. Windows and times in which the program stood
--   still, with a pace beyond four times the median or below a quarter of it, are left out.
-- requires: capture_window
-- limits: What costs the same whether a window is open or not is in lasting_pct alone, and that
--   of --pm, --callbacks and --pytorch nowhere. Of a program whose kernels are all in CUDA graphs,
--   the pace is not known. Launches are those of kernels and memsets outside of graphs. Time
--   before the first kernel of a window and after its last counts as time without recording, so
--   price_pct is too low where windows are short; what --budget says at its end is not.
-- first: recorded_pct, price_pct, price_error_pct, lost_pct, lasting_pct, budget_pct, windows,
--   process_id
-- example: cupti-etl query capture_price TRACE
-- scope: whole
-- columns:
--   recorded_pct DOUBLE [%]: recorded_ns as a share of span_ns.
--   recorded_ns BIGINT [ns]: Time in which the process was recorded; NULL if windows were too many
--     to be noted one by one.
--   span_ns BIGINT [ns]: From the begin of its first window to its end.
--   windows BIGINT [windows]: How many stretches of time that was.
--   recorded_launches BIGINT [launches]: Launches in windows.
--   launches BIGINT [launches]: All launches from the first to the last that was recorded.
--   price_pct DOUBLE [%]: How much longer the program took while it was recorded, as a share of
--     what it takes without.
--   price_error_pct DOUBLE [%]: Standard error of price_pct, as a share of the same.
--   pairs BIGINT [windows]: Windows that it is known from.
--   lost_pct DOUBLE [%]: What recording has cost, as a share of span_ns.
--   budget_pct DOUBLE [%]: What --budget allowed, as a share of the time without recording; NULL
--     without it.
--   lasting_pct DOUBLE [%]: How much longer the program takes at most from the first window of
--     --budget to its end, recorded or not, as a trial before it told; NULL without one.
--   reason VARCHAR: Why there is no price; NULL if there is one.
--   process_id BIGINT: The process.
WITH around AS (
    SELECT process_id, device_id, number, kernels, last_launch - first_launch AS launches,
           last_ns - first_ns AS took_ns,
           lead(number) OVER runs - lag(number) OVER runs = 2 AS has_neighbours,
           first_launch - lag(last_launch) OVER runs + lead(first_launch) OVER runs - last_launch
               AS other_launches,
           first_ns - lag(last_ns) OVER runs + lead(first_ns) OVER runs - last_ns AS other_ns
    FROM _window_run
    WINDOW runs AS (PARTITION BY process_id, device_id ORDER BY number)
),
paces AS (
    SELECT *, kernels / launches AS density, took_ns / launches AS pace,
           other_ns / other_launches AS other_pace
    FROM around
    WHERE has_neighbours AND launches >= 10 AND other_launches >= 10 AND took_ns > 0
          AND other_ns > 0
),
usual AS (
    SELECT *, median(density) OVER gpus AS usual_density,
           pace / median(pace) OVER gpus AS pace_ratio,
           other_pace / median(other_pace) OVER gpus AS other_ratio
    FROM paces
    WINDOW gpus AS (PARTITION BY process_id, device_id)
),
pairs AS (
    SELECT process_id, number, sum(took_ns) AS took_ns, sum(launches * other_pace) AS would_ns
    FROM usual
    WHERE usual_density >= 0.1 AND density > 0.7 * usual_density
          AND pace_ratio > 0.25 AND pace_ratio < 4 AND other_ratio > 0.25 AND other_ratio < 4
    GROUP BY process_id, number
),
left_out AS (
    SELECT process_id, sum(took_ns) OVER of_process / sum(would_ns) OVER of_process - 1 AS price,
           (sum(took_ns) OVER of_process - took_ns)
               / nullif(sum(would_ns) OVER of_process - would_ns, 0) AS without
    FROM pairs
    WINDOW of_process AS (PARTITION BY process_id)
),
prices AS (
    SELECT process_id, count(*) AS pairs, any_value(price) AS price,
           sqrt((count(*) - 1) * var_pop(without)) AS error
    FROM left_out
    GROUP BY process_id
    HAVING count(*) >= 5
),
counted AS (
    SELECT process_id, TRY_CAST(sum(in_windows) AS BIGINT) AS recorded_launches,
           TRY_CAST(sum(launches) AS BIGINT) AS launches
    FROM (SELECT process_id, device_id, sum(last_launch - first_launch + 1) AS in_windows,
                 max(last_launch) - min(first_launch) + 1 AS launches
          FROM _window_run
          GROUP BY process_id, device_id)
    GROUP BY process_id
),
recorded AS (
    SELECT seen.process_id, count(*) AS windows,
           CASE WHEN NOT bool_or(seen.is_several)
                THEN TRY_CAST(sum(seen.end_ns - seen.start_ns) AS BIGINT) END AS recorded_ns,
           greatest(max(ended.end_ns), max(seen.end_ns)) - min(seen.start_ns) AS span_ns
    FROM _window AS seen
    LEFT JOIN (SELECT process_id, max(end_ns) AS end_ns FROM process GROUP BY process_id) AS ended
        ON ended.process_id = seen.process_id
    GROUP BY seen.process_id
),
budgets AS (
    -- Of several captures that are opened as one it is not known which process is whose.
    SELECT CASE WHEN count(DISTINCT coalesce(budget_pct, 0)) = 1 THEN max(budget_pct) END
               AS budget_pct,
           CASE WHEN count(*) = 1 THEN max(lasting_pct) END AS lasting_pct
    FROM capture
)
SELECT 100.0 * recorded_ns / nullif(span_ns, 0) AS recorded_pct,
       recorded_ns, span_ns, windows, recorded_launches, launches, 100 * price AS price_pct,
       100 * error AS price_error_pct, pairs,
       100 * greatest(price, 0) / (1 + greatest(price, 0)) * recorded_ns / nullif(span_ns, 0)
           AS lost_pct,
       budget_pct, lasting_pct,
       CASE WHEN price IS NOT NULL THEN NULL
            WHEN windows < 7 THEN 'too few windows: with one alone, there is no time without'
            ELSE 'too few launches outside of CUDA graphs in windows and between them' END
           AS reason,
       recorded.process_id
FROM recorded
LEFT JOIN prices ON prices.process_id = recorded.process_id
LEFT JOIN counted ON counted.process_id = recorded.process_id
CROSS JOIN budgets
ORDER BY recorded.process_id

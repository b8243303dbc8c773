-- The run in one row, as `cupti-etl runs` lists it.
--
-- computed: Of several captures the first beginning and the last end; what they do not agree on is
--   listed. Steps are those of the steady state; busy time is that of all GPUs over their spans.
-- limits: Steps that are guessed from kernels are no better than their confidence; those with one
--   below 0.3, which may be layers, are left out.
-- scope: whole
-- columns:
--   start_ns BIGINT [epoch ns]: When the first capture began.
--   end_ns BIGINT [epoch ns]: When the last ended; NULL while one runs.
--   command VARCHAR: What was run.
--   hosts VARCHAR: Where, with commas between.
--   user_name VARCHAR: Who ran it.
--   git_commit VARCHAR: Which commit was checked out.
--   tags VARCHAR: What --tag said, as a JSON object.
--   exit_status INTEGER: Of the command; the greatest of several.
--   processes BIGINT [processes]: How many were traced.
--   ranks BIGINT [ranks]: How many ranks they had; NULL if none had one.
--   gpus BIGINT [GPUs]: On how many of them something ran.
--   steps BIGINT [steps]: Steps of the steady state; one that all ranks take counts once.
--   step_ns BIGINT [ns]: The median of how long they took.
--   step_source VARCHAR: nvtx, or kernels where they were guessed.
--   busy_pct DOUBLE [%]: Time with anything on the GPUs, as a share of their spans.
--   kernels BIGINT [executions]: Kernels that ran.
WITH steady AS (
    SELECT step, source, end_ns - start_ns AS step_ns
    FROM _sure_step
    WHERE is_steady
),
steps AS (
    SELECT count(DISTINCT step) AS steps, TRY_CAST(median(step_ns) AS BIGINT) AS step_ns,
           min(source) AS step_source
    FROM steady
),
captures AS (
    SELECT min(start_ns) AS start_ns,
           CASE WHEN count(*) = count(end_ns) THEN max(end_ns) END AS end_ns,
           string_agg(DISTINCT command, '; ' ORDER BY command) AS command,
           string_agg(DISTINCT host, ', ' ORDER BY host) AS hosts,
           string_agg(DISTINCT user_name, ', ' ORDER BY user_name) AS user_name,
           string_agg(DISTINCT git_commit, ', ' ORDER BY git_commit) AS git_commit,
           string_agg(DISTINCT tags, ', ' ORDER BY tags) AS tags,
           max(exit_status) AS exit_status
    FROM capture
),
processes AS (
    SELECT count(*) AS processes, nullif(count(DISTINCT rank), 0) AS ranks,
           string_agg(DISTINCT host, ', ' ORDER BY host) AS hosts
    FROM process
),
busy AS (
    SELECT count(*) AS gpus,
           (100 * (1 - sum(idle_ns) / nullif(sum(span_ns), 0)))::DOUBLE AS busy_pct
    FROM busy_breakdown
)
SELECT captures.start_ns, captures.end_ns, captures.command,
       coalesce(processes.hosts, captures.hosts) AS hosts, captures.user_name,
       captures.git_commit, captures.tags, captures.exit_status, processes.processes,
       processes.ranks, busy.gpus, steps.steps, steps.step_ns, steps.step_source, busy.busy_pct,
       (SELECT count(*) FROM kernel) AS kernels
FROM captures, processes, steps, busy

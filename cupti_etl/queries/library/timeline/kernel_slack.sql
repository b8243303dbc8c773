-- How much later kernels could have ended without moving the end of the critical path, by name.
--
-- computed: A kernel that ends while the path is on the host (_host_path) can end later by the time
--   to the end of that stretch, less what the GPU is busy with until then (union of all work): what
--   follows it moves along. Other kernels are on the path and have no slack.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so the host is not seen.
--   kernel
-- materialized: Made once for an opened trace, as it looks at all kernels.
-- limits: As of critical_path. Where kernels run side by side the GPU counts as one, and slack is
--   at least this. Kernels one after another share their slack: it does not add up.
-- label: name = kernel(mangled)
-- lookup: api_call
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Function name.
--   runs BIGINT [executions]: Finished executions.
--   on_path BIGINT [executions]: Of these, those without slack.
--   total_ns BIGINT [ns]: Sum of the durations of all.
--   path_ns BIGINT [ns]: Sum of the durations of those without slack.
--   slack_total_ns BIGINT [ns]: Sum of the slack of all.
--   slack_min_ns BIGINT [ns]: Least slack of those that have some; NULL without any.
--   slack_median_ns DOUBLE [ns]: Median slack of those that have some.
--   slack_max_ns BIGINT [ns]: Most slack.
--   mangled VARCHAR: Mangled name.
WITH host AS MATERIALIZED (
    SELECT * FROM _host_path
),
kernels AS (
    SELECT gpu, name, start_ns, end_ns FROM gpu_interval WHERE kind = 'kernel'
),
beside AS (
    SELECT kernels.*, host.end_ns AS until_ns
    FROM kernels
    ASOF JOIN host ON host.gpu = kernels.gpu AND host.start_ns < kernels.end_ns
    WHERE kernels.end_ns < host.end_ns
),
busy AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM _busy_interval WHERE work = 'any'
),
slack AS (
    SELECT beside.gpu, name, beside.end_ns - beside.start_ns AS ns,
           until_ns - beside.end_ns
           - (till.busy_before_ns + least(until_ns, till.end_ns) - till.start_ns)
           + (since.busy_before_ns + beside.end_ns - since.start_ns) AS slack_ns
    FROM beside
    ASOF JOIN busy AS since ON since.gpu = beside.gpu AND since.start_ns <= beside.end_ns
    ASOF JOIN busy AS till ON till.gpu = beside.gpu AND till.start_ns <= until_ns
),
off_path AS (
    SELECT gpu, name, count(*) AS kernels, sum(ns) AS ns,
           TRY_CAST(sum(slack_ns) AS BIGINT) AS slack_total_ns,
           min(slack_ns) AS slack_min_ns, median(slack_ns) AS slack_median_ns,
           max(slack_ns) AS slack_max_ns
    FROM slack
    WHERE slack_ns > 0
    GROUP BY gpu, name
),
sums AS (
    SELECT gpu, name, count(*) AS runs, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns
    FROM kernels
    WHERE EXISTS (SELECT 1 FROM api_call)
    GROUP BY gpu, name
)
SELECT sums.gpu, coalesce(short, sums.name) AS name, runs, runs - coalesce(kernels, 0) AS on_path,
       total_ns, TRY_CAST((total_ns - coalesce(ns, 0)) AS BIGINT) AS path_ns,
       coalesce(slack_total_ns, 0) AS slack_total_ns, slack_min_ns, slack_median_ns,
       coalesce(slack_max_ns, 0) AS slack_max_ns, sums.name AS mangled
FROM sums
LEFT JOIN off_path
    ON off_path.gpu = sums.gpu
    AND off_path.name IS NOT DISTINCT FROM sums.name
LEFT JOIN _readable_name AS names ON names.mangled = sums.name
ORDER BY path_ns DESC, sums.gpu, sums.name

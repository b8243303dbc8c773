-- How long each GPU was idle while its host was outside CUDA, and neither waited for input nor
-- compiled.
--
-- computed: host_ns of _idle_cause, in gaps of 100 us and more (what is shorter is launching),
--   without the time of compiling in _outside_range, which is of finding_compiling. The culprit is
--   the range of the host in which most of it was, and where there is none the line of Python
--   that went on after most of it, or the kernel or copy before which most of it was.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host is outside CUDA (measured)
-- advice: look at what the host does there: computing, Python, files, other processes (ranges of
--   NVTX and capture --python-stacks say where)
-- shown: gap_attribution --param min_ns=100000
-- label: kernel = kernel(kernel)
WITH waits AS (
    SELECT gpu, TRY_CAST(sum(host_ns) AS BIGINT) AS host_ns
    FROM _idle_cause
    WHERE gap_ns >= 100000
    GROUP BY gpu
),
lines AS (
    SELECT arg_max(place, (idle_before_ns, place)) AS place
    FROM python_line
    WHERE file IS NOT NULL AND idle_before_ns > 0
)
SELECT waits.gpu, waits.host_ns - coalesce(compiling.total_ns, 0) AS saved_ns,
       CASE WHEN ranges.name IS NOT NULL THEN 'most of it in ' || ranges.name
            WHEN lines.place IS NOT NULL THEN 'above all before ' || lines.place || ' goes on'
            ELSE 'above all before' END AS culprit,
       CASE WHEN ranges.name IS NULL AND lines.place IS NULL THEN parts.kernel END
           AS kernel
FROM waits
JOIN _idle_culprit AS parts ON parts.gpu = waits.gpu AND state = 'outside'
LEFT JOIN _outside_range AS ranges ON ranges.gpu = waits.gpu AND ranges.state = 'host'
LEFT JOIN _outside_range AS compiling
    ON compiling.gpu = waits.gpu AND compiling.state = 'compiling'
CROSS JOIN lines

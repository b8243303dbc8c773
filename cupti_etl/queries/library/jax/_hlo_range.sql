-- NVTX ranges of XLA, decoded: runs of HLO modules, of operations in them, and of its compiler.
--
-- computed: Ranges of the domain TSL, whose names are XlaModule:#hlo_module=...,program_id=...#,
--   Thunk:#name=...,hlo_op=...#, or begin with Xla for the compiler. An operation is of the module
--   that ran around it on its thread. Names of frameworks are completed by the prefix that XLA
--   says once, with the module. Modules without a program_id are tried by the autotuner;
--   an operation whose module is not known is taken for the program's.
-- requires:
--   marker
--   _xla_process: there are no ranges of XLA.
-- materialized: Made once for an opened trace, as every query about HLO reads it.
-- scope: host start_ns
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   range_id BIGINT: The range, as in nvtx_range.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it did not while tracing.
--   kind VARCHAR: module, thunk (an operation) or compiler.
--   phase VARCHAR: program, autotuning or compilation.
--   hlo_module VARCHAR: Name of the module; NULL if it is not known.
--   program_id BIGINT: XLA's number of the compiled module; NULL for what the autotuner tries.
--   hlo_op VARCHAR: Name of the operation; NULL for other ranges.
--   framework_op VARCHAR: The operation of the framework that it is from, as a path; NULL if the
--     range does not say it.
WITH ranges AS MATERIALIZED (
    SELECT process_id, thread_id, range_id, start_ns, end_ns, name,
           split_part(name, ':#', 1) AS title,
           nullif(regexp_extract(name, '[#,]hlo_op=([^,#]*)', 1), '') AS hlo_op,
           nullif(regexp_extract(name, '[#,](?:hlo_)?module=([^,#]*)', 1), '') AS hlo_module,
           try_cast(nullif(regexp_extract(name, '[#,]program_id=(\d+)', 1), '') AS BIGINT)
               AS program_id,
           nullif(regexp_extract(name, '^XlaModule:#prefix=(.*),hlo_module=', 1), '') AS prefix,
           nullif(regexp_extract(name, '^Thunk:#name=(.*),hlo_op=', 1), '') AS said
    FROM _range_span
    WHERE domain = 'TSL' AND regexp_matches(name, '^(Xla\w*|Thunk):#.*#$')
),
modules AS (
    SELECT process_id, thread_id, start_ns, coalesce(end_ns, 9223372036854775807) AS end_ns,
           hlo_module, program_id, prefix
    FROM ranges
    WHERE title = 'XlaModule'
),
thunks AS (
    SELECT thunk.* EXCLUDE (hlo_module, program_id, prefix),
           thunk.start_ns <= around.end_ns AS is_inside,
           coalesce(thunk.hlo_module, CASE WHEN is_inside THEN around.hlo_module END) AS hlo_module,
           coalesce(thunk.program_id, CASE WHEN is_inside THEN around.program_id END) AS program_id,
           CASE WHEN is_inside THEN around.prefix END AS prefix
    FROM (FROM ranges WHERE title = 'Thunk') AS thunk
    ASOF LEFT JOIN modules AS around
        ON around.process_id = thunk.process_id
        AND around.thread_id = thunk.thread_id
        AND around.start_ns <= thunk.start_ns
)
SELECT process_id, thread_id, range_id, start_ns, end_ns, 'thunk' AS kind,
       CASE WHEN program_id IS NULL AND hlo_module IS NOT NULL THEN 'autotuning'
            ELSE 'program' END AS phase,
       hlo_module, program_id, hlo_op,
       CASE WHEN prefix IS NULL OR said IS NULL OR starts_with(said, prefix) THEN said
            ELSE concat(prefix, '/', said) END AS framework_op
FROM thunks
UNION ALL
SELECT process_id, thread_id, range_id, start_ns, end_ns,
       CASE title WHEN 'XlaModule' THEN 'module' ELSE 'compiler' END,
       CASE WHEN title = 'XlaModule' AND program_id IS NOT NULL THEN 'program'
            WHEN title = 'XlaModule' OR contains(name, 'autotun') THEN 'autotuning'
            ELSE 'compilation' END,
       hlo_module, program_id, NULL, NULL
FROM ranges
WHERE title != 'Thunk'

-- What compiling and loading code, and capturing graphs, costs after the start.
--
-- computed: late_ns of jit_module_load, of the process with most of it and of its source with most
--   of it: a call that loads contains the compilation that it causes, so sources are not added. Of
--   a trace with fewer than 20 kernels all is start.
-- finding: code is compiled or loaded, or graphs captured, after the start (measured)
-- advice: load and compile before the loop (CUDA_MODULE_LOADING=EAGER, of AMD
--   HIP_ENABLE_DEFERRED_LOADING=0, a warm-up step), capture graphs there, and make plans of
--   cuFFT, which load code, once
-- shown: jit_module_load
-- label: kernel = kernel(kernel)
WITH names AS (
    SELECT process_id, source, name, sum(end_ns - start_ns) AS ns, count(end_ns) AS late
    FROM _code_load
    WHERE is_late
    GROUP BY process_id, source, name
),
sources AS (
    SELECT process_id, source, TRY_CAST(sum(ns) AS BIGINT) AS ns, sum(late) AS late,
           arg_min(name, (-ns, name)) AS name
    FROM names
    GROUP BY process_id, source
)
SELECT NULL::BIGINT AS gpu, ns AS saved_ns,
       concat_ws(' ', CASE late WHEN 1 THEN 'once, by'
                               ELSE format('{:,} times, above all by', late::BIGINT) END,
                 CASE WHEN source <> 'first_launch' THEN name WHEN late = 1 THEN 'a launch of'
                      ELSE 'launches of' END) AS culprit,
       CASE source WHEN 'first_launch' THEN name END AS kernel
FROM sources
WHERE (SELECT count(*) FROM kernel) >= 20
ORDER BY ns DESC, name
LIMIT 1

-- What compiling and loading code costs after the start.
--
-- computed: late_ns of jit_module_load, of its source with most of it: a call that loads contains
--   the compilation that it causes, so sources are not added. Of a trace with fewer than 20 kernels
--   all is start.
-- needs: jit_module_load, kernel
-- finding: code is compiled or loaded after the start (measured)
-- advice: load and compile before the loop (CUDA_MODULE_LOADING=EAGER, a warm-up step)
-- shown: jit_module_load
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH sources AS (
    SELECT TRY_CAST(sum(late_ns) AS BIGINT) AS ns, sum(late) AS late,
           arg_min(name, (-late_ns::HUGEINT, name)) AS name
    FROM jit_module_load
    GROUP BY source
)
SELECT NULL::BIGINT AS gpu, max(ns) AS saved_ns,
       concat(arg_min(late, (-ns::HUGEINT, name)), ' times, most by ',
              arg_min(name, (-ns::HUGEINT, name))) AS culprit
FROM sources
HAVING count(*) > 0 AND (SELECT count(*) FROM kernel) >= 20

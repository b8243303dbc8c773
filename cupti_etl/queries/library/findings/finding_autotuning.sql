-- How long Triton's tuners tried configurations of kernels.
--
-- computed: span_ns of triton_autotune by GPU. The culprits are the kernels with most of it.
-- requires: kernel, _tuning_process
-- finding: Triton's autotuning tries configurations (measured)
-- advice: keep what was found (cache_results=True, Inductor's cache), try fewer configurations, or
--   tune before you measure
-- shown: triton_autotune
SELECT gpu, TRY_CAST(sum(span_ns) AS BIGINT) AS saved_ns,
       concat('of ', CASE WHEN count(*) > 1 THEN concat(count(*), ' kernels, above all for ') END,
              array_to_string(list(short ORDER BY span_ns DESC, short)[:3], ', ')) AS culprit
FROM triton_autotune
GROUP BY gpu

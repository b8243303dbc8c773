-- How long each GPU ran kernels that only copy, convert or fill data in its own memory.
--
-- computed: Time of kernels that are copies (category of kernel_rule) and not part of something
--   else (copies_for), no more than the GPU computed. The culprit is the one with most of it.
-- requires: kernel
-- limits: Some have to be: what is saved at most is said. Copies by the copy engine (memcpy) are in
--   finding_copies. What a kernel copies for is known by its name alone.
-- finding: kernels only copy, convert or fill (estimated)
-- advice: avoid them: contiguous() and reshape() after permute copy, and cat copies all (write
--   into a buffer of full length, as a static cache does); autocast and to() convert weights in
--   every step (keep them in the type that is computed with); torch.empty needs no filling; and
--   torch.compile and jax.jit fuse what is left into its neighbours
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT times.gpu, TRY_CAST(least(sum(total_ns), any_value(compute_ns)) AS BIGINT) AS saved_ns,
       concat(CASE sum(calls) WHEN 1 THEN 'once' ELSE format('{:,} times', sum(calls)::BIGINT) END,
              CASE WHEN count(*) > 1 THEN ', above all in' ELSE ', all of it in' END) AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN kernel_rule ON mangled = name
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
WHERE kernel_rule.category = 'copy' AND copies_for IS NULL
GROUP BY times.gpu

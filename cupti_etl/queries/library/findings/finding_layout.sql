-- How long each GPU changed the order of channels, which convolutions wanted otherwise.
--
-- computed: Time of kernels that copy for a layout (kernel_rule), of cuDNN, MIOpen and others, no
--   more than the GPU computed. The culprit is the one with most of it.
-- requires: kernel
-- finding: convolutions change the layout of their data (measured)
-- advice: keep it with channels last (in PyTorch both the model and what goes into it
--   .to(memory_format=torch.channels_last), on GPUs of AMD with PYTORCH_MIOPEN_SUGGEST_NHWC=1), as
--   tensor cores want it
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT times.gpu, TRY_CAST(least(sum(total_ns), any_value(compute_ns)) AS BIGINT) AS saved_ns,
       CASE WHEN count(*) > 1 THEN concat(count(*), ' kernels, above all in')
            ELSE 'all of it in' END AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN kernel_rule ON mangled = name
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
WHERE copies_for = 'layout'
GROUP BY times.gpu

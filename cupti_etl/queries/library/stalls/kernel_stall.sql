-- Why the warps of each kernel wait, beside its time.
--
-- computed: Samples of _pc_stall by kernel and reason. A share is of the kernel's own samples, so
--   that those of a kernel add to 100. Its time is the sum of its executions' durations, sampled or
--   not.
-- requires: pc_sample
-- limits: A sample says where one warp of a multiprocessor was. A reason that many samples have
--   costs time only as far as no other warp could go on: see not_issued_pct. Kernels that ran while
--   nothing was sampled have time and no samples.
-- front: What do the warps of my kernels wait for?
-- first: kernel_pct, percent, reason, not_issued_pct, samples, total_ns, name
-- label: name = kernel(demangled)
-- chart: bars(name, samples, by reason)
-- columns:
--   name VARCHAR: Function name alone.
--   kernel_pct DOUBLE [%]: total_ns as a share of the time of all kernels; NULL if none was
--     recorded.
--   total_ns BIGINT [ns]: Sum of the durations of its executions; NULL if none was recorded.
--   reason VARCHAR: What the warps waited for; selected: for nothing, they issued an instruction.
--   percent DOUBLE [%]: Samples with that reason as a share of the kernel's samples.
--   not_issued_pct DOUBLE [%]: Those of them in which the scheduler had no other warp to go on
--     with, as a share of the kernel's samples.
--   samples BIGINT [samples]: Samples with that reason.
--   kernel_samples BIGINT [samples]: All samples of the kernel.
--   demangled VARCHAR: Name with template and call arguments.
WITH times AS (
    SELECT name AS function, sum(end_ns - start_ns) AS total_ns
    FROM kernel
    GROUP BY name
),
whole AS (
    SELECT sum(total_ns) AS all_ns FROM times
),
stalls AS (
    SELECT function, any_value(name) AS name, any_value(demangled) AS demangled, reason,
           sum(samples) AS samples, sum(not_issued) AS not_issued,
           sum(sum(samples)) OVER (PARTITION BY function) AS kernel_samples
    FROM _pc_stall
    GROUP BY function, reason
)
SELECT name,
       100.0 * total_ns / nullif(all_ns, 0) AS kernel_pct,
       TRY_CAST(total_ns AS BIGINT) AS total_ns,
       reason,
       100.0 * samples / nullif(kernel_samples, 0) AS percent,
       100.0 * not_issued / nullif(kernel_samples, 0) AS not_issued_pct,
       TRY_CAST(samples AS BIGINT) AS samples,
       TRY_CAST(kernel_samples AS BIGINT) AS kernel_samples,
       demangled
FROM stalls
LEFT JOIN times USING (function)
CROSS JOIN whole
ORDER BY total_ns DESC NULLS LAST, kernel_samples DESC, demangled, samples DESC, reason

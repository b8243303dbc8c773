-- What kinds of kernels the time of each step went to, and how that differs between steps.
--
-- computed: Finished executions of the step's process that began within the step on its GPU, by the
--   category of kernel_rule. Times are sums of durations: kernels that overlap each count in full.
-- requires: kernel, step
-- materialized: Made once for an opened trace, as the step of each kernel is looked for.
-- limits: A kernel that ends in the next step counts where it began. A category without a kernel in
--   a step has no row there.
-- lookup: gpu_interval
-- columns:
--   process_id, gpu of step
--   step BIGINT: Number of the step, from 0.
--   category VARCHAR: As in kernel_rule.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over the step.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   median_ns DOUBLE [ns]: Median of total_ns over the steps that have the category.
--   ratio DOUBLE: total_ns divided by median_ns.
WITH work AS (
    SELECT process_id, gpu, rule.category, start_ns, end_ns
    FROM gpu_interval
    JOIN kernel_rule AS rule ON rule.mangled IS NOT DISTINCT FROM gpu_interval.name
    WHERE kind = 'kernel'
),
steps AS (
    SELECT work.process_id, work.gpu, step.step, work.category, count(*) AS calls,
           TRY_CAST(sum(work.end_ns - work.start_ns) AS BIGINT) AS total_ns
    FROM work
    ASOF JOIN step
        ON step.process_id = work.process_id
        AND step.gpu = work.gpu
        AND step.start_ns <= work.start_ns
    WHERE work.start_ns < step.end_ns
    GROUP BY work.process_id, work.gpu, step.step, work.category
)
SELECT process_id, gpu, step, category,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id, gpu, step), 0)
           AS percent,
       calls, total_ns, median(total_ns) OVER of_category AS median_ns,
       total_ns / nullif(median(total_ns) OVER of_category, 0) AS ratio
FROM steps
WINDOW of_category AS (PARTITION BY process_id, gpu, category)
ORDER BY gpu, process_id, step, total_ns DESC, category

-- Kernels that follow one another again and again in a stream: candidates for fusion or a graph.
--
-- computed: Every run of `length` neighbours in a stream, counted by their names; runs overlap, so
--   their times must not be added. The gaps are those between the kernels of a run.
-- requires: kernel
-- limits: Copies and memsets between kernels are not seen, nor that a gap was not recorded
--   (_not_recorded).
-- front: Which kernels follow one another so often that they should be one, or a graph?
-- first: count, total_ns, gap_pct, mean_kernel_ns, sequence
-- label: sequence = kernels(first, second, third, fourth, fifth)
-- alias: get_frequent_cuda_kernel_sequences
-- parameters:
--   length BIGINT = 3 [kernels]: Kernels in a run, 2 to 5.
--   min_count BIGINT = 10 [runs]: Fewest times that it must come.
-- columns:
--   sequence VARCHAR: Function names, with " > " between.
--   count, total_ns, gap_ns of _kernel_run
--   gap_pct DOUBLE [%]: gap_ns as a share of the sum of total_ns and gap_ns.
--   mean_kernel_ns DOUBLE [ns]: Mean duration of one kernel.
--   first, second, third, fourth, fifth of _kernel_run
WITH runs AS (
    SELECT * FROM _kernel_run WHERE kernels = length AND count >= min_count
)
SELECT concat_ws(' > ', coalesce(a.short, first), coalesce(b.short, second),
                 coalesce(c.short, third), coalesce(d.short, fourth), coalesce(e.short, fifth))
           AS sequence,
       count, total_ns, gap_ns, 100.0 * gap_ns / nullif(total_ns + gap_ns, 0) AS gap_pct,
       total_ns / (count * kernels)::DOUBLE AS mean_kernel_ns,
       first, second, third, fourth, fifth
FROM runs
LEFT JOIN _readable_name AS a ON a.mangled = first
LEFT JOIN _readable_name AS b ON b.mangled = second
LEFT JOIN _readable_name AS c ON c.mangled = third
LEFT JOIN _readable_name AS d ON d.mangled = fourth
LEFT JOIN _readable_name AS e ON e.mangled = fifth
ORDER BY gap_ns DESC, sequence, first, second, third, fourth, fifth

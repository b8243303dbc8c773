-- What it costs on each GPU to gather rows, and then to add them at other indices.
--
-- computed: In a stream, kernels of PyTorch that gather rows and are followed by one that adds at
--   indices, with at most two between that only pass over data: 7/8 of their time and that of those
--   between, by mean durations, as products with a sparse matrix saved 86 to 94 % on an H100. Of
--   several GPUs each has as much of it as of the kernel that adds. The culprit is the kernel that
--   adds with most of it.
-- requires: kernel
-- limits: A product does it where what is added is a row, or a row times a weight; of both rows of
--   an edge it takes a kernel of one's own.
-- finding: rows are gathered, and added elsewhere (estimated)
-- advice: do both in one kernel: a product with a sparse matrix (in PyTorch
--   torch.sparse_csr_tensor, in PyG its EdgeIndex, in DGL its message passing), or at least
--   torch.segment_reduce of rows that are sorted
-- shown: kernel_sequences --param min_count=1 --sort total_ns
-- label: kernel = kernel(kernel)
WITH runs AS (
    SELECT *, CASE kernels WHEN 2 THEN second WHEN 3 THEN third ELSE fourth END AS last
    FROM _kernel_run
    WHERE kernels < 5 AND regexp_matches(first, 'vectorized_gather|indexSelect(Large|Small)Index')
),
passing AS (
    SELECT name FROM _kernel_mean WHERE category IN ('elementwise', 'copy')
),
sums AS (
    SELECT last, sum(total_ns) * 7 / 8 AS saved_ns
    FROM runs
    LEFT JOIN passing AS two ON two.name = second
    LEFT JOIN passing AS three ON three.name = third
    WHERE regexp_matches(last, 'indexAdd|(indexFunc|scatter_gather).*ReduceAdd')
        AND (kernels < 3 OR two.name IS NOT NULL)
        AND (kernels < 4 OR three.name IS NOT NULL)
    GROUP BY last
)
SELECT gpu, TRY_CAST(sum(saved_ns * gpu_share) AS BIGINT) AS saved_ns,
       'above all by' AS culprit,
       arg_max(last, (saved_ns * gpu_share, last)) AS kernel
FROM sums
JOIN _kernel_time ON name = last
GROUP BY gpu

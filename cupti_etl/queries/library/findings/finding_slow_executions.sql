-- What executions cost that take more than twice the median of their kernel.
--
-- computed: lost_ns of kernel_tail. The culprit is the kernel with most of it. Communication is
--   left out: it takes as long as other ranks let it wait (collective_wait).
-- needs: kernel_tail, kernel_rule, _readable_name
-- requires:
--   kernel: no kernels were recorded.
-- finding: kernels have executions of more than twice their median (measured)
-- advice: see what was around the slowest (kernel_worst): contention, clocks, different data
-- shown: kernel_tail
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH communication AS (
    SELECT coalesce(names.demangled, rule.mangled) AS demangled
    FROM kernel_rule AS rule
    LEFT JOIN _readable_name AS names ON names.mangled = rule.mangled
    WHERE rule.category = 'communication'
)
SELECT NULL::BIGINT AS gpu, TRY_CAST(sum(lost_ns) AS BIGINT) AS saved_ns,
       concat(CASE WHEN count(*) > 1 THEN concat(count(*), ' names and shapes, most of it ') END,
              'in ', arg_min(name, (-lost_ns, name))) AS culprit
FROM kernel_tail() AS tail
ANTI JOIN communication ON communication.demangled = tail.demangled
WHERE lost_ns > 0
HAVING count(*) > 0

-- Runs of modules of PyTorch, one by one: where they lie in each other, what they asked for, and
-- the backward pass of it.
--
-- computed: Ranges named nn.Module: ..., as torch.profiler writes them with_stack or with_modules,
--   and a capture with --pytorch, whose names have the path and the class. The module around is the
--   nearest that is around the range, whatever lies between. GPU time is that of range_gpu. A
--   backward pass (_operator_forward) is of the module in which its operator ran, and of those
--   around it.
-- requires:
--   _module_span: no modules of PyTorch were recorded.
-- materialized: Made once for an opened trace, as the module of every backward pass is looked for.
-- limits: Where a process has no sequence numbers, or several threads have one that a backward
--   pass has, what the backward pass took is not known. In a process with work on GPUs and no
--   recorded call, activities and times on GPUs are NULL.
-- scope: host start_ns
-- columns:
--   process_id, range_id of _operator
--   start_ns BIGINT [epoch ns]: When it was entered.
--   module VARCHAR: Class of the module; of torch.profiler with its number among these.
--   path VARCHAR: Its name in the outermost module (Net.layers.3.mlp); of torch.profiler the
--     modules around it from the outermost on, and its own, with " / " between.
--   parent_range_id BIGINT: The module around it; NULL if there is none.
--   activities BIGINT [activities]: Finished activities, with those of modules inside.
--   gpu_ns BIGINT [ns]: Sum of their durations.
--   self_gpu_ns BIGINT [ns]: The same without those of modules inside.
--   backward_gpu_ns BIGINT [ns]: GPU time of the backward passes of operators in it and in modules
--     inside; NULL if not known.
--   host_ns BIGINT [ns]: Time on the host; NULL if it did not end.
--   self_host_ns BIGINT [ns]: The same without modules inside.
WITH RECURSIVE nesting AS MATERIALIZED (
    -- DuckDB plans no ASOF JOIN within a recursive query, as that of this view is.
    SELECT range_id, parent_range_id FROM _range_parent
),
modules AS MATERIALIZED (
    SELECT * FROM _module_span
),
passes AS MATERIALIZED (
    SELECT forward_range_id AS range_id, sum(work.gpu_ns) AS gpu_ns
    FROM _operator_forward AS pass
    JOIN _operator_work AS work ON work.range_id = pass.range_id
    WHERE forward_range_id IS NOT NULL AND EXISTS (SELECT 1 FROM modules)
    GROUP BY forward_range_id
),
-- Outwards from modules and from operators that have a backward pass, up to the first module.
climbing AS (
    SELECT range_id, around_id FROM modules WHERE around_id IS NOT NULL
    UNION ALL
    SELECT passes.range_id, path.parent_range_id
    FROM passes
    JOIN nesting AS path ON path.range_id = passes.range_id
    WHERE path.parent_range_id IS NOT NULL
    UNION ALL
    SELECT climbing.range_id, path.parent_range_id
    FROM climbing
    JOIN nesting AS path ON path.range_id = climbing.around_id
    WHERE climbing.around_id NOT IN (SELECT range_id FROM modules)
        AND path.parent_range_id IS NOT NULL
),
parents AS MATERIALIZED (
    SELECT climbing.range_id, climbing.around_id AS parent_range_id
    FROM climbing
    JOIN modules ON modules.range_id = climbing.around_id
),
paths AS (
    SELECT modules.range_id, coalesce(full_name, module) AS path, 0 AS depth
    FROM modules
    ANTI JOIN parents ON parents.range_id = modules.range_id
    UNION ALL
    SELECT modules.range_id,
           coalesce(modules.full_name, concat(paths.path, ' / ', modules.module)), paths.depth + 1
    FROM paths
    JOIN parents ON parents.parent_range_id = paths.range_id
    JOIN modules ON modules.range_id = parents.range_id
),
works AS MATERIALIZED (
    SELECT range_id, sum(activities) AS activities, sum(gpu_ns) AS gpu_ns
    FROM range_gpu
    SEMI JOIN modules USING (range_id)
    GROUP BY range_id
),
inside AS (
    SELECT parent_range_id AS range_id, sum(works.gpu_ns) AS gpu_ns, sum(host_ns) AS host_ns
    FROM parents
    JOIN modules USING (range_id)
    LEFT JOIN works USING (range_id)
    GROUP BY parent_range_id
),
-- What is of a module is of all around it.
rising AS (
    SELECT parent_range_id AS range_id, gpu_ns
    FROM passes
    JOIN parents USING (range_id)
    UNION ALL
    SELECT parents.parent_range_id, gpu_ns
    FROM rising
    JOIN parents ON parents.range_id = rising.range_id
),
backward AS (
    SELECT range_id, sum(gpu_ns) AS gpu_ns FROM rising GROUP BY range_id
),
known AS (
    SELECT process_id
    FROM _operator
    LEFT JOIN _operator_forward AS pass ON pass.range_id = _operator.range_id
    WHERE sequence >= 0
    GROUP BY process_id
    HAVING NOT coalesce(bool_or(is_ambiguous), false)
)
SELECT modules.process_id, modules.range_id, modules.start_ns, module, path, parent_range_id,
       CASE WHEN without.process_id IS NULL
            THEN coalesce(works.activities, 0)::BIGINT END AS activities,
       CASE WHEN without.process_id IS NULL
            THEN TRY_CAST(coalesce(works.gpu_ns, 0) AS BIGINT) END AS gpu_ns,
       CASE WHEN without.process_id IS NULL
            THEN TRY_CAST(coalesce(works.gpu_ns, 0) - coalesce(inside.gpu_ns, 0) AS BIGINT)
            END AS self_gpu_ns,
       CASE WHEN known.process_id IS NOT NULL AND without.process_id IS NULL
            THEN TRY_CAST(coalesce(backward.gpu_ns, 0) AS BIGINT) END AS backward_gpu_ns,
       modules.host_ns,
       TRY_CAST(modules.host_ns - coalesce(inside.host_ns, 0) AS BIGINT) AS self_host_ns
FROM modules
JOIN paths ON paths.range_id = modules.range_id
LEFT JOIN parents ON parents.range_id = modules.range_id
LEFT JOIN works ON works.range_id = modules.range_id
LEFT JOIN inside ON inside.range_id = modules.range_id
LEFT JOIN backward ON backward.range_id = modules.range_id
LEFT JOIN known ON known.process_id = modules.process_id
LEFT JOIN _process_without_links AS without ON without.process_id = modules.process_id

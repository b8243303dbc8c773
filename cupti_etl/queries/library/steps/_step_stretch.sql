-- Steps by equal stretches of time, so that the step of anything is found by a hash join.
--
-- computed: A step has a row for each stretch in which some of it lies. Stretches are as long as a
--   step is on the average, so there are two rows for each step or so, and few steps in a stretch.
-- scope: whole
-- columns:
--   process_id, gpu of step
--   step BIGINT: Number of the step, from 0.
--   start_ns, end_ns of step
--   stretch BIGINT: Number of the stretch: a time in it, divided by length_ns.
--   length_ns BIGINT [ns]: Length of every stretch.
WITH lengths AS (
    SELECT greatest(avg(end_ns - start_ns)::BIGINT, 1) AS length_ns FROM step
)
SELECT process_id, gpu, step, start_ns, end_ns,
       unnest(range(start_ns // length_ns, end_ns // length_ns + 1)) AS stretch, length_ns
FROM step, lengths

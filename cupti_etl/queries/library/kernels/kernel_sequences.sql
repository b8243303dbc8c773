-- Kernels that follow one another again and again in a stream: candidates for fusion or a graph.
--
-- computed: Every run of `length` neighbours in a stream, counted by their names; runs overlap, so
--   their times must not be added. The gaps are those between the kernels of a run.
-- needs: kernel, kernel_name
-- requires:
--   kernel: no kernels were recorded.
-- limits: Copies and sets between kernels are not seen.
-- parameters:
--   length BIGINT = 3 [kernels]: Kernels in a run, 2 to 5.
--   min_count BIGINT = 10 [runs]: Fewest times that it must come.
-- columns:
--   sequence VARCHAR: Function names, with " > " between.
--   count BIGINT [runs]: How often it came.
--   total_ns BIGINT [ns]: Sum of the durations of its kernels.
--   gap_ns BIGINT [ns]: Sum of the times between them, in which the stream had nothing.
--   gap_pct DOUBLE [%]: gap_ns as a share of the sum of total_ns and gap_ns.
--   mean_kernel_ns DOUBLE [ns]: Mean duration of one kernel.
WITH numbered AS (
    SELECT name, row_number() OVER (ORDER BY name) AS id FROM (SELECT DISTINCT name FROM kernel)
),
-- Numbers are sorted and grouped faster than names.
ids AS (
    SELECT numbered.id, coalesce(any_value(short), numbered.name) AS short
    FROM numbered
    LEFT JOIN kernel_name ON kernel_name.mangled = numbered.name
    GROUP BY numbered.id, numbered.name
),
runs AS (
    SELECT id AS first,
           lead(id, 1) OVER stream AS second,
           CASE WHEN length > 2 THEN lead(id, 2) OVER stream END AS third,
           CASE WHEN length > 3 THEN lead(id, 3) OVER stream END AS fourth,
           CASE WHEN length > 4 THEN lead(id, 4) OVER stream END AS fifth,
           lead(id, length - 1) OVER stream AS last,
           sum(end_ns - start_ns) OVER run AS kernels_ns,
           sum(greatest(next_ns - end_ns, 0)) OVER between_them AS gaps_ns
    FROM (
        SELECT numbered.id, process_id, context_id, stream_id, start_ns, end_ns,
               lead(start_ns) OVER (
                   PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, end_ns
               ) AS next_ns
        FROM kernel
        JOIN numbered ON numbered.name = kernel.name
        WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    )
    WINDOW stream AS (PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, end_ns),
           run AS (PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, end_ns
                   ROWS BETWEEN CURRENT ROW AND (length - 1) FOLLOWING),
           between_them AS (PARTITION BY process_id, context_id, stream_id
                            ORDER BY start_ns, end_ns
                            ROWS BETWEEN CURRENT ROW AND (length - 2) FOLLOWING)
),
grouped AS (
    SELECT first, second, third, fourth, fifth, count(*) AS count,
           sum(kernels_ns)::BIGINT AS total_ns, sum(gaps_ns)::BIGINT AS gap_ns
    FROM runs
    WHERE last IS NOT NULL AND length BETWEEN 2 AND 5
    GROUP BY first, second, third, fourth, fifth
)
SELECT concat_ws(' > ', a.short, b.short, c.short, d.short, e.short) AS sequence, count, total_ns,
       gap_ns, 100.0 * gap_ns / nullif(total_ns + gap_ns, 0) AS gap_pct,
       total_ns / (count * length)::DOUBLE AS mean_kernel_ns
FROM grouped
JOIN ids AS a ON a.id = first
JOIN ids AS b ON b.id = second
LEFT JOIN ids AS c ON c.id = third
LEFT JOIN ids AS d ON d.id = fourth
LEFT JOIN ids AS e ON e.id = fifth
WHERE count >= min_count
ORDER BY gap_ns DESC, sequence

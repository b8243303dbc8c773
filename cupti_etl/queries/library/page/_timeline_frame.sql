-- Python functions as long as a thread launched work from them.
--
-- computed: Launches of a thread in the order of time, each with the frames of its Python stack
--   from the outermost on: frames of neighbours are one as long as they and all around them are of
--   the same functions, from the first launch's start to the last one's end.
-- limits: What a function does without launching is not seen: it may begin earlier and end later,
--   and two calls of it one after the other are one.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   depth INTEGER: Frames around it.
--   start_ns BIGINT [epoch ns]: When the first launch from it began.
--   end_ns BIGINT [epoch ns]: When the last one returned.
--   function VARCHAR: The function's qualified name.
--   file VARCHAR: Its file.
--   first_line INTEGER: Its first line.
--   launches BIGINT: How many launches were made from it.
WITH frames AS (
    SELECT process_id, stack_id, function, file, first_line,
           TRY_CAST((max(depth) OVER stack)::BIGINT - depth AS INTEGER) AS depth,
           -- Of itself and all around it, so that one comparison tells.
           string_agg(concat(file, chr(1), first_line, chr(1), function), chr(2)) OVER (
               stack ORDER BY depth DESC ROWS UNBOUNDED PRECEDING
           ) AS around
    FROM _python_frame
    WINDOW stack AS (PARTITION BY process_id, stack_id)
),
launches AS (
    SELECT process_id, thread_id, start_ns, end_ns, stack_id,
           row_number() OVER (PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns) AS nth
    FROM launch
    JOIN launch_stack USING (process_id, correlation_id)
    WHERE stack_id IS NOT NULL AND start_ns IS NOT NULL
),
-- Launches of one stack that follow each other: most of them do.
repeated AS (
    SELECT process_id, thread_id, stack_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           count(*) AS launches, min(nth) AS nth
    FROM (
        SELECT *, nth - row_number() OVER (
            PARTITION BY process_id, thread_id, stack_id ORDER BY nth
        ) AS island
        FROM launches
    )
    GROUP BY process_id, thread_id, stack_id, island
),
ordered AS (
    SELECT *, row_number() OVER (PARTITION BY process_id, thread_id ORDER BY nth) AS place
    FROM repeated
),
placed AS (
    SELECT ordered.process_id, thread_id, start_ns, end_ns, launches, place, depth, around,
           function, file, first_line,
           place - row_number() OVER (
               PARTITION BY ordered.process_id, thread_id, depth, around ORDER BY place
           ) AS island
    FROM ordered
    JOIN frames ON frames.process_id = ordered.process_id AND frames.stack_id = ordered.stack_id
)
SELECT process_id, thread_id, depth, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
       any_value(function) AS function, any_value(file) AS file,
       any_value(first_line) AS first_line, TRY_CAST(sum(launches) AS BIGINT) AS launches
FROM placed
GROUP BY process_id, thread_id, depth, around, island

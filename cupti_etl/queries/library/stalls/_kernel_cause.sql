-- What in the launch or the code of each sampled kernel can be why its warps wait.
--
-- computed: From kernel_waves and kernel_occupancy, of the launch shape with most time, whether it
--   has too few blocks, too few warps fit, or its last wave is not full; from _sampled_code what at
--   least the cause's share of the samples is at.
-- requires: pc_sample
-- opened: Plain DuckDB cannot disassemble: it knows causes in the launch alone.
-- columns:
--   demangled VARCHAR: Name with template and call arguments.
--   cause VARCHAR: blocks, warps, wave, or a kind of code of _sampled_code.
--   reasons VARCHAR[]: What it can make warps wait for, and selected: what it can keep schedulers
--     busy with.
--   rank DOUBLE: Of several causes that with the highest counts.
--   fact VARCHAR: What is known of it.
--   advice VARCHAR: What to try.
--   guide VARCHAR: Section of the Best Practices Guide that explains it.
WITH causes AS (
    FROM (
    VALUES
    ('blocks', 0, ['long_scoreboard', 'wait', 'short_scoreboard'], '',
     'give it more blocks, of 32 threads or more',
     'thread-and-block-heuristics'),
    ('warps', 0, ['long_scoreboard', 'wait'], '',
     'let more warps fit: use less shared memory a block, fewer registers (__launch_bounds__), or'
     ' other sizes of blocks',
     'occupancy'),
    ('wave', 0, ['selected'], '',
     'launch as many blocks as fit at once, or a multiple of them, each with as much of the work',
     'thread-and-block-heuristics'),
    ('local', 5, ['long_scoreboard', 'lg_throttle', 'selected'],
     'loads and stores of local memory',
     'keep it in registers: index arrays by constants, in loops that are unrolled, and look for'
     ' spilled registers (nvcc -Xptxas -v)',
     'local-memory'),
    ('atomic', 10,
     ['long_scoreboard', 'lg_throttle', 'drain', 'short_scoreboard', 'mio_throttle'],
     'atomic operations',
     'add within a warp (__shfl_xor_sync, __reduce_add_sync) or a block first, then once for all of'
     ' it',
     'memory-optimizations'),
    ('double', 5, ['short_scoreboard', 'mio_throttle', 'math_pipe_throttle', 'selected'],
     'instructions on doubles',
     'compute in floats: write constants as 0.1f, and call sinf, sqrtf and the like',
     'other-arithmetic-instructions'),
    ('constant', 5, ['short_scoreboard', 'mio_throttle', 'imc_miss'],
     'constants at a computed index',
     'copy the table to shared memory: threads of a warp that read different constants read them'
     ' one after the other',
     'constant-memory'),
    ('division', 1, ['math_pipe_throttle', 'selected'], 'divisions of integers',
     'divide by constants or by shifts, or compute the reciprocal once',
     'division-modulo-operations'),
    ('shared', 10, ['short_scoreboard', 'mio_throttle'], 'loads and stores of shared memory',
     'look for bank conflicts (columns of float a[32][32] are in one bank, of a[32][33] in 32), and'
     ' use wider accesses (float4)',
     'shared-memory-and-memory-banks'),
    ('special', 10, ['short_scoreboard', 'mio_throttle', 'selected'], 'special functions',
     'call fewer or cheaper functions (__sinf, __expf, rsqrtf; nvcc -use_fast_math)',
     'math-libraries')
    ) AS listed(cause, least_pct, reasons, what, advice, guide)
),
launches AS (
    SELECT waves.demangled,
           arg_max({'waves': waves, 'blocks': waves.blocks, 'occupancy_pct': occupancy_pct,
                    'limiter': limiter}, waves.total_ns) AS launch
    FROM kernel_waves AS waves
    JOIN kernel_occupancy AS occupancy USING (demangled, grid, block, process_id, device_id)
    WHERE EXISTS (FROM pc_sample)
    GROUP BY waves.demangled
),
facts AS (
    SELECT demangled, 'blocks' AS cause, 1000.0 AS rank,
           format('its {} {:.2g} % of the device',
                  CASE WHEN launch.blocks = 1 THEN 'only block fills'
                       ELSE format('{:,} blocks fill', launch.blocks) END,
                  100 * launch.waves) AS fact
    FROM launches
    WHERE launch.waves < 0.9
    UNION ALL
    SELECT demangled, 'warps', 0.0,
           format('{:.0f} % of the warps of a multiprocessor fit, limited by {}',
                  launch.occupancy_pct, launch.limiter)
    FROM launches
    WHERE launch.occupancy_pct <= 25
    UNION ALL
    SELECT demangled, 'wave', 500.0,
           format('the last wave of its {:,} blocks fills {:.2g} % of the device', launch.blocks,
                  100 * (launch.waves - floor(launch.waves)))
    FROM launches
    WHERE launch.waves BETWEEN 1 AND 3 AND launch.waves / ceil(launch.waves) < 0.9
    UNION ALL
    SELECT demangled, code, percent, format('{:.0f} % of its samples are at {}', percent, what)
    FROM _sampled_code
    JOIN causes ON cause = code AND percent >= least_pct
    JOIN (SELECT DISTINCT function, demangled FROM _pc_stall) USING (function)
)
SELECT demangled, cause, reasons, rank, fact, advice, guide
FROM facts
JOIN causes USING (cause)

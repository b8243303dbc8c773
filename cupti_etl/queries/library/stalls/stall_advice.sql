-- What the reasons of stalls suggest for the kernels that take the time.
--
-- computed: Rules on rows of kernel_stall: of a kernel with at least 1 % of the kernels' time and
--   100 samples, a reason that has at least the rule's share of its samples, and of which at least
--   a tenth kept a scheduler idle. saved_ns is the share of the kernel's samples with that reason
--   that kept it idle, of the kernel's time. Where less than a fifth of a kernel's
--   samples kept a scheduler idle, the reason is selected: it executes too much. Of causes in its
--   launch or code (_kernel_cause), the one that counts most is taken.
-- requires: pc_sample
-- none: no rule applies.
-- opened: Plain DuckDB cannot disassemble: it knows causes in the launch alone.
-- limits: Rules are hints: source_line shows where the warps wait. Without nvdisasm nothing is
--   known of the code.
-- front: What should I change in my kernels?
-- first: saved_ns, name, reason, percent, advice, cause
-- label: name = kernel(demangled)
-- chart: bars(name, saved_ns)
-- columns:
--   name VARCHAR: Function name alone.
--   reason VARCHAR: What its warps wait for.
--   percent DOUBLE [%]: Samples with that reason as a share of the kernel's samples.
--   not_issued_pct DOUBLE [%]: Those of them that kept a scheduler idle, likewise.
--   saved_ns BIGINT [ns]: What is saved if no warp waits for that, and all else is as before; NULL
--     of the reason selected.
--   meaning VARCHAR: What the reason says.
--   cause VARCHAR: What in the kernel's launch or code can be why; NULL if nothing is known.
--   advice VARCHAR: What to try.
--   guide VARCHAR: The page of NVIDIA's guides that explains it.
--   demangled VARCHAR: Name with template and call arguments.
WITH rules AS (
    FROM (
    VALUES
    ('long_scoreboard', 30, 'warps wait for data from global or local memory',
     'read neighbouring addresses with neighbouring threads, keep data in shared memory or'
     ' registers, load earlier, or run more warps; if the memory is busy (kernel_metrics says so,'
     ' of a capture with PM samples), move less', 'best#memory-optimizations'),
    ('lg_throttle', 10, 'the queue of instructions to global and local memory is full',
     'use fewer and wider loads (float4), and look for spilled registers',
     'best#coalesced-access-to-global-memory'),
    ('short_scoreboard', 15, 'warps wait for shared memory or special functions',
     'look for bank conflicts, and at calls of sin, exp, rsqrt and the like',
     'best#shared-memory-and-memory-banks'),
    ('mio_throttle', 15, 'the queue to shared memory and special functions is full',
     'use wider accesses of shared memory, and fewer special functions',
     'best#shared-memory-and-memory-banks'),
    ('barrier', 15, 'warps wait for others at __syncthreads',
     'give the warps of a block alike work, or take smaller blocks',
     'best#thread-and-block-heuristics'),
    ('membar', 10, 'warps wait for a memory fence',
     'take fewer fences, or of a smaller scope (__threadfence_block)', 'best#memory-optimizations'),
    ('math_pipe_throttle', 30, 'a pipe of the multiprocessor is busy all the time',
     'use tensor cores, another data type or fewer instructions',
     'best#instruction-optimization'),
    ('wait', 30, 'warps wait a fixed time for the result of an instruction',
     'let each thread do several independent things, or run more warps',
     'best#hiding-register-dependencies'),
    ('no_instruction', 15, 'warps wait for the next instructions to be fetched',
     'make hot loops shorter (less unrolling), and look for jumps over much code',
     'ncu'),
    ('no_instructions', 15, 'warps wait for the next instructions to be fetched',
     'make hot loops shorter (less unrolling), and look for jumps over much code',
     'ncu'),
    ('branch_resolving', 15, 'warps wait for the target of a jump',
     'use fewer branches in hot loops', 'best#branching-and-divergence'),
    ('imc_miss', 10, 'warps wait for constants',
     'read constants with the same address in all threads, or as arguments',
     'best#constant-memory'),
    ('drain', 15, 'warps wait at their end for what they write',
     'write neighbouring addresses with neighbouring threads',
     'best#coalesced-access-to-global-memory'),
    ('tex_throttle', 10, 'the queue of texture instructions is full',
     'use fewer texture fetches, or plain loads', 'best#texture-memory'),
    ('selected', 0, 'schedulers seldom wait: an instruction is issued in most cycles',
     'execute fewer instructions: cheaper functions, wider types; where threads of a warp part,'
     ' all ways are executed (active_threads says where, of a capture with SASS metrics)',
     'best#instruction-optimization'),
    ('sleeping', 15, 'warps sleep, by __nanosleep', 'sleep for a shorter time',
     'ncu')
    ) AS rule(reason, least_pct, meaning, advice, guide)
),
guides AS (
    FROM (
    VALUES
    ('best', 'https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html'),
    ('ncu', 'https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html')
    ) AS page(short, url)
),
stalls AS (
    SELECT *, sum(not_issued_pct) OVER (PARTITION BY demangled) AS idle_pct
    FROM kernel_stall
    WHERE kernel_pct >= 1 AND kernel_samples >= 100
),
causes AS (
    SELECT demangled, reason,
           arg_max({'fact': fact, 'advice': advice, 'guide': 'best#' || guide}, (rank, cause))
               AS most
    FROM (SELECT demangled, cause, rank, fact, advice, guide, unnest(reasons) AS reason
          FROM _kernel_cause)
    GROUP BY demangled, reason
),
advised AS (
    SELECT stalls.*, meaning, most.fact AS cause, coalesce(most.advice, advice) AS advice,
           coalesce(most.guide, guide) AS guide
    FROM stalls
    JOIN rules ON rules.reason = stalls.reason AND percent >= least_pct
    LEFT JOIN causes
        ON causes.demangled = stalls.demangled AND causes.reason = stalls.reason
    WHERE CASE WHEN stalls.reason = 'selected' THEN idle_pct < 20
               ELSE 10 * not_issued_pct >= percent END
)
SELECT name, reason, percent, not_issued_pct,
       CASE WHEN reason <> 'selected'
            THEN TRY_CAST(total_ns * not_issued_pct / 100 AS BIGINT) END AS saved_ns,
       meaning, cause, advice,
       concat_ws('#', url, nullif(split_part(guide, '#', 2), '')) AS guide, demangled
FROM advised
JOIN guides ON short = split_part(guide, '#', 1)
ORDER BY saved_ns DESC, demangled, reason

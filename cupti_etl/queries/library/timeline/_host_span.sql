-- What threads did in CUDA: every call, and every overhead of profiler or driver, with its class.
--
-- computed: A call's class follows from its name. Waiting are calls that synchronize, and those
--   that return when a copy from or to the host is done, as copies do that are not called
--   asynchronous (NVIDIA's driver API reference, "API synchronization behavior"; HIP's
--   hipMemcpyWithStream is one, too). Memory are those that allocate, pin, free, copy or set.
--   Overhead of the driver that compiles or loads code is loading, and so is that of libraries that
--   the program opens, as nsys has it. So is overhead of a kind that nsys has no name for, within a
--   call that launches or loads. command_buffer_full, in which the device's queue has no
--   space, is waiting, and the rest, which is the profiler's, profiler. A launch that loaded its
--   kernel (_first_launch) is here once more, as loading. Loading are also calls that get the
--   function of a kernel, where they take as long: with CUDA_MODULE_LOADING=LAZY they load it
--   (CUDA C++ Programming Guide, "Lazy Loading"), and captures of graphs (_graph_capture), which
--   are made once, too, and whatever is launched in them waits for nothing and runs later.
-- columns:
--   source VARCHAR: api_call, overhead, first_launch or graph_capture.
--   class INTEGER: 0 profiler, 1 loading, 2 waiting, 3 memory, 4 launching, 5 other.
--   name VARCHAR: Function, kind of overhead, mangled name of the kernel, or graph capture.
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   correlation_id BIGINT: Number of the call; NULL of others.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it had not.
SELECT 'api_call' AS source,
       -- First what most calls are.
       CASE WHEN contains(name, 'Launch') THEN 4
            WHEN contains(name, 'Synchronize') THEN 2
            WHEN contains(name, 'Memcpy') AND regexp_matches(name, '^(cu|cuda|hip)Memcpy')
                 AND NOT regexp_matches(name, 'Async|Peer|[AD]to[AD]|ArrayToArray|Attributes')
            THEN 2
            -- Some ask how much memory of a block is free.
            WHEN (contains(name, 'Mem') OR contains(name, 'Malloc') OR contains(name, 'Free')
                  OR contains(name, 'HostAlloc') OR contains(name, 'HostRegister')
                  OR contains(name, 'HostUnregister')) AND NOT contains(name, 'Occupancy') THEN 3
            WHEN contains(name, 'ModuleLoad') OR contains(name, 'LibraryLoad')
                 OR contains(name, 'cuLink')
                 OR (contains(name, 'GetFunc') AND end_ns - start_ns > 100000) THEN 1
            ELSE 5 END AS class,
       name, process_id, thread_id, correlation_id, start_ns, end_ns
FROM api_call
UNION ALL
SELECT 'overhead', CASE WHEN around.end_ns >= within.end_ns THEN 1 ELSE 0 END, overhead_kind,
       within.process_id, within.thread_id, NULL, within.start_ns, within.end_ns
FROM (FROM overhead WHERE overhead_kind = 'unknown') AS within
ASOF LEFT JOIN (
    SELECT process_id, thread_id, start_ns, end_ns
    FROM api_call
    SEMI JOIN (FROM overhead WHERE overhead_kind = 'unknown') AS unnamed
        USING (process_id, thread_id)
    WHERE regexp_matches(name, 'Launch|Load|GetFunc|cuLink')
) AS around
    ON around.process_id = within.process_id AND around.thread_id = within.thread_id
    AND around.start_ns <= within.start_ns
UNION ALL
SELECT 'overhead',
       CASE WHEN overhead_kind IN ('driver_compiler', 'module_loading', 'lazy_function_loading',
                                   'library_loading')
            THEN 1
            WHEN overhead_kind = 'command_buffer_full' THEN 2
            ELSE 0 END,
       overhead_kind, process_id, thread_id, NULL, start_ns, end_ns
FROM overhead
WHERE overhead_kind IS DISTINCT FROM 'unknown'
UNION ALL
SELECT 'first_launch', 1, name, process_id, thread_id, NULL, start_ns, end_ns
FROM _first_launch
UNION ALL
SELECT 'graph_capture', 1, 'graph capture', process_id, thread_id, NULL, start_ns, end_ns
FROM _graph_capture

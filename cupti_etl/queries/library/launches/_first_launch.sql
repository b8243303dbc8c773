-- Launches that were the first of their kernel and took so long that they loaded its code.
--
-- computed: The driver loads the code of a kernel when it is launched for the first time
--   (CUDA_MODULE_LOADING=LAZY, the default from CUDA 12.2 on), within the call that launches it.
--   Records of overhead, where there are any, tell of a part of that. Taken for it is the launch of
--   the execution that began first, of a kernel on a device of a process, where it took more than
--   100 us: others take 5 to 50.
-- requires:
--   _long_launch: no launch took as long as to load code.
-- materialized: Few rows, of all kernels.
-- limits: Of a kernel that had run before the recording began, a launch that took as long for
--   another reason is taken for its first.
-- scope: host start_ns
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins the two.
--   thread_id INTEGER: Thread that called.
--   name VARCHAR: Mangled name of the kernel.
--   start_ns BIGINT [epoch ns]: When the call was entered.
--   end_ns BIGINT [epoch ns]: When it returned.
WITH launched AS (
    SELECT long.*, device_id, name, kernel.start_ns AS ran_ns
    FROM kernel
    JOIN _long_launch AS long USING (process_id, correlation_id)
),
first AS (
    SELECT process_id, device_id, name, min(start_ns) AS ran_ns
    FROM kernel
    WHERE name IN (SELECT name FROM launched)
    GROUP BY process_id, device_id, name
)
SELECT launched.process_id, correlation_id, thread_id, launched.name, start_ns, end_ns
FROM launched
JOIN first USING (process_id, device_id, name, ran_ns)

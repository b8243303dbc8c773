-- Of each window of a process: the kernels of each GPU that were launched in it, by number.
--
-- computed: The driver numbers launches of kernels and memsets (grid_id), recorded or not, so that
--   the numbers of two windows say how much was launched between them. Kernels of CUDA graphs keep
--   the number they got when the graph was made, and are left out. A kernel belongs to the last
--   window that was being switched on, or open, before it began.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: Its GPU.
--   number BIGINT: Of the window, as in _window.
--   kernels BIGINT [executions]: Rows of kernel.
--   first_launch BIGINT: The smallest number of a launch.
--   last_launch BIGINT: The largest.
--   first_ns BIGINT [epoch ns]: When the first of the kernels began.
--   last_ns BIGINT [epoch ns]: When the last of them began.
WITH launched AS (
    SELECT process_id, device_id, grid_id, start_ns
    FROM kernel
    WHERE graph_node_id IS NULL AND grid_id IS NOT NULL AND start_ns IS NOT NULL
)
SELECT launched.process_id, device_id, number, count(*) AS kernels,
       min(grid_id) AS first_launch, max(grid_id) AS last_launch,
       min(launched.start_ns) AS first_ns, max(launched.start_ns) AS last_ns
FROM launched
ASOF JOIN _window AS seen
    ON seen.process_id = launched.process_id AND seen.begin_ns <= launched.start_ns
GROUP BY launched.process_id, device_id, number

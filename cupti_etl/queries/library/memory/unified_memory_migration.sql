-- Managed memory that moved between host and devices: how much, why, and what moved back.
--
-- computed: Rows of unified_memory by counter, cause and devices. Times are sums of durations of
--   moves. round_trips is how many moves brought back a page that the last move of that page had
--   brought; pages of 4 KiB, or larger ones where more than 32 GiB moved.
-- requires: unified_memory
-- limits: blocks counts a move for the block in which it begins alone. The driver moves more than
--   was touched: that is cause prefetch, as calls that prefetch are.
-- front: How much managed memory moved, and why?
-- first: counter, cause, bytes, total_ns, rate_gbps, events, page_faults, round_trips
-- chart: bars(counter, bytes, by cause)
-- alias: um_sum, um_total_sum, um_cpu_page_faults_sum
-- columns:
--   process_id BIGINT: The process.
--   counter VARCHAR: What happened, such as bytes_transfer_HtoD or gpu_page_fault.
--   cause VARCHAR: Why it moved or was mapped, or how it was accessed; NULL if there is none.
--   src_device_id INTEGER: Device it came from, or that faulted; NULL for the host.
--   dst_device_id INTEGER: Device it went to; NULL for the host.
--   events BIGINT [events]: How many.
--   bytes BIGINT [bytes]: Bytes moved or mapped.
--   page_faults BIGINT [faults]: Groups of page faults; NULL if none were recorded.
--   total_ns BIGINT [ns]: Sum of the durations.
--   rate_gbps DOUBLE [gigabytes/s]: Bytes over the time of moves whose size is known, in 10^9 bytes
--     a second.
--   blocks BIGINT [blocks]: Different blocks of 64 KiB.
--   round_trips BIGINT [moves]: Moves that brought back what the last move had brought.
WITH moves AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY start_ns, end_ns, address) AS move, process_id, counter,
           coalesce(migration_cause, remote_map_cause, access_type) AS cause, src_device_id,
           dst_device_id, address, bytes, page_faults, end_ns - start_ns AS ns,
           address >> 16 AS block, starts_with(counter, 'bytes_transfer') AS is_move,
           -- None is so long: what says so is damaged.
           least(greatest(bytes, 1), 4294967296) AS length
    FROM unified_memory
),
-- So large that there are some ten million at most.
sizes AS (
    SELECT greatest(12, ceil(log2(sum(length))) - 23)::INTEGER AS bits FROM moves WHERE is_move
),
pages AS (
    SELECT move, process_id, counter, src_device_id, dst_device_id,
           unnest(range(address >> bits, (address + length - 1 >> bits) + 1)) AS page
    FROM moves, sizes
    WHERE is_move AND address < 9223372032559808512
),
backs AS (
    SELECT move, bool_or(is_back) AS is_back
    FROM (
        SELECT move,
               CASE counter
                   WHEN 'bytes_transfer_HtoD' THEN lag(counter) OVER page = 'bytes_transfer_DtoH'
                       AND lag(src_device_id) OVER page IS NOT DISTINCT FROM dst_device_id
                   WHEN 'bytes_transfer_DtoH' THEN lag(counter) OVER page = 'bytes_transfer_HtoD'
                       AND lag(dst_device_id) OVER page IS NOT DISTINCT FROM src_device_id
                   WHEN 'bytes_transfer_DtoD' THEN lag(counter) OVER page = counter
                       AND lag(src_device_id) OVER page = dst_device_id
                       AND lag(dst_device_id) OVER page = src_device_id
               END AS is_back
        FROM pages
        WINDOW page AS (PARTITION BY process_id, page ORDER BY move)
    )
    GROUP BY move
)
SELECT process_id, counter, cause, src_device_id, dst_device_id, count(*) AS events,
       TRY_CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes,
       TRY_CAST(sum(page_faults) AS BIGINT) AS page_faults,
       TRY_CAST(coalesce(sum(ns), 0) AS BIGINT) AS total_ns,
       (sum(bytes) FILTER (WHERE ns IS NOT NULL)
           / nullif(sum(ns) FILTER (WHERE bytes IS NOT NULL), 0))::DOUBLE AS rate_gbps,
       count(DISTINCT block) AS blocks, count(*) FILTER (WHERE is_back) AS round_trips
FROM moves
LEFT JOIN backs ON backs.move = moves.move
GROUP BY process_id, counter, cause, src_device_id, dst_device_id
ORDER BY bytes DESC, events DESC, process_id, counter, cause, src_device_id, dst_device_id

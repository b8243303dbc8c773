-- Managed memory that moved between host and devices: how much, why, and what moved back.
--
-- computed: Rows of unified_memory by counter, cause and devices. Times are sums of durations of
--   moves. round_trips is, over the blocks of 64 KiB in which moves begin, how often a block that
--   had moved from one device or the host to another was moved back by the next move.
-- needs: unified_memory
-- requires:
--   unified_memory: no managed memory was recorded (capture with the kind unified_memory).
-- limits: A move is counted for the block in which it begins alone.
-- front: How much managed memory moved, and why?
-- first: counter, cause, bytes, total_ns, rate_gbps, events, page_faults, round_trips
-- chart: bars(counter, bytes, by cause)
-- example: cupti-etl query unified_memory_migration TRACE
-- alias: um_sum, um_total_sum, um_cpu_page_faults_sum
-- columns:
--   process_id BIGINT: The process.
--   counter VARCHAR: What happened, such as bytes_transfer_HtoD or gpu_page_fault.
--   cause VARCHAR: Why it moved or was mapped, or how it was accessed; NULL if there is none.
--   src_device_id INTEGER: Device it came from, or that faulted; NULL for the host.
--   dst_device_id INTEGER: Device it went to; NULL for the host.
--   events BIGINT [events]: How many.
--   bytes BIGINT [bytes]: Bytes moved or mapped.
--   page_faults BIGINT [faults]: Groups of page faults.
--   total_ns BIGINT [ns]: Sum of the durations.
--   rate_gbps DOUBLE [gigabytes/s]: Bytes over the time of moves whose size is known, in 10^9 bytes
--     a second.
--   blocks BIGINT [blocks]: Different blocks of 64 KiB.
--   round_trips BIGINT [moves]: Moves back of a block that the last move had brought.
WITH moves AS (
    SELECT process_id, counter, coalesce(migration_cause, remote_map_cause, access_type) AS cause,
           src_device_id, dst_device_id, bytes, page_faults, end_ns - start_ns AS ns,
           address >> 16 AS block,
           CASE counter
               WHEN 'bytes_transfer_HtoD' THEN lag(counter) OVER block = 'bytes_transfer_DtoH'
                   AND lag(src_device_id) OVER block IS NOT DISTINCT FROM dst_device_id
               WHEN 'bytes_transfer_DtoH' THEN lag(counter) OVER block = 'bytes_transfer_HtoD'
                   AND lag(dst_device_id) OVER block IS NOT DISTINCT FROM src_device_id
               WHEN 'bytes_transfer_DtoD' THEN lag(counter) OVER block = counter
                   AND lag(src_device_id) OVER block = dst_device_id
                   AND lag(dst_device_id) OVER block = src_device_id
           END AS is_back
    FROM unified_memory
    WINDOW block AS (
        PARTITION BY process_id, address >> 16, starts_with(counter, 'bytes_transfer')
        ORDER BY start_ns
    )
)
SELECT process_id, counter, cause, src_device_id, dst_device_id, count(*) AS events,
       TRY_CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes,
       TRY_CAST(coalesce(sum(page_faults), 0) AS BIGINT) AS page_faults,
       TRY_CAST(coalesce(sum(ns), 0) AS BIGINT) AS total_ns,
       (sum(bytes) FILTER (WHERE ns IS NOT NULL)
           / nullif(sum(ns) FILTER (WHERE bytes IS NOT NULL), 0))::DOUBLE AS rate_gbps,
       count(DISTINCT block) AS blocks, count(*) FILTER (WHERE is_back) AS round_trips
FROM moves
GROUP BY process_id, counter, cause, src_device_id, dst_device_id
ORDER BY bytes DESC, events DESC, process_id, counter, cause, src_device_id, dst_device_id

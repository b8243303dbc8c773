-- Collective operations by kind, size and algorithm: how long, how fast, how much was exposed.
--
-- computed: Of one operation the ranks' shortest duration counts, as the others also waited; which
--   is which on the ranks is told by _collective_match. Algorithm bandwidth is bytes over duration,
--   each rank's own, of the fastest: some send more than others. Bus bandwidth is that times
--   2(n-1)/n for AllReduce, (n-1)/n for AllGather, ReduceScatter and AllToAll, 1 for others, with n
--   ranks: those of the group, where it is known, else the world size, or the ranks in the trace.
--   The link's peak is that of the slowest GPU, if all of the operation are on one host
--   (_link_peak).
-- requires: _collective
-- materialized: Few rows, of all operations of all ranks.
-- limits: Bandwidths are NULL where sizes are not known. An operation counts as matched if two
--   ranks have it, or one if no other of the trace has any like it.
-- front: How fast is communication between GPUs, and how much of it is exposed?
-- first: collective, bytes, operations, median_ns, bus_gbps, link_pct, exposed_pct, waiting_ns,
--   unmatched, reason
-- chart: bars(collective, total_ns)
-- alias: nccl_gpu_time_util_map, get_comm_comp_overlap
-- gathered: _collective, _collective_exposed, _nccl_kernel
-- columns:
--   collective, bytes, element_type, algorithm, protocol of _collective_match
--   ranks BIGINT [ranks]: Ranks that took part, or that are assumed.
--   operations BIGINT [operations]: Operations, each counted once for all ranks.
--   unmatched BIGINT [operations]: Those of single ranks besides, which are part of total_ns and
--     exposed_ns alone.
--   reason VARCHAR: Why these were not matched, or one of the reasons; NULL if all were.
--   median_ns DOUBLE [ns]: Median of the shortest durations.
--   total_ns BIGINT [ns]: Sum of the durations over operations and ranks.
--   exposed_ns BIGINT [ns]: Of this, without compute beside it.
--   exposed_pct DOUBLE [%]: exposed_ns as a share of total_ns.
--   waiting_ns BIGINT [ns]: Of total_ns, what lies above the shortest duration of an operation.
--   algorithm_gbps DOUBLE [gigabytes/s]: Median algorithm bandwidth, in 10^9 bytes a second.
--   bus_gbps DOUBLE [gigabytes/s]: Median bus bandwidth, in 10^9 bytes a second.
--   link VARCHAR: NVLink or PCIe; NULL between hosts, and if it is not known.
--   link_gbps DOUBLE [gigabytes/s]: What it can carry in one direction; likewise.
--   link_pct DOUBLE [%]: bus_gbps as a share of link_gbps; NVLS can go beyond 100.
WITH world AS (
    SELECT greatest(coalesce(max(world_size), 0),
                    (SELECT count(DISTINCT (process_id, gpu)) FROM _collective_match)) AS n
    FROM process
),
members AS (
    SELECT match.*, exposed_ns, host, links.link, peak_gbps,
           coalesce(bytes, max(bytes) OVER (PARTITION BY operation)) AS own_bytes
    FROM _collective_match AS match
    JOIN _collective_exposed AS exposed
        ON exposed.process_id = match.process_id AND exposed.gpu IS NOT DISTINCT FROM match.gpu
        AND exposed.kind = match.kind AND exposed.number = match.number
    LEFT JOIN (SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id) AS hosts
        ON hosts.process_id = match.process_id
    LEFT JOIN (SELECT DISTINCT process_id, gpu, device_id FROM gpu) AS devices
        ON devices.process_id = match.process_id AND devices.gpu = match.gpu
    LEFT JOIN _link_peak AS links
        ON links.process_id = match.process_id AND links.device_id = devices.device_id
),
operations AS (
    SELECT collective, max(bytes) AS bytes, max(element_type) AS element_type,
           max(algorithm) AS algorithm, max(protocol) AS protocol,
           coalesce(max(group_size), any_value(n)) AS n, any_value(reason) AS reason,
           CASE WHEN any_value(reason) IS NULL THEN min(end_ns - start_ns) END AS shortest_ns,
           CASE WHEN any_value(reason) IS NULL THEN max(own_bytes / nullif(end_ns - start_ns, 0))
                END AS gbps,
           sum(end_ns - start_ns) AS total_ns, sum(exposed_ns) AS exposed_ns, count(*) AS members,
           -- Ranks of which the trace knows nothing may be on other hosts.
           CASE WHEN count(DISTINCT host) = 1 AND count(peak_gbps) = count(*)
                    AND count(*) > 1 AND count(*) >= coalesce(max(group_size), any_value(n))
                THEN {'name': arg_min(link, peak_gbps), 'gbps': min(peak_gbps)} END AS link
    FROM members, world
    GROUP BY collective, operation
)
SELECT collective, bytes, element_type, algorithm, protocol, TRY_CAST(n AS BIGINT) AS ranks,
       count(*) FILTER (WHERE reason IS NULL) AS operations, count(reason) AS unmatched,
       max(reason) AS reason,
       median(shortest_ns) AS median_ns, TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(exposed_ns) AS BIGINT) AS exposed_ns,
       100.0 * sum(exposed_ns) / nullif(sum(total_ns), 0) AS exposed_pct,
       TRY_CAST(sum(total_ns - members * shortest_ns) AS BIGINT) AS waiting_ns,
       median(operations.gbps) AS algorithm_gbps,
       median(operations.gbps
              * CASE WHEN collective = 'AllReduce' THEN 2.0 * (n - 1) / nullif(n, 0)
                     WHEN collective IN ('AllGather', 'ReduceScatter', 'AllToAll')
                     THEN (n - 1.0) / nullif(n, 0) ELSE 1 END) AS bus_gbps,
       any_value(link.name) AS link, min(link.gbps) AS link_gbps,
       100 * bus_gbps / min(link.gbps) AS link_pct
FROM operations
GROUP BY collective, bytes, element_type, algorithm, protocol, n
ORDER BY total_ns DESC, collective, bytes, element_type, algorithm, protocol, n

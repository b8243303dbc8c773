-- Collective operations: communication kernels, with rank and size.
--
-- computed: Finished kernels whose category is communication, numbered by kind, kernel name and
--   group in the order of their starts on each GPU. What was sent is what NCCL says itself
--   (_nccl_operation), else taken from the arguments of the kernel or of its operator
--   (_collective_argument), else from those of the innermost range around its call that has some,
--   else from the integer payload of an NVTX range with nccl in its name. The kind is that of the
--   arguments, or NCCL's, or of the range around its call that PyTorch calls nccl:... or c10d::...,
--   or else from the kernel's name; where NCCL only says that it sends and receives, the range is
--   asked first. Of what is sent and received, bytes is the larger; NCCL gives that of one rank for
--   AllGather and ReduceScatter, which is multiplied by group_size.
-- requires:
--   _communication_kernel: no communication kernels were recorded.
-- materialized: Made once for an opened trace, as every query about ranks reads it.
-- limits: Without arguments or payloads sizes are not known, nor is the kind where kernels of all
--   kinds have one name (RCCL's Generic). One kernel may stand for several fused operations. The
--   name of NCCL's kernels ends in LL whatever the protocol, as each can execute all three, and
--   says RING of every algorithm but TREE (best_kernel in its src/device/generate.py): neither is
--   read from there.
-- scope: start_ns
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank; NULL if it has none.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, Gather, Scatter,
--     AllToAll, SendRecv, Barrier or other.
--   name VARCHAR: Mangled name.
--   number BIGINT: Number among those of its kind, name, group, rank and GPU, from 0.
--   start_ns, end_ns of gpu_interval
--   bytes BIGINT [bytes]: Size of the message; NULL if not known.
--   elements BIGINT [elements]: The same in elements; NULL if not known.
--   element_type VARCHAR: Type of an element, such as BFloat16; NULL if not known.
--   group_size BIGINT [ranks]: Ranks that take part; NULL if not known.
--   process_group VARCHAR: Name of their group; NULL if not known.
--   sequence BIGINT: Number that PyTorch gave it in its group, the same on every rank; NULL if not
--     known.
--   communicator BIGINT: NCCL's id of the group, the same on every rank; NULL if NCCL did not tell.
--   nccl_sequence BIGINT: Number that NCCL gave it among those of its function and communicator,
--     the same on every rank; NULL of sends and receives, and if NCCL did not tell.
--   algorithm VARCHAR: RING, TREE, NVLS and so on; NULL if NCCL did not tell.
--   protocol VARCHAR: LL, LL128 or SIMPLE; likewise.
--   call_start_ns BIGINT [epoch ns]: When the program called NCCL; NULL if NCCL did not tell.
--   kind UBIGINT: The same for operations of one collective, kernel and group.
--   ends_together BOOLEAN: Whether no rank can end it before the last has begun it.
--   is_of_one_size BOOLEAN: Whether all ranks have the same bytes, and not each its own.
WITH ranks AS (
    SELECT process_id, any_value(rank) AS rank, any_value(world_size) AS world_size
    FROM process
    GROUP BY process_id
),
said AS (
    SELECT process_id, marker_id, arguments::JSON AS said
    FROM _collective_said
    WHERE marker_id IS NOT NULL AND json_valid(arguments)
),
-- An integer payload of PyTorch's is the number of an operator.
named AS (
    SELECT process_id, marker_id, thread_id, start_ns, end_ns
    FROM _range_span
    WHERE contains(lower(name), 'nccl')
        AND coalesce(domain, '') NOT IN ('cpu_op', 'user_annotation', 'python_function', 'Operator',
                                         'operator')
        AND NOT coalesce(starts_with(domain, 'pytorch.'), false)
),
payloads AS (
    SELECT process_id, marker_id, first(marker_data) AS data
    FROM marker_data
    SEMI JOIN named USING (process_id, marker_id)
    GROUP BY process_id, marker_id
),
ranges AS (
    SELECT process_id, thread_id, start_ns, end_ns, said, NULL::BIGINT AS payload
    FROM _range_span
    JOIN said USING (process_id, marker_id)
    UNION ALL
    SELECT process_id, thread_id, start_ns, end_ns, NULL, data.payload
    FROM named
    JOIN payloads USING (process_id, marker_id)
    ANTI JOIN said USING (process_id, marker_id)
    WHERE data.payload_kind IN ('int64', 'uint64') AND data.payload > 0
),
-- To all or from all, PyTorch sends and receives, as the kernel's name and NCCL say.
titles AS (
    SELECT process_id, thread_id, start_ns, end_ns,
           replace(lower(regexp_extract(name, '^(?:nccl:|c10d::)(\w*)', 1)), '_', '') AS title
    FROM _range_span
    WHERE starts_with(name, 'nccl:') OR starts_with(name, 'c10d::')
),
-- Of processes that have such ranges: many have none.
calls AS (
    SELECT process_id, correlation_id, any_value(thread_id) AS thread_id,
           min(api_start_ns) AS at_ns
    FROM launch_to_gpu
    SEMI JOIN (SELECT process_id FROM ranges UNION ALL SELECT process_id FROM titles)
        USING (process_id)
    WHERE category = 'communication'
    GROUP BY process_id, correlation_id
),
known AS (
    SELECT process_id, correlation_id,
           CASE WHEN json_valid(arguments) THEN arguments::JSON END AS said,
           NULL::BIGINT AS payload
    FROM _collective_argument
    UNION ALL
    SELECT calls.process_id, calls.correlation_id, ranges.said, ranges.payload
    FROM (FROM calls ANTI JOIN _collective_argument USING (process_id, correlation_id)) AS calls
    ASOF JOIN ranges
        ON ranges.process_id = calls.process_id
        AND ranges.thread_id = calls.thread_id
        AND ranges.start_ns <= calls.at_ns
    WHERE ranges.end_ns > calls.at_ns
),
titled AS (
    SELECT calls.process_id, calls.correlation_id, titles.title
    FROM calls
    ASOF JOIN titles
        ON titles.process_id = calls.process_id
        AND titles.thread_id = calls.thread_id
        AND titles.start_ns <= calls.at_ns
    WHERE titles.end_ns > calls.at_ns
),
sizes AS (
    SELECT process_id, correlation_id,
           replace(lower(said->>'Collective name'), '_', '') AS operation,
           CASE WHEN elements >= 0 THEN elements END AS elements, said->>'dtype' AS element_type,
           coalesce(try_cast(said->>'Message size [bytes]' AS BIGINT), payload) AS rank_bytes,
           CASE WHEN ranks > 0 THEN ranks END AS group_size,
           coalesce(said->>'Process Group Name', said->>'Process Group ID') AS process_group,
           try_cast(said->>'Seq' AS BIGINT) AS sequence
    FROM (SELECT *, greatest(try_cast(said->>'In msg nelems' AS BIGINT),
                             try_cast(said->>'Out msg nelems' AS BIGINT)) AS elements,
                 try_cast(said->>'Group size' AS BIGINT) AS ranks
          FROM known)
),
work AS (
    SELECT act.process_id, act.gpu, act.name, act.start_ns, act.end_ns, lower(act.name) AS text,
           coalesce(sizes.operation, CASE WHEN nccl."function" = 'SendRecv' THEN title END,
                    lower(nccl."function"), title) AS operation, elements,
           coalesce(sizes.element_type, nccl.element_type) AS element_type, rank_bytes,
           coalesce(group_size, nccl.ranks) AS group_size, process_group, sizes.sequence,
           nccl.bytes AS nccl_bytes, nccl.communicator, nccl.sequence AS nccl_sequence,
           nccl.algorithm, nccl.protocol, nccl.call_start_ns
    FROM gpu_interval AS act
    LEFT JOIN _nccl_operation AS nccl USING (process_id, correlation_id)
    LEFT JOIN sizes USING (process_id, correlation_id)
    LEFT JOIN titled USING (process_id, correlation_id)
    WHERE act.category = 'communication'
),
sorts AS (
    SELECT *, CASE WHEN contains(operation, 'allreduce') THEN 'AllReduce'
                   WHEN contains(operation, 'allgather') THEN 'AllGather'
                   WHEN contains(operation, 'reducescatter') THEN 'ReduceScatter'
                   WHEN contains(operation, 'alltoall') THEN 'AllToAll'
                   WHEN contains(operation, 'broadcast') THEN 'Broadcast'
                   WHEN contains(operation, 'barrier') THEN 'Barrier'
                   WHEN contains(operation, 'send') OR contains(operation, 'recv') THEN 'SendRecv'
                   WHEN contains(operation, 'gather') THEN 'Gather'
                   WHEN contains(operation, 'scatter') THEN 'Scatter'
                   WHEN contains(operation, 'reduce') THEN 'Reduce'
                   -- What no argument says, the name may.
                   WHEN regexp_matches(text, 'all_?reduce|cross_device_reduce') THEN 'AllReduce'
                   WHEN regexp_matches(text, 'all_?gather') THEN 'AllGather'
                   WHEN regexp_matches(text, 'reduce_?scatter') THEN 'ReduceScatter'
                   WHEN regexp_matches(text, 'broadcast') THEN 'Broadcast'
                   WHEN regexp_matches(text, 'all_?to_?all|all2all|a2a|deep_ep|'
                                             'ep(::|\d)(inter|intra)node|ep_?(dispatch|combine)')
                   THEN 'AllToAll'
                   WHEN regexp_matches(text, 'send_?recv|_send|_recv') THEN 'SendRecv'
                   WHEN contains(text, 'barrier') THEN 'Barrier'
                   WHEN contains(text, 'reduce') THEN 'Reduce' ELSE 'other' END AS collective
    FROM work
),
found AS (
    SELECT *, row_number() OVER (
                  PARTITION BY process_id, gpu, collective, name, process_group
                  ORDER BY start_ns, end_ns
              ) - 1 AS number
    FROM sorts
),
sorted AS (
    SELECT found.*, ranks.rank, ranks.world_size,
           CASE WHEN element_type IN ('Double', 'Long', 'UInt64', 'ComplexFloat') THEN 8
                WHEN element_type IN ('Float', 'Int', 'UInt32', 'QInt32', 'ComplexHalf') THEN 4
                WHEN element_type IN ('Half', 'BFloat16', 'Short', 'UInt16') THEN 2
                WHEN element_type IN ('Byte', 'Char', 'Bool', 'QInt8', 'QUInt8')
                     OR element_type LIKE 'Float8%' THEN 1
                WHEN element_type = 'ComplexDouble' THEN 16 END AS element_bytes
    FROM found
    LEFT JOIN ranks ON ranks.process_id = found.process_id
)
SELECT process_id, rank, gpu, collective, name, number, start_ns, end_ns,
       coalesce(nccl_bytes, elements * element_bytes,
                CASE WHEN collective NOT IN ('AllGather', 'ReduceScatter') THEN rank_bytes
                     ELSE rank_bytes * coalesce(group_size, world_size) END) AS bytes,
       elements, element_type, group_size, process_group, sequence,
       communicator, nccl_sequence, algorithm, protocol, call_start_ns,
       hash(collective, name, process_group) AS kind,
       collective IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AllToAll', 'Barrier')
           AS ends_together,
       collective NOT IN ('AllToAll', 'Gather', 'Scatter', 'SendRecv', 'other') AS is_of_one_size
FROM sorted;

-- merge
FROM partial
ORDER BY process_id, gpu, start_ns, name, number

-- What NCCL says of each of its kernels: one row for the operations that it launched as one.
--
-- computed: Operations of _nccl_kernel by their kernel. Bytes are their sum; of sends and receives,
--   the larger of both sums. NCCL gives those of one rank for AllGather and ReduceScatter, which
--   are multiplied by the ranks. The sequence number is that of the first operation.
-- requires: nccl_event
-- limits: As _nccl_kernel.
-- scope: start_ns
-- columns:
--   process_id, correlation_id, start_ns, end_ns of _nccl_kernel
--   call_start_ns BIGINT [epoch ns]: When the program first called NCCL for it; NULL if not known.
--   communicator, rank, ranks of _nccl_kernel
--   function VARCHAR: AllReduce, AllGather and so on, AllToAll if it sends to and receives from
--     every rank, itself too, SendRecv for other sends and receives, or the first if there are
--     several.
--   operations BIGINT [operations]: How many operations the kernel is.
--   sequence BIGINT: Number of the first among those of its function and communicator, the same on
--     all ranks; NULL of sends and receives.
--   bytes BIGINT [bytes]: Size of the message; NULL if not known.
--   element_type VARCHAR: Type of an element, as PyTorch names it; NULL if NCCL does not say.
--   algorithm VARCHAR: RING, TREE, NVLS and so on; NULL of sends and receives, and if there are
--     several.
--   protocol VARCHAR: LL, LL128 or SIMPLE; likewise.
WITH each AS (
    SELECT *, "function" IN ('Send', 'Recv') AS is_p2p,
           size_bytes * CASE WHEN "function" IN ('AllGather', 'ReduceScatter') THEN ranks
                             ELSE 1 END AS message_bytes,
           -- NCCL turns what it need not compute with into bytes.
           CASE WHEN "function" IN ('AllGather', 'Broadcast') AND datatype = 'ncclInt8' THEN NULL
                ELSE map {'ncclInt8': 'Char', 'ncclUint8': 'Byte', 'ncclInt32': 'Int',
                          'ncclUint32': 'UInt32', 'ncclInt64': 'Long', 'ncclUint64': 'UInt64',
                          'ncclFloat16': 'Half', 'ncclFloat32': 'Float', 'ncclFloat64': 'Double',
                          'ncclBfloat16': 'BFloat16', 'ncclFloat8e4m3': 'Float8_e4m3fn',
                          'ncclFloat8e5m2': 'Float8_e5m2'}[datatype] END AS element_type
    FROM _nccl_kernel
)
SELECT process_id, correlation_id, any_value(start_ns) AS start_ns, any_value(end_ns) AS end_ns,
       min(call_start_ns) AS call_start_ns, any_value(communicator) AS communicator,
       any_value(rank) AS rank, any_value(ranks) AS ranks,
       CASE WHEN count(DISTINCT peer) FILTER (WHERE "function" = 'Send') = any_value(ranks)
                AND count(DISTINCT peer) FILTER (WHERE "function" = 'Recv') = any_value(ranks)
            THEN 'AllToAll' WHEN bool_and(is_p2p) THEN 'SendRecv'
            ELSE arg_min("function", event_id) END AS "function",
       count(*) AS operations, arg_min(sequence, event_id) AS sequence,
       CASE WHEN bool_and(is_p2p)
            THEN greatest(sum(message_bytes) FILTER (WHERE "function" = 'Send'),
                          sum(message_bytes) FILTER (WHERE "function" = 'Recv'))
            ELSE sum(message_bytes) END::BIGINT AS bytes,
       CASE WHEN count(DISTINCT element_type) = 1 THEN any_value(element_type) END AS element_type,
       CASE WHEN count(DISTINCT algorithm) = 1 THEN any_value(algorithm) END AS algorithm,
       CASE WHEN count(DISTINCT protocol) = 1 THEN any_value(protocol) END AS protocol
FROM each
GROUP BY process_id, correlation_id

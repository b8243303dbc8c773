-- Collective operations, each with a number that it has on every rank.
--
-- computed: By the communicator, the function and the number that NCCL gave them, if several ranks
--   have that of an operation, or by the kernels that NCCL says exchange with each other. Else,
--   where PyTorch numbered them in their group, by that. Else as _collective_turn has it.
-- materialized: Made once for an opened trace, as bandwidths and stragglers read it.
-- limits: As of _collective_turn. Of sends and receives of more than two GPUs of which NCCL does
--   not tell, it is not known which two belong together.
-- scope: start_ns
-- columns:
--   process_id, rank, gpu, kind, number of _collective_time
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter and so on.
--   name VARCHAR: Mangled name.
--   operation BIGINT: Number of the operation in this trace, from 1; unmatched ones have their own.
--   start_ns, end_ns, bytes of _collective_time
--   element_type VARCHAR: Type of an element; NULL if not known.
--   group_size BIGINT [ranks]: Ranks that take part; NULL if not known.
--   communicator BIGINT: NCCL's id of the group; NULL if NCCL did not tell.
--   algorithm, protocol, call_start_ns of _collective_time
--   matched_by VARCHAR: nccl (its numbers), pytorch (its numbers), order or clock; NULL if it was
--     not.
--   ends_together BOOLEAN: Whether no rank can end it before the last has begun it.
--   reason VARCHAR: Why it was not matched; NULL if it was, or if only one GPU of the trace has
--     operations of its kernel, group and size.
WITH timed AS MATERIALIZED (
    SELECT timed.*, first_id, is_in_order
    FROM _collective_time AS timed
    LEFT JOIN _collective_turn AS turns ON turns.id = timed.id
),
by_nccl AS (
    SELECT id, min(id) OVER same AS nccl_id
    FROM (
        SELECT *, row_number() OVER (
                      PARTITION BY process_id, gpu, communicator, collective, nccl_sequence
                      ORDER BY id
                  ) AS turn
        FROM timed
        WHERE nccl_sequence IS NOT NULL
    )
    WINDOW same AS (PARTITION BY communicator, collective, nccl_sequence, turn)
    QUALIFY count(*) OVER same > 1
),
told AS (
    SELECT timed.*, coalesce(nccl_id, middle_id) AS nccl_id
    FROM timed
    LEFT JOIN by_nccl ON by_nccl.id = timed.id
),
-- A rank to which NCCL did not tell belongs to those to which it did.
by_pytorch AS (
    SELECT id, coalesce(min(nccl_id) OVER same, min(id) OVER same) AS pytorch_id
    FROM (
        SELECT *, row_number() OVER (
                      PARTITION BY process_id, gpu, kind, sequence ORDER BY id
                  ) AS turn
        FROM told
        WHERE sequence IS NOT NULL
    )
    WINDOW same AS (PARTITION BY kind, sequence, turn)
),
numbered AS MATERIALIZED (
    SELECT told.*, coalesce(nccl_id, pytorch_id) AS number_id
    FROM told
    LEFT JOIN by_pytorch ON by_pytorch.id = told.id
),
named AS MATERIALIZED (
    SELECT numbered.*, coalesce(numbered.number_id, firsts.number_id, numbered.first_id,
                                numbered.id) AS operation_id
    FROM numbered
    LEFT JOIN numbered AS firsts ON firsts.id = numbered.first_id
),
operations AS (
    SELECT operation_id, count(*) > 1 AS is_matched,
           coalesce(bool_or(is_in_order), false) AS is_any_in_order,
           row_number() OVER (ORDER BY operation_id) AS operation
    FROM named
    GROUP BY operation_id
)
SELECT process_id, rank, gpu, kind, number, collective, name, operation, start_ns, end_ns, bytes,
       element_type, group_size, communicator, algorithm, protocol, call_start_ns,
       CASE WHEN NOT is_matched THEN NULL WHEN nccl_id IS NOT NULL THEN 'nccl'
            WHEN sequence IS NOT NULL THEN 'pytorch' WHEN is_any_in_order THEN 'order'
            ELSE 'clock' END AS matched_by,
       ends_together,
       CASE WHEN members > 1 AND NOT is_matched
            THEN coalesce(CASE WHEN number_id IS NOT NULL OR nccl_sequence IS NOT NULL THEN NULL
                               WHEN is_by_time THEN clock_reason
                               WHEN is_middle IS NULL THEN 'it is not known who sends to whom' END,
                          'no other rank has it') END AS reason
FROM named
JOIN operations USING (operation_id)

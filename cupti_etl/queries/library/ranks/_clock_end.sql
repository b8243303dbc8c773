-- Operations of processes, whose ends are compared to compare their clocks.
--
-- computed: Those of _collective on the first GPU of each process. An operation's number is NCCL's,
--   or else PyTorch's, and the same on all ranks that take part.
-- requires: _collective
-- materialized: Made once for an opened trace, as _clock_way and _clock_pair read it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: When it began, by the clock of its process.
--   end_ns BIGINT [epoch ns]: When it ended.
--   kind UBIGINT: Its kernel, group and size of the group, as in _collective.
--   process_group VARCHAR: Name of the group; NULL if not known.
--   communicator BIGINT: NCCL's id of the group; NULL if NCCL did not tell.
--   ends_together BOOLEAN: Whether no rank can end it before the last has begun it.
--   is_nccl BOOLEAN: Whether its number is NCCL's.
--   number UBIGINT: Its number; NULL if it has none.
--   bytes BIGINT [bytes]: Size of the message; NULL if it is not known, or each rank's own.
SELECT process_id, start_ns, end_ns, kind, process_group, communicator, ends_together,
       nccl_sequence IS NOT NULL AS is_nccl,
       CASE WHEN nccl_sequence IS NOT NULL THEN hash(communicator, collective, nccl_sequence)
            WHEN sequence IS NOT NULL THEN hash(kind, sequence) END AS number,
       CASE WHEN is_of_one_size THEN bytes END AS bytes
FROM _collective
-- Of more than two, it is not known which two belong together.
QUALIFY gpu = min(gpu) OVER (PARTITION BY process_id)
    AND (collective <> 'SendRecv'
         OR count(DISTINCT process_id) OVER (PARTITION BY kind) <= 2)

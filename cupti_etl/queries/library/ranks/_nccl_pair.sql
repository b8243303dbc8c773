-- Each send of NCCL with its receive, and the kernels of both.
--
-- computed: The sends of a rank to another are numbered in their order in a communicator, and so
--   are the receives there; equal numbers belong together if both have one size.
-- requires: nccl_event
-- limits: As nccl_p2p.
-- scope: start_ns
-- columns:
--   communicator BIGINT: Id of the communicator.
--   from_rank INTEGER: Who sends, by its rank in the communicator.
--   to_rank INTEGER: Who receives.
--   number BIGINT: Number of the pair among those of the two, from 0.
--   size_bytes BIGINT [bytes]: What was sent.
--   datatype VARCHAR: Type of an element, as NCCL names it.
--   process_id BIGINT: Process that sends.
--   start_ns BIGINT [epoch ns]: When its kernel began, by its clock.
--   end_ns BIGINT [epoch ns]: When it ended.
--   receive_process_id BIGINT: Process that receives.
--   receive_start_ns BIGINT [epoch ns]: When its kernel began, by its clock.
--   receive_end_ns BIGINT [epoch ns]: When it ended.
WITH each AS (
    SELECT *, row_number() OVER (
               PARTITION BY process_id, communicator, rank, "function", peer ORDER BY event_id
           ) - 1 AS number
    FROM _nccl_kernel
    WHERE "function" IN ('Send', 'Recv')
)
SELECT sends.communicator, sends.rank AS from_rank, sends.peer AS to_rank, sends.number,
       sends.size_bytes, sends.datatype, sends.process_id, sends.start_ns, sends.end_ns,
       receives.process_id AS receive_process_id, receives.start_ns AS receive_start_ns,
       receives.end_ns AS receive_end_ns
FROM each AS sends
JOIN each AS receives
    ON receives.communicator = sends.communicator
    AND receives.rank = sends.peer
    AND receives.peer = sends.rank
    AND receives.number = sends.number
WHERE sends."function" = 'Send' AND receives."function" = 'Recv'
    AND sends.size_bytes IS NOT DISTINCT FROM receives.size_bytes

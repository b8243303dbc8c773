-- How long each GPU waited, in sends and receives, for the rank at their other end.
--
-- computed: Sum of _exposed_wait over sends and receives. The culprit is the rank, or the GPU of a
--   process without one, for which it waited most.
-- requires: _collective
-- finding: waiting for the other end of sends and receives, as stages of a pipeline do (measured)
-- advice: use more micro-batches or another schedule, and give all stages as much to do
-- shown: nccl_p2p
SELECT gpu, TRY_CAST(sum(wait_ns) AS BIGINT) AS saved_ns,
       arg_min(coalesce('above all for rank ' || last_rank, 'above all for GPU ' || last_gpu),
               (-wait_ns, last_gpu)) AS culprit
FROM _exposed_wait
WHERE wait_ns > 0 AND is_send
GROUP BY gpu

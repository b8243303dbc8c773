-- How long each GPU waited in communication for ranks that are late now and then.
--
-- computed: Sum of _exposed_wait over collectives, for others than those of finding_straggler. The
--   culprit is the rank, or the GPU of a process without one, for which it waited most.
-- requires: _collective
-- finding: waiting for other ranks in collectives (measured)
-- advice: give all as much to do, and keep their hosts from stopping at different times
-- shown: collective_wait
SELECT gpu, TRY_CAST(sum(wait_ns) AS BIGINT) AS saved_ns,
       arg_min(coalesce('above all for rank ' || last_rank, 'above all for GPU ' || last_gpu),
               (-wait_ns, last_gpu)) AS culprit
FROM _exposed_wait
WHERE wait_ns > 0 AND NOT is_send AND coalesce(last_rank NOT IN (SELECT rank FROM _late_rank), true)
GROUP BY gpu

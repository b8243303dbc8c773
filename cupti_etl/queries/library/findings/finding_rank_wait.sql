-- How long each GPU waited in communication for ranks that are late now and then.
--
-- computed: Sum of _exposed_wait over collectives, for others than those of finding_straggler. The
--   culprit is the rank, or the GPU of a process without one, for which it waited most.
-- needs: _exposed_wait, _late_rank
-- requires:
--   collective: no communication kernels were recorded.
-- finding: waiting for other ranks in collectives (measured)
-- advice: give all as much to do, and keep their hosts from stopping at different times
-- shown: collective_wait
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT gpu, TRY_CAST(sum(wait_ns) AS BIGINT) AS saved_ns,
       arg_min(coalesce('most of it for rank ' || last_rank, 'most of it for GPU ' || last_gpu),
               (-wait_ns, last_gpu)) AS culprit
FROM _exposed_wait
WHERE wait_ns > 0 AND NOT is_send AND coalesce(last_rank NOT IN (SELECT rank FROM _late_rank), true)
GROUP BY gpu

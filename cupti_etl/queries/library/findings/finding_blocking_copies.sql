-- How long the host waited for copies or memsets while the GPUs were idle.
--
-- computed: saved_ns of memcpy_blocking, but no more than its idle_ns, as the run gains no more, or
--   than the GPUs were idle while the host waited or was in calls about memory, as several threads
--   can be in them. The culprit is the call that cost most of it.
-- needs: memcpy_blocking, _gap_cause
-- requires:
--   api_call: no API calls were recorded (capture with --api default).
-- finding: copies or memsets keep the host from going on (estimated)
-- advice: pin the host memory, and use asynchronous calls
-- shown: memcpy_blocking
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT NULL::BIGINT AS gpu,
       TRY_CAST(least(
           sum(least(saved_ns, idle_ns)), (SELECT sum(waiting_ns + memory_ns) FROM _gap_cause)
       ) AS BIGINT) AS saved_ns,
       concat(sum(calls), ' of them, most by ',
              arg_min(api_name, (-least(saved_ns, idle_ns), api_name))) AS culprit
FROM memcpy_blocking
HAVING count(*) > 0

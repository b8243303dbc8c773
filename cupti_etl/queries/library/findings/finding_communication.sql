-- How long each GPU communicated and did nothing else.
--
-- computed: exposed_communication_ns of busy_breakdown. The culprit is the collective operation
--   with most exposed time on all GPUs.
-- needs: busy_breakdown, collective_bandwidth
-- requires:
--   _busy_interval: no finished GPU activity was recorded.
-- finding: busy with nothing but communication (measured)
-- advice: see how much of it is waiting for other ranks (collective_bandwidth); overlap the rest
--   with compute: other streams, smaller buckets, later waits
-- shown: busy_breakdown
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT gpu, exposed_communication_ns AS saved_ns,
       (SELECT arg_min(collective, (-exposed_ns, collective)) FROM collective_bandwidth) AS culprit
FROM busy_breakdown

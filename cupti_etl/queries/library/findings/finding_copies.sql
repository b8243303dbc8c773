-- How long each GPU copied or set memory and did nothing else.
--
-- computed: exposed_copy_ns of busy_breakdown. The culprit is the kind of copy that took most time
--   on all GPUs.
-- needs: busy_breakdown, memcpy_summary
-- requires:
--   _busy_interval: no finished GPU activity was recorded.
-- finding: busy with nothing but copies and memsets (measured)
-- advice: copy in a stream of its own, from pinned memory, while kernels run
-- shown: busy_breakdown
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT gpu, exposed_copy_ns AS saved_ns,
       (SELECT concat_ws(' ', 'most of it', copy_kind, 'from', src_kind, 'memory')
        FROM memcpy_summary
        ORDER BY -total_ns, copy_kind, src_kind
        LIMIT 1) AS culprit
FROM busy_breakdown

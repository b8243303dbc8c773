-- What small copies cost that could be one.
--
-- computed: saved_ns of memcpy_small.
-- needs: memcpy_small
-- requires:
--   memcpy: no copies were recorded.
-- finding: small copies could be one (estimated)
-- advice: gather them into one copy
-- shown: memcpy_small
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT NULL::BIGINT AS gpu, saved_ns,
       concat(in_runs, ' copies ', copy_kind, ' in ', runs, ' runs') AS culprit
FROM memcpy_small()

-- How long the other ranks waited for one that is late again and again.
--
-- computed: waiting_caused_ns of rank_stragglers, of ranks that are persistently late.
-- needs: rank_stragglers
-- requires:
--   collective: no communication kernels were recorded.
--   _shared_collective: no operation that ends together is known to be in the trace of two ranks
--     or more; rank_clock says why.
-- finding: the other ranks wait for one (measured)
-- advice: look at that rank's host, clocks and share of the data
-- shown: rank_stragglers
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT NULL::BIGINT AS gpu, waiting_caused_ns AS saved_ns, concat('rank ', rank) AS culprit
FROM rank_stragglers
WHERE is_persistent

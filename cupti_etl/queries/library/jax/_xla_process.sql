-- Processes with NVTX ranges of XLA.
--
-- computed: Those with ranges of the domain TSL.
-- requires: marker
-- rare: Most traces have none, and to decode ranges takes longer than to find that out.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT DISTINCT process_id FROM _range_span WHERE domain = 'TSL'

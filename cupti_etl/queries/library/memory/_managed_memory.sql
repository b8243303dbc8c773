-- Which processes allocated managed memory, if no page fault or move of any was recorded.
--
-- computed: By calls of cudaMallocManaged and cuMemAllocManaged.
-- requires: api_call
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT process_id
FROM api_call
WHERE (starts_with(name, 'cudaMallocManaged') OR starts_with(name, 'cuMemAllocManaged'))
    AND NOT EXISTS (SELECT 1 FROM unified_memory)
GROUP BY process_id

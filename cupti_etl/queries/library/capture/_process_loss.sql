-- Processes, with the records that were lost of each.
--
-- computed: A single unknown number of lost records makes their sum unknown.
-- scope: whole
-- columns:
--   process.*
--   causes BIGINT: Rows of loss about the process.
--   lost BIGINT [records]: Records lost; NULL if the number is not known.
WITH counted AS (
    SELECT process_id, count(*) AS causes,
           CASE WHEN count(*) FILTER (WHERE is_stored IS NOT true AND records IS NULL) = 0
                THEN coalesce(sum(records) FILTER (WHERE is_stored IS NOT true), 0) END AS lost
    FROM loss
    GROUP BY process_id
)
SELECT process.*, coalesce(causes, 0) AS causes,
       TRY_CAST(CASE WHEN process.state = 'imported' THEN NULL
            WHEN counted.process_id IS NULL THEN 0 ELSE counted.lost END AS BIGINT) AS lost
FROM process
LEFT JOIN counted ON counted.process_id = process.process_id

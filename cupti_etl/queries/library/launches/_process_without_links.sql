-- Processes of which it is not known who asked for which work on GPUs.
--
-- computed: Those of gpu_activity that have no row in api_call, and those of api_call that
--   launched, copied or set and have no row in gpu_activity: the other half was not recorded, which
--   is not to say that there was none.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
WITH working AS (
    SELECT DISTINCT process_id FROM gpu_activity
),
calling AS (
    SELECT DISTINCT process_id, name FROM api_call
)
SELECT process_id
FROM working
ANTI JOIN calling USING (process_id)
UNION ALL
SELECT DISTINCT process_id
FROM calling
ANTI JOIN working USING (process_id)
WHERE regexp_matches(name, '^(hip|cu(da)?)(Launch(Kernel|Cooperative)|GraphLaunch|Mem(cpy|set))')

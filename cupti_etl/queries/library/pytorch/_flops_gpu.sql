-- GPUs with work of operators whose operations are known.
--
-- computed: Those of _operator_flops with operators that have flops.
-- requires: _operator_flops
-- materialized: A row for each GPU, of all operators.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
SELECT DISTINCT gpu FROM _operator_flops WHERE flops IS NOT NULL

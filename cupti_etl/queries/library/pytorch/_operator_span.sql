-- Ranges that are operators of PyTorch or ranges of record_function, one by one.
--
-- computed: Ranges of the domains cpu_op and user_annotation of PyTorch's traces, and of
--   pytorch.operator, .backward and .annotation of captures with --pytorch; in other processes with
--   a range named aten::..., as under emit_nvtx, those of NVTX that are named NAMESPACE::NAME or
--   have PyTorch's numbers (seq, op_id) in their text.
-- limits: A range that did not end is not here.
-- scope: whole
-- columns:
--   process_id, start_ns, end_ns, name, domain, thread_id, marker_id, range_id of _range_span
--   is_nvtx BOOLEAN: Whether a program marked it by NVTX, as emit_nvtx does.
--   is_ours BOOLEAN: Whether it was captured with --pytorch.
WITH aten AS (
    SELECT DISTINCT process_id FROM _range_span WHERE starts_with(name, 'aten::')
    EXCEPT
    SELECT process_id FROM _range_span WHERE domain = 'pytorch.operator'
)
SELECT process_id, start_ns, end_ns, name, domain, thread_id, marker_id, range_id,
       domain IS NULL AS is_nvtx, coalesce(starts_with(domain, 'pytorch.'), false) AS is_ours
FROM _range_span
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    AND (
        domain IN ('cpu_op', 'Operator', 'operator', 'user_annotation', 'pytorch.operator',
                   'pytorch.backward', 'pytorch.annotation')
        OR (
            domain IS NULL
            AND process_id IN (FROM aten)
            AND regexp_matches(
                name, '^\w+(::\w+)+(: [\w:]+)?(\.\w+)?(,|$)|, (seq|op_id) = \d+(,|$)'
            )
        )
    )

-- Ranges that are named like layers of a model.
--
-- computed: Modules of PyTorch (nn.Module: ...) and NVTX ranges with layer, block, stage, encoder,
--   decoder, expert or alike and a number in their name; of those of one name that lie in each
--   other, the outermost.
-- requires: marker
-- rare: Many traces have none, and names of all ranges have to be looked through.
-- limits: Names decide.
-- scope: whole
-- columns:
--   process_id, range_id of _range_span
--   host_ns BIGINT [ns]: Time on the host; NULL if it did not end.
--   layer VARCHAR: Name of the range.
--   kin VARCHAR: The name without its number, which layers that are alike share.
SELECT process_id, range_id, end_ns - start_ns AS host_ns,
       regexp_replace(name, '^nn\.Module: ', '') AS layer,
       -- Classes have numbers in their names, too.
       CASE WHEN domain = 'pytorch.module' AND regexp_matches(name, '\.[0-9]+[. ]')
            THEN regexp_replace(substr(name, 12), '\.[0-9]+([. ])', '.*\1')
            ELSE regexp_replace(regexp_replace(name, '^nn\.Module: ', ''), '[0-9]+', '*')
            END AS kin
FROM _range_span
WHERE starts_with(name, 'nn.Module: ')
    OR (
        coalesce(domain, '') NOT IN (
            'python_function', 'cpu_op', 'Operator', 'operator', 'Trace', 'pytorch.operator',
            'pytorch.backward'
        )
        AND NOT contains(name, '::')
        -- Of a layer's parameter, as when its gradients are summed up.
        AND NOT regexp_matches(name, '[.](weight|bias)([^a-z]|$)')
        AND regexp_matches(
            name, '(?i)(layer|blocks?|blk|stage|encoder|decoder|expert|transformer|resnets|'
            'attention|attn|mlp|ffn|module)s?[ ._:#\[-]*[0-9]+|'
            -- GPT-2's h.0, and not the H2D of a copy; conv1 or conv2d_1, and no conv2d.
            '(^|[./ _])h[ ._:#\[-]*[0-9]+([^0-9a-z]|$)|'
            'conv([123]d)?s?[ ._:#\[-]*[0-9]+([^0-9d]|$)'
        )
    )
-- What is a part of itself, as graphs of torch.fx are, would count twice.
WINDOW earlier AS (
    PARTITION BY process_id, thread_id, name
    ORDER BY start_ns, end_ns DESC NULLS FIRST, range_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
)
QUALIFY max(coalesce(end_ns, 9223372036854775807)) OVER earlier
        >= greatest(coalesce(end_ns, 9223372036854775807), start_ns + 1) IS NOT TRUE

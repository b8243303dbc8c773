-- Ranges of PyTorch that are modules.
--
-- computed: Ranges named nn.Module: ..., as torch.profiler and a capture with --pytorch write them.
-- requires: marker
-- rare: Many traces have none, and all other ranges have to be looked through.
-- scope: host start_ns
-- columns:
--   process_id, range_id, start_ns, module of _module
--   full_name VARCHAR: Its name in the outermost module; NULL for those of torch.profiler.
--   host_ns BIGINT [ns]: Time on the host; NULL if it did not end.
--   around_id BIGINT: The range around it; NULL if there is none.
SELECT span.process_id, span.range_id, span.start_ns,
       CASE WHEN domain = 'pytorch.module' THEN regexp_extract(span.name, '\((.*)\)$', 1)
            ELSE substr(span.name, 12) END AS module,
       CASE WHEN domain = 'pytorch.module'
            THEN regexp_extract(span.name, '^nn.Module: (.*) \(', 1) END AS full_name,
       span.end_ns - span.start_ns AS host_ns, path.parent_range_id AS around_id
FROM _range_span AS span
JOIN _range_parent AS path ON path.range_id = span.range_id
WHERE starts_with(span.name, 'nn.Module: ')

-- NVTX ranges in which a thread waits for input, or loads it, by their names.
--
-- computed: That of PyTorch's DataLoader (enumerate(DataLoader)#...), frames of torch/utils/data,
--   of DALI, tf.data and WebDataset, and ranges called data loading, next batch, fetch data or
--   alike, but not get_input_embeddings and others that get what only begins with such a word.
-- requires: marker
-- rare: Many traces have none, and names of all ranges have to be looked through.
-- limits: Names decide; input that nobody marked is not seen.
-- scope: whole
-- columns:
--   process_id, thread_id, start_ns, end_ns of _range_span
SELECT process_id, thread_id, start_ns, end_ns
FROM _range_span
WHERE start_ns IS NOT NULL AND end_ns > start_ns
    AND regexp_matches(
        name,
        '(?i)data_?loader|data[ _.]?(load|fetch|wait|next)|torch/utils/data/|'
        '(^|[^a-z])(load|fetch|get|next|read)[ _.]?(next[ _.]?)?(batch|data|inputs?|samples?)'
        '([^a-z_]|_(on|from|to|for|async|iter)|$)|batch[ _.]?(load|fetch|generator)|'
        '(^|[^a-z])(nvidia[./])?dali([^a-z]|$)|webdataset|input[ _.]?pipeline'
    )
    AND NOT regexp_matches(name, '^(aten|c10d|autograd|torch|nccl)::')

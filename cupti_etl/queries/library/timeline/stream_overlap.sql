-- How much of the work of one stream was hidden by that of another, for the busiest streams.
--
-- computed: Lengths of unions, over all finished activities of a stream: kernels, copies
--   and memsets.
-- requires: gpu_activity
--   _stream_pair: no GPU had work in two streams.
-- limits: At most 60 streams of a GPU are seen.
-- first: stream_id, other_stream_id, busy_ns, overlap_ns, overlap_pct
-- parameters:
--   streams BIGINT = 8 [streams]: How many streams of each GPU to compare, the busiest first.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: Process of the stream.
--   context_id, stream_id of _stream_pair
--   other_process_id BIGINT: Process of the other stream.
--   other_context_id, other_stream_id of _stream_pair
--   busy_ns BIGINT [ns]: Time with work in the stream: a union.
--   overlap_ns BIGINT [ns]: Time with work in both.
--   overlap_pct DOUBLE [%]: overlap_ns as a share of busy_ns.
SELECT gpu, process_id, context_id, stream_id, other_process_id, other_context_id,
       other_stream_id, busy_ns, overlap_ns, 100.0 * overlap_ns / nullif(busy_ns, 0) AS overlap_pct
FROM _stream_pair
WHERE place < streams AND other_place < streams
ORDER BY gpu, place, other_place

-- Things of the timeline whose names hold a text, the longest first.
--
-- computed: Letters are compared without case. Times are since the trace's beginning.
-- limits: The first thousand are listed, and all of them counted.
-- lookup: _timeline_item
-- parameters:
--   text VARCHAR = '': What the names hold.
-- columns:
--   lane INTEGER: The lane, as in timeline_lane.
--   depth INTEGER: The row of the lane.
--   start_ns BIGINT [ns]: When it began.
--   end_ns BIGINT [ns]: When it ended.
--   label VARCHAR: Its name.
--   found BIGINT: How many there are.
SELECT lane, depth, start_ns, end_ns, label, count(*) OVER () AS found
FROM _timeline_item
WHERE contains(lower(label), lower(text))
ORDER BY end_ns - start_ns DESC, start_ns, lane, depth, label
LIMIT 1000

-- PM samples in long form: one row a sample and metric that has a value.
--
-- computed: The columns of pm_sample, whichever a capture chose, as rows; samples without a length
--   are left out.
-- requires: pm_sample
-- columns:
--   device_uuid VARCHAR: The GPU.
--   start_ns BIGINT [epoch ns]: When the sample began, by its own clock.
--   end_ns BIGINT [epoch ns]: When it ended.
--   metric VARCHAR: Name of the metric.
--   value DOUBLE: Its value, in the unit that pm_metric says.
SELECT device_uuid, start_ns, end_ns, metric, value
FROM (SELECT *, NULL::DOUBLE AS _none FROM pm_sample WHERE end_ns > start_ns)
UNPIVOT (value FOR metric IN (COLUMNS(* EXCLUDE (device_uuid, start_ns, end_ns))))

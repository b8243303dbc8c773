-- Readable names of kernels, one row a mangled name.
--
-- computed: kernel_name, where a name may stand more than once.
-- columns:
--   mangled VARCHAR: The mangled name.
--   demangled VARCHAR: Name with template and call arguments.
--   short VARCHAR: Function name alone.
SELECT mangled, any_value(demangled) AS demangled, any_value(short) AS short
FROM kernel_name
GROUP BY mangled

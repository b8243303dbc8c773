-- Kernels with their readable names.
--
-- computed: Each row of kernel, with the row of kernel_name that has its mangled name.
-- columns:
--   kernel.*
--   demangled VARCHAR: Name with template and call arguments; the mangled name if none is known.
--   short VARCHAR: Function name alone; the mangled name if none is known.
SELECT kernel.*,
       coalesce(names.demangled, kernel.name) AS demangled,
       coalesce(names.short, kernel.name) AS short
FROM kernel
-- One row a name, so that no kernel is ever doubled.
LEFT JOIN _readable_name AS names ON names.mangled = kernel.name

-- What chips can do at most: operations by type of number, and bytes of memory.
--
-- computed: The peaks of _chip. For float it is the rate of TF32 where the chip has it; but that
--   without tensor cores in processes whose kernels are named for it (is_plain_float of
--   kernel_rule) and none for TF32: PyTorch multiplies float matrices so unless it is told
--   otherwise. Convolutions have rows of their own, as it allows TF32 for these apart.
-- scope: whole
-- columns:
--   process_id, device_id of _chip
--   element_type VARCHAR: As PyTorch writes it, such as c10::BFloat16.
--   is_convolution BOOLEAN: Whether it is for convolutions.
--   peak_tflops DOUBLE [Tflop/s]: Operations a second.
--   peak_gbps DOUBLE [GB/s]: Bytes of memory a second.
WITH plain AS (
    -- Processes that multiply floats without tensor cores.
    SELECT process_id, is_convolution, true AS is_plain
    FROM (
        SELECT process_id, name, category = 'convolution' AS is_convolution, is_plain_float
        FROM (SELECT DISTINCT process_id, name FROM kernel)
        JOIN kernel_rule ON mangled = name
    )
    GROUP BY process_id, is_convolution
    HAVING bool_or(is_plain_float)
        AND NOT bool_or(regexp_matches(name, 'tf32|s1688|nvjet_(sm\d+_)?s[^m]'))
)
SELECT process_id, device_id, rate.element_type, is_convolution, rate.peak_tflops,
       gbps AS peak_gbps
FROM (
    SELECT *, unnest([
               {'element_type': 'double', 'peak_tflops': fp64},
               {'element_type': 'float', 'peak_tflops': CASE
                   WHEN is_plain THEN fp32 ELSE tf32 END},
               {'element_type': 'c10::Half', 'peak_tflops': fp16},
               -- Volta and Turing have no tensor cores for it.
               {'element_type': 'c10::BFloat16', 'peak_tflops': CASE
                   WHEN chip NOT IN ('V100', 'T4') THEN fp16 END},
               {'element_type': 'c10::Float8_e4m3fn', 'peak_tflops': fp8},
               {'element_type': 'c10::Float8_e5m2', 'peak_tflops': fp8},
               {'element_type': 'signed char', 'peak_tflops': int8}
           ]) AS rate
    FROM _chip
    CROSS JOIN (VALUES (false), (true)) AS kinds(is_convolution)
    LEFT JOIN plain USING (process_id, is_convolution)
)

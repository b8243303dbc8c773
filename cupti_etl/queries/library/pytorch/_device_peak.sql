-- What chips can do at most: operations by type of number, and bytes of memory.
--
-- computed: Figures of the makers' data sheets, for dense matrices, by the name of the device; the
--   first row whose words a name has counts. For float it is the rate of TF32 where the chip has
--   it; but that without tensor cores in processes whose kernels are named for it (simt, sgemm or
--   ffma) and none for TF32: PyTorch multiplies float matrices so unless it is told otherwise.
--   Convolutions have rows of their own, as it allows TF32 for these apart. Bandwidth is that of
--   the device record, if it is there.
-- needs: device, kernel, kernel_rule
-- limits: Variants of lower power have lower peaks; chips that are not listed have no row.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   element_type VARCHAR: As PyTorch writes it, such as c10::BFloat16.
--   is_convolution BOOLEAN: Whether it is for convolutions.
--   peak_tflops DOUBLE [Tflop/s]: Operations a second.
--   peak_gbps DOUBLE [GB/s]: Bytes of memory a second.
WITH chips AS (
    SELECT row_number() OVER () AS place, *
    FROM (VALUES
        ('B200', 37.0, 75.0, 1125.0, 2250.0, 4500.0, 4500.0, 8000.0),
        ('GB200', 40.0, 80.0, 1250.0, 2500.0, 5000.0, 5000.0, 8000.0),
        ('H200', 67.0, 67.0, 494.7, 989.4, 1978.9, 1978.9, 4800.0),
        ('H100 PCIe', 51.0, 51.0, 378.0, 756.0, 1513.0, 1513.0, 2039.0),
        ('H100 NVL', 60.0, 60.0, 417.5, 835.0, 1670.0, 1670.0, 3938.0),
        ('GH200', 67.0, 67.0, 494.7, 989.4, 1978.9, 1978.9, 4000.0),
        ('H100', 67.0, 67.0, 494.7, 989.4, 1978.9, 1978.9, 3352.0),
        ('H20', 1.0, 44.0, 74.0, 148.0, 296.0, 296.0, 4000.0),
        ('A100%80GB', 19.5, 19.5, 156.0, 312.0, NULL, 624.0, 2039.0),
        ('A100', 19.5, 19.5, 156.0, 312.0, NULL, 624.0, 1555.0),
        ('A30', 10.3, 10.3, 82.5, 165.0, NULL, 330.0, 933.0),
        ('A10', NULL, 31.2, 62.5, 125.0, NULL, 250.0, 600.0),
        ('L40S', NULL, 91.6, 183.0, 362.0, 733.0, 733.0, 864.0),
        ('L4', NULL, 30.3, 60.5, 121.0, 242.5, 242.5, 300.0),
        ('V100', 7.8, 15.7, 15.7, 125.0, NULL, NULL, 900.0),
        ('T4', NULL, 8.1, 8.1, 65.0, NULL, 130.0, 320.0),
        ('MI300X', 163.4, 163.4, 653.7, 1307.4, 2614.9, 2614.9, 5300.0),
        ('MI325X', 163.4, 163.4, 653.7, 1307.4, 2614.9, 2614.9, 6000.0)
    ) AS listed(chip, fp64, fp32, tf32, fp16, fp8, int8, gbps)
),
found AS (
    SELECT process_id, device_id, arg_min(chips, place) AS chip,
           any_value(global_memory_bandwidth_kbps) AS kbps
    FROM device
    JOIN chips
        ON regexp_matches(name, '(^|[^A-Z0-9])' || replace(chip, '%', '.*') || '([^A-Z0-9]|$)')
    GROUP BY process_id, device_id
),
-- Processes that multiply floats without tensor cores.
plain AS (
    SELECT process_id, is_convolution, true AS is_plain
    FROM (
        SELECT process_id, name, category = 'convolution' AS is_convolution
        FROM (SELECT DISTINCT process_id, name FROM kernel)
        JOIN kernel_rule ON mangled = name
    )
    GROUP BY process_id, is_convolution
    HAVING bool_or(regexp_matches(name, 'simt|sgemm|ffma'))
        AND NOT bool_or(regexp_matches(name, 'tf32|s1688|nvjet_(sm\d+_)?s[^m]'))
)
SELECT process_id, device_id, rate.element_type, is_convolution, rate.peak_tflops,
       coalesce(nullif(kbps, 0) / 1e6, chip.gbps::DOUBLE) AS peak_gbps
FROM (
    SELECT *, unnest([
               {'element_type': 'double', 'peak_tflops': chip.fp64::DOUBLE},
               {'element_type': 'float', 'peak_tflops': CASE
                   WHEN is_plain THEN chip.fp32::DOUBLE ELSE chip.tf32::DOUBLE END},
               {'element_type': 'c10::Half', 'peak_tflops': chip.fp16::DOUBLE},
               -- Volta and Turing have no tensor cores for it.
               {'element_type': 'c10::BFloat16', 'peak_tflops': CASE
                   WHEN chip.chip NOT IN ('V100', 'T4') THEN chip.fp16::DOUBLE END},
               {'element_type': 'c10::Float8_e4m3fn', 'peak_tflops': chip.fp8::DOUBLE},
               {'element_type': 'c10::Float8_e5m2', 'peak_tflops': chip.fp8::DOUBLE},
               {'element_type': 'signed char', 'peak_tflops': chip.int8::DOUBLE}
           ]) AS rate
    FROM found
    CROSS JOIN (VALUES (false), (true)) AS kinds(is_convolution)
    LEFT JOIN plain USING (process_id, is_convolution)
)

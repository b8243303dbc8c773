-- What the chip of each device can do at most, of chips that are listed.
--
-- computed: Figures of the makers' data sheets, for dense matrices, by the name of the device; the
--   first row whose words a name has counts ($ is the end of the name, as chips of laptops are
--   other ones). Rates of halves are with sums in floats. Bandwidth is that of the device record,
--   if it is there.
-- limits: Variants of lower power have lower peaks; chips that are not listed have no row.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   chip VARCHAR: Its name in the list.
--   fp64 DOUBLE [Tflop/s]: Operations a second on doubles.
--   fp32 DOUBLE [Tflop/s]: On floats, without tensor cores.
--   tf32 DOUBLE [Tflop/s]: On floats as TF32; where the chip has no TF32, without tensor cores.
--   fp16 DOUBLE [Tflop/s]: On halves.
--   fp8 DOUBLE [Tflop/s]: On floats of 8 bits; NULL where the chip has none.
--   int8 DOUBLE [Tflop/s]: On integers of 8 bits; NULL where the chip has none.
--   gbps DOUBLE [GB/s]: Bytes of memory a second.
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
        ('H800', 1.0, 67.0, 494.7, 989.4, 1978.9, 1978.9, 3352.0),
        ('H20', 1.0, 44.0, 74.0, 148.0, 296.0, 296.0, 4000.0),
        ('A100%80GB', 19.5, 19.5, 156.0, 312.0, NULL, 624.0, 2039.0),
        ('A100', 19.5, 19.5, 156.0, 312.0, NULL, 624.0, 1555.0),
        ('A800%80GB', 19.5, 19.5, 156.0, 312.0, NULL, 624.0, 2039.0),
        ('A30', 10.3, 10.3, 82.5, 165.0, NULL, 330.0, 933.0),
        ('A10G', NULL, 35.0, 35.0, 70.0, NULL, 140.0, 600.0),
        ('A10', NULL, 31.2, 62.5, 125.0, NULL, 250.0, 600.0),
        ('L40S', NULL, 91.6, 183.0, 362.0, 733.0, 733.0, 864.0),
        ('L40', NULL, 90.5, 90.5, 181.0, 362.0, 362.0, 864.0),
        ('L20', NULL, 59.8, 59.8, 119.5, 239.0, 239.0, 864.0),
        ('L4', NULL, 30.3, 60.5, 121.0, 242.5, 242.5, 300.0),
        ('RTX PRO 6000', NULL, 125.0, 251.9, 503.8, 1007.6, 1007.6, 1792.0),
        ('RTX 6000 Ada', NULL, 91.1, 182.1, 364.2, 728.5, 728.5, 960.0),
        ('RTX 5090$', NULL, 104.8, 104.8, 209.5, 419.0, 838.0, 1792.0),
        ('RTX 5080$', NULL, 56.3, 56.3, 112.6, 225.1, 450.2, 960.0),
        ('RTX 4090$', NULL, 82.6, 82.6, 165.2, 330.3, 660.6, 1008.0),
        ('RTX 4080 SUPER$', NULL, 52.2, 52.2, 104.4, 208.9, 417.7, 736.0),
        ('RTX 4080$', NULL, 48.7, 48.7, 97.5, 194.9, 389.9, 717.0),
        ('RTX 4070 Ti SUPER$', NULL, 44.1, 44.1, 88.2, 176.4, 352.8, 672.0),
        ('RTX 4070 Ti$', NULL, 40.1, 40.1, 80.2, 160.4, 320.7, 504.0),
        ('RTX 4070 SUPER$', NULL, 35.5, 35.5, 71.0, 141.9, 283.8, 504.0),
        ('RTX 4070$', NULL, 29.1, 29.1, 58.3, 116.6, 233.2, 504.0),
        ('RTX 4060 Ti$', NULL, 22.1, 22.1, 44.1, 88.3, 176.5, 288.0),
        ('RTX 4060$', NULL, 15.1, 15.1, 30.2, 60.5, 121.0, 272.0),
        ('RTX A6000', NULL, 38.7, 77.4, 154.8, NULL, 309.7, 768.0),
        ('A40', NULL, 37.4, 74.8, 149.7, NULL, 299.3, 696.0),
        ('RTX A5000', NULL, 27.8, 55.6, 111.1, NULL, 222.2, 768.0),
        ('RTX A4000$', NULL, 19.2, 38.3, 76.7, NULL, 153.4, 448.0),
        ('RTX 3090 Ti$', NULL, 40.0, 40.0, 80.0, NULL, 320.0, 1008.0),
        ('RTX 3090$', NULL, 35.6, 35.6, 71.2, NULL, 284.7, 936.0),
        ('RTX 3080 Ti$', NULL, 34.1, 34.1, 68.2, NULL, 272.8, 912.0),
        ('RTX 3080$', NULL, 29.8, 29.8, 59.5, NULL, 238.0, 760.0),
        ('RTX 3070 Ti$', NULL, 21.7, 21.7, 43.5, NULL, 174.0, 608.0),
        ('RTX 3070$', NULL, 20.3, 20.3, 40.6, NULL, 162.6, 448.0),
        ('RTX 3060 Ti$', NULL, 16.2, 16.2, 32.4, NULL, 129.6, 448.0),
        ('RTX 3060$', NULL, 12.7, 12.7, 25.5, NULL, 101.9, 360.0),
        ('TITAN RTX', NULL, 16.3, 16.3, 130.5, NULL, 261.0, 672.0),
        ('Quadro RTX 8000$', NULL, 16.3, 16.3, 130.5, NULL, 261.0, 672.0),
        ('Quadro RTX 6000$', NULL, 16.3, 16.3, 130.5, NULL, 261.0, 672.0),
        ('RTX 2080 Ti$', NULL, 13.4, 13.4, 53.8, NULL, 215.2, 616.0),
        ('RTX 2080 SUPER$', NULL, 11.2, 11.2, 44.6, NULL, 178.4, 496.0),
        ('RTX 2080$', NULL, 10.1, 10.1, 40.3, NULL, 161.1, 448.0),
        ('RTX 2070 SUPER$', NULL, 9.1, 9.1, 36.2, NULL, 145.0, 448.0),
        ('RTX 2070$', NULL, 7.5, 7.5, 29.9, NULL, 119.4, 448.0),
        ('V100', 7.8, 15.7, 15.7, 125.0, NULL, NULL, 900.0),
        ('T4', NULL, 8.1, 8.1, 65.0, NULL, 130.0, 320.0),
        ('MI300X', 163.4, 163.4, 653.7, 1307.4, 2614.9, 2614.9, 5300.0),
        ('MI325X', 163.4, 163.4, 653.7, 1307.4, 2614.9, 2614.9, 6000.0)
    ) AS listed(chip, fp64, fp32, tf32, fp16, fp8, int8, gbps)
)
SELECT process_id, device_id, chip.chip, chip.fp64::DOUBLE AS fp64, chip.fp32::DOUBLE AS fp32,
       chip.tf32::DOUBLE AS tf32, chip.fp16::DOUBLE AS fp16, chip.fp8::DOUBLE AS fp8,
       chip.int8::DOUBLE AS int8, coalesce(nullif(kbps, 0) / 1e6, chip.gbps::DOUBLE) AS gbps
FROM (
    SELECT process_id, device_id, arg_min(chips, place) AS chip,
           any_value(global_memory_bandwidth_kbps) AS kbps
    FROM device
    JOIN chips
        ON regexp_matches(name, '(^|[^A-Z0-9])' || replace(chip, '%', '.*') || '([^A-Z0-9]|$)')
    GROUP BY process_id, device_id
)

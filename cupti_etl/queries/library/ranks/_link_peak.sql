-- The link by which a GPU reaches the others of its host, and what it can carry in one direction.
--
-- computed: NVLink of chips that are sold with all their links connected, by the makers' data
--   sheets and the name of the device; the first row whose words a name has counts. PCIe of chips
--   without NVLink, by lanes and rate of the pcie table.
-- limits: Chips whose NVLink is an option, a bridge or differs by machine have no row (H100 PCIe,
--   V100), nor those with PCIe where that was not recorded (--kinds full). Operations inside of
--   switches (NVLS) can be faster than a link.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   link VARCHAR: NVLink or PCIe.
--   peak_gbps DOUBLE [gigabytes/s]: Bytes a second in one direction, in 10^9.
WITH chips AS (
    SELECT row_number() OVER () AS place, *
    FROM (VALUES
        ('B200', 900.0), ('B300', 900.0), ('GB200', 900.0), ('GB300', 900.0),
        ('H100 PCIe', NULL), ('H100 NVL', NULL), ('H200 NVL', NULL), ('GH200', NULL),
        ('H800 PCIe', NULL),
        ('H100', 450.0), ('H200', 450.0), ('H20', 450.0), ('H800', 200.0), ('A800-SXM4', 200.0),
        ('A100-SXM4', 300.0),
        ('L40S', 0.0), ('L40', 0.0), ('L4', 0.0), ('T4', 0.0), ('A10G', 0.0), ('A10', 0.0),
        ('A16', 0.0), ('A2', 0.0)
    ) AS listed(chip, nvlink_gbps)
),
named AS (
    SELECT process_id, device_id, any_value(device_uuid) AS device_uuid,
           arg_min(chips, place).nvlink_gbps::DOUBLE AS nvlink_gbps
    FROM device
    JOIN chips ON regexp_matches(name, '(^|[^A-Z0-9])' || chip || '([^A-Z0-9]|$)')
    GROUP BY process_id, device_id
),
-- PCIe 1 and 2 send 10 bits for 8, later ones 130 for 128.
lanes AS (
    SELECT device_uuid,
           max(link_rate_gtps::DOUBLE * link_width / 8.0
               * CASE WHEN generation < 3 THEN 0.8 ELSE 128 / 130.0 END) AS pcie_gbps
    FROM pcie
    WHERE device_uuid IS NOT NULL AND link_rate_gtps > 0 AND link_width > 0
    GROUP BY device_uuid
)
SELECT process_id, device_id, CASE WHEN nvlink_gbps > 0 THEN 'NVLink' ELSE 'PCIe' END AS link,
       CASE WHEN nvlink_gbps > 0 THEN nvlink_gbps ELSE pcie_gbps END AS peak_gbps
FROM named
LEFT JOIN lanes USING (device_uuid)
WHERE nvlink_gbps > 0 OR (nvlink_gbps = 0 AND pcie_gbps IS NOT NULL)

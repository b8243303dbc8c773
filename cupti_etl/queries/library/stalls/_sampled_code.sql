-- How many samples of each function are at instructions of a costly kind.
--
-- computed: Instructions of _line_sample by their opcode and operands.
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- columns:
--   function of _pc_stall
--   code VARCHAR: local (memory), atomic, double, constant (at an index that is computed), division
--     (the reciprocal that a division of integers begins with), shared (memory), or special
--     (functions).
--   percent DOUBLE [%]: Samples at them as a share of the function's samples.
WITH samples AS (
    SELECT function, samples, regexp_replace(instruction, '^@!?U?P\w+ ', '') AS instruction
    FROM _line_sample
),
named AS (
    SELECT function, samples,
           CASE WHEN regexp_matches(instruction, '^(LDL|STL)\b') THEN 'local'
                WHEN regexp_matches(instruction, '^(RED|REDG|REDS|ATOM|ATOMG|ATOMS)\b')
                THEN 'atomic'
                WHEN regexp_matches(instruction, '^(D(ADD|MUL|FMA|SETP|MNMX)|MUFU\.\w+64H)\b'
                                                 '|^[FI]2[FI]\S*\.F64')
                THEN 'double'
                WHEN regexp_matches(instruction, '^LDC\S* \w+, c\[\w+\]\[R\d') THEN 'constant'
                WHEN regexp_matches(instruction, '^(I2F\S*\.RP|F2I\S*\.TRUNC\.NTZ)\b')
                THEN 'division'
                WHEN regexp_matches(instruction, '^(LDS|LDSM|STS|STSM)\b') THEN 'shared'
                WHEN regexp_matches(instruction, '^MUFU\b') THEN 'special' END AS code
    FROM samples
),
sums AS (
    SELECT function, code, sum(samples) AS samples,
           sum(sum(samples)) OVER (PARTITION BY function) AS function_samples
    FROM named
    GROUP BY function, code
)
SELECT function, code, 100.0 * samples / nullif(function_samples, 0) AS percent
FROM sums
WHERE code IS NOT NULL

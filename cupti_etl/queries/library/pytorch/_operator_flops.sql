-- Operations and bytes of each operator that launched work by itself, as far as sizes tell them.
--
-- computed: _operator_formula for each combination of sizes. Bytes are those of inputs and result,
--   each once: what has to be moved at least; of recurrent networks they are not known.
-- requires:
--   _operator: no operators were recorded (capture with --pytorch, or import a trace of PyTorch).
-- limits: Operators without a formula are not here. NULL where sizes were not recorded, or, of
--   convolutions, the values of their arguments; of attention over sequences that are packed into
--   one; and of transposed convolutions.
-- scope: start_ns
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   name VARCHAR: Name of the operator.
--   kind VARCHAR: As in _operator_formula.
--   input_dims VARCHAR: Sizes of its inputs, as JSON.
--   element_type VARCHAR: Type of the elements of its first factor.
--   start_ns BIGINT [epoch ns]: When its first work on a GPU began.
--   gpu_ns BIGINT [ns]: Sum of the durations of what it launched by itself.
--   flops DOUBLE [operations]: Floating point operations, or those of integers.
--   bytes DOUBLE [bytes]: Inputs and result.
WITH ran AS (
    SELECT operator.process_id, operator.name, operator.input_dims,
           operator.input_types, operator.concrete_inputs, work.device_id, work.self_start_ns,
           work.self_gpu_ns
    FROM _operator AS operator
    JOIN _operator_work AS work ON work.range_id = operator.range_id
    WHERE work.self_launches > 0 AND operator.kind = 'operator'
        AND operator.name IN (SELECT formula.operator FROM _operator_formula AS formula)
),
parsed AS (
    SELECT shape.name, shape.input_dims, shape.input_types, shape.concrete_inputs,
           formula.* EXCLUDE (operator), TRY_CAST(shape.input_dims AS BIGINT[][]) AS dims,
           dims[first_input] AS one, dims[second_input] AS two,
           -- A recurrent network is given its matrices and biases as a list.
           TRY_CAST(shape.input_dims AS VARCHAR[]) AS inputs,
           TRY_CAST(inputs[first_input] AS BIGINT[]) AS sequences,
           TRY_CAST(inputs[second_input] AS BIGINT[][]) AS weights,
           TRY_CAST(concrete_inputs AS VARCHAR[]) AS given,
           json_extract_string(input_types, '$[' || (first_input - 1) || ']') AS element_type,
           CASE WHEN element_type IN ('double', 'long int') THEN 8
                WHEN element_type IN ('float', 'int') THEN 4
                WHEN element_type IN ('c10::Half', 'c10::BFloat16') THEN 2
                WHEN starts_with(element_type, 'c10::Float8') OR element_type = 'signed char'
                THEN 1 END AS width
    FROM (SELECT DISTINCT name, input_dims, input_types, concrete_inputs FROM ran) AS shape
    JOIN _operator_formula AS formula ON formula.operator = shape.name
),
sized AS (
    SELECT *, TRY_CAST(given[padding] AS BIGINT[]) AS paddings,
           TRY_CAST(given[stride] AS BIGINT[]) AS strides,
           TRY_CAST(given[dilation] AS BIGINT[]) AS dilations,
           -- Of matrices: columns of the result; of attention: keys, and depth of the values.
           CASE layout WHEN 'nk' THEN two[-2] WHEN 'kn' THEN two[-1] WHEN 'bhsd' THEN two[-2]
                       WHEN 'bshd' THEN two[-3] END AS across,
           dims[second_input + 1][-1] AS value_depth
    FROM parsed
),
results AS (
    SELECT *,
           CASE kind
               WHEN 'matrix product' THEN
                   CASE WHEN len(one) >= 2 AND len(two) >= 2
                             AND CASE layout WHEN 'nk' THEN two[-1] ELSE two[-2] END = one[-1]
                             AND (len(two) = 2 OR two[:-3] = one[:-3])
                        THEN list_product(one) / nullif(one[-1], 0) * across END
               WHEN 'attention' THEN
                   CASE WHEN len(one) = 4 AND len(two) = 4
                        THEN list_product(one) / nullif(one[-1], 0) * value_depth END
               WHEN 'convolution' THEN
                   CASE WHEN len(one) = len(two) AND len(one) >= 3 AND len(paddings) = len(strides)
                             AND len(strides) = len(dilations) AND len(strides) = len(one) - 2
                             AND NOT coalesce(
                                 name IN ('aten::convolution', 'aten::_convolution')
                                 AND lower(given[7]) NOT IN ('false', '0'), false
                             )
                        THEN one[1] * two[1] * list_product(list_transform(
                            range(1, len(strides) + 1),
                            lambda i: (one[i + 2] + 2 * paddings[i]
                                       - dilations[i] * (two[i + 2] - 1) - 1)
                                      // nullif(strides[i], 0) + 1
                        )) END
               WHEN 'convolution backward' THEN
                   CASE WHEN len(one) = len(two) AND lower(given[8]) IN ('false', '0')
                        THEN list_product(one) END
               END AS result
    FROM sized
),
counted AS (
    SELECT *,
           factor * CASE kind
               WHEN 'matrix product' THEN 2.0 * result * one[-1]
               WHEN 'attention' THEN
                   2.0 * result / nullif(value_depth, 0) * across * (one[-1] + value_depth)
               WHEN 'convolution' THEN 2.0 * result * list_product(two[2:])
               WHEN 'convolution backward' THEN 2.0 * result * list_product(two[2:])
                   * len(list_filter(TRY_CAST(given[11] AS BOOLEAN[])[:2], lambda asked: asked))
               WHEN 'recurrent' THEN 2.0 * list_product(sequences) / nullif(sequences[-1], 0)
                   * list_sum([list_product(sizes) FOR sizes IN weights IF len(sizes) = 2])
               END AS flops,
           width * CASE kind
               WHEN 'matrix product' THEN list_product(one) + list_product(two)
                   -- What 8-bit numbers add to has 16 bits.
                   + CASE width WHEN 1 THEN 2 ELSE 1 END * result
               WHEN 'attention' THEN factor
                   * (list_product(one) + list_product(two)
                      + list_product(dims[second_input + 1]) + result)
               WHEN 'convolution' THEN list_product(one) + list_product(two) + result
               WHEN 'convolution backward' THEN
                   result + 2 * (list_product(two) + list_product(dims[2]))
               END AS bytes
    FROM results
)
SELECT ran.process_id,
       coalesce(gpu.gpu, -1 - TRY_CAST((hash(ran.process_id, ran.device_id) >> 33) AS BIGINT))
           AS gpu,
       ran.device_id, ran.name, counted.kind, ran.input_dims,
       counted.element_type, ran.self_start_ns AS start_ns, ran.self_gpu_ns AS gpu_ns,
       counted.flops::DOUBLE AS flops, counted.bytes::DOUBLE AS bytes
FROM ran
JOIN counted
    ON counted.name = ran.name
    AND counted.input_dims IS NOT DISTINCT FROM ran.input_dims
    AND counted.input_types IS NOT DISTINCT FROM ran.input_types
    AND counted.concrete_inputs IS NOT DISTINCT FROM ran.concrete_inputs
LEFT JOIN gpu ON gpu.process_id = ran.process_id AND gpu.device_id = ran.device_id

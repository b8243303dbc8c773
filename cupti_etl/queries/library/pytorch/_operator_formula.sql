-- How the floating point operations of operators of PyTorch follow from the sizes of their inputs.
--
-- computed: One row for each operator of the trace that is known. A product of matrices takes 2 *
--   (elements of left) * (columns of right); attention 2 * queries * keys * (depth of keys and of
--   values) for each head, masked or not; a convolution 2 * (elements of the result) * (channels of
--   one group) * (elements of the kernel); a recurrent network 2 * (steps of all sequences) *
--   (elements of all its matrices). factor is for backward passes: of attention, which computes its
--   products anew, 5 products instead of 2; of a recurrent network, twice those of the forward
--   pass. Places count from 1.
-- scope: whole
-- columns:
--   operator VARCHAR: Name of the operator.
--   kind VARCHAR: matrix product, convolution, convolution backward, attention or recurrent.
--   first_input INTEGER: Place of the left matrix, the queries, the image or the result's gradient.
--   second_input INTEGER: Place of the right matrix, the keys, or the weights.
--   layout VARCHAR: kn or nk of the right matrix; bhsd or bshd (batch, heads, sequence, depth).
--   factor DOUBLE: By what to multiply.
--   padding INTEGER: Place of a convolution's padding; NULL if it has none.
--   stride INTEGER: Place of its stride.
--   dilation INTEGER: Place of its dilation.
SELECT *
FROM (VALUES
    ('aten::mm', 'matrix product', 1, 2, 'kn', 1.0::DOUBLE, NULL::INTEGER, NULL::INTEGER,
     NULL::INTEGER),
    ('aten::bmm', 'matrix product', 1, 2, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::addmm', 'matrix product', 2, 3, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::addmm_', 'matrix product', 2, 3, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::_addmm_activation', 'matrix product', 2, 3, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::baddbmm', 'matrix product', 2, 3, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::baddbmm_', 'matrix product', 2, 3, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::matmul', 'matrix product', 1, 2, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::linear', 'matrix product', 1, 2, 'nk', 1.0, NULL, NULL, NULL),
    ('aten::_scaled_mm', 'matrix product', 1, 2, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::_int_mm', 'matrix product', 1, 2, 'kn', 1.0, NULL, NULL, NULL),
    ('aten::convolution', 'convolution', 1, 2, NULL, 1.0, 5, 4, 6),
    ('aten::_convolution', 'convolution', 1, 2, NULL, 1.0, 5, 4, 6),
    ('aten::cudnn_convolution', 'convolution', 1, 2, NULL, 1.0, 3, 4, 5),
    ('aten::cudnn_convolution_relu', 'convolution', 1, 2, NULL, 1.0, 5, 4, 6),
    ('aten::miopen_convolution', 'convolution', 1, 2, NULL, 1.0, 4, 5, 6),
    ('aten::convolution_backward', 'convolution backward', 1, 3, NULL, 1.0, NULL, NULL, NULL),
    ('aten::_scaled_dot_product_flash_attention', 'attention', 1, 2, 'bhsd', 1.0, NULL, NULL, NULL),
    ('aten::_scaled_dot_product_efficient_attention', 'attention', 1, 2, 'bhsd', 1.0, NULL, NULL,
     NULL),
    ('aten::_scaled_dot_product_cudnn_attention', 'attention', 1, 2, 'bhsd', 1.0, NULL, NULL, NULL),
    ('aten::_flash_attention_forward', 'attention', 1, 2, 'bshd', 1.0, NULL, NULL, NULL),
    ('aten::_efficient_attention_forward', 'attention', 1, 2, 'bshd', 1.0, NULL, NULL, NULL),
    ('aten::_cudnn_attention_forward', 'attention', 1, 2, 'bhsd', 1.0, NULL, NULL, NULL),
    ('aten::_scaled_dot_product_flash_attention_backward', 'attention', 2, 3, 'bhsd', 2.5, NULL,
     NULL, NULL),
    ('aten::_scaled_dot_product_efficient_attention_backward', 'attention', 2, 3, 'bhsd', 2.5, NULL,
     NULL, NULL),
    ('aten::_scaled_dot_product_cudnn_attention_backward', 'attention', 2, 3, 'bhsd', 2.5, NULL,
     NULL, NULL),
    ('aten::_flash_attention_backward', 'attention', 2, 3, 'bshd', 2.5, NULL, NULL, NULL),
    ('aten::_efficient_attention_backward', 'attention', 2, 3, 'bshd', 2.5, NULL, NULL, NULL),
    ('aten::_cudnn_attention_backward', 'attention', 2, 3, 'bhsd', 2.5, NULL, NULL, NULL),
    ('aten::_cudnn_rnn', 'recurrent', 1, 2, NULL, 1.0, NULL, NULL, NULL),
    ('aten::_cudnn_rnn_backward', 'recurrent', 1, 2, NULL, 2.0, NULL, NULL, NULL)
) AS formulas(operator, kind, first_input, second_input, layout, factor, padding, stride, dilation)
WHERE operator IN (SELECT name FROM _operator)

-- Calls of CUDA that failed, so that something did not run, by function and error.
--
-- computed: Calls that launch, copy or set, with any error, and others with those that are listed
--   here: the rest are answers to questions, as whether an address is the device's. 600 says that
--   something is not ready yet.
-- limits: Traces of PyTorch's profiler do not say what calls returned.
-- columns:
--   name VARCHAR: Function called.
--   return_value INTEGER: The cudaError_t or CUresult returned.
--   told VARCHAR: What that means; NULL if it is not listed here.
--   calls BIGINT [calls]: How many failed so.
SELECT name, return_value, told, count(*) AS calls
FROM api_call
LEFT JOIN (VALUES
    (2, 'out of memory'), (9, 'wrong size of grid or block'),
    (98, 'no such function on the device'), (200, 'broken code'),
    (209, 'no code for this device'), (214, 'memory error of the device (ECC)'),
    (218, 'invalid PTX'), (221, 'no compiler for PTX'),
    (222, 'PTX of a toolkit that is newer than the driver'),
    (700, 'illegal address in a kernel'),
    (701, 'a block needs more registers or threads than there are'),
    (702, 'a kernel took too long'), (710, 'assertion in a kernel'),
    (714, 'stack error in a kernel'), (715, 'illegal instruction in a kernel'),
    (716, 'misaligned address in a kernel'), (717, 'wrong address space in a kernel'),
    (718, 'invalid program counter in a kernel'), (719, 'a kernel failed'),
    (720, 'a cooperative grid is too large'),
    (900, 'not permitted while a stream is captured'), (901, 'the capture of a stream failed')
) AS errors(code, told)
    ON code = return_value
WHERE return_value NOT IN (0, 600)
    AND (told IS NOT NULL OR regexp_matches(name, 'Launch|Memcpy|Memset'))
GROUP BY name, told, return_value

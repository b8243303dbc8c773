-- Collective operations: communication kernels, with rank, size and how much of each was exposed.
--
-- computed: Rows of _collective, and of each what compute on the same GPU did not cover (union).
-- requires: _collective
-- limits: As _collective.
-- scope: start_ns
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id, rank, gpu, collective, name, number, start_ns, end_ns of _collective
--   exposed_ns of _collective_exposed
--   bytes, elements, element_type, group_size, process_group, sequence, communicator,
--     nccl_sequence, algorithm, protocol, call_start_ns, kind, ends_together,
--     is_of_one_size of _collective
SELECT one.process_id, rank, one.gpu, collective, name, one.number, one.start_ns, end_ns,
       exposed_ns, bytes, elements, element_type, group_size, process_group, sequence, communicator,
       nccl_sequence, algorithm, protocol, call_start_ns, one.kind, ends_together, is_of_one_size
FROM _collective AS one
JOIN _collective_exposed AS exposed
    ON exposed.process_id = one.process_id AND exposed.gpu IS NOT DISTINCT FROM one.gpu
    AND exposed.kind = one.kind AND exposed.number = one.number
ORDER BY one.process_id, one.gpu, one.start_ns, name, one.number;

-- merge
FROM partial
ORDER BY process_id, gpu, start_ns, name, number

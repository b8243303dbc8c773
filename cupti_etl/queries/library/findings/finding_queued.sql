-- How long each GPU was idle while it had work on its queues.
--
-- computed: queued_ns of gap_attribution, where it is 20 us and more: what is shorter is what
--   beginning a kernel takes. The culprit is the kernel or copy before which most of it was.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle with work on the queues (measured)
-- advice: look at what it waits for: events of other streams, functions on the host
--   (cudaLaunchHostFunc), other ranks, graph launches, other programs on the GPU, moves of managed
--   memory, a driver that hands work over in batches (Windows, WSL)
-- shown: gap_attribution --where "queued_ns >= 20000" --sort queued_ns
-- label: kernel = kernel(kernel)
SELECT gpu, idle_ns AS saved_ns, 'above all before' AS culprit, kernel
FROM _idle_culprit
WHERE state = 'queued'

"""The tables of the first release.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0001'
down_revision: str | None = None
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('api_call',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the call was entered. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the call returned. Unit: ns.'),
        sa.Column('domain', sa.String(), nullable=True, comment='Which API: runtime or driver.'),
        sa.Column('name', sa.String(), nullable=True, comment="The function's name."),
        sa.Column('cbid', sa.Integer(), nullable=True, comment="CUPTI's callback id of the function."),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='Joins the call to the work it asked for, within its process.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The calling thread, as the operating system numbers it.'),
        sa.Column('return_value', sa.Integer(), nullable=True, comment='The cudaError_t or CUresult returned; 0 is success.'),
        comment='One row per CUDA runtime or driver call that was recorded.'
    )
    op.create_table('argument',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('marker_id', sa.Integer(), nullable=True, comment='The range they belong to; NULL for work on a GPU.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call that started the work; NULL for a range.'),
        sa.Column('arguments', sa.String(), nullable=True, comment='The arguments, as a JSON object: shapes, types, what a collective sends.'),
        comment='One row per range, or piece of work on a GPU, that an imported trace gives arguments to.'
    )
    op.create_table('capture',
        sa.Column('capture_id', sa.BigInteger(), nullable=True, comment='Random number of this capture.'),
        sa.Column('version', sa.String(), nullable=True, comment='Version of cupti-etl that wrote it.'),
        sa.Column('schema_version', sa.Integer(), nullable=True, comment='Number of the table layout.'),
        sa.Column('host', sa.String(), nullable=True, comment='Host name.'),
        sa.Column('kernel_release', sa.String(), nullable=True, comment='Operating system and release.'),
        sa.Column('source', sa.String(), nullable=True, comment='capture, attach (of programs whose collector was killed), replay of a recording, or import and from what.'),
        sa.Column('command', sa.String(), nullable=True, comment='The traced command; NULL with --no-argv.'),
        sa.Column('kinds', sa.String(), nullable=True, comment='Tables that were asked for, comma-separated.'),
        sa.Column('api_level', sa.String(), nullable=True, comment='Which API calls were asked for: all, default, launch or none.'),
        sa.Column('flush_ms', sa.Integer(), nullable=True, comment='Interval at which CUPTI was flushed. Unit: ms.'),
        sa.Column('ring_mb', sa.Integer(), nullable=True, comment="Upper limit of a process's shared memory. Unit: MiB."),
        sa.Column('capture_range', sa.String(), nullable=True, comment='What --capture-range said; NULL without it.'),
        sa.Column('delay_ns', sa.BigInteger(), nullable=True, comment='How long recording was to wait. Unit: ns.'),
        sa.Column('duration_ns', sa.BigInteger(), nullable=True, comment='How long it was to last; NULL for to the end. Unit: ns.'),
        sa.Column('stopped_by', sa.String(), nullable=True, comment='Which limit ended the recording: duration, max_rows or max_size; NULL if none did.'),
        sa.Column('pm_metrics', sa.String(), nullable=True, comment='What --pm asked for: a preset, or metrics, comma-separated; NULL without it.'),
        sa.Column('pm_interval_ns', sa.BigInteger(), nullable=True, comment='Time between two PM samples that was asked for. Unit: ns.'),
        sa.Column('pm_state', sa.String(), nullable=True, comment='sampling, finished, partial (not on all GPUs, or not to the end), failed; NULL without --pm.'),
        sa.Column('pm_detail', sa.String(), nullable=True, comment='Why PM sampling failed, or failed on some GPU; NULL if it did not.'),
        sa.Column('pm_clocks_locked', sa.Boolean(), nullable=True, comment="Whether the GPUs' clocks were held fixed while they were sampled; NULL if it is not known."),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the capture began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL while it runs. Written last: a trace that has it is whole. Unit: ns.'),
        sa.Column('exit_status', sa.Integer(), nullable=True, comment='Exit status of the command; 128+n if signal n ended it; NULL while it runs.'),
        sa.Column('row_counts', sa.Integer(), nullable=True, comment='How many rows row_count has; NULL while the capture runs, and in older traces.'),
        comment='One row per capture: how it was made and how it ended.'
    )
    op.create_table('capture_window',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When all records were switched on. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When they began to be switched off; NULL if the process was killed before. Unit: ns.'),
        sa.Column('opened_by', sa.String(), nullable=True, comment='process (its start), collector (--delay), range (--capture-range) or other_client (it left).'),
        sa.Column('closed_by', sa.String(), nullable=True, comment='process (its end), collector (--duration, --max-rows, --max-size), range, other_client (it came); NULL if open.'),
        sa.Column('switch_on_ns', sa.BigInteger(), nullable=True, comment='How long switching on took. Unit: ns.'),
        sa.Column('switch_off_ns', sa.BigInteger(), nullable=True, comment='How long switching off took. Unit: ns.'),
        sa.Column('windows', sa.BigInteger(), nullable=True, comment='How many stretches: 1, or more where over a thousand came between two looks; then they lie between start and end, and the rest is NULL.'),
        comment='One row per stretch of time in which a process was recorded, or for several of which no more is known.'
    )
    op.create_table('clock',
        sa.Column('realtime_ns', sa.BigInteger(), nullable=True, comment='CLOCK_REALTIME, the clock of every timestamp in the trace. Unit: ns.'),
        sa.Column('monotonic_ns', sa.BigInteger(), nullable=True, comment='CLOCK_MONOTONIC, which never steps. Unit: ns.'),
        sa.Column('boottime_ns', sa.BigInteger(), nullable=True, comment='CLOCK_BOOTTIME, which also counts suspend. Unit: ns.'),
        comment="The host's clocks read together, about once a second."
    )
    op.create_table('compute_engine_ctx_switch',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('operation', sa.String(), nullable=True, comment='start or end.'),
        comment='One row per switch to or from a context.'
    )
    op.create_table('confidential_compute_rotation',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('event', sa.String(), nullable=True, comment='What happened to the channel.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        comment='One row per event of a key rotation.'
    )
    op.create_table('context',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment="CUPTI's number of the context in its process."),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of its device.'),
        sa.Column('compute_api', sa.String(), nullable=True, comment='Compute API, such as cuda or cuda_mps.'),
        sa.Column('null_stream_id', sa.Integer(), nullable=True, comment='Stream number of the default stream.'),
        sa.Column('parent_context_id', sa.Integer(), nullable=True, comment='Parent of a green context.'),
        sa.Column('is_green_context', sa.Boolean(), nullable=True, comment='Whether it is a green context.'),
        sa.Column('multiprocessors', sa.Integer(), nullable=True, comment='Multiprocessors given to it. Unit: multiprocessors.'),
        sa.Column('cig_mode', sa.String(), nullable=True, comment='CUDA-in-graphics mode.'),
        comment='One row per CUDA context.'
    )
    op.create_table('cuda_event',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('event_id', sa.Integer(), nullable=True, comment="CUPTI's number of the event."),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it belongs to.'),
        sa.Column('device_timestamp_ns', sa.BigInteger(), nullable=True, comment='When the device reached it; from CUPTI 13.0. Unit: ns.'),
        sa.Column('event_sync_id', sa.BigInteger(), nullable=True, comment='Joins the record to the waits it ends.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph it belongs to; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('source_graph_id', sa.Integer(), nullable=True, comment='Graph that the executed graph was instantiated from.'),
        sa.Column('source_graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that source graph.'),
        comment='One row per recording of a CUDA event.'
    )
    op.create_table('device',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('device_uuid', sa.String(), nullable=True, comment='The GPU across processes and hosts, as nvidia-smi prints it.'),
        sa.Column('name', sa.String(), nullable=True, comment='Product name.'),
        sa.Column('compute_capability_major', sa.Integer(), nullable=True, comment='Compute capability, major.'),
        sa.Column('compute_capability_minor', sa.Integer(), nullable=True, comment='Compute capability, minor.'),
        sa.Column('multiprocessors', sa.Integer(), nullable=True, comment='Streaming multiprocessors. Unit: multiprocessors.'),
        sa.Column('global_memory_bytes', sa.BigInteger(), nullable=True, comment='Global memory. Unit: bytes.'),
        sa.Column('global_memory_bandwidth_kbps', sa.BigInteger(), nullable=True, comment='Peak memory bandwidth. Unit: kilobytes/s.'),
        sa.Column('l2_cache_bytes', sa.Integer(), nullable=True, comment='L2 cache. Unit: bytes.'),
        sa.Column('constant_memory_bytes', sa.Integer(), nullable=True, comment='Constant memory. Unit: bytes.'),
        sa.Column('core_clock_khz', sa.Integer(), nullable=True, comment='Peak core clock. Unit: kHz.'),
        sa.Column('memcpy_engines', sa.Integer(), nullable=True, comment='Copy engines. Unit: engines.'),
        sa.Column('threads_per_warp', sa.Integer(), nullable=True, comment='Threads in a warp. Unit: threads.'),
        sa.Column('max_warps_per_multiprocessor', sa.Integer(), nullable=True, comment='Resident warps, at most. Unit: warps.'),
        sa.Column('max_blocks_per_multiprocessor', sa.Integer(), nullable=True, comment='Resident blocks, at most. Unit: blocks.'),
        sa.Column('max_registers_per_multiprocessor', sa.Integer(), nullable=True, comment='Registers, at most. Unit: registers.'),
        sa.Column('max_registers_per_block', sa.Integer(), nullable=True, comment='Registers of a block, at most. Unit: registers.'),
        sa.Column('max_shared_per_multiprocessor_bytes', sa.Integer(), nullable=True, comment='Shared memory, at most. Unit: bytes.'),
        sa.Column('max_shared_per_block_bytes', sa.Integer(), nullable=True, comment='Shared memory of a block, at most. Unit: bytes.'),
        sa.Column('max_threads_per_block', sa.Integer(), nullable=True, comment='Threads of a block, at most. Unit: threads.'),
        sa.Column('ecc_enabled', sa.Boolean(), nullable=True, comment='Whether error correction is on.'),
        sa.Column('is_cuda_visible', sa.Boolean(), nullable=True, comment='Whether CUDA_VISIBLE_DEVICES leaves it visible.'),
        sa.Column('is_mig_enabled', sa.Boolean(), nullable=True, comment='Whether the GPU is partitioned (MIG).'),
        sa.Column('gpu_instance_id', sa.Integer(), nullable=True, comment='MIG GPU instance; NULL without MIG.'),
        sa.Column('compute_instance_id', sa.Integer(), nullable=True, comment='MIG compute instance; NULL without MIG.'),
        sa.Column('mig_uuid', sa.String(), nullable=True, comment='UUID of the MIG device; NULL without MIG.'),
        sa.Column('numa_id', sa.Integer(), nullable=True, comment='NUMA node of the device; NULL if it is none.'),
        sa.Column('tpcs', sa.Integer(), nullable=True, comment='Texture processing clusters. Unit: clusters.'),
        comment='One row per device and process.'
    )
    op.create_table('device_graph_trace',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.BigInteger(), nullable=True, comment='Stream it ran in.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='The graph launched.'),
        sa.Column('launcher_graph_id', sa.Integer(), nullable=True, comment='The graph that launched it.'),
        sa.Column('launch_mode', sa.String(), nullable=True, comment='How it was launched.'),
        comment='One row per graph launched from a kernel.'
    )
    op.create_table('environment',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('environment_kind', sa.String(), nullable=True, comment='What was read; columns of other readings are NULL.'),
        sa.Column('sm_clock_mhz', sa.Integer(), nullable=True, comment='Clock of the multiprocessors. Unit: MHz.'),
        sa.Column('memory_clock_mhz', sa.Integer(), nullable=True, comment='Clock of the memory. Unit: MHz.'),
        sa.Column('pcie_link_generation', sa.Integer(), nullable=True, comment='Generation of the PCIe link.'),
        sa.Column('pcie_link_width', sa.Integer(), nullable=True, comment='Lanes of the PCIe link. Unit: lanes.'),
        sa.Column('throttle_reasons', sa.Integer(), nullable=True, comment='Why clocks are lowered, as bits of CUpti_EnvironmentClocksThrottleReason; 0 for no reason.'),
        sa.Column('gpu_temperature_c', sa.Integer(), nullable=True, comment='Temperature of the GPU. Unit: degrees Celsius.'),
        sa.Column('power_mw', sa.Integer(), nullable=True, comment='Power drawn. Unit: mW.'),
        sa.Column('power_limit_mw', sa.Integer(), nullable=True, comment='Power at which the clocks are lowered. Unit: mW.'),
        sa.Column('fan_speed_pct', sa.Integer(), nullable=True, comment='Speed of the fan, as a share of its greatest. Unit: %.'),
        comment="One row per reading of a device's clocks, temperature, power or fan."
    )
    op.create_table('external_correlation',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('external_kind', sa.String(), nullable=True, comment='Which stack of ids.'),
        sa.Column('external_id', sa.BigInteger(), nullable=True, comment='The id, as the program pushed it.'),
        comment='One row per API call made under an external correlation id.'
    )
    op.create_table('function',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('function_id', sa.Integer(), nullable=True, comment="CUPTI's number of the function."),
        sa.Column('module_id', sa.Integer(), nullable=True, comment="CUPTI's number of the module it is in."),
        sa.Column('function_index', sa.Integer(), nullable=True, comment="Place in the module's symbol table."),
        sa.Column('name', sa.String(), nullable=True, comment='Mangled name.'),
        comment='One row per device function.'
    )
    op.create_table('graph_host_node',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it belongs to.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph it belongs to; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The calling thread, as the operating system numbers it.'),
        comment='One row per host function that a graph ran.'
    )
    op.create_table('graph_trace',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='Device of its first node; NULL if that ran on the host.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context of its first node; NULL if that ran on the host.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it was launched in.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='The graph launched.'),
        sa.Column('end_device_id', sa.Integer(), nullable=True, comment='Device of its last node; NULL if that ran on the host.'),
        sa.Column('end_context_id', sa.Integer(), nullable=True, comment='Context of its last node; NULL if that ran on the host.'),
        comment='One row per launch of a CUDA graph.'
    )
    op.create_table('green_context',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The green context itself.'),
        sa.Column('parent_context_id', sa.Integer(), nullable=True, comment='Context it was made from.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('tpcs', sa.Integer(), nullable=True, comment='Texture processing clusters given to it. Unit: clusters.'),
        sa.Column('multiprocessors', sa.Integer(), nullable=True, comment='Multiprocessors given to it. Unit: multiprocessors.'),
        sa.Column('tpc_mask_low', sa.BigInteger(), nullable=True, comment='Which clusters, 0 to 63, as bits.'),
        sa.Column('tpc_mask_high', sa.BigInteger(), nullable=True, comment='Which clusters, 64 to 127, as bits; later ones are not stored.'),
        sa.Column('workqueue_resource_id', sa.BigInteger(), nullable=True, comment='Its work queue resource; from CUPTI 13.2.'),
        sa.Column('workqueue_concurrency_limit', sa.Integer(), nullable=True, comment='Operations at once on its work queue, at most. Unit: operations.'),
        sa.Column('workqueue_sharing_scope', sa.Integer(), nullable=True, comment='How the work queue is shared, a CUdevWorkqueueConfigScope.'),
        sa.Column('workqueue_channels', sa.Integer(), nullable=True, comment='Hardware channels of its work queue; NULL if that is not known. Unit: channels.'),
        comment='One row per green context.'
    )
    op.create_table('host_launch',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it belongs to.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The calling thread, as the operating system numbers it.'),
        comment='One row per host function that a stream ran.'
    )
    op.create_table('import_skipped',
        sa.Column('file', sa.String(), nullable=True, comment='The file, as it was named.'),
        sa.Column('category', sa.String(), nullable=True, comment='redundant (the rest of the trace says the same), unsupported (no table has a place for it, or its version is not known) or invalid (it cannot be what it says, or is missing).'),
        sa.Column('what', sa.String(), nullable=True, comment='A category of events, a table, or TABLE.COLUMN.'),
        sa.Column('events', sa.BigInteger(), nullable=True, comment='How many events, rows or values; NULL if it is not known. Unit: events.'),
        sa.Column('detail', sa.String(), nullable=True, comment='Why, in a sentence.'),
        comment='One row per file and kind of thing in it that an import did not keep. Nothing of it counts as emitted, stored or lost.'
    )
    op.create_table('jit',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('entry', sa.String(), nullable=True, comment='What was compiled to what.'),
        sa.Column('operation', sa.String(), nullable=True, comment='Compiled, or from or into the cache.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('operation_correlation_id', sa.BigInteger(), nullable=True, comment='Joins the steps of one compilation.'),
        sa.Column('cache_bytes', sa.BigInteger(), nullable=True, comment='Size of the cache entry. Unit: bytes.'),
        sa.Column('cache_path', sa.String(), nullable=True, comment='Where the cache lies.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The calling thread, as the operating system numbers it.'),
        comment='One row per step of run-time compilation.'
    )
    op.create_table('kernel',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the kernel began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the kernel ended; NULL if it was still running. Unit: ns.'),
        sa.Column('name', sa.String(), nullable=True, comment='Mangled name.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call that launched it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it ran in.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it ran in.'),
        sa.Column('grid_x', sa.Integer(), nullable=True, comment='Blocks in the grid, x. Unit: blocks.'),
        sa.Column('grid_y', sa.Integer(), nullable=True, comment='Blocks in the grid, y. Unit: blocks.'),
        sa.Column('grid_z', sa.Integer(), nullable=True, comment='Blocks in the grid, z. Unit: blocks.'),
        sa.Column('block_x', sa.Integer(), nullable=True, comment='Threads in a block, x. Unit: threads.'),
        sa.Column('block_y', sa.Integer(), nullable=True, comment='Threads in a block, y. Unit: threads.'),
        sa.Column('block_z', sa.Integer(), nullable=True, comment='Threads in a block, z. Unit: threads.'),
        sa.Column('cluster_x', sa.Integer(), nullable=True, comment='Blocks in a cluster, x; 0 without clusters. Unit: blocks.'),
        sa.Column('cluster_y', sa.Integer(), nullable=True, comment='Blocks in a cluster, y; 0 without clusters. Unit: blocks.'),
        sa.Column('cluster_z', sa.Integer(), nullable=True, comment='Blocks in a cluster, z; 0 without clusters. Unit: blocks.'),
        sa.Column('registers_per_thread', sa.Integer(), nullable=True, comment='Registers that each thread uses. Unit: registers.'),
        sa.Column('static_shared_bytes', sa.Integer(), nullable=True, comment='Shared memory the kernel declares, per block. Unit: bytes.'),
        sa.Column('dynamic_shared_bytes', sa.Integer(), nullable=True, comment='Shared memory the launch asks for, per block. Unit: bytes.'),
        sa.Column('shared_executed_bytes', sa.Integer(), nullable=True, comment='Shared memory carve-out in force. Unit: bytes.'),
        sa.Column('local_per_thread_bytes', sa.Integer(), nullable=True, comment='Local memory reserved per thread. Unit: bytes.'),
        sa.Column('local_total_bytes', sa.BigInteger(), nullable=True, comment='Local memory reserved for the kernel. Unit: bytes.'),
        sa.Column('launch_type', sa.String(), nullable=True, comment='Regular or cooperative launch.'),
        sa.Column('queued_ns', sa.BigInteger(), nullable=True, comment='When the launch entered the command buffer; NULL unless latency timestamps are on. Unit: ns.'),
        sa.Column('submitted_ns', sa.BigInteger(), nullable=True, comment='When the command buffer was submitted; NULL unless latency timestamps are on. Unit: ns.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph that launched it; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('source_graph_id', sa.Integer(), nullable=True, comment='Graph that the executed graph was instantiated from.'),
        sa.Column('source_graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that source graph.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        sa.Column('max_potential_cluster_size', sa.Integer(), nullable=True, comment='Largest cluster size the launch could use. Unit: blocks.'),
        sa.Column('max_active_clusters', sa.Integer(), nullable=True, comment='Clusters that could be active at once. Unit: clusters.'),
        sa.Column('is_device_launched', sa.Boolean(), nullable=True, comment='Launched by a device-side graph launch.'),
        sa.Column('priority', sa.Integer(), nullable=True, comment='Stream priority at launch.'),
        sa.Column('grid_id', sa.BigInteger(), nullable=True, comment="CUPTI's number of the launch."),
        comment='One row per kernel execution on a device.'
    )
    op.create_table('kernel_name',
        sa.Column('mangled', sa.String(), nullable=True, comment='Name as CUPTI gives it.'),
        sa.Column('demangled', sa.String(), nullable=True, comment='Name with template and call arguments.'),
        sa.Column('short', sa.String(), nullable=True, comment='Function name alone: no return type, namespaces or arguments.'),
        comment='One row per kernel name seen.'
    )
    op.create_table('loss',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('cause', sa.String(), nullable=True, comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.'),
        sa.Column('device_uuid', sa.String(), nullable=True, comment='The GPU, where PM samples are missing; NULL for records.'),
        sa.Column('table_name', sa.String(), nullable=True, comment='Table the records belong to; NULL if it is not known.'),
        sa.Column('records', sa.BigInteger(), nullable=True, comment='How many; NULL if it cannot be known. Unit: records.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='How many bytes, where records could not be told apart. Unit: bytes.'),
        sa.Column('is_stored', sa.Boolean(), nullable=True, comment='Whether the rows are in the table all the same, with a NULL time.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='Earliest time the loss can concern. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='Latest time the loss can concern. Unit: ns.'),
        sa.Column('detail', sa.String(), nullable=True, comment='The cause in a sentence.'),
        comment='One row per cause and process: records that a table does not hold, or not whole.'
    )
    op.create_table('marker',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('marker_id', sa.Integer(), nullable=True, comment='Joins the start of a range to its end and to its data.'),
        sa.Column('event', sa.String(), nullable=True, comment='instant, start or end.'),
        sa.Column('name', sa.String(), nullable=True, comment='Text of the mark or range; NULL on an end.'),
        sa.Column('domain', sa.String(), nullable=True, comment='NVTX domain; NULL for the default domain.'),
        sa.Column('object_kind', sa.String(), nullable=True, comment='What the marker belongs to.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread that made it.'),
        comment='One row per NVTX mark, range start or range end.'
    )
    op.create_table('marker_data',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('marker_id', sa.Integer(), nullable=True, comment='The marker it belongs to.'),
        sa.Column('payload_kind', sa.String(), nullable=True, comment='How to read the payload.'),
        sa.Column('payload', sa.BigInteger(), nullable=True, comment='Payload as an integer, or the bits of one that is not.'),
        sa.Column('payload_double', sa.Double(), nullable=True, comment='The same bits read as a double.'),
        sa.Column('has_color', sa.Boolean(), nullable=True, comment='Whether a colour was given.'),
        sa.Column('color', sa.Integer(), nullable=True, comment='Colour, 0xAARRGGBB.'),
        sa.Column('category', sa.Integer(), nullable=True, comment='NVTX category.'),
        sa.Column('domain_id', sa.Integer(), nullable=True, comment="CUPTI's number of the NVTX domain."),
        comment='One row per NVTX marker that carries attributes.'
    )
    op.create_table('mem_decompress',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it belongs to.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('operations', sa.Integer(), nullable=True, comment='Decompressions in the batch. Unit: operations.'),
        sa.Column('source_bytes', sa.BigInteger(), nullable=True, comment='Compressed bytes read. Unit: bytes.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        comment='One row per batch of hardware decompression.'
    )
    op.create_table('memcpy',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the copy began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the copy ended; NULL if it was still running. Unit: ns.'),
        sa.Column('copy_kind', sa.String(), nullable=True, comment='Direction, such as HtoD.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Bytes copied. Unit: bytes.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call that asked for it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it ran in.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it ran in.'),
        sa.Column('src_kind', sa.String(), nullable=True, comment='Kind of memory read.'),
        sa.Column('dst_kind', sa.String(), nullable=True, comment='Kind of memory written.'),
        sa.Column('is_async', sa.Boolean(), nullable=True, comment='Asked for by an asynchronous call.'),
        sa.Column('copy_count', sa.BigInteger(), nullable=True, comment='Copies merged into this record. Unit: copies.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph that launched it; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('source_graph_id', sa.Integer(), nullable=True, comment='Graph that the executed graph was instantiated from.'),
        sa.Column('source_graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that source graph.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        sa.Column('is_device_launched', sa.Boolean(), nullable=True, comment='Launched by a device-side graph launch.'),
        comment='One row per memory copy on a device.'
    )
    op.create_table('memcpy_p2p',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('copy_kind', sa.String(), nullable=True, comment='Direction, such as PtoP.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Bytes copied. Unit: bytes.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it belongs to.'),
        sa.Column('src_device_id', sa.Integer(), nullable=True, comment='Device read from.'),
        sa.Column('src_context_id', sa.Integer(), nullable=True, comment='Context read from.'),
        sa.Column('dst_device_id', sa.Integer(), nullable=True, comment='Device written to.'),
        sa.Column('dst_context_id', sa.Integer(), nullable=True, comment='Context written to.'),
        sa.Column('src_kind', sa.String(), nullable=True, comment='Kind of memory read.'),
        sa.Column('dst_kind', sa.String(), nullable=True, comment='Kind of memory written.'),
        sa.Column('is_async', sa.Boolean(), nullable=True, comment='Asked for by an asynchronous call.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph it belongs to; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        comment='One row per copy between two devices (peer to peer).'
    )
    op.create_table('memory',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('operation', sa.String(), nullable=True, comment='allocation or release.'),
        sa.Column('memory_kind', sa.String(), nullable=True, comment='Kind of memory.'),
        sa.Column('address', sa.BigInteger(), nullable=True, comment='Address, as the bits of an unsigned number.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Size. Unit: bytes.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to; NULL if there is none.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it is ordered in; NULL if it is not asynchronous.'),
        sa.Column('is_async', sa.Boolean(), nullable=True, comment='By a stream-ordered call.'),
        sa.Column('name', sa.String(), nullable=True, comment='Variable, for static memory.'),
        sa.Column('source', sa.String(), nullable=True, comment='Shared object that asked for it; from CUPTI 12.6.'),
        sa.Column('pool_type', sa.String(), nullable=True, comment='Whose memory pool it came from; none without one.'),
        sa.Column('pool_address', sa.BigInteger(), nullable=True, comment='Address of that pool, as the bits of an unsigned number.'),
        sa.Column('pool_release_threshold_bytes', sa.BigInteger(), nullable=True, comment='Bytes that the pool keeps. Unit: bytes.'),
        sa.Column('pool_bytes', sa.BigInteger(), nullable=True, comment='Size of the pool. Unit: bytes.'),
        sa.Column('pool_pid', sa.BigInteger(), nullable=True, comment='Process that the pool was imported from.'),
        sa.Column('pool_utilized_bytes', sa.BigInteger(), nullable=True, comment='Bytes of the pool in use. Unit: bytes.'),
        sa.Column('pc', sa.BigInteger(), nullable=True, comment='Program counter of the call, as the bits of an unsigned number.'),
        comment='One row per allocation or release of memory.'
    )
    op.create_table('memory_pool',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('timestamp_ns', sa.BigInteger(), nullable=True, comment='When it happened. Unit: ns.'),
        sa.Column('operation', sa.String(), nullable=True, comment='created, destroyed or trimmed.'),
        sa.Column('pool_type', sa.String(), nullable=True, comment='Of this process, or imported.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('address', sa.BigInteger(), nullable=True, comment='Address of the pool, as the bits of an unsigned number.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Size of the pool. Unit: bytes.'),
        sa.Column('utilized_bytes', sa.BigInteger(), nullable=True, comment='Bytes in use. Unit: bytes.'),
        sa.Column('release_threshold_bytes', sa.BigInteger(), nullable=True, comment='Bytes the pool keeps. Unit: bytes.'),
        sa.Column('min_bytes_to_keep', sa.BigInteger(), nullable=True, comment='Bytes asked to be kept by a trim. Unit: bytes.'),
        sa.Column('is_managed', sa.Boolean(), nullable=True, comment='Whether it holds managed memory, not pinned; from CUPTI 13.0.'),
        comment='One row per creation, trimming or destruction of a memory pool.'
    )
    op.create_table('memset',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the set began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the set ended; NULL if it was still running. Unit: ns.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Bytes set. Unit: bytes.'),
        sa.Column('value', sa.Integer(), nullable=True, comment='Value written.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call that asked for it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal of the device in its process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it ran in.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream it ran in.'),
        sa.Column('memory_kind', sa.String(), nullable=True, comment='Kind of memory set.'),
        sa.Column('is_async', sa.Boolean(), nullable=True, comment='Asked for by an asynchronous call.'),
        sa.Column('graph_id', sa.Integer(), nullable=True, comment='CUDA graph that launched it; NULL outside graphs.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that graph; NULL outside graphs.'),
        sa.Column('source_graph_id', sa.Integer(), nullable=True, comment='Graph that the executed graph was instantiated from.'),
        sa.Column('source_graph_node_id', sa.BigInteger(), nullable=True, comment='Node of that source graph.'),
        sa.Column('channel_id', sa.Integer(), nullable=True, comment='Hardware channel.'),
        sa.Column('channel_type', sa.String(), nullable=True, comment='Kind of hardware channel.'),
        sa.Column('is_device_launched', sa.Boolean(), nullable=True, comment='Launched by a device-side graph launch.'),
        comment='One row per memory set on a device.'
    )
    op.create_table('name',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('object_kind', sa.String(), nullable=True, comment='What is named.'),
        sa.Column('name', sa.String(), nullable=True, comment='The name.'),
        sa.Column('pid', sa.Integer(), nullable=True, comment='The process named, or that of the thread.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread named.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='The device named, or that of the context or stream.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The context named, or that of the stream.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='The stream named.'),
        comment='One row per name given through NVTX.'
    )
    op.create_table('openacc_data',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('event', sa.String(), nullable=True, comment='What it is.'),
        sa.Column('construct', sa.String(), nullable=True, comment='Construct that it is part of.'),
        sa.Column('is_implicit', sa.Boolean(), nullable=True, comment='Whether the program does not say it itself.'),
        sa.Column('device_type', sa.Integer(), nullable=True, comment='acc_device_t of its device.'),
        sa.Column('device_number', sa.Integer(), nullable=True, comment='Number of the device among those of its type.'),
        sa.Column('async_value', sa.BigInteger(), nullable=True, comment="Value of the directive's async clause."),
        sa.Column('async_queue', sa.BigInteger(), nullable=True, comment='Queue of the OpenACC runtime that was used.'),
        sa.Column('source_file', sa.String(), nullable=True, comment='Source file; NULL if that is not known.'),
        sa.Column('function', sa.String(), nullable=True, comment='Function it happened in.'),
        sa.Column('line', sa.Integer(), nullable=True, comment='First line of the directive; not above 0 if that is not known.'),
        sa.Column('end_line', sa.Integer(), nullable=True, comment='Last line of the construct; not above 0 if that is not known.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread, as the operating system numbers it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment="CUDA ordinal of the device in its process; of NVIDIA's devices."),
        sa.Column('context_id', sa.Integer(), nullable=True, comment="Context; of NVIDIA's devices."),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment="Stream; of NVIDIA's devices."),
        sa.Column('external_id', sa.Integer(), nullable=True, comment='Joins it to the API calls made for it.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Bytes concerned. Unit: bytes.'),
        sa.Column('host_address', sa.BigInteger(), nullable=True, comment='Address on the host, as the bits of an unsigned number.'),
        sa.Column('device_address', sa.BigInteger(), nullable=True, comment='Address on the device, as the bits of an unsigned number.'),
        sa.Column('variable', sa.String(), nullable=True, comment='Variable; NULL if that is not known.'),
        comment='One row per transfer, allocation or release of an OpenACC program.'
    )
    op.create_table('openacc_launch',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('event', sa.String(), nullable=True, comment='What it is.'),
        sa.Column('construct', sa.String(), nullable=True, comment='Construct that it is part of.'),
        sa.Column('is_implicit', sa.Boolean(), nullable=True, comment='Whether the program does not say it itself.'),
        sa.Column('device_type', sa.Integer(), nullable=True, comment='acc_device_t of its device.'),
        sa.Column('device_number', sa.Integer(), nullable=True, comment='Number of the device among those of its type.'),
        sa.Column('async_value', sa.BigInteger(), nullable=True, comment="Value of the directive's async clause."),
        sa.Column('async_queue', sa.BigInteger(), nullable=True, comment='Queue of the OpenACC runtime that was used.'),
        sa.Column('source_file', sa.String(), nullable=True, comment='Source file; NULL if that is not known.'),
        sa.Column('function', sa.String(), nullable=True, comment='Function it happened in.'),
        sa.Column('line', sa.Integer(), nullable=True, comment='First line of the directive; not above 0 if that is not known.'),
        sa.Column('end_line', sa.Integer(), nullable=True, comment='Last line of the construct; not above 0 if that is not known.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread, as the operating system numbers it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment="CUDA ordinal of the device in its process; of NVIDIA's devices."),
        sa.Column('context_id', sa.Integer(), nullable=True, comment="Context; of NVIDIA's devices."),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment="Stream; of NVIDIA's devices."),
        sa.Column('external_id', sa.Integer(), nullable=True, comment='Joins it to the API calls made for it.'),
        sa.Column('gangs', sa.BigInteger(), nullable=True, comment='Gangs made for it. Unit: gangs.'),
        sa.Column('workers', sa.BigInteger(), nullable=True, comment='Workers made for it. Unit: workers.'),
        sa.Column('vector_length', sa.BigInteger(), nullable=True, comment='Vector lanes made for it. Unit: lanes.'),
        sa.Column('kernel', sa.String(), nullable=True, comment='Kernel launched; NULL if that is not known.'),
        comment='One row per launch of an OpenACC program.'
    )
    op.create_table('openacc_other',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('event', sa.String(), nullable=True, comment='What it is.'),
        sa.Column('construct', sa.String(), nullable=True, comment='Construct that it is part of.'),
        sa.Column('is_implicit', sa.Boolean(), nullable=True, comment='Whether the program does not say it itself.'),
        sa.Column('device_type', sa.Integer(), nullable=True, comment='acc_device_t of its device.'),
        sa.Column('device_number', sa.Integer(), nullable=True, comment='Number of the device among those of its type.'),
        sa.Column('async_value', sa.BigInteger(), nullable=True, comment="Value of the directive's async clause."),
        sa.Column('async_queue', sa.BigInteger(), nullable=True, comment='Queue of the OpenACC runtime that was used.'),
        sa.Column('source_file', sa.String(), nullable=True, comment='Source file; NULL if that is not known.'),
        sa.Column('function', sa.String(), nullable=True, comment='Function it happened in.'),
        sa.Column('line', sa.Integer(), nullable=True, comment='First line of the directive; not above 0 if that is not known.'),
        sa.Column('end_line', sa.Integer(), nullable=True, comment='Last line of the construct; not above 0 if that is not known.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread, as the operating system numbers it.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment="CUDA ordinal of the device in its process; of NVIDIA's devices."),
        sa.Column('context_id', sa.Integer(), nullable=True, comment="Context; of NVIDIA's devices."),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment="Stream; of NVIDIA's devices."),
        sa.Column('external_id', sa.Integer(), nullable=True, comment='Joins it to the API calls made for it.'),
        comment='One row per other event of an OpenACC program, such as a wait.'
    )
    op.create_table('openmp',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('event', sa.String(), nullable=True, comment='What it is.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread, as the operating system numbers it.'),
        sa.Column('openmp_thread', sa.Integer(), nullable=True, comment='The thread, as OpenMP numbers it.'),
        comment='One row per parallel region, task, thread or wait of an OpenMP runtime that reports them.'
    )
    op.create_table('overhead',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('overhead_kind', sa.String(), nullable=True, comment='What the time went to.'),
        sa.Column('object_kind', sa.String(), nullable=True, comment='What the overhead belongs to.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='Thread it was spent in; NULL where it belongs to no thread.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='Device it belongs to; NULL where it belongs to none.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to; NULL where it belongs to none.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        comment='One row per stretch of time spent in the driver or in CUPTI rather than in the program.'
    )
    op.create_table('pcie',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('type', sa.String(), nullable=True, comment='gpu or bridge.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='CUDA ordinal, of a GPU.'),
        sa.Column('device_uuid', sa.String(), nullable=True, comment='That GPU across processes and hosts.'),
        sa.Column('bridge_id', sa.Integer(), nullable=True, comment='Number, of a bridge.'),
        sa.Column('domain', sa.Integer(), nullable=True, comment='PCIe domain.'),
        sa.Column('generation', sa.Integer(), nullable=True, comment='PCIe generation.'),
        sa.Column('link_rate_gtps', sa.Integer(), nullable=True, comment='Link rate. Unit: gigatransfers/s.'),
        sa.Column('link_width', sa.Integer(), nullable=True, comment='Lanes. Unit: lanes.'),
        sa.Column('upstream_bus', sa.Integer(), nullable=True, comment='Bus above it.'),
        sa.Column('secondary_bus', sa.Integer(), nullable=True, comment='Bus below it, of a bridge.'),
        sa.Column('bridge_device', sa.Integer(), nullable=True, comment='PCI device id, of a bridge.'),
        sa.Column('bridge_vendor', sa.Integer(), nullable=True, comment='PCI vendor id, of a bridge.'),
        comment='One row per GPU or bridge on PCIe.'
    )
    op.create_table('pm_metric',
        sa.Column('metric', sa.String(), nullable=True, comment='Name of the column in pm_sample.'),
        sa.Column('device_uuid', sa.String(), nullable=True, comment='The GPU.'),
        sa.Column('chip', sa.String(), nullable=True, comment='Its chip, as CUPTI names it.'),
        sa.Column('preset', sa.String(), nullable=True, comment='The preset that the metric was chosen by; NULL if by its name.'),
        sa.Column('hardware_name', sa.String(), nullable=True, comment="The metric's name for CUPTI on this chip; NULL if the chip has none, and the column is then NULL."),
        sa.Column('unit', sa.String(), nullable=True, comment='Unit of the values: %, bytes, ns, Hz, 1 (a count).'),
        sa.Column('description', sa.String(), nullable=True, comment='What is measured, in a sentence.'),
        sa.Column('aggregation', sa.String(), nullable=True, comment='How samples are put together: mean (the value held throughout the sample: percentages, rates; weight it by time) or sum (what was counted during the sample).'),
        sa.Column('peak', sa.Double(), nullable=True, comment='The most that the GPU can do, in units a second; NULL if it is not known.'),
        sa.Column('interval_ns', sa.BigInteger(), nullable=True, comment='Time between two samples that was asked for. Unit: ns.'),
        comment='One row per metric and GPU: a column of pm_sample.'
    )
    op.create_table('pm_sample',
        sa.Column('device_uuid', sa.String(), nullable=True, comment='The GPU.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the sample began; the end of the one before. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended. Unit: ns.'),
        comment="One row per sample of a GPU's hardware counters: the whole GPU, whoever uses it. One column a metric, as pm_metric describes."
    )
    op.create_table('process',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('pid', sa.Integer(), nullable=True, comment='Process id as the process itself sees it.'),
        sa.Column('parent_pid', sa.Integer(), nullable=True, comment='Process id of its parent.'),
        sa.Column('host', sa.String(), nullable=True, comment='Host name.'),
        sa.Column('argv', sa.String(), nullable=True, comment='Command line, words separated by spaces; NULL with --no-argv.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When tracing began in it. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it was seen to end; NULL while it runs. Unit: ns.'),
        sa.Column('state', sa.String(), nullable=True, comment='tracing, finished (in order), killed, not flushed, lost, failed (see detail), or imported.'),
        sa.Column('detail', sa.String(), nullable=True, comment='Why tracing failed, or what was noticed; NULL if nothing.'),
        sa.Column('rank', sa.Integer(), nullable=True, comment='RANK of the environment.'),
        sa.Column('local_rank', sa.Integer(), nullable=True, comment='LOCAL_RANK of the environment.'),
        sa.Column('world_size', sa.Integer(), nullable=True, comment='WORLD_SIZE of the environment.'),
        sa.Column('slurm_job_id', sa.BigInteger(), nullable=True, comment='SLURM_JOB_ID of the environment.'),
        sa.Column('slurm_proc_id', sa.Integer(), nullable=True, comment='SLURM_PROCID of the environment.'),
        sa.Column('cupti_version', sa.Integer(), nullable=True, comment='What cuptiGetVersion answered.'),
        sa.Column('cupti_path', sa.String(), nullable=True, comment='The libcupti that was used.'),
        sa.Column('records', sa.String(), nullable=True, comment='Form of its records: fixed, or selected.'),
        sa.Column('driver_version', sa.Integer(), nullable=True, comment='What cuDriverGetVersion answered.'),
        sa.Column('emitted', sa.BigInteger(), nullable=True, comment='Records that CUPTI handed over or said it dropped. Unit: records.'),
        sa.Column('stored', sa.BigInteger(), nullable=True, comment='Records that became rows. Unit: records.'),
        comment='One row per traced process image.'
    )
    op.create_table('row_count',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('table_name', sa.String(), nullable=True, comment='The table.'),
        sa.Column('stored', sa.BigInteger(), nullable=True, comment='Rows that it had. Unit: rows.'),
        comment='One row per table, and process where its records are counted: how many rows the trace had when it was finished.'
    )
    op.create_table('stream',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context it belongs to.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment="CUPTI's number of the stream in its context."),
        sa.Column('priority', sa.Integer(), nullable=True, comment='Clamped priority; lower is sooner.'),
        sa.Column('flag', sa.String(), nullable=True, comment='How it was created.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        comment='One row per stream.'
    )
    op.create_table('synchronization',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL if that is not known. Unit: ns.'),
        sa.Column('type', sa.String(), nullable=True, comment='What was waited for.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The API call it belongs to.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='Context that the call was for, or that the stream or event was made in.'),
        sa.Column('stream_id', sa.Integer(), nullable=True, comment='Stream that waited or was waited for; NULL for events and contexts.'),
        sa.Column('event_id', sa.Integer(), nullable=True, comment='CUDA event waited for; NULL where none was.'),
        sa.Column('event_sync_id', sa.BigInteger(), nullable=True, comment='The record of that event which was waited for; NULL without an event.'),
        sa.Column('return_value', sa.Integer(), nullable=True, comment='The CUresult returned; 0 is success.'),
        comment='One row per wait of the host or of a stream.'
    )
    op.create_table('unified_memory',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When it began or was noticed. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it ended; NULL for what has no length. Unit: ns.'),
        sa.Column('counter', sa.String(), nullable=True, comment='What happened.'),
        sa.Column('address', sa.BigInteger(), nullable=True, comment='First address concerned, as the bits of an unsigned number.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment='Size of the memory that was moved or mapped, or was contended for. Unit: bytes.'),
        sa.Column('page_faults', sa.BigInteger(), nullable=True, comment='Groups of page faults of a GPU on one page. Unit: faults.'),
        sa.Column('pc', sa.BigInteger(), nullable=True, comment='Program counter of a CPU page fault, as the bits of an unsigned number.'),
        sa.Column('src_device_id', sa.Integer(), nullable=True, comment='Device it came from, or that faulted or was throttled; NULL for the host.'),
        sa.Column('dst_device_id', sa.Integer(), nullable=True, comment='Device it went to; NULL for the host.'),
        sa.Column('contending_devices', sa.BigInteger(), nullable=True, comment='Devices that fight for the memory: bit n for device n, up to 63.'),
        sa.Column('migration_cause', sa.String(), nullable=True, comment='Why it moved.'),
        sa.Column('access_type', sa.String(), nullable=True, comment='Access that faulted on a GPU.'),
        sa.Column('remote_map_cause', sa.String(), nullable=True, comment='Why it was mapped instead of moved.'),
        sa.Column('is_in_cpu', sa.Boolean(), nullable=True, comment='Whether it is the CPU that thrashes or is throttled.'),
        comment='One row per migration, page fault or other event of managed memory.'
    )


def downgrade() -> None:
    op.drop_table('unified_memory')
    op.drop_table('synchronization')
    op.drop_table('stream')
    op.drop_table('row_count')
    op.drop_table('process')
    op.drop_table('pm_sample')
    op.drop_table('pm_metric')
    op.drop_table('pcie')
    op.drop_table('overhead')
    op.drop_table('openmp')
    op.drop_table('openacc_other')
    op.drop_table('openacc_launch')
    op.drop_table('openacc_data')
    op.drop_table('name')
    op.drop_table('memset')
    op.drop_table('memory_pool')
    op.drop_table('memory')
    op.drop_table('memcpy_p2p')
    op.drop_table('memcpy')
    op.drop_table('mem_decompress')
    op.drop_table('marker_data')
    op.drop_table('marker')
    op.drop_table('loss')
    op.drop_table('kernel_name')
    op.drop_table('kernel')
    op.drop_table('jit')
    op.drop_table('import_skipped')
    op.drop_table('host_launch')
    op.drop_table('green_context')
    op.drop_table('graph_trace')
    op.drop_table('graph_host_node')
    op.drop_table('function')
    op.drop_table('external_correlation')
    op.drop_table('environment')
    op.drop_table('device_graph_trace')
    op.drop_table('device')
    op.drop_table('cuda_event')
    op.drop_table('context')
    op.drop_table('confidential_compute_rotation')
    op.drop_table('compute_engine_ctx_switch')
    op.drop_table('clock')
    op.drop_table('capture_window')
    op.drop_table('capture')
    op.drop_table('argument')
    op.drop_table('api_call')

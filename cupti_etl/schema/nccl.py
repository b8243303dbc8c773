"""What NCCL tells its profiler plugin: the table ``nccl_event``.

Source of what NCCL tells: its public interface for profiler plugins, versions 4 to 7.
"""

from __future__ import annotations

from cupti_etl.schema.spec import PROCESS_ID, Table
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import boolean, i32, i64, string, timestamp

NCCL_EVENT = Table(
    "nccl_event",
    "One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one, and per phase of a channel.",
    (
        PROCESS_ID,
        C("event_id", i64, "", "Number of the event in the process."),
        C("parent_id", i64, "", "Of a channel: the operation; of a phase: the channel; NULL of an operation.", joins="nccl_event.event_id"),
        C("group_id", i64, "", "The operations that NCCL launched as one kernel; NULL if there is none."),
        C("kind", string, "", "collective, p2p, copy (a collective by copy engines), channel or phase."),
        C("communicator", i64, "", "Id of the communicator, the same on all its ranks."),
        C("communicator_name", string, "", "Name that the program gave it, up to 32 bytes; NULL if none."),
        C("rank", i32, "", "Rank of the process in the communicator."),
        C("ranks", i32, "", "Ranks of the communicator.", unit="ranks"),
        C("sequence", i64, "", "Number of the operation among those of its function and communicator, the same on all ranks; NCCL does not count those in graphs, and not p2p."),
        C("function", string, "", "AllReduce, AllGather, ReduceScatter, Send and so on; of a phase, initial_sync, compute or final_sync."),
        C("datatype", string, "", "Type of an element, such as ncclFloat32."),
        C("count", i64, "", "Elements, as given in the call.", unit="elements"),
        C("size_bytes", i64, "", "Their size; NULL if that of the type is not known.", unit="bytes"),
        C("root", i32, "", "Root of a collective; has a meaning only for those that have one."),
        C("peer", i32, "", "The other rank of a p2p."),
        C("algorithm", string, "", "RING, TREE, NVLS and so on; NULL of p2p."),
        C("protocol", string, "", "LL, LL128 or SIMPLE; NULL of p2p."),
        C("channels", i32, "", "Channels that it uses.", unit="channels"),
        C("channel", i32, "", "Of a channel or a phase: number of the channel."),
        C("warps", i32, "", "Warps of a channel.", unit="warps"),
        C("stream", i64, "", "Handle of the stream; NULL before version 5 of the interface."),
        C("is_graph", boolean, "", "Whether it was captured into a CUDA graph; NULL if not known."),
        C("thread_id", i32, "", "The thread that NCCL told of it."),
        C("call_start_ns", timestamp, "", "When the program called NCCL; NULL in a graph, and before version 5 of the interface.", unit="ns"),
        C("start_ns", timestamp, "", "When NCCL told of its beginning, on the host.", unit="ns"),
        C("end_ns", timestamp, "", "When NCCL told of its end, on the host: that of enqueueing it, not of the kernel; NULL if the capture ended before.", unit="ns"),
        C("launch_start_ns", timestamp, "", "The kernel was launched after this, by thread_id; NULL if not known.", unit="ns"),
        C("launch_end_ns", timestamp, "", "And before this.", unit="ns"),
        C("gpu_start", i64, "", "Of a channel or a phase: the GPU's timer at its start; another clock than the other times.", unit="ns"),
        C("gpu_end", i64, "", "And at its end.", unit="ns"),
        C("interface", i32, "", "Version of the plugin interface."),
    ),
    sort=("start_ns",),
)

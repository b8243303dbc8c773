"""Change loss, nccl_event.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0009'
down_revision: str | None = '0008'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('nccl_event',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('event_id', sa.BigInteger(), nullable=True, comment='Number of the event in the process.'),
        sa.Column('parent_id', sa.BigInteger(), nullable=True, comment='Of a channel: the operation; NULL of an operation.'),
        sa.Column('group_id', sa.BigInteger(), nullable=True, comment='The operations that NCCL launched as one kernel; NULL if there is none.'),
        sa.Column('kind', sa.String(), nullable=True, comment='collective, p2p, copy (a collective by copy engines) or channel.'),
        sa.Column('communicator', sa.BigInteger(), nullable=True, comment='Id of the communicator, the same on all its ranks.'),
        sa.Column('communicator_name', sa.String(), nullable=True, comment='Name that the program gave it, up to 32 bytes; NULL if none.'),
        sa.Column('rank', sa.Integer(), nullable=True, comment='Rank of the process in the communicator.'),
        sa.Column('ranks', sa.Integer(), nullable=True, comment='Ranks of the communicator. Unit: ranks.'),
        sa.Column('sequence', sa.BigInteger(), nullable=True, comment='Number of the operation among those of its function and communicator, the same on all ranks; NCCL does not count those in graphs, and not p2p.'),
        sa.Column('function', sa.String(), nullable=True, comment='AllReduce, AllGather, ReduceScatter, Send and so on.'),
        sa.Column('datatype', sa.String(), nullable=True, comment='Type of an element, such as ncclFloat32.'),
        sa.Column('count', sa.BigInteger(), nullable=True, comment='Elements, as given in the call. Unit: elements.'),
        sa.Column('size_bytes', sa.BigInteger(), nullable=True, comment='Their size; NULL if that of the type is not known. Unit: bytes.'),
        sa.Column('root', sa.Integer(), nullable=True, comment='Root of a collective; has a meaning only for those that have one.'),
        sa.Column('peer', sa.Integer(), nullable=True, comment='The other rank of a p2p.'),
        sa.Column('algorithm', sa.String(), nullable=True, comment='RING, TREE, NVLS and so on; NULL of p2p.'),
        sa.Column('protocol', sa.String(), nullable=True, comment='LL, LL128 or SIMPLE; NULL of p2p.'),
        sa.Column('channels', sa.Integer(), nullable=True, comment='Channels that it uses. Unit: channels.'),
        sa.Column('channel', sa.Integer(), nullable=True, comment='Of a channel: its number.'),
        sa.Column('warps', sa.Integer(), nullable=True, comment='Warps of a channel. Unit: warps.'),
        sa.Column('stream', sa.BigInteger(), nullable=True, comment='Handle of the stream; NULL before version 5 of the interface.'),
        sa.Column('is_graph', sa.Boolean(), nullable=True, comment='Whether it was captured into a CUDA graph; NULL if not known.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread that NCCL told of it.'),
        sa.Column('call_start_ns', sa.BigInteger(), nullable=True, comment='When the program called NCCL; NULL in a graph, and before version 5 of the interface. Unit: ns.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When NCCL told of its beginning, on the host. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When NCCL told of its end, on the host: that of enqueueing it, not of the kernel; NULL if the capture ended before. Unit: ns.'),
        sa.Column('launch_start_ns', sa.BigInteger(), nullable=True, comment='The kernel was launched after this, by thread_id; NULL if not known. Unit: ns.'),
        sa.Column('launch_end_ns', sa.BigInteger(), nullable=True, comment='And before this. Unit: ns.'),
        sa.Column('gpu_start', sa.BigInteger(), nullable=True, comment="Of a channel: the GPU's timer at its start; another clock than the other times. Unit: ns."),
        sa.Column('gpu_end', sa.BigInteger(), nullable=True, comment='And at its end. Unit: ns.'),
        sa.Column('interface', sa.Integer(), nullable=True, comment='Version of the plugin interface.'),
        comment='One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one.'
    )
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.drop_table('nccl_event')

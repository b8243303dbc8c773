"""Phases of channels in nccl_event: what columns say changes.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0011'
down_revision: str | None = '0010'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.alter_column('nccl_event', 'parent_id',
               existing_type=sa.BigInteger(),
               comment='Of a channel: the operation; of a phase: the channel; NULL of an operation.',
               existing_comment='Of a channel: the operation; NULL of an operation.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'kind',
               existing_type=sa.String(),
               comment='collective, p2p, copy (a collective by copy engines), channel or phase.',
               existing_comment='collective, p2p, copy (a collective by copy engines) or channel.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'function',
               existing_type=sa.String(),
               comment='AllReduce, AllGather, ReduceScatter, Send and so on; of a phase, initial_sync, compute or final_sync.',
               existing_comment='AllReduce, AllGather, ReduceScatter, Send and so on.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'channel',
               existing_type=sa.Integer(),
               comment='Of a channel or a phase: number of the channel.',
               existing_comment='Of a channel: its number.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'gpu_start',
               existing_type=sa.BigInteger(),
               comment="Of a channel or a phase: the GPU's timer at its start; another clock than the other times. Unit: ns.",
               existing_comment="Of a channel: the GPU's timer at its start; another clock than the other times. Unit: ns.",
               existing_nullable=True)
    op.create_table_comment(
        'nccl_event',
        'One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one, and per phase of a channel.',
        existing_comment='One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one.',
        schema=None
    )


def downgrade() -> None:
    op.create_table_comment(
        'nccl_event',
        'One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one.',
        existing_comment='One row per operation of NCCL, as NCCL tells its profiler plugin; with --nccl channels, also per channel of one, and per phase of a channel.',
        schema=None
    )
    op.alter_column('nccl_event', 'gpu_start',
               existing_type=sa.BigInteger(),
               comment="Of a channel: the GPU's timer at its start; another clock than the other times. Unit: ns.",
               existing_comment="Of a channel or a phase: the GPU's timer at its start; another clock than the other times. Unit: ns.",
               existing_nullable=True)
    op.alter_column('nccl_event', 'channel',
               existing_type=sa.Integer(),
               comment='Of a channel: its number.',
               existing_comment='Of a channel or a phase: number of the channel.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'function',
               existing_type=sa.String(),
               comment='AllReduce, AllGather, ReduceScatter, Send and so on.',
               existing_comment='AllReduce, AllGather, ReduceScatter, Send and so on; of a phase, initial_sync, compute or final_sync.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'kind',
               existing_type=sa.String(),
               comment='collective, p2p, copy (a collective by copy engines) or channel.',
               existing_comment='collective, p2p, copy (a collective by copy engines), channel or phase.',
               existing_nullable=True)
    op.alter_column('nccl_event', 'parent_id',
               existing_type=sa.BigInteger(),
               comment='Of a channel: the operation; NULL of an operation.',
               existing_comment='Of a channel: the operation; of a phase: the channel; NULL of an operation.',
               existing_nullable=True)

"""Change capture, capture_window, launch_metric, loss, nccl_event, process.

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
    op.add_column('capture', sa.Column('budget_pct', sa.Double(), nullable=True, comment='How much longer --budget let the program take; NULL without it. Unit: %.'))
    op.alter_column('capture_window', 'opened_by',
               existing_type=sa.String(),
               comment='process (its start), collector (--delay, --budget), range (--capture-range) or other_client (it left).',
               existing_comment='process (its start), collector (--delay), range (--capture-range) or other_client (it left).',
               existing_nullable=True)
    op.alter_column('capture_window', 'closed_by',
               existing_type=sa.String(),
               comment='process (its end), collector (--duration, --max-rows, --max-size, --budget), range, other_client (it came); NULL if open.',
               existing_comment='process (its end), collector (--duration, --max-rows, --max-size), range, other_client (it came); NULL if open.',
               existing_nullable=True)
    op.add_column('launch_metric', sa.Column('launches', sa.BigInteger(), nullable=True, comment='Launches in the range; NULL of a launch. Unit: launches.'))
    op.add_column('launch_metric', sa.Column('launch_hash', sa.BigInteger(), nullable=True, comment='Equal for ranges with the same launches in the same order: names of kernels and shapes, hashed; NULL of a launch.'))
    op.alter_column('launch_metric', 'passes',
               existing_type=sa.Integer(),
               comment='How often the kernel was executed for all metrics; 1 of a range, and in each run with --range-replay application. Unit: passes.',
               existing_comment='How often the kernel was executed for all metrics; 1 of a range. Unit: passes.',
               existing_nullable=True)
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
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
    op.add_column('process', sa.Column('replay_run', sa.Integer(), nullable=True, comment='Which run of the command it belongs to, from 1, with --range-replay application; else NULL.'))


def downgrade() -> None:
    op.drop_column('process', 'replay_run')
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
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.alter_column('launch_metric', 'passes',
               existing_type=sa.Integer(),
               comment='How often the kernel was executed for all metrics; 1 of a range. Unit: passes.',
               existing_comment='How often the kernel was executed for all metrics; 1 of a range, and in each run with --range-replay application. Unit: passes.',
               existing_nullable=True)
    op.drop_column('launch_metric', 'launch_hash')
    op.drop_column('launch_metric', 'launches')
    op.alter_column('capture_window', 'closed_by',
               existing_type=sa.String(),
               comment='process (its end), collector (--duration, --max-rows, --max-size), range, other_client (it came); NULL if open.',
               existing_comment='process (its end), collector (--duration, --max-rows, --max-size, --budget), range, other_client (it came); NULL if open.',
               existing_nullable=True)
    op.alter_column('capture_window', 'opened_by',
               existing_type=sa.String(),
               comment='process (its start), collector (--delay), range (--capture-range) or other_client (it left).',
               existing_comment='process (its start), collector (--delay, --budget), range (--capture-range) or other_client (it left).',
               existing_nullable=True)
    op.drop_column('capture', 'budget_pct')

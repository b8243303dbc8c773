"""Change launch_metric, loss.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0008'
down_revision: str | None = '0007'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('launch_metric',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('range_id', sa.BigInteger(), nullable=True, comment='The launch or range that was measured: 1 for the first of the process.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the launch or the range began. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment="When it returned, after all executions of the kernel, or ended: no time of the program's own. Unit: ns."),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='The GPU, as CUDA numbers it in the process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The context.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The launch; NULL of a range.'),
        sa.Column('function', sa.String(), nullable=True, comment='Mangled name of the kernel; NULL of a range.'),
        sa.Column('range_name', sa.String(), nullable=True, comment='Name of the range, with --range-by range; NULL of a launch.'),
        sa.Column('passes', sa.Integer(), nullable=True, comment='How often the kernel was executed for all metrics; 1 of a range. Unit: passes.'),
        sa.Column('cache_control', sa.String(), nullable=True, comment='flush: caches were emptied before each execution; none; NULL if this CUPTI cannot do either.'),
        sa.Column('metric', sa.String(), nullable=True, comment='The metric, as CUPTI names it.'),
        sa.Column('value', sa.Double(), nullable=True, comment='What it came to, exactly; its unit is in the column unit.'),
        sa.Column('unit', sa.String(), nullable=True, comment='The unit of the value; NULL of a ratio.'),
        sa.Column('one_pass', sa.Boolean(), nullable=True, comment='Whether all counters of the metric are of one execution; NULL if they may be of several: then a ratio can be wrong.'),
        sa.Column('missing', sa.String(), nullable=True, comment='Why there is no value; NULL if there is one.'),
        sa.Column('source', sa.String(), nullable=True, comment='range_profiler, or ncu if the row was imported from Nsight Compute.'),
        comment='One row per metric and launch, or range, that was measured with --range-metrics or by Nsight Compute.'
    )
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.alter_column('process', 'rank',
               existing_type=sa.Integer(),
               comment='RANK of the environment; else that of MPI, or of a Slurm step of several tasks.',
               existing_comment='RANK of the environment.',
               existing_nullable=True)
    op.alter_column('process', 'local_rank',
               existing_type=sa.Integer(),
               comment='LOCAL_RANK of the environment; else that of MPI or Slurm, alike.',
               existing_comment='LOCAL_RANK of the environment.',
               existing_nullable=True)
    op.alter_column('process', 'world_size',
               existing_type=sa.Integer(),
               comment='WORLD_SIZE of the environment; else that of MPI or Slurm, alike.',
               existing_comment='WORLD_SIZE of the environment.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('process', 'world_size',
               existing_type=sa.Integer(),
               comment='WORLD_SIZE of the environment.',
               existing_comment='WORLD_SIZE of the environment; else that of MPI or Slurm, alike.',
               existing_nullable=True)
    op.alter_column('process', 'local_rank',
               existing_type=sa.Integer(),
               comment='LOCAL_RANK of the environment.',
               existing_comment='LOCAL_RANK of the environment; else that of MPI or Slurm, alike.',
               existing_nullable=True)
    op.alter_column('process', 'rank',
               existing_type=sa.Integer(),
               comment='RANK of the environment.',
               existing_comment='RANK of the environment; else that of MPI, or of a Slurm step of several tasks.',
               existing_nullable=True)
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.drop_table('launch_metric')

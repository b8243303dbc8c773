"""Change cubin, loss, sass_metric.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0010'
down_revision: str | None = '0009'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('sass_metric',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the collection began to gather; the end of the one before. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it was taken. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='The GPU, as CUDA numbers it in the process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The context.'),
        sa.Column('function', sa.String(), nullable=True, comment='Mangled name of the function; NULL if CUPTI gives none.'),
        sa.Column('cubin_crc', sa.BigInteger(), nullable=True, comment="Its code, by CUPTI's checksum."),
        sa.Column('pc_offset', sa.BigInteger(), nullable=True, comment='Where in the function the instruction is. Unit: bytes.'),
        sa.Column('metric', sa.String(), nullable=True, comment='The metric, as CUPTI names it.'),
        sa.Column('value', sa.BigInteger(), nullable=True, comment='What it counted on the whole GPU, over all launches of the collection.'),
        comment='One row per instruction, metric and collection: what the instruction counted, with --sass-metrics. One that counted 0 has none.'
    )
    op.create_table_comment(
        'cubin',
        'One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling or --sass-metrics.',
        existing_comment='One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling.',
        schema=None
    )
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.create_table_comment(
        'cubin',
        'One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling.',
        existing_comment='One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling or --sass-metrics.',
        schema=None
    )
    op.drop_table('sass_metric')

"""Change cubin, loss, pc_sample, pc_window.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0005'
down_revision: str | None = '0004'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('cubin',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('cubin_crc', sa.BigInteger(), nullable=True, comment="CUPTI's checksum of the whole."),
        sa.Column('size_bytes', sa.BigInteger(), nullable=True, comment='Size of the whole. Unit: bytes.'),
        sa.Column('piece_offset', sa.BigInteger(), nullable=True, comment='Where in the whole the piece begins. Unit: bytes.'),
        sa.Column('bytes', sa.LargeBinary(), nullable=True, comment='The piece; NULL if the whole is too large to be kept.'),
        comment='One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling.'
    )
    op.create_table('pc_sample',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the collection began to gather; the end of the one before. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it was taken. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='The GPU, as CUDA numbers it in the process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The context.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The launch, in serialized mode; NULL in continuous mode.'),
        sa.Column('function', sa.String(), nullable=True, comment='Mangled name of the function; NULL if CUPTI gives none.'),
        sa.Column('cubin_crc', sa.BigInteger(), nullable=True, comment="Its code, by CUPTI's checksum."),
        sa.Column('pc_offset', sa.BigInteger(), nullable=True, comment='Where in the function the instruction is. Unit: bytes.'),
        sa.Column('stall_reason', sa.String(), nullable=True, comment='What the warp waited for, as CUPTI names it on this GPU; that which ends in _selected: for nothing, it issued an instruction.'),
        sa.Column('samples', sa.BigInteger(), nullable=True, comment='How often. Unit: samples.'),
        sa.Column('not_issued_samples', sa.BigInteger(), nullable=True, comment='Of these, when the scheduler of the warp issued no instruction: no other warp could go on either. Unit: samples.'),
        comment='One row per instruction, reason and collection: how often PC sampling found warps there, with --pc-sampling.'
    )
    op.create_table('pc_window',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the collection began to gather. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When it was taken. Unit: ns.'),
        sa.Column('device_id', sa.Integer(), nullable=True, comment='The GPU, as CUDA numbers it in the process.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment='The context.'),
        sa.Column('mode', sa.String(), nullable=True, comment='continuous, or serialized.'),
        sa.Column('period_cycles', sa.BigInteger(), nullable=True, comment='Cycles of a multiprocessor from one sample to the next; NULL if CUPTI chose. Unit: cycles.'),
        sa.Column('samples', sa.BigInteger(), nullable=True, comment="All samples that CUPTI tells of; NULL if the hardware's buffer was full. Unit: samples."),
        sa.Column('stored_samples', sa.BigInteger(), nullable=True, comment='Those in pc_sample. Unit: samples.'),
        sa.Column('dropped_samples', sa.BigInteger(), nullable=True, comment='Those that the hardware dropped. Unit: samples.'),
        sa.Column('other_samples', sa.BigInteger(), nullable=True, comment="Those in kernels that are not the program's, of which CUPTI gives no instruction. Unit: samples."),
        sa.Column('lost_samples', sa.BigInteger(), nullable=True, comment='Those that found no room in the buffers of the capture. Unit: samples.'),
        sa.Column('left_out_samples', sa.BigInteger(), nullable=True, comment='The rest: of instructions without a reason, which CUPTI leaves out. Unit: samples.'),
        sa.Column('buffer_full', sa.Boolean(), nullable=True, comment="Whether the hardware's buffer was full, and the samples are not known."),
        comment='One row per collection of PC sampling: samples = stored_samples + dropped_samples + other_samples + lost_samples + left_out_samples.'
    )
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)
    op.drop_table('pc_window')
    op.drop_table('pc_sample')
    op.drop_table('cubin')

"""Change loss.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0013'
down_revision: str | None = '0012'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, wrong_correlation, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('loss', 'cause',
               existing_type=sa.String(),
               comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_comment='ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, wrong_correlation, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed.',
               existing_nullable=True)

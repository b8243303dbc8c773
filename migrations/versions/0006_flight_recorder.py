"""Change discarded, flight_trigger, process.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0006'
down_revision: str | None = '0005'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('discarded',
        sa.Column('table_name', sa.String(), nullable=True, comment='The table that had them.'),
        sa.Column('reason', sa.String(), nullable=True, comment='age (older than what is kept), memory (--flight-memory was full) or size (--retain).'),
        sa.Column('rows', sa.BigInteger(), nullable=True, comment='How many. Unit: rows.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the last of them arrived: what ended later is all there, but for losses. Unit: ns.'),
        sa.Column('detail', sa.String(), nullable=True, comment='Why, in a sentence.'),
        comment='One row per table and reason: rows that were recorded and are not kept, as --flight-recorder or --retain asked for. No loss.'
    )
    op.create_table('flight_trigger',
        sa.Column('fired_ns', sa.BigInteger(), nullable=True, comment='When it fired. Unit: ns.'),
        sa.Column('trigger', sa.String(), nullable=True, comment='The trigger, as --trigger has it.'),
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('is_first', sa.Boolean(), nullable=True, comment='Whether it began the trace; the others fired while it was being written.'),
        sa.Column('detail', sa.String(), nullable=True, comment='What happened, in a sentence.'),
        comment='One row per trigger of --flight-recorder that fired while the trace was written; the first began it.'
    )
    op.alter_column('process', 'state',
               existing_type=sa.String(),
               comment='tracing, finished (in order), killed, not flushed, lost, failed (see detail), running (when a trace of --flight-recorder ended), or imported.',
               existing_comment='tracing, finished (in order), killed, not flushed, lost, failed (see detail), or imported.',
               existing_nullable=True)
    op.alter_column('process', 'stored',
               existing_type=sa.BigInteger(),
               comment='Records that became rows, those in discarded too. Unit: records.',
               existing_comment='Records that became rows. Unit: records.',
               existing_nullable=True)


def downgrade() -> None:
    op.alter_column('process', 'stored',
               existing_type=sa.BigInteger(),
               comment='Records that became rows. Unit: records.',
               existing_comment='Records that became rows, those in discarded too. Unit: records.',
               existing_nullable=True)
    op.alter_column('process', 'state',
               existing_type=sa.String(),
               comment='tracing, finished (in order), killed, not flushed, lost, failed (see detail), or imported.',
               existing_comment='tracing, finished (in order), killed, not flushed, lost, failed (see detail), running (when a trace of --flight-recorder ended), or imported.',
               existing_nullable=True)
    op.drop_table('flight_trigger')
    op.drop_table('discarded')

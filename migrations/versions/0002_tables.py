"""Add launch_stack and python_stack.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0002'
down_revision: str | None = '0001'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('launch_stack',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The call, and the work that it asked for.'),
        sa.Column('stack_id', sa.BigInteger(), nullable=True, comment='The stack of the calling thread; NULL if it has none, or none that could be read.'),
        sa.Column('state', sa.String(), nullable=True, comment="whole, cut (only the innermost frames are kept), no_frames (a thread of Python that runs none of it, as autograd's do), no_python (another thread), unreadable, or no_room."),
        comment='One row per driver call whose Python stack was asked for with --python-stacks.'
    )
    op.create_table('python_stack',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('stack_id', sa.BigInteger(), nullable=True, comment='The stack, by what it consists of.'),
        sa.Column('depth', sa.Integer(), nullable=True, comment='0 for the innermost frame, which made the call; its caller is 1.'),
        sa.Column('function', sa.String(), nullable=True, comment="The function's qualified name."),
        sa.Column('file', sa.String(), nullable=True, comment='The file of its code, as Python has it.'),
        sa.Column('line', sa.Integer(), nullable=True, comment='The line that was being executed; NULL if the code does not say.'),
        sa.Column('first_line', sa.Integer(), nullable=True, comment='The first line of the function.'),
        comment='One row per frame of each stack in launch_stack.'
    )


def downgrade() -> None:
    op.drop_table('python_stack')
    op.drop_table('launch_stack')

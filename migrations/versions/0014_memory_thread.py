"""The thread of allocations that no API call made.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0014'
down_revision: str | None = '0013'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.add_column('memory', sa.Column('thread_id', sa.Integer(), nullable=True, comment='Thread that asked for it, where no API call did; NULL in captures.'))


def downgrade() -> None:
    op.drop_column('memory', 'thread_id')

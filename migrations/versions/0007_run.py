"""Change capture.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0007'
down_revision: str | None = '0006'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.add_column('capture', sa.Column('user_name', sa.String(), nullable=True, comment='Login name of who ran it.'))
    op.add_column('capture', sa.Column('git_commit', sa.String(), nullable=True, comment='Commit that was checked out where the command was run; NULL outside a git repository.'))
    op.add_column('capture', sa.Column('tags', sa.String(), nullable=True, comment='What --tag said, as a JSON object; NULL without it.'))


def downgrade() -> None:
    op.drop_column('capture', 'tags')
    op.drop_column('capture', 'git_commit')
    op.drop_column('capture', 'user_name')

"""Change capture.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0012'
down_revision: str | None = '0011'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.add_column('capture', sa.Column('lasting_pct', sa.Double(), nullable=True, comment='How much longer it takes, at most, from the first window of --budget to its end, recorded or not, as CUPTI makes launches longer once it has recorded: told by a trial before; NULL without one. Unit: %.'))


def downgrade() -> None:
    op.drop_column('capture', 'lasting_pct')

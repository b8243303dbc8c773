"""Change graph_node.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0004'
down_revision: str | None = '0003'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('graph_node',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('graph_node_id', sa.BigInteger(), nullable=True, comment='The node, as CUPTI numbers it.'),
        sa.Column('source_graph_node_id', sa.BigInteger(), nullable=True, comment='The node of which it was made, as those of an executable graph are, or from which it was updated; NULL of one that was captured or added.'),
        sa.Column('kind', sa.String(), nullable=True, comment='kernel, memcpy, memset, host, graph, empty, event_wait, event_record, semaphore_signal, semaphore_wait, mem_alloc, mem_free, batch_mem_op or conditional; NULL of another.'),
        sa.Column('at_ns', sa.BigInteger(), nullable=True, comment='When it was made, or updated. Unit: ns.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread that did it.'),
        sa.Column('stack_id', sa.BigInteger(), nullable=True, comment='The stack that it was captured or added from; NULL if there is none, or none that could be read.'),
        sa.Column('state', sa.String(), nullable=True, comment='Of this stack, as in launch_stack; NULL of a node that was made of another.'),
        comment='One row per node of a CUDA graph that was captured, added, cloned, instantiated or updated, with --python-stacks.'
    )


def downgrade() -> None:
    op.drop_table('graph_node')

"""Add callback_event.

Frozen once released: what has to change later is the next migration's work.
"""
# fmt: off

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = '0003'
down_revision: str | None = '0002'
# The version of the schema whose names the columns have then.
schema_version: int = 1


def upgrade() -> None:
    op.create_table('callback_event',
        sa.Column('process_id', sa.BigInteger(), nullable=True, comment='The traced process that made the record.'),
        sa.Column('domain', sa.String(), nullable=True, comment='driver, runtime, resource, synchronize, nvtx or state.'),
        sa.Column('function', sa.String(), nullable=True, comment='The function that was called, or what happened (CONTEXT_CREATED).'),
        sa.Column('start_ns', sa.BigInteger(), nullable=True, comment='When the call was entered, or it happened; NULL for a call that began before callbacks were switched on. Unit: ns.'),
        sa.Column('end_ns', sa.BigInteger(), nullable=True, comment='When the call returned; NULL for what is no call. Unit: ns.'),
        sa.Column('thread_id', sa.Integer(), nullable=True, comment='The thread that called, by its number in the system.'),
        sa.Column('context_id', sa.Integer(), nullable=True, comment="CUPTI's number of the thread's context; NULL without one."),
        sa.Column('correlation_id', sa.BigInteger(), nullable=True, comment='The call, and the work that it asked for; NULL for what is no call.'),
        sa.Column('result', sa.Integer(), nullable=True, comment='What the call returned (0: success), or the code of a state.'),
        sa.Column('symbol', sa.String(), nullable=True, comment='Mangled name of the kernel that is launched.'),
        sa.Column('message', sa.String(), nullable=True, comment='Message of a mark or range of NVTX, or of a state.'),
        sa.Column('stream', sa.BigInteger(), nullable=True, comment='Handle of the stream, as the program has it; 0 for the default stream, NULL where the call takes none.'),
        sa.Column('grid_x', sa.Integer(), nullable=True, comment='Blocks in the grid, x. Unit: blocks.'),
        sa.Column('grid_y', sa.Integer(), nullable=True, comment='Blocks in the grid, y. Unit: blocks.'),
        sa.Column('grid_z', sa.Integer(), nullable=True, comment='Blocks in the grid, z. Unit: blocks.'),
        sa.Column('block_x', sa.Integer(), nullable=True, comment='Threads in a block, x. Unit: threads.'),
        sa.Column('block_y', sa.Integer(), nullable=True, comment='Threads in a block, y. Unit: threads.'),
        sa.Column('block_z', sa.Integer(), nullable=True, comment='Threads in a block, z. Unit: threads.'),
        sa.Column('dynamic_shared_bytes', sa.BigInteger(), nullable=True, comment='Shared memory that the launch asks for, per block. Unit: bytes.'),
        sa.Column('bytes', sa.BigInteger(), nullable=True, comment="Bytes that a copy, set or allocation is about, or of a module's code. Unit: bytes."),
        sa.Column('copy_kind', sa.String(), nullable=True, comment='Direction of a copy as the call says it, such as HtoD; default where it leaves it to the addresses.'),
        sa.Column('src_address', sa.BigInteger(), nullable=True, comment='Where a copy reads.'),
        sa.Column('dst_address', sa.BigInteger(), nullable=True, comment='Memory that is written, set or freed.'),
        sa.Column('value', sa.BigInteger(), nullable=True, comment='What memory is set to.'),
        sa.Column('object', sa.BigInteger(), nullable=True, comment="What a resource is: a module's number, or the handle of a context, stream, graph or node."),
        comment="One row per API call, or other callback of CUPTI's, that was asked for with --callbacks."
    )


def downgrade() -> None:
    op.drop_table('callback_event')

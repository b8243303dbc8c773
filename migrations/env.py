"""Run by alembic for every migration command.

The connection is handed over by ``cupti_etl.storage.migrations``, which has opened a
transaction on it: all migrations of one command succeed together or not at all.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()

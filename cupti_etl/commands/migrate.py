"""``cupti-etl migrate``: bring a self-contained .duckdb file to the present schema."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath


@click.command()
@click.argument("file", type=LocalPath())
@click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
def command(file: Path, dry_run: bool) -> None:
    """Update a .duckdb file to the tables and queries of this version.

    FILE was written by `cupti-etl export --to duckdb` or `capture -o FILE.duckdb`. It is changed
    in one transaction: if a step fails, it stays as it was. Trace folders need no migration.
    """
    from cupti_etl.render.duckdb_file import migrate_file, pending_migrations
    from cupti_etl.schema.revisions import newest

    before, steps = (pending_migrations if dry_run else migrate_file)(file)
    for step in steps:
        click.echo(step)
    if dry_run:
        say(f"cupti-etl: {file} has revision {before}; nothing was changed")
        return
    what = f"was migrated from {before} to {newest()}" if steps else f"has the newest, {before}"
    say(f"cupti-etl: {file} {what}; its queries are those of this version")

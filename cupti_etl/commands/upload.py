"""``cupti-etl upload``: upload what a capture could not."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath


@click.command()
@click.argument("folder", type=LocalPath("give the folder that the capture named"))
def command(folder: Path) -> None:
    """Upload the rest of a trace that a capture could not upload.

    \b
      cupti-etl upload /tmp/cupti-etl-run42-node1-5f1c9d2a77e04b18

    A capture with `-o s3://BUCKET/NAME` names FOLDER in its last line if the network failed. The
    folder is removed when everything is uploaded.
    """
    from cupti_etl.storage.upload import resume

    say(f"cupti-etl: trace in {resume(folder)}")

"""The page for browsers: files that ``make web`` builds, which say nothing of any trace."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import FileResponse, Response

from cupti_etl.serve.built import BUILT

# By their addresses, so that no address is ever a path.
_FILES = {
    "/": ("index.html", "text/html"),
    "/app.js": ("app.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/LICENSES.txt": ("LICENSES.txt", "text/plain"),
}


class Page:
    """The files of the page in a folder.

    Args:
        folder: where ``make web`` put them.
    """

    def __init__(self, folder: Path = BUILT) -> None:
        self._folder = folder

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where its files are served; nowhere, if it was not built."""
        is_built = all((self._folder / name).is_file() for name, _ in _FILES.values())
        return tuple(_FILES) if is_built else ()

    def response(self, address: str) -> Response:
        """The file at one of the addresses."""
        name, media_type = _FILES[address]
        return FileResponse(self._folder / name, media_type=media_type)

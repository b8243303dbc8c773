"""The documentation as a web site: it asks nobody else, and fits into a narrow window."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.waiting import wait_until

from tools import site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("zensical") is None, reason="zensical is not installed: `make site` does that"
    ),
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is said of requests."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The site, and where it is served."""
    folder = tmp_path_factory.mktemp("built") / "site"
    site.build(site.DOCS, folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def faults(chromium: Any, built: tuple[Path, str], names: Iterable[str]) -> list[str]:
    """What is wrong with pages in a narrow window."""
    _, base = built
    found: list[str] = []

    def asked(url: str) -> None:
        if not url.startswith((base, "data:", "blob:")):
            found.append(f"asks {url}")

    context = chromium.new_context(viewport={"width": 400, "height": 900})
    page = context.new_page()
    page.on("request", lambda request: asked(request.url))
    page.on("pageerror", lambda error: found.append(str(error)))
    for name in names:
        page.goto(f"{base}{name}", wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{name} is too wide")
        if page.evaluate("[...document.images].some(i => i.complete && !i.naturalWidth)"):
            found.append(f"{name} lacks a picture")
    context.close()
    return found


def test_pages_ask_nobody_else_and_fit(chromium: Any, built: tuple[Path, str]) -> None:
    folder, _ = built
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.html"))]
    assert len(names) > 40
    assert faults(chromium, built, names) == []


def test_a_page_that_asks_others_or_is_too_wide_is_seen(
    chromium: Any, built: tuple[Path, str]
) -> None:
    folder, _ = built
    (folder / "planted.html").write_text(
        '<p style="width: 900px">wide</p><img src="gone.png">'
        '<script>fetch("http://127.0.0.1:9/gone")</script>'
    )
    found = faults(chromium, built, ["planted.html"])
    (folder / "planted.html").unlink()
    assert "asks http://127.0.0.1:9/gone" in found
    assert "planted.html is too wide" in found
    assert "planted.html lacks a picture" in found


def test_pages_can_be_searched(chromium: Any, built: tuple[Path, str]) -> None:
    from playwright.sync_api import TimeoutError

    context = chromium.new_context()
    page = context.new_page()
    page.goto(built[1])
    box = page.get_by_role("combobox").first

    def is_open() -> bool:
        """The page listens to the key once its script has run, which nothing tells."""
        page.keyboard.press("Control+k")
        with suppress(TimeoutError):
            box.wait_for(timeout=3000)
        return bool(box.is_visible())

    wait_until(is_open)
    box.fill("baseline")
    found = page.get_by_text("Fail a test that became slower on the GPU").first
    found.wait_for(timeout=120_000)
    context.close()

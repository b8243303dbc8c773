"""``make site``: the documentation as a web site, in ``site/``.

docs/index.md is the one list of pages: its headings and links become the navigation.  Zensical
builds the pages, strictly; what it does not look at is checked in what it wrote: each picture and
file that a page names exists, and no page loads anything from another host.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = ROOT / "site"
_SECTION = re.compile(r"^## (.+)$|^\* \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
# Elements that load what they name, by their attribute; an <a> does not.
_LOADS = {
    "img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href",
    "video": "src", "audio": "src", "object": "data",
}  # fmt: skip
# Kinds of <link> that load nothing.
_POINTERS = {"canonical", "prev", "next", "alternate", "author", "license", "edit"}
_HOST_IN_CSS = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class SiteError(Exception):
    """The site cannot be built, or must not be published."""


def navigation(index: str) -> list[dict[str, list[dict[str, str]]]]:
    """The sections of the index, with the titles and files of their pages."""
    sections: list[dict[str, list[dict[str, str]]]] = []
    for heading, title, path in _SECTION.findall(index):
        if heading:
            sections.append({heading: []})
        elif not sections:
            raise SiteError(f"docs/index.md links {path} before its first section")
        else:
            (pages,) = sections[-1].values()
            pages.append({title: path})
    return sections


def configuration(index: str) -> dict[str, object]:
    """What Zensical is told: the pages, and to load no font from elsewhere."""
    home: dict[str, object] = {"Home": "index.md"}
    return {
        "project": {
            "site_name": "cupti-etl",
            "site_description": "CUDA traces as tables",
            # Pages that open from a folder, too, without a server.
            "use_directory_urls": False,
            "nav": [home, *navigation(index)],
            "theme": {
                "font": False,
                "features": [
                    "navigation.tabs", "navigation.top", "toc.follow", "content.code.copy",
                    "search.highlight",
                ],
                "palette": [
                    _palette("(prefers-color-scheme: light)", "default", "dark"),
                    _palette("(prefers-color-scheme: dark)", "slate", "light"),
                ],
            },
        }
    }  # fmt: skip


def _palette(media: str, scheme: str, other: str) -> dict[str, object]:
    toggle = {"icon": "lucide/sun-moon", "name": f"Switch to {other} mode"}
    return {"media": media, "scheme": scheme, "toggle": toggle}


class _Page(HTMLParser):
    """What a page loads and links, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what the element names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        is_pointer = tag == "link" and set(given.get("rel", "").split()) & _POINTERS
        if tag in _LOADS and _LOADS[tag] in given and not is_pointer:
            self.loads.append(given[_LOADS[tag]])
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the built pages, a line each."""
    pages = {path: _parsed(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: no page was built"
    for path, page in pages.items():
        name = path.relative_to(site)
        # It is served at any depth, and names its files from the root of the host.
        base = site if name == Path("404.html") else path.parent
        for target in page.loads:
            if _is_elsewhere(target):
                yield f"{name} loads {target} from another host"
        for target in (*page.loads, *page.links):
            there = urlsplit(target)
            if _is_elsewhere(target) or there.scheme:
                continue
            file = base / unquote(there.path).lstrip("/") if there.path else path
            file = (file / "index.html" if file.is_dir() else file).resolve()
            if not file.is_file():
                yield f"{name} names {target}, which does not exist"
            elif file in pages and unquote(there.fragment) not in pages[file].anchors:
                yield f"{name} links {target}, and there is no such heading"
    for path in sorted(site.rglob("*.css")):
        for target in _HOST_IN_CSS.findall(path.read_text()):
            yield f"{path.relative_to(site)} loads {target} from another host"


def _parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text())
    return page


def _is_elsewhere(target: str) -> bool:
    there = urlsplit(target)
    return bool(there.netloc) and there.scheme in ("", "http", "https")


def build(docs: Path = DOCS, site: Path = SITE) -> None:
    """Build the site anew.

    Raises:
        SiteError: a link leads nowhere, a picture is missing, a page asks another host for
            something, or Zensical fails.
    """
    shutil.rmtree(site, ignore_errors=True)
    # Zensical takes and leaves everything beside its configuration.
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name)
        shutil.copytree(docs, workspace / "docs")
        settings = workspace / "zensical.toml"
        settings.write_text(_toml(configuration((docs / "index.md").read_text())))
        words = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(settings)]
        done = subprocess.run(words, cwd=workspace, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SiteError(_COLOUR.sub("", f"{done.stdout}{done.stderr}").strip())
        shutil.move(workspace / "site", site)
    found = list(problems(site))
    if found:
        raise SiteError("\n".join(found))


def _toml(config: dict[str, object]) -> str:
    """TOML of what JSON can say: its inline tables and arrays are written alike."""
    return "".join(f"[{name}]\n" + _keys(table) for name, table in config.items())


def _keys(table: object) -> str:
    assert isinstance(table, dict)
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_value(each)}" for key, each in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def main() -> int:
    """Entry point."""
    try:
        build()
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{SITE}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The documentation as a web site: every page is in it, and nothing of it leads nowhere."""

from __future__ import annotations

import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import site

needs_zensical = pytest.mark.skipif(
    find_spec("zensical") is None, reason="zensical is not installed: `make site` does that"
)


def test_every_page_has_its_place() -> None:
    sections = site.navigation((site.DOCS / "index.md").read_text())
    assert [*map(next, map(iter, sections))] == ["Start", "Do", "Look up", "Understand"]
    named = [
        path for each in sections for pages in each.values() for p in pages for path in p.values()
    ]
    pages = {str(path.relative_to(site.DOCS)) for path in site.DOCS.rglob("*.md")}
    assert sorted(named) == sorted(pages - {"index.md"})


def test_a_page_before_the_first_section_is_refused() -> None:
    with pytest.raises(site.SiteError, match=r"links a\.md before its first section"):
        site.navigation("* [A](a.md): what it says.\n## Start\n")


def test_the_configuration_is_toml_and_asks_nobody() -> None:
    index = '## Start\n\n* ["Quoted" \\ ä](a.md): what it says.\n* [B](b/c.md).\n'
    config = site.configuration(index)
    assert tomllib.loads(site._toml(config)) == config
    project = config["project"]
    assert isinstance(project, dict)
    assert project["nav"][1] == {"Start": [{'"Quoted" \\ ä': "a.md"}, {"B": "b/c.md"}]}
    assert project["theme"]["font"] is False
    assert "analytics" not in str(config)


PAGE = """<html><head><link rel="canonical" href="https://a.example/"></head><body>
<h1 id="here">Here</h1><a href="#here">a</a> <a href="sub/other.html#there">b</a> <img src="a.png">
<a href="https://a.example/">c</a> <a href="mailto:a@b.example">d</a> {}</body></html>"""


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("", []),
        ('<img src="gone.png">', ["index.html names gone.png, which does not exist"]),
        ('<a href="sub/gone.html">', ["index.html names sub/gone.html, which does not exist"]),
        ('<a href="#gone">', ["index.html links #gone, and there is no such heading"]),
        (
            '<a href="sub/other.html#here">',
            ["index.html links sub/other.html#here, and there is no such heading"],
        ),
        (
            '<script src="https://a.example/b.js"></script>',
            ["index.html loads https://a.example/b.js from another host"],
        ),
        (
            '<link rel="preconnect" href="//fonts.example">',
            ["index.html loads //fonts.example from another host"],
        ),
        ('<img src="data:image/png;base64,AA">', []),
    ],
)
def test_what_is_wrong_with_pages_is_found(tmp_path: Path, planted: str, said: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(PAGE.format(planted))
    (tmp_path / "sub" / "other.html").write_text('<p id="there"><a href="../index.html">up</a>')
    (tmp_path / "a.png").touch()
    assert list(site.problems(tmp_path)) == said


def test_styles_that_ask_others_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    (tmp_path / "a.css").write_text('@import "https://fonts.example/a"; b{c:url(//d.example/e)}')
    assert list(site.problems(tmp_path)) == [
        "a.css loads https://fonts.example/a from another host",
        "a.css loads //d.example/e from another host",
    ]
    assert list(site.problems(tmp_path / "nowhere")) == [f"{tmp_path}/nowhere: no page was built"]


@needs_zensical
@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    site.build(site.DOCS, tmp_path / "site")
    built = {path.relative_to(tmp_path / "site") for path in tmp_path.rglob("*.html")}
    assert len(built) > 40
    page = (tmp_path / "site" / "howto" / "serve.html").read_text()
    assert "page-overview.png" in page
    assert "Look up" in page


@needs_zensical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("[x](tutorial/gone.md)", "page does not exist"),
        ("[x](howto/import.md#gone)", "anchor does not exist"),
        ("![x](pictures/gone.png)", "index.html names pictures/gone.png, which does not exist"),
    ],
)
def test_a_site_with_a_fault_is_not_built(tmp_path: Path, planted: str, said: str) -> None:
    docs = shutil.copytree(site.DOCS, tmp_path / "docs")
    with (docs / "index.md").open("a") as index:
        index.write(f"\n{planted}\n")
    with pytest.raises(site.SiteError, match=said):
        site.build(docs, tmp_path / "site")

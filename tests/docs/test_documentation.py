"""Links lead somewhere, commands and options exist, examples of SQL run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

import click
import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.cli import cli
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.own import LOSS
from cupti_etl.storage import schema_file

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("migrations/*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"[\w-]+(?:/[\w.-]+)*/[\w-]+\.(?:c|h|json|md|py|sh|sql)")
# What the first folder of a file of ours may be, where a page names it.
_FOLDERS = frozenset(
    {"benchmarks", "cupti_etl", "docs", "migrations", "native", "scripts", "tests", "tools"}
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(page.read_text()) if kind == language]


@cache
def anchors(page: Path) -> set[str]:
    """The names that links to headings use."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in _LINK.findall(_FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    return broken


def missing_files(text: str, base: Path = ROOT, folders: Set[str] = _FOLDERS) -> list[str]:
    """Files below a folder that a text names, and that are not there."""
    named = filter(_FILE.fullmatch, _INLINE.findall(text))
    return [name for name in named if name.split("/")[0] in folders and not (base / name).exists()]


def whole_commands(block: str) -> Iterator[str]:
    """The lines of a block; a quote that stays open takes further lines with it."""
    begun = ""
    for line in block.splitlines():
        begun += line + "\n"
        if begun.count('"') % 2 == 0:
            yield begun.strip()
            begun = ""


def calls(page: Path) -> Iterator[list[str]]:
    """The words of each call of cupti-etl, in blocks and in running text."""
    text = page.read_text()
    found = _INLINE.findall(_FENCE.sub("", text))
    for block in (*blocks(page, "sh"), *blocks(page, "console")):
        found += whole_commands(block)
    for command in found:
        call = re.match(r"(?:\$ |\w+ .*'|\w+ )?cupti-etl (.*)", command, re.DOTALL)
        if call and not command.startswith(("pip ", "Usage")):
            lexer = shlex.shlex(call[1].rstrip("'"), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            yield list(lexer)


def wrong_call(words: list[str]) -> str:
    """Why a call cannot work, as far as names of commands and options tell; "" if it can."""
    context = click.Context(cli)
    if words and words[0] in ("--version", "--help", "--debug", "..."):
        words = words[1:]
    if not words or words[0] == "...":
        return ""
    command = cli.get_command(context, words[0])
    if command is None:
        return f"there is no command {words[0]}"
    if isinstance(command, click.Group) and len(words) > 1:
        words = words[1:]
        command = command.get_command(context, words[0])
        if command is None:
            return f"there is no command {words[0]}"
    options = {name for each in command.params for name in each.opts} | {"--help", "-h"}
    if words[0] == "top" and "--" in words:  # what is before it goes to the capture
        capture = cli.get_command(context, "capture")
        options |= {name for each in capture.params for name in each.opts} if capture else set()
    for word in words[1:]:
        if word == "--":
            break
        # A lone - is standard output.
        if word.startswith("-") and word != "-" and word.split("=")[0] not in options:
            return f"{words[0]} has no option {word}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](#here) [b](#there) [c](missing.md) [d](https://x.example)\n")
    assert broken_links(page) == ["#there", "missing.md"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    assert missing_files(page.read_text()) == []


def test_tests_of_faults_exist() -> None:
    tests = ROOT / "tests"
    folders = {path.name for path in tests.iterdir()} - _FOLDERS
    text = (ROOT / "docs" / "design" / "faults.md").read_text()
    assert missing_files(text, tests, folders) == []
    renamed = text.replace("e2e/test_faults.py", "e2e/test_fault.py")
    assert set(missing_files(renamed, tests, folders)) == {"e2e/test_fault.py"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_options_exist(page: Path) -> None:
    assert [why for words in calls(page) if (why := wrong_call(words))] == []


def test_a_wrong_call_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\ncupti-etl capture -o x --fast -- ./a --b\n```\nUse `cupti-etl replya FILE`,\n"
        "`cupti-etl metrics lst` or `cupti-etl metrics list --chp GH100`.\n"
    )
    assert [wrong_call(words) for words in calls(page)] == [
        "there is no command replya",
        "there is no command lst",
        "list has no option --chp",
        "capture has no option --fast",
    ]


def test_every_command_is_documented() -> None:
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text()
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        assert (f"## cupti-etl {name}\n" in reference) is not command.hidden


def test_every_cause_of_loss_is_explained() -> None:
    page = (ROOT / "docs" / "design" / "losses.md").read_text()
    (cause,) = (column for column in LOSS.columns if column.name == "cause")
    named = set(re.findall(r"\w+_\w+|\w+(?=,)", cause.doc)) | {"killed"}
    assert named <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text())}
    assert set(ROOT.glob("docs/**/*.md")) - linked - {index} == set()


def sql_examples(page: Path) -> list[str]:
    return [text for text in blocks(page, "sql") if text.lstrip().startswith(("SELECT", "FROM"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", [*filter(sql_examples, PAGES)], ids=name_of)
def test_examples_of_sql_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("run42", "run42-node1", "demo-trace"):
        trace_folder = write_trace(tmp_path / folder, kernel="start_ns end_ns name\n1 2 a")
        described = schema_file.as_json({table: {} for table in TABLES})
        (trace_folder / schema_file.NAME).write_bytes(described)
    with cupti_etl.open("run42") as trace:
        for text in sql_examples(page):
            assert trace.sql(text).columns

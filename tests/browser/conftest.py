"""Traces served to a browser; without one, or without the page, these tests are skipped."""

from __future__ import annotations

import gzip
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser.pages import Address, Pages
from support.command import etl
from support.trace import write_trace

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"
CHROMIUM = shutil.which("chromium")
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

HOSTILE = """<img/src=x/onerror=window.ran=1>&lt;b&gt;"`"""
# Names of kernels are words in these lines; the long one has 64 KiB.
KERNELS = f"""
    start_ns end_ns name                        process_id device_id stream_id grid_x block_x
    0        1000   '{HOSTILE}'                 1          0         7         1      32
    2000     5000   "it's"                      1          0         7         1      32
    6000     9000   {"x" * 65536}               1          0         7         1      32
    10000    12000  </script><svg/onload=ran=1> 1          0         7         1      32
"""
DEVICES = f"""
    process_id device_id device_uuid name
    1          0         u0          '{HOSTILE}'
"""


def _missing() -> str:
    from cupti_etl.serve.page import Page

    if not CHROMIUM:
        return "there is no chromium: apt-get install chromium"
    if any(importlib.util.find_spec(name) is None for name in ("playwright", "uvicorn")):
        return "playwright is not installed: make browser"
    if not Page().addresses or not AXE.is_file():
        return "the page is not built: make web"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is in this folder, where it cannot run."""
    if why := _missing():
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason=why))


def _h200(folder: Path) -> list[Path]:
    etl("import", ROOT / "cupti_etl/demo/h200.etlrec", "-o", folder / "h200")
    return [folder / "h200"]


def _nsys(folder: Path) -> list[Path]:
    export = folder / "h100.sqlite"
    export.write_bytes(gzip.decompress((DATA / "nsys_h100.sqlite.gz").read_bytes()))
    etl("import", export, "-o", folder / "nsys")
    return [folder / "nsys"]


def _ranks(folder: Path) -> list[Path]:
    for rank in (0, 1):
        etl("import", DATA / f"kineto_rank{rank}.json.gz", "-o", folder / f"rank{rank}")
    return [folder / "rank0", folder / "rank1"]


def _stalls(folder: Path) -> list[Path]:
    for part in (DATA / "pcs_h200").glob("*.parquet"):
        place = folder / "stalls" / part.stem / "part-000001.parquet"
        place.parent.mkdir(parents=True)
        shutil.copy(part, place)
    return [folder / "stalls"]


def _hostile(folder: Path) -> list[Path]:
    return [write_trace(folder / "a<b>", kernel=KERNELS, device=DEVICES)]


def _empty(folder: Path) -> list[Path]:
    return [write_trace(folder / "empty")]


def _apart(folder: Path) -> list[Path]:
    hour = 3600 * 10**9
    return [
        write_trace(
            folder / name,
            capture=f"capture_id start_ns end_ns\n{at + 1} {at * hour} {at * hour + 5000}",
            kernel=f"process_id device_id stream_id start_ns end_ns name\n"
            f"{at + 1} 0 7 {at * hour + 1000} {at * hour + 5000} k{at}",
            device=f"process_id device_id device_uuid\n{at + 1} 0 u",
        )
        for at, name in enumerate(("before", "after"))
    ]


TRACES: dict[str, Callable[[Path], list[Path]]] = {
    "h200": _h200,
    "nsys": _nsys,
    "ranks": _ranks,
    "stalls": _stalls,
    "hostile": _hostile,
    "empty": _empty,
    "apart": _apart,
}


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Address]]:
    """Serves one of the traces, each by a process that stays."""
    served: dict[str, Address] = {}
    with ExitStack() as stack:

        def begin(name: str) -> Address:
            if name not in served:
                traces = TRACES[name](tmp_path_factory.mktemp(name))
                words = [sys.executable, "-m", "cupti_etl", "serve", "--port", "0", *traces]
                process = stack.enter_context(
                    subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
                )
                stack.callback(process.kill)
                assert process.stdout is not None
                found = re.fullmatch(r"(.*)/\?token=(\S+)\n", process.stdout.readline())
                assert found
                served[name] = Address(found[1], found[2])
            return served[name]

        yield begin


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def pages(chromium: Any, serve: Callable[[str], Address]) -> Iterator[Pages]:
    """Opens pages, and says at the end what they complained about."""
    with ExitStack() as stack:
        opened = Pages(chromium, serve, stack)
        yield opened
        opened.check()

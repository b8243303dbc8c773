"""What a release has beside its code: tags of wheels, manual pages, links of the README."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tools.codegen.__main__ import ROOT
from tools.codegen.man_pages import man_pages


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("of_" + Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (b"\0GLIBC_2.9\0GLIBC_2.27\0memcpy\0GLIBC_2.2.5\0", (2, 27)),
        (b"\0GLIBC_2.2.5\0", (2, 5)),
        (b"\0GLIBC_2.17\0GLIBC_ABI_DT_RELR\0", (2, 36)),
    ],
)
def test_a_wheel_needs_the_newest_glibc_of_its_symbols(
    content: bytes, version: tuple[int, int]
) -> None:
    assert module("native/glibc.py").needed(content) == version


def test_a_wheel_that_is_not_what_its_name_says_is_seen(tmp_path: Path) -> None:
    wheel = tmp_path / "cupti_etl-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("cupti_etl/native/libcupti_etl.so", b"\0.symtab\0")
    found = list(module("scripts/check_wheels.py").faults(wheel))
    assert "it has cupti_etl/native/libcupti_etl.so" in found
    assert "it lacks cupti_etl/serve/web/app.js: is there npm?" in found
    assert "it lacks the man pages" in found


def test_there_are_man_pages_of_the_commands_and_no_others() -> None:
    assert {path.name for path in (ROOT / "docs/man").iterdir()} == set(man_pages())


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_man_pages_are_read_without_a_warning(tmp_path: Path) -> None:
    def warnings(*pages: Path) -> str:
        command = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", *pages]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert warnings(*sorted((ROOT / "docs/man").iterdir())) == ""
    planted = tmp_path / "planted.1"
    planted.write_text('.TH "PLANTED" "1"\n.SH NAME\n.nosuch macro\n')
    assert "nosuch" in warnings(planted)


@pytest.mark.parametrize("address", ["", "https://git.example.org/us/cupti-etl"])
def test_links_of_the_readme_work_on_the_page_of_an_index(address: str) -> None:
    pytest.importorskip("hatchling", reason="the build back end is not installed")
    metadata: dict[str, object] = {}
    hook = module("hatch_build.py").MetadataHook(str(ROOT), {"address": address})
    hook.update(metadata)
    text = metadata["readme"]["text"]  # type: ignore[index]
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
    assert (f"![The report: findings, and when the GPU was busy]({address}/raw/" in text) == bool(
        address
    )
    assert bool(metadata["urls"]) == bool(address)
    if not address:
        assert "see import." in text

"""The wheel: one for every Python, with two plain libraries in it, or with none, and the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from support.compilers import not_optimizing, only_reading, with_npm

from cupti_etl.imports.run import import_traces

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.network, pytest.mark.slow]


APART = "--no-build-isolation"
PAGE = {f"cupti_etl/serve/web/{name}" for name in ("index.html", "app.js", "style.css", "icon.svg")}
PAGE |= {f"cupti_etl/serve/web/{name}" for name in ("widget.js", "LICENSES.txt")}


def clone(folder: Path) -> Path:
    """Building writes into its tree."""
    copy = folder / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
    return copy


def run(*words: str | Path, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("the build back end cannot be had here")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with what builds a wheel, which pip would otherwise fetch for each."""
    folder = tmp_path_factory.mktemp("backend")
    run("pip", "install", "-q", "--target", folder, "hatchling", "packaging", "editables")
    return str(folder)


def build(source: Path, folder: Path, *options: str, **environment: str) -> Path:
    run("pip", "wheel", "-q", "--no-deps", *options, "-w", folder, source, **environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_native_wheel(tmp_path: Path) -> None:
    """As pip builds it: with what pyproject.toml says that it takes to build it."""
    # Somebody's compiler may warn of what ours does not.
    compiler = f"{not_optimizing(tmp_path / 'cc')} -Wpadded"
    wheel = build(clone(tmp_path), tmp_path, CC=compiler)
    assert re.search(r"-py3-none-manylinux_2_\d+_x86_64\.whl$", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "cupti_etl/native/libcupti_etl.so",
        "cupti_etl/native/libcupti_etl_inject.so",
        "cupti_etl/_migrations/env.py",
        "cupti_etl/_migrations/versions/0001_baseline.py",
        "cupti_etl/queries/library/kernels/kernel_summary.sql",
        "cupti_etl/demo/h200.etlrec",
        "cupti_etl/py.typed",
        "cupti_etl-0.1.0.data/data/share/man/man1/cupti-etl-capture.1",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "native/", "docs/", "web/"))]
    if shutil.which("npm"):
        assert set(names) >= PAGE


def test_sdist_has_the_page_and_needs_no_npm(tmp_path: Path, backend: str) -> None:
    source = clone(tmp_path)
    write = f"mkdir -p {source}/cupti_etl/serve/web node_modules; touch node_modules/left-out\n"
    write += "".join(f"echo page > {source}/{name}\n" for name in sorted(PAGE))

    def hatch(target: str, path: str) -> None:
        words = ("-m", "hatchling", "build", "-t", target, "-d", tmp_path / "dist")
        environment = {**os.environ, "PYTHONPATH": backend, "PATH": path}
        environment["CUPTI_ETL_NO_NATIVE"] = "1"  # `make install` compiles it in place
        subprocess.run([sys.executable, *words], cwd=source, env=environment, check=True)

    hatch("wheel:editable", with_npm(tmp_path / "editable", write))
    assert not (tmp_path / "editable/asked").exists()
    hatch("sdist", with_npm(tmp_path / "there", write))
    asked = (tmp_path / "there/asked").read_text().splitlines()
    assert [line.split()[0] for line in asked] == ["ci", "run"]

    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / "web/src/main.ts").is_file()
    assert not (unpacked / "web/node_modules").exists()
    path, compiler = with_npm(tmp_path / "none", "exit 1"), only_reading(tmp_path / "cc")
    # All that is compiled is in the sdist.
    listed = ("git", "ls-files", "native")
    ours = subprocess.run(listed, cwd=source, capture_output=True, text=True, check=True).stdout
    assert [name for name in ours.split() if not (unpacked / name).is_file()] == []
    assert "native/decode/decode.c" in ours
    wheel = build(unpacked, tmp_path, APART, PYTHONPATH=backend, PATH=path, CC=compiler)
    assert "cupti_etl/native/libcupti_etl.so" in zipfile.ZipFile(wheel).namelist()
    assert set(zipfile.ZipFile(wheel).namelist()) >= PAGE
    assert not (tmp_path / "none/asked").exists()


def test_wheel_without_the_native_part(tmp_path: Path, backend: str) -> None:
    path = with_npm(tmp_path / "none", "exit 1")
    source = clone(tmp_path)
    # What an editable installation of the same tree works with.
    installed = source / "cupti_etl/native/libcupti_etl.so"
    installed.write_text("compiled in place")
    without = {"CUPTI_ETL_NO_NATIVE": "1", "PATH": path, "PYTHONPATH": backend}
    wheel = build(source, tmp_path, APART, **without)
    assert installed.read_text() == "compiled in place"
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith(".so")]
    assert not PAGE & set(names)
    # Installed apart, with this environment's packages: capture says why it cannot.
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, system_site_packages=False)
    (site,) = place.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    others = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "others.pth").write_text(others)

    here = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def etl(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [place / "bin/python", "-m", "cupti_etl", *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=here
        )

    for words in (("capture", "-o", "t", "--", "true"), ("demo", "-o", "t")):
        done = etl(*words)
        assert done.returncode == 1
        assert "without its native part" in done.stderr
        assert "CUPTI_ETL_NO_NATIVE" in done.stderr
        assert not (tmp_path / "t").exists()

    # A trace that was made elsewhere.
    import_traces([ROOT / "cupti_etl/demo/h200.etlrec"], tmp_path / "made", 1)
    done = etl("query", "kernel_summary", "made", "--format", "csv", "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert "adaptive" in done.stdout
    for words in (
        ("report", "made", "-o", "r.html"),
        ("export", "made", "--to", "chrome", "r.json"),
    ):
        done = etl(*words)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / words[-1]).stat().st_size > 10_000


def test_without_a_compiler_it_says_what_to_do(tmp_path: Path, backend: str) -> None:
    words = ["-m", "pip", "wheel", "-q", "--no-deps", APART, "-w", tmp_path, clone(tmp_path)]
    # The page, which is built before, is another matter.
    environment = {**os.environ, "PATH": with_npm(tmp_path / "none", "exit 1")}
    environment["PYTHONPATH"] = backend
    environment["CC"] = "no-such-compiler -O2"
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "there is no C compiler: 'no-such-compiler' cannot be run" in done.stderr
    assert "install a wheel of cupti-etl" in done.stderr
    assert "CUPTI_ETL_NO_NATIVE=1" in done.stderr
    assert "Traceback" not in done.stderr

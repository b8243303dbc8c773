"""``make wheelhouse``: fill a folder from which a machine without a network installs cupti-etl.

    python scripts/wheelhouse.py --python 3.12 --without pyarrow,duckdb -o wheelhouse

Builds the wheel of this repository, resolves what it needs for that Python on Linux x86-64,
and downloads those wheels, except the packages that the machine has already.  Needs a C
compiler, a package index, and pip and ``packaging`` beside this Python.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
BUILD_FAILS = "cupti-etl does not build (this needs a C compiler and a package index)"
# Wheels for glibc 2.28 (RHEL 8, 2018) or older.
PLATFORMS = [*(f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1))]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]


class WheelhouseError(Exception):
    """A sentence about what failed; ``exit_code`` is 2 where the request is at fault."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Package:
    """One resolved distribution; ``requires`` is what it depends on, as its metadata says."""

    name: str
    version: str
    requires: tuple[Requirement, ...]


def pip(*arguments: str, what: str) -> str:
    """Run pip; ``what`` says in the error what it was to do."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = re.findall(r"^ERROR: (.*)", done.stderr, re.MULTILINE) or [
            done.stderr.strip()[-1000:]
        ]
        raise WheelhouseError(f"{what}: {'; '.join(said[-2:])}")
    return done.stdout


def build_own(folder: Path) -> Path:
    """The wheel of this repository, with its native part compiled."""
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT), what=BUILD_FAILS)
    (path,) = folder.glob("cupti_etl-*.whl")
    if not re.search(r"-\w*linux\w*_x86_64\.whl$", path.name):
        raise WheelhouseError(
            f"{path.name} has no native part and could not capture: "
            "run this on Linux x86-64, without CUPTI_ETL_NO_NATIVE"
        )
    return path


def glibc_needed(wheel: str) -> tuple[int, int]:
    """The glibc that the tag of a wheel asks for; (2, 0) if it does not say."""
    found = re.search(r"-manylinux_(\d+)_(\d+)_", wheel)
    return (int(found[1]), int(found[2])) if found else (2, 0)


def for_target(python: str) -> list[str]:
    """pip's options that say where the wheels are for."""
    options = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", python]
    for platform in PLATFORMS:
        options += ["--platform", platform]
    return options


def resolve(wheel: Path, extra: str, python: str) -> list[Package]:
    """Everything that the wheel needs on the target, itself left out."""
    wanted = [f"cupti-etl{extra} @ {wheel.as_uri()}"]
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    while True:
        packages = _resolve(wanted, python)
        names = {package.name for package in packages} | {"cupti-etl"}
        # pip looks at markers (`; python_version >= "3.13"`) with the Python that it runs
        # in, so what only the target's Python needs is missing.
        missing = {
            requirement.name + str(requirement.specifier)
            for package in packages
            for requirement in package.requires
            if (requirement.marker is None or requirement.marker.evaluate(environment))
            and canonicalize_name(requirement.name) not in names
        }
        if not missing:
            return [package for package in packages if package.name != "cupti-etl"]
        wanted += sorted(missing)


def _resolve(wanted: Sequence[str], python: str) -> list[Package]:
    arguments = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    # pip accepts another platform only together with a folder to install to.
    arguments += ["--target", "unused", *for_target(python), *wanted]
    # Our own wheel is tagged by what this machine's compiler made of it.
    arguments += ["--platform", wanted[0].removesuffix(".whl").rpartition("-")[2]]
    report = json.loads(pip(*arguments, what=f"the packages for Python {python} cannot be found"))
    return [_package(item["metadata"]) for item in report["install"]]


def _package(metadata: dict[str, Any]) -> Package:
    requires = tuple(Requirement(text) for text in metadata.get("requires_dist", ()))
    return Package(canonicalize_name(metadata["name"]), metadata["version"], requires)


def leave_out(packages: list[Package], without: str) -> tuple[list[Package], list[str]]:
    """Splits off the packages that the machine has; returns the rest, and those names.

    What cupti-etl does not need is not in the folder anyway: a line says so, as a name may be
    misspelt.
    """
    names: list[str] = sorted(
        {canonicalize_name(word) for word in re.split(r"[,\s]+", without) if word}
    )
    known = {package.name for package in packages}
    for name in names:
        if name not in known:
            needs = ", ".join(sorted(known))
            print(
                f"wheelhouse: cupti-etl does not need {name}, with it or without; it needs {needs}",
                file=sys.stderr,
            )
    rest = [package for package in packages if package.name not in names]
    return rest, [name for name in names if name in known]


def empty(folder: Path) -> None:
    """Make the folder, or take the wheels of an earlier run out of it."""
    if folder.exists() and not folder.is_dir():
        raise WheelhouseError(f"{folder} is a file", 2)
    others = [path.name for path in folder.glob("*") if path.suffix != ".whl"]
    if others:
        raise WheelhouseError(
            f"{folder} holds other things than wheels: {', '.join(others[:3])}", 2
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.whl"):
        path.unlink()


def fill(out: Path, python: str, without: str, extras: str) -> list[str]:
    """Fill the folder; returns what to print."""
    extra = f"[{extras}]" if extras else ""
    empty(out)
    with tempfile.TemporaryDirectory() as temporary:
        built = build_own(Path(temporary))
        packages, left_out = leave_out(resolve(built, extra, python), without)
        own = out / built.name
        own.write_bytes(built.read_bytes())
    pins = [f"{package.name}=={package.version}" for package in packages]
    download = ["download", "--quiet", "--no-deps", "--dest", str(out), *for_target(python), *pins]
    pip(*download, what="a wheel cannot be downloaded")
    wheels = sorted(out.glob("*.whl"))
    size = sum(path.stat().st_size for path in wheels) / 1e6
    major, minor = max(glibc_needed(own.name), (2, 28))
    lines = [f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}" for path in wheels] + [
        f"{out}: {len(wheels)} wheels, {size:.1f} MB, for CPython {python} on Linux x86-64 with "
        f"glibc {major}.{minor} or newer",
        "",
        "Copy the folder, and there, in the Python environment of the program to trace:",
        "",
        f"  pip install --no-index --find-links {out.name} {shell(f'cupti-etl{extra}')}",
    ]
    if left_out:
        lines += ["", f"That environment must have {requirements(own, packages, left_out)}.", ""]
        it = "it" if len(left_out) == 1 else "them"
        lines += [f"If pip does not know of {it} there, the line above fails; then:", ""]
        lines += [f"  pip install --no-index --no-deps {out.name}/*.whl"]
    return lines


def requirements(own: Path, packages: list[Package], names: list[str]) -> str:
    """What the left-out packages must satisfy, as their dependents say."""
    with zipfile.ZipFile(own) as wheel:
        (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        lines = wheel.read(metadata).decode().splitlines()
    ours = [Requirement(line[15:]) for line in lines if line.startswith("Requires-Dist: ")]
    said = []
    for name in names:
        specifiers = {
            str(requirement.specifier)
            for requirement in [*ours, *(each for package in packages for each in package.requires)]
            if canonicalize_name(requirement.name) == name and requirement.marker is None
        }
        said.append(name + ",".join(sorted(specifiers - {""})))
    return " and ".join(said)


def shell(word: str) -> str:
    """The word as a shell must see it."""
    return f"'{word}'" if "[" in word else word


def version(text: str) -> str:
    """A Python version such as 3.12."""
    if not re.fullmatch(r"3\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 3.12")
    if tuple(int(part) for part in text.split(".")) < OLDEST:
        raise argparse.ArgumentTypeError("cupti-etl needs Python 3.11 or newer")
    return text


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Fill a folder with cupti-etl and what it needs.")
    host = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument(
        "--python", type=version, default=host, help="Python of the machine (%(default)s)"
    )
    parser.add_argument(
        "--without", default="", help="packages that the machine has, comma-separated"
    )
    parser.add_argument(
        "--extras", default="", help="such as cupti13, for a machine without any CUPTI"
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("wheelhouse"), help="folder (%(default)s)"
    )
    arguments = parser.parse_args()
    try:
        lines = fill(arguments.out, arguments.python, arguments.without, arguments.extras)
    except WheelhouseError as error:
        print(f"wheelhouse: {error}", file=sys.stderr)
        return error.exit_code
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

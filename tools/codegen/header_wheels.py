"""Gets NVIDIA's public headers out of its wheels, for a while and on this machine only.

The wheels of ``nvidia-cuda-cupti`` hold ``cupti.h`` and what it includes, but for
``cuda.h`` and ``crt/``, which are in two others.  Nothing of them is kept in the
repository or in our own wheel.  Used by ``make headers`` and by the contract test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.errors import SchemaError

# By major version of CUDA; in the wheels of 12 crt/ lies beside the compiler.
PACKAGES = {
    12: ("nvidia-cuda-cupti-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12"),
    13: ("nvidia-cuda-cupti", "nvidia-cuda-runtime", "nvidia-cuda-crt"),
}
# NVIDIA tags by the age of its build machines; all of these run where we do.
_GLIBC_MINORS = range(28, 4, -1)


@dataclass(frozen=True)
class Headers:
    """Unpacked headers.

    Attributes:
        include_dirs: what to give the compiler with ``-I``.
        versions: version of each package, by its name.
    """

    include_dirs: tuple[Path, ...]
    versions: dict[str, str]


def fetch_headers(major: int, cache: Path, refresh: bool = False) -> Headers:
    """The newest public headers of a major version of CUDA, 12 or 13.

    Args:
        major: a key of ``PACKAGES``.
        cache: folder to keep them in, ``cache/cuda13`` and the like.
        refresh: ask the package index even if the cache has some.

    Raises:
        SchemaError: the package index cannot be reached, or a wheel is not as expected.
    """
    folder = cache / f"cuda{major}"
    if refresh or not (folder / "versions.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            fresh = Path(temporary, "headers")
            versions = _unpack(_download(PACKAGES[major], Path(temporary, "wheels")), fresh)
            # Written last and moved as a whole, so that a cache is complete or not there.
            (fresh / "versions.json").write_text(json.dumps(versions))
            if folder.exists():
                shutil.rmtree(folder)
            fresh.rename(folder)
    include_dirs = tuple(sorted(folder.glob("nvidia/*/include")))
    if not any((directory / "cupti_activity.h").exists() for directory in include_dirs):
        raise SchemaError(f"{PACKAGES[major][0]} holds no cupti_activity.h", f"look into {folder}")
    return Headers(include_dirs, json.loads((folder / "versions.json").read_text()))


def _download(packages: tuple[str, ...], folder: Path) -> list[Path]:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--dest", str(folder)]
    # The platform is named because headers can be taken on any.
    for minor in _GLIBC_MINORS:
        command += ["--platform", f"manylinux_2_{minor}_x86_64"]
    command += ["--platform", "manylinux2014_x86_64", "--only-binary", ":all:", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise SchemaError(
            f"NVIDIA's header wheels cannot be downloaded: {last}", "this needs a package index"
        )
    return sorted(folder.glob("*.whl"))


def _unpack(wheels: list[Path], folder: Path) -> dict[str, str]:
    """Put the headers of all wheels below one folder; returns the packages' versions."""
    versions = {}
    for path in wheels:
        name, version = path.name.split("-")[:2]
        versions[name.replace("_", "-")] = version
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder, [entry for entry in wheel.namelist() if "/include/" in entry])
    return versions

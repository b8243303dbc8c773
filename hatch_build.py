"""Build hooks: the native libraries, the page of `serve`, and what a package index shows.

On Linux x86-64, a wheel has the native libraries.  With ``CUPTI_ETL_NO_NATIVE=1``, or on another
system, it has none and serves every platform: traces can be opened and queried, not captured.

The page needs npm, but not where the wheel is built from an sdist, which has it.  Without npm or
its package index, what is built has the page that ``make web`` left there, or none.  An editable
installation never builds it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or picture of Markdown to a file of the repository; inside of a link may be a picture.
_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")
# What a package index links, and where it is below the address of the project.
_URLS = {
    "Source": "",
    "Documentation": "/blob/main/docs/index.md",
    "Changelog": "/blob/main/CHANGELOG.md",
}


def _is_native() -> bool:
    here = platform.system() == "Linux" and platform.machine() == "x86_64"
    return here and os.environ.get("CUPTI_ETL_NO_NATIVE") != "1"


class BuildHook(BuildHookInterface):
    """Adds the page, and the native libraries to the wheel, and tags it for the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the sdist or the wheel is put together."""
        self._compiled: tempfile.TemporaryDirectory[str] | None = None
        is_in_sdist = Path(self.root, "PKG-INFO").is_file()
        if version != "editable" and not is_in_sdist:
            self._build_page()
        if self.target_name == "wheel" and _is_native():
            self._build_native(version, build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel now."""
        if self._compiled:
            self._compiled.cleanup()

    def _build_page(self) -> None:
        npm = shutil.which("npm")
        commands = (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"])
        for words in commands:
            done = npm and subprocess.run(
                [npm, *words], cwd=Path(self.root, "web"), capture_output=True, check=False
            )
            if not done or done.returncode:
                why = f"npm {words[0]} failed" if npm else "there is no npm"
                self.app.display_warning(f"the page of `cupti-etl serve` is not built: {why}")
                return

    def _build_native(self, version: str, build_data: dict[str, Any]) -> None:
        build = self._script("build")
        if version == "editable":
            folder = Path(self.root, "cupti_etl", "native")
        else:
            # Not in the tree, which may be installed as editable.
            self._compiled = tempfile.TemporaryDirectory()
            folder = Path(self._compiled.name)
        try:
            libraries = build.build(folder, [] if version == "editable" else build.RELEASE)
        except build.BuildError as error:
            # pip shows what a build hook wrote last, and not a traceback.
            self.app.abort(str(error))
        build_data["pure_python"] = False
        # The libraries know nothing of Python, so one wheel serves every version of it.
        tag = self._script("glibc").platform_tag(libraries)
        build_data["tag"] = f"py3-none-{tag}"
        if version != "editable":
            build_data["force_include"] |= {
                str(path): f"cupti_etl/native/{path.name}" for path in libraries
            }

    def _script(self, name: str) -> ModuleType:
        path = Path(self.root, "native", f"{name}.py")
        spec = importlib.util.spec_from_file_location(f"native_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


class MetadataHook(MetadataHookInterface):
    """Makes links that work on the page of a package index, from the project's one address.

    Without an address, there are no links to files: text stands instead, and no picture.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README and the links."""
        address = self.config["address"].rstrip("/")
        text = Path(self.root, "README.md").read_text()
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": _RELATIVE.sub(lambda found: _absolute(address, *found.groups()), text),
        }
        metadata["urls"] = {name: address + path for name, path in _URLS.items() if address}


def _absolute(address: str, mark: str, text: str, path: str) -> str:
    if address:
        return f"{mark}[{text}]({address}/{'raw' if mark else 'blob'}/main/{path})"
    return "" if mark else text

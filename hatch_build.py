"""Build hook: compiles the two shared objects into the wheel, and builds the page of `serve`.

With ``CUPTI_ETL_NO_NATIVE=1``, or on a system other than Linux x86-64, the wheel has no
native part and serves every platform: traces can be opened and queried, not captured.

The page needs npm, but not where the wheel is built from an sdist, which has it.  Without npm or
its package index, what is built has the page that ``make web`` left there, or none.  An editable
installation never builds it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface):
    """Adds the page, and the native libraries to the wheel, and tags it for the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the sdist or the wheel is put together."""
        is_in_sdist = Path(self.root, "PKG-INFO").is_file()
        if version != "editable" and not is_in_sdist:
            self._build_page()
        if self.target_name == "wheel":
            self._build_native(build_data)

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

    def _build_native(self, build_data: dict[str, Any]) -> None:
        here = platform.system() == "Linux" and platform.machine() == "x86_64"
        if os.environ.get("CUPTI_ETL_NO_NATIVE") == "1" or not here:
            for library in Path(self.root, "cupti_etl", "native").glob("*.so"):
                library.unlink()  # of an earlier build in the same tree
            return
        spec = importlib.util.spec_from_file_location(
            "native_build", Path(self.root, "native", "build.py")
        )
        assert spec is not None
        assert spec.loader is not None
        build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(build)
        build.build(Path(self.root, "cupti_etl", "native"))
        build_data["pure_python"] = False
        # The libraries know nothing of Python, so one wheel serves every version of it.
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{tag}"

"""Build hook: compiles the two shared objects into the wheel.

With ``CUPTI_ETL_NO_NATIVE=1``, or on a system other than Linux x86-64, the wheel has no
native part and serves every platform: traces can be opened and queried, not captured.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface):
    """Adds the native libraries to the wheel and tags it for the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together."""
        if self.target_name != "wheel":
            return
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

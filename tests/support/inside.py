"""The library's own functions with a fake libcupti, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from support.fake_client import FakeCupti, in_process
from support.fakes import CUPTI_13, Fakes

Result = TypeVar("Result")


class Inside:
    """Runs a function of a libcupti's path in a child, where what it loads stays."""

    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes

    def __call__(
        self,
        scenario: Callable[[str], Result],
        release: str = CUPTI_13,
        environ: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Result:
        def run(_: FakeCupti) -> Result:
            return scenario(str(self._fakes.cupti(release)))

        # Read by the fakes when they are asked; the child alone has it.
        before = dict(os.environ)
        os.environ.update(environ or {})
        try:
            return in_process(self._fakes, run, release, **options)
        finally:
            os.environ.clear()
            os.environ.update(before)

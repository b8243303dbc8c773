"""Which functions a range or a capture can decorate."""

from __future__ import annotations

import inspect
from typing import Any

from cupti_etl.errors import UsageError


def check(function: Any, block: str) -> None:
    """See that a block around a call is around what the function does.

    Args:
        function: what is to be decorated, and can be called.
        block: what stands after ``with``, for the hint.

    Raises:
        UsageError: it is a generator function, or a class.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"{function.__qualname__} is a generator, which runs in pieces between others",
            f"use `with {block}` inside of it, around what does not yield",
        )
    if inspect.isclass(function):
        raise UsageError(
            f"{function.__qualname__} is a class, and would be a function afterwards",
            f"decorate its methods, or use `with {block}` where it is used",
        )

"""``cupti_etl.range()`` and ``step()``: names for parts of the program's own work.

They are built-in functions that the injected library makes (native/inject/python_range.c), so that
they may stay in a program for good: while nothing records, a range costs some tens of nanoseconds.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

from cupti_etl.errors import NativeError
from cupti_etl.inprocess import decorating, tasks
from cupti_etl.native.loader import inject_library_path

_F = TypeVar("_F", bound=Callable[..., Any])
_INJECTION = "CUDA_INJECTION64_PATH"
_MESSAGE_BYTES = 512


def _library() -> Path:
    """The library that records in this process, or would."""
    ours = inject_library_path()
    injected = Path(os.environ.get(_INJECTION) or ours)
    return injected if injected.name == ours.name else ours


def _functions() -> dict[str, Any]:
    """What python_range.c offers.

    Raises:
        NativeError: there is no native part, or this interpreter is not CPython.
    """
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    try:
        library = ctypes.PyDLL(str(_library()))
        make = library.cupti_etl_python_ranges
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_size_t, ctypes.c_char_p]
        functions: dict[str, Any] = make(object.__basicsize__, message)
    except (OSError, AttributeError, ValueError) as error:
        raise NativeError(message.value.decode() or str(error)) from None
    return functions


def _decorated(entered: Any, function: _F) -> _F:
    """A function, or coroutine function, each call of which is such a range.

    Raises:
        TypeError: it cannot be called.
        UsageError: it is a generator function, or a class.
    """
    if not callable(function):
        raise TypeError(
            f"{entered!r} decorates a function, not {function!r}; attributes have names: epoch=3"
        )
    decorating.check(function, "cupti_etl.range(...)")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with entered:
                return await function(*args, **kwargs)

        return awaited  # type: ignore[return-value]

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with entered:
            return function(*args, **kwargs)

    return called  # type: ignore[return-value]


class _Nothing:
    """In place of a range where nothing can be recorded: other systems, other interpreters."""

    def __init__(self, name: str, /, **attributes: object) -> None:
        self._name = name

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, function: _F) -> _F:
        return _decorated(self, function)

    def __repr__(self) -> str:
        return f"<cupti_etl.range {self._name!r}>"


def _no_step(function: Callable[..., Any] | None = None, /, **attributes: object) -> Any:
    """In place of ``step`` there."""
    nothing = _Nothing("step")
    return nothing if function is None else nothing(function)


class _Step(Protocol):
    @overload
    def __call__(self, function: _F, /) -> _F: ...

    @overload
    def __call__(self, **attributes: object) -> AbstractContextManager[object, None]: ...


# A type checker knows it as what stands in its place.
range: type[_Nothing]
step: _Step
#: Why ranges are not recorded here; "" if they are.
obstacle = ""
try:
    _made = _functions()
except NativeError as error:
    obstacle = str(error)
    range, step = _Nothing, _no_step
else:
    range, step = _made["range"], _made["step"]
    _made["on_call"](_decorated)
    _made["on_tasks"](functools.partial(tasks.follow, _made))

"""Every error that cupti-etl raises on purpose.

::

    EtlError                    exit 1
    ├── UsageError              exit 2   an option, a path or a query that cannot be
    ├── SchemaError             exit 1   a table description contradicts itself
    ├── TraceError              exit 1   a trace folder cannot be read
    │   ├── RecordingError      exit 1   a recording is damaged or of another version
    │   └── ForeignError        exit 1   a trace of another tool cannot be imported
    ├── MemoryLimitError        exit 1   a statement needs more memory than DuckDB may take
    ├── EngineError             exit 1   workers were killed, or there are none
    ├── NativeError             exit 1   the native library is missing or refuses
    ├── CuptiError              exit 1   CUPTI refused a call; it has CUPTI's result
    │   ├── CuptiValueError     exit 1   ... for an argument; is a ValueError too
    │   ├── CuptiMemoryError    exit 1   ... for want of memory; is a MemoryError too
    │   ├── CuptiPermissionError exit 1  ... for want of a right; is a PermissionError too
    │   └── CuptiRuntimeError   exit 1   ... for any other reason; is a RuntimeError too
    ├── CaptureError            exit 4   the program ran, but could not be captured
    └── NoCudaError             exit 3   the program ended without initialising CUDA

``cupti_etl.cli`` is the one place where an error becomes text and an exit code.
"""

from __future__ import annotations

import copy
import errno
import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any

# What a reader of a notebook has not written.
_NOT_THEIRS = ("cupti_etl", "IPython", "contextlib")
# Where there is no room, by the system's number for it: a disk, a quota, a limit of the shell.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class EtlError(Exception):
    """Base of all errors of cupti-etl.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it, in one sentence.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:  # for whoever reads the traceback of a program or a notebook
            self.add_note(hint)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the lines of the reader and the message, without our own lines.

        ``%tb Verbose`` shows all of it.
        """
        from IPython import get_ipython

        drawing = get_ipython().InteractiveTB
        whole = self.__traceback__
        if drawing.mode == "Verbose":
            return list(drawing.structured_traceback(type(self), self, whole, tb_offset=1))
        # A copy has no cause, which is DuckDB's word for the same thing.
        alone = copy.copy(self)
        theirs = _theirs(whole)
        if theirs is None:
            return list(drawing.get_exception_only(type(self), alone))
        return list(drawing.structured_traceback(type(self), alone, theirs, tb_offset=0))


class UsageError(EtlError):
    """An option, a path or a query that cannot be used as given."""

    exit_code = 2


class SchemaError(EtlError):
    """A table description contradicts itself or the header's facts."""


class TraceError(EtlError):
    """A trace folder is missing, incomplete, or of a newer schema."""


class RecordingError(TraceError):
    """A recording is truncated, damaged, or of another version."""


class ForeignError(TraceError):
    """A trace of another tool is damaged, of an unknown form, or holds nothing for us."""


class MemoryLimitError(EtlError):
    """A statement needs more memory than DuckDB may take."""


class EngineError(EtlError):
    """The workers of an engine were killed, are of another version, or there are none."""


class NativeError(EtlError):
    """The native library is missing, of another build, or reported a failure."""


class CuptiError(EtlError):
    """A call of CUPTI was refused.

    Args:
        code: CUPTI's result (``CUptiResult``), or a negative errno where the call was not made.
        message: what is wrong, with CUPTI's words for the result.
        hint: what to do about it, in one sentence.
        words: the call and CUPTI's words alone; the message if there are none.
    """

    def __init__(self, code: int, message: str, hint: str = "", words: str = "") -> None:
        super().__init__(message, hint)
        self.code = code
        self.words = words or message

    def __reduce__(self) -> tuple[Any, ...]:
        # Else the message alone is passed on, and a pool of processes waits for ever.
        return type(self), (self.code, self.message), self.__dict__


class CuptiValueError(CuptiError, ValueError):
    """CUPTI does not take an argument: a metric, a chip, a set."""


class CuptiMemoryError(CuptiError, MemoryError):
    """There is no memory, or a buffer of the hardware ran over."""


class CuptiPermissionError(CuptiError, PermissionError):
    """The driver keeps hardware counters for administrators."""


class CuptiRuntimeError(CuptiError, RuntimeError):
    """CUPTI cannot do it here, or not now."""


class CaptureError(EtlError):
    """The program ran, but its CUDA activity could not be captured."""

    exit_code = 4


class NoCudaError(EtlError):
    """The program ended without ever initialising CUDA."""

    exit_code = 3


def _theirs(whole: TracebackType | None) -> TracebackType | None:
    """A traceback without the lines that its reader has not written."""
    if whole is None:
        return None
    rest = _theirs(whole.tb_next)
    module = str(whole.tb_frame.f_globals.get("__name__", ""))
    if module.partition(".")[0] in _NOT_THEIRS:
        return rest
    return TracebackType(rest, whole.tb_frame, whole.tb_lasti, whole.tb_lineno)


def why(error: BaseException) -> str:
    """What an error says, in one line: behind its first, Arrow tells where in Python it was.

    An OSError says its number first, which tells nobody more than the words do.
    """
    lines = str(error).splitlines() or [type(error).__name__]
    return _ERRNO.sub("", lines[0])


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names what is spelt like a name that does not exist.

    Args:
        name: what was given.
        known: what there is.
        otherwise: the hint where nothing is spelt alike.
    """
    from difflib import get_close_matches

    similar = get_close_matches(name, known)
    return f"did you mean {' or '.join(similar)}?" if similar else otherwise


def need(*modules: str, todo: str) -> None:
    """See that what is left to the user to install is there.

    Args:
        modules: their names.
        todo: what to do where one is missing.

    Raises:
        UsageError: one is missing.
    """
    from importlib.util import find_spec

    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(f"{', '.join(missing)} {verb} not installed", todo)

"""What the library's headers say, whether or not the library is here."""

from __future__ import annotations

from typing import Any

from cupti_etl.native._abi import ffi


def constant(name: str) -> int:
    """The value of an enumerator or a macro."""
    return int(ffi.integer_const(name))


def enumeration(name: str, prefix: str) -> dict[int, str]:
    """The values of an ``enum`` and their names in lower case, without what all begin with."""
    found: dict[int, str] = ffi.typeof(f"enum {name}").elements
    return {value: found[value].removeprefix(prefix).lower() for value in sorted(found)}


def members(struct: str) -> tuple[str, ...]:
    """Names of the members of a ``struct``, in their order."""
    return tuple(name for name, _ in ffi.typeof(f"struct {struct}").fields)


def size(struct: str) -> int:
    """Bytes of a ``struct``."""
    return int(ffi.sizeof(f"struct {struct}"))


def view(struct: str, data: bytes) -> Any:
    """The ``struct`` that ``data`` begins with; raises ValueError if there is not all of it."""
    if len(data) < size(struct):
        raise ValueError(f"{len(data)} bytes are no {struct}")
    return ffi.from_buffer(f"struct {struct} *", data)


def packed(struct: str, **values: int) -> bytes:
    """A ``struct`` with these members, the others zero."""
    return bytes(ffi.buffer(ffi.new(f"struct {struct} *", values)))


class Copy:
    """The members of a native ``struct`` as they were, by their names; texts are decoded."""

    def __init__(self, raw: Any) -> None:
        for name, kind in ffi.typeof(raw[0]).fields:
            value = getattr(raw, name)
            is_text = kind.type.kind == "array"
            vars(self)[name] = ffi.string(value).decode("utf-8", "replace") if is_text else value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no member {name!r}")

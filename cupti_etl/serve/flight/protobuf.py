"""The encoding of Protocol Buffers, as far as Flight SQL's messages use it.

A message is a list of fields, each with a number and a value: of these only integers ("varint") and
texts or bytes with their length are used there, besides messages in messages, which are such bytes.
The format is described at protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cupti_etl.errors import UsageError
from cupti_etl.render.perfetto.protobuf import constant

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_WIDTH = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
Value = int | bytes


class Message:
    """The fields of a message.

    Args:
        data: as it was sent.

    Raises:
        UsageError: it is none.
    """

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[Value]] = {}
        at = 0
        while at < len(data):
            key, at = _varint(data, at)
            kind = key & 7
            if kind == _VARINT:
                value: Value
                value, at = _varint(data, at)
            elif kind == _BYTES or kind in _WIDTH:
                size, at = _varint(data, at) if kind == _BYTES else (_WIDTH[kind], at)
                value, at = data[at : at + size], at + size
                if at > len(data):
                    raise _broken()
            else:
                raise _broken()
            self._fields.setdefault(key >> 3, []).append(value)

    def bytes_of(self, number: int) -> bytes:
        """The bytes of a field; none if it is not there."""
        value = self._fields.get(number, [b""])[-1]
        if not isinstance(value, bytes):
            raise _broken()
        return value

    def text(self, number: int) -> str:
        """The text of a field; "" if it is not there."""
        return _text(self.bytes_of(number))

    def optional_text(self, number: int) -> str | None:
        """The text of a field; None if it is not there."""
        return self.text(number) if number in self._fields else None

    def texts(self, number: int) -> list[str]:
        """The texts of a repeated field."""
        values = self._fields.get(number, [])
        return [_text(value) for value in values if isinstance(value, bytes)]

    def is_true(self, number: int) -> bool:
        """Whether a field is there and true."""
        return self._fields.get(number, [0])[-1] not in (0, b"")

    def integers(self, number: int) -> list[int]:
        """The integers of a repeated field, one by one or packed into one value."""
        found: list[int] = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                integer, at = _varint(value, at)
                found.append(integer)
        return found


def message(fields: Mapping[int, bytes] | Iterable[tuple[int, bytes]]) -> bytes:
    """A message of fields of bytes, by their numbers."""
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    return b"".join(constant(number, value) for number, value in pairs)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _broken()
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise _broken()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise UsageError("a text of the message is not UTF-8", "send it as text") from None


def _broken() -> UsageError:
    return UsageError("the message is none of Flight SQL", "ask with a client of Flight SQL")

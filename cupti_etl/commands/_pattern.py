"""Regular expressions of names of kernels."""

from __future__ import annotations

from cupti_etl.errors import UsageError

# native/inject/range_session.h.
_MOST = 1023


def check_pattern(option: str, pattern: str) -> None:
    """As the injected library compiles it.

    Raises:
        UsageError: it is no extended regular expression.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    compiled = ctypes.create_string_buffer(256)  # a regex_t is 64 bytes
    code = libc.regcomp(compiled, pattern.encode(), 1)  # REG_EXTENDED
    if code:
        words = ctypes.create_string_buffer(256)
        libc.regerror(code, compiled, words, len(words))
        raise UsageError(
            f"{option} {pattern!r}: {words.value.decode(errors='replace')}",
            "give an extended regular expression (man 7 regex), such as 'gemm|softmax'",
        )
    libc.regfree(compiled)
    if len(pattern.encode()) > _MOST:
        raise UsageError(f"{option} is too long", f"give at most {_MOST} bytes")

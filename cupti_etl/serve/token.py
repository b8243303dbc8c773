"""The token that lets in, whatever the protocol."""

from __future__ import annotations

import secrets


class Token:
    """What a client has to know.

    Args:
        text: the token.
    """

    def __init__(self, text: str) -> None:
        self._text = text.encode()

    def is_in(self, authorization: str, other: str = "") -> bool:
        """Whether a request has it, compared in a time that says nothing of it.

        Args:
            authorization: the header of that name.
            other: what counts where the header has no token.
        """
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer":
            given = other
        return secrets.compare_digest(given.strip().encode(errors="replace"), self._text)

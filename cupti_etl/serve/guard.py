"""Who is let in, and what every response says of itself."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cupti_etl.errors import EtlError
from cupti_etl.serve.refusal import refusal
from cupti_etl.serve.refused import Paths, Refused, too_many, wrong_token
from cupti_etl.serve.token import Token

# What tells that the server runs, and nothing else.
HEALTH = "/health"
# With an address of IPv6 in brackets, and a port.
_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^:\[\]]+))(?::\d*)?")
# Everything is from here.  The exceptions are the two style sheets that Observable Plot puts into
# its charts and legends: the hashes are of their texts, and let no other in.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "style-src 'self' 'sha256-jSYQUrW7J0b3jPqhZP9C2Xh1PyJKHKXd4s0fpGGKrww='"
        " 'sha256-rCZUQsEQJf1DmnfnMZmlj08XC7qbIZySA6bEtitbQ00='",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    # The address has the token.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Lets requests in that name this machine and have the token, and so many at once.

    A page of another origin can make a browser send requests here: it does not know the token, and
    if it gave its own name the address of this machine, the header Host has that name.

    Args:
        app: what they are let in to.
        token: that requests must have; as ``?token=`` or ``Authorization: Bearer``.
        hosts: names of this machine, besides localhost and addresses.
        paths: what hides the paths of this machine.
        most: how many requests at once.
        public: addresses that need no token, as they say nothing of a trace.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: Token,
        hosts: Iterable[str],
        paths: Paths,
        most: int,
        public: Iterable[str] = (HEALTH,),
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._paths = paths
        self._most = most
        self._public = frozenset(public)
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            self._check(scope)
        except EtlError as error:
            await refusal(error, self._paths)(scope, receive, send_with_headers)
            return
        self._inside += 1
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._inside -= 1

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if not self._is_here(headers.get("host", "")):
            raise Refused(
                421, "the header Host names another machine", "use the address that serve printed"
            )
        if scope["path"] not in self._public and not self._has_token(scope, headers):
            raise wrong_token()
        if self._inside >= self._most:
            raise too_many(self._most)

    def _is_here(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if not found:
            return False
        name = found[1] or found[2]
        if name.lower() in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        query = scope["query_string"].decode("latin-1")
        try:
            words = dict(parse_qsl(query, max_num_fields=1000))
        except ValueError:
            words = {}
        return self._token.is_in(headers.get("authorization", ""), words.get("token", ""))

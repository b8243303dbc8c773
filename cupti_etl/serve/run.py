"""Runs the server until it is interrupted."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import threading
import traceback
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import uvicorn

from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.serve.app import Service
from cupti_etl.serve.served import Limits

if TYPE_CHECKING:
    from cupti_etl.serve.flight.server import Server

# What is still being answered at Ctrl-C.
_GRACE_S = 1
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def run(
    paths: Sequence[Path],
    host: str,
    port: int,
    *,
    opens: bool,
    limits: Limits,
    debug: bool,
    until_eof: bool = False,
    flight: int | None = None,
) -> None:
    """Serve until Ctrl-C.

    Args:
        paths: of the traces.
        host: the address to listen on.
        port: 0 for one that is free.
        opens: whether a browser shows the page, where there is a screen.
        limits: how much is served.
        debug: whether to show tracebacks.
        until_eof: whether to serve a trace that may not be there yet, until standard input ends.
        flight: the port of Flight SQL, 0 for one that is free; None: it is not served.

    Raises:
        UsageError: the address or the port cannot be had.
        KeyboardInterrupt: at Ctrl-C.
    """
    token = secrets.token_urlsafe(24)

    def show(error: BaseException) -> None:
        if debug:
            say("".join(traceback.format_exception(error)).rstrip())

    with _listen(host, port) as listening, ExitStack() as stack:
        service = Service(
            paths, token, hosts=[host], limits=limits, on_fault=show, is_awaited=until_eof
        )
        stack.callback(service.close)
        of_flight = None
        if flight is not None:
            of_flight = _serve_flight(service, host, flight)
            stack.callback(of_flight.stop)
        # What it has to say is said by us, or is in the answers.
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        config = uvicorn.Config(
            service.app,
            access_log=False,
            http="h11",
            lifespan="off",
            log_config=None,
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            ws="none",
        )
        place = f"[{host}]" if ":" in host else host
        url = f"http://{place}:{listening.getsockname()[1]}/?token={token}"
        if host not in _LOOPBACK:
            say("cupti-etl: other machines can connect; what is sent is not encrypted")
        click.echo(url)
        if of_flight:
            click.echo(f"grpc://{place}:{of_flight.port}")
        if opens and _has_screen():
            webbrowser.open(url)
        server = uvicorn.Server(config)
        if until_eof:
            threading.Thread(target=_end_at_eof, args=(server,), daemon=True).start()
        server.run(sockets=[listening])


def _serve_flight(service: Service, host: str, port: int) -> Server:
    try:
        import pyarrow.flight  # noqa: F401
    except ImportError:
        raise UsageError(
            "this pyarrow was built without Flight", "pip install pyarrow; PyPI's has it"
        ) from None
    from cupti_etl.serve.flight.server import Server

    # gRPC would share a port with another server of gRPC, and print why it cannot have one.
    _listen(host, port, "--flight").close()
    return Server(service.served, host, port)


def _has_screen() -> bool:
    """Whether a browser has where to show a page; else it would be one of the terminal."""
    told = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in told)


def _end_at_eof(server: uvicorn.Server) -> None:
    while os.read(0, 1 << 12):
        pass
    server.should_exit = True


def _listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A socket that listens, so that whoever reads the address can connect."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}",
            f"choose another {option}; {option}=0 takes one that is free",
        ) from error

"""A server that speaks S3, behind a proxy, and captures of the fake program."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.captures import Capturer
from support.fakes import Fakes
from support.proxy import Proxy
from support.waiting import wait_until

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import inject_library_path
from cupti_etl.storage import bucket

_CLOUD = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "a-key-that-nobody-says",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    # How often the SDK itself tries again.
    "AWS_MAX_ATTEMPTS": "1",
}


@pytest.fixture
def capturer(fakes: Fakes, tmp_path: Path) -> Capturer:
    """Captures of the fake program."""
    try:
        inject_library_path()
    except NativeError as error:
        pytest.skip(f"no capture without the native part: {error.message}")
    return Capturer(fakes, tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a server that speaks S3."""
    for each in ("fsspec", "moto.server"):
        pytest.importorskip(each)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: _answers(port))
            yield port
        finally:
            process.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.fixture
def proxy(server: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The way to a bucket named ``traces``, which is empty."""
    from pyarrow import fs

    made = Proxy(server)
    for name, value in _CLOUD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.port}")
    direct = fs.S3FileSystem(
        endpoint_override=f"http://127.0.0.1:{server}", allow_bucket_creation=True
    )
    direct.create_dir("traces")
    direct.delete_dir_contents("traces")
    bucket.file_system.cache_clear()
    bucket._LISTINGS.clear()
    yield made
    made.close()
    bucket.file_system.cache_clear()

"""A service that refuses: what it says is told, and no credential is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.errors import EtlError, TraceError, UsageError
from cupti_etl.storage import bucket
from cupti_etl.storage.spool import Spool

SECRETS = ("AKIAFAKEKEYID", "the-secret-key", "the-session-token", "the-password")
# As Amazon answers: what was signed, and with which key, stands in the body.
ANSWER = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>{code}</Code><Message>{message}</Message><AWSAccessKeyId>AKIAFAKEKEYID</AWSAccessKeyId>
<StringToSign>x-amz-security-token:the-session-token</StringToSign><RequestId>1</RequestId></Error>"""


class Refusing(BaseHTTPRequestHandler):
    """Answers 403 to everything."""

    code = message = ""

    def _refuse(self) -> None:
        body = ANSWER.format(code=self.code, message=self.message).encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _refuse

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(
    params=[
        ("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist"),
        ("SignatureDoesNotMatch", "The request signature we calculated does not match"),
        ("AccessDenied", "Access Denied"),
        ("ExpiredToken", "The provided token has expired"),
    ],
    ids=lambda param: str(param[0]),
)
def refusing(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[type[Refusing]]:
    code, message = request.param
    handler = type("Handler", (Refusing,), {"code": code, "message": message})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    key, secret, token, password = SECRETS
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_SESSION_TOKEN": token,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "HTTPS_PROXY": f"http://me:{password}@127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    bucket.file_system.cache_clear()
    yield handler
    server.shutdown()
    server.server_close()
    bucket.file_system.cache_clear()
    bucket._LISTINGS.clear()


def check(error: EtlError, said: str) -> None:
    text = f"{error.message} {error.hint}"
    assert said in text
    assert bucket.CHECK in text
    assert not [secret for secret in SECRETS if secret in text]


def test_what_cannot_be_read_or_written(refusing: type[Refusing], tmp_path: Path) -> None:
    with pytest.raises(TraceError) as reading:
        cupti_etl.open("s3://traces/run42")
    check(reading.value, "s3://traces/run42 cannot be read")
    assert refusing.message in reading.value.message or "ACCESS_DENIED" in reading.value.message
    spool = Spool(bucket.Url("s3://traces/run42"), tmp_path / "spool", 1 << 20)
    with pytest.raises(UsageError) as writing:
        spool.create()
    check(writing.value, "cannot be written")
    assert not list(tmp_path.rglob("*.parquet"))

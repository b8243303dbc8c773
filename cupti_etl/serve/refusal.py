"""The response of HTTP that says what went wrong."""

from __future__ import annotations

from starlette.responses import Response

from cupti_etl.errors import EtlError
from cupti_etl.render.json import json_text
from cupti_etl.serve.refused import Paths, Refused, described, fault


def refusal(error: BaseException, paths: Paths) -> Response:
    """The response for an error; of a fault of our own it says only that there is one."""
    if not isinstance(error, EtlError):
        error = fault()
    told = described(error, paths)
    headers = error.headers if isinstance(error, Refused) else {}
    return Response(json_text({"error": told}) + "\n", told["status"], headers, "application/json")

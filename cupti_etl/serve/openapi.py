"""The description of all addresses, made from the catalogue of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cupti_etl import __version__
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import SCOPE_NAMES
from cupti_etl.queries.fields import Field
from cupti_etl.schema.arrow import TABLES
from cupti_etl.serve.formats import COMPRESSIONS, FORMATS

_ERROR = "#/components/schemas/Error"
# What it says of each parameter that every address has.
_SAYS = {
    "from": "Only from this time on: 1.5s, -2s (from the end), 40%, or nanoseconds since 1970.",
    "to": "Only up to this time, in the same form.",
    "steps": "Only these steps: 5, 5-8, 5-, -8, steady, complete or all.",
    "gpu": "Only these GPUs, with commas between.",
    "rank": "Only these ranks, with commas between.",
    "process": "Only these process ids, with commas between.",
    "range": "Only while in an NVTX range of that name.",
    "limit": "Only the first so many rows.",
    "sort": "A column, and :asc or :desc behind it.",
    "format": "The format, in place of the header Accept.",
    "compression": "Of Arrow.",
}
_ONE_OF = {"format": FORMATS, "compression": COMPRESSIONS}


def description(tables: Iterable[str]) -> dict[str, Any]:
    """A document of OpenAPI 3.1 for a trace with these tables."""
    paths: dict[str, Any] = {
        "/": {"get": {"summary": "A page that lists what there is", "responses": _text("html")}},
        "/health": {
            "get": {
                "summary": "Whether the server runs",
                "security": [],
                "responses": _text("json", "application/json"),
            }
        },
        "/catalogue.json": {
            "get": {
                "summary": "The tables, and what the headers of the queries say",
                "responses": _text("json", "application/json"),
            }
        },
        "/metrics": {
            "get": {
                "summary": "Counters and the present state, for Prometheus",
                "responses": _text("OpenMetrics", "application/openmetrics-text"),
            }
        },
        "/findings": _get("What could be saved?", "The findings of cupti-etl report.", (), ()),
        "/compare": _get("What differs in the two traces that are served?", "", (), ()),
        "/sql": {
            "post": {
                "summary": "Run a SELECT, or EXPLAIN of one, over tables and queries",
                "parameters": _common(),
                "requestBody": {"required": True, "content": {"text/plain": {}}},
                "responses": _responses({}),
            }
        },
    }
    for name in tables:
        table = TABLES.get(name)
        columns = table.columns if table else ()
        fields = [Field(each.name, each.type.sql, each.doc, each.unit) for each in columns]
        paths[f"/arrow/{name}"] = _get(table.doc if table else "", "", (), fields)
    for query in library():
        if not query.is_building_block:
            summary = query.front or query.doc
            paths[f"/arrow/{query.name}"] = _get(
                summary, query.doc, query.parameters, query.columns
            )
    return {
        "openapi": "3.1.0",
        "info": {"title": "cupti-etl serve", "version": __version__},
        "security": [{"token": []}, {"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "query", "name": "token"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
            "schemas": {"Error": _error()},
        },
    }


def _get(
    summary: str, doc: str, parameters: Sequence[Field], columns: Sequence[Field]
) -> dict[str, Any]:
    found = _common()
    if parameters:
        said = "; ".join(
            f"{each.name} ({each.type}, {_usual(each)}): {each.doc}" for each in parameters
        )
        found.append(
            {
                "name": "param",
                "in": "query",
                "description": f"NAME=VALUE, and again for each. {said}",
                "required": any(each.default is None for each in parameters),
                "schema": {
                    "type": "array",
                    "items": {
                        "type": "string",
                        "pattern": f"^({'|'.join(each.name for each in parameters)})=",
                    },
                },
            }
        )
    row = {
        "type": "object",
        "properties": {
            each.name: {"description": each.doc, "x-sql-type": each.type, "x-unit": each.unit}
            for each in columns
        },
    }
    return {
        "get": {
            "summary": summary,
            "description": doc,
            "parameters": found,
            "responses": _responses(row),
        }
    }


def _usual(field: Field) -> str:
    return "required" if field.default is None else f"by default {field.default}"


def _common() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "description": _SAYS[name],
            "schema": {"type": "string", **({"enum": [*_ONE_OF[name]]} if name in _ONE_OF else {})},
        }
        for name in (*SCOPE_NAMES, "limit", "sort", *_ONE_OF)
    ]


def _responses(row: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {each.media_type: {} for each in FORMATS.values()}
    content[FORMATS["json"].media_type] = {"schema": {"type": "array", "items": row}}
    refused = {"content": {"application/json": {"schema": {"$ref": _ERROR}}}}
    return {
        "200": {"description": "The rows.", "content": content},
        "default": {"description": "What is wrong, and what to do about it.", **refused},
    }


def _text(kind: str, media_type: str = "text/html") -> dict[str, Any]:
    return {"200": {"description": kind, "content": {media_type: {}}}}


def _error() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "title": text,
                    "detail": text,
                    "hint": text,
                    "status": {"type": "integer"},
                },
                "required": ["title", "detail", "hint", "status"],
            }
        },
        "required": ["error"],
    }

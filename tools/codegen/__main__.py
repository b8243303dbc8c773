"""``make generate``: write every derived file, or with ``--check`` say which are stale.

What is derived, and from what, is the list ``outputs()``; nothing else in the
repository is made by a program, except what ``make headers`` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from cupti_etl.schema.kinds import KINDS
from tools.codegen.callback_facts import load_callbacks
from tools.codegen.callbacks import callbacks_inc
from tools.codegen.cdecl import env_h, kinds_inc
from tools.codegen.compiled import compiled, fingerprint_h
from tools.codegen.dashboards import infinity_json, prometheus_json
from tools.codegen.headers import load_facts
from tools.codegen.man_pages import man_pages
from tools.codegen.python_layouts import pythons_inc

ROOT = Path(__file__).parents[2]
_SHARED_HEADERS = ROOT / "native" / "include" / "etl"
# Those of them that Python reads.
ABI = (
    "error",
    "abi",
    "attribution",
    "callbacks",
    "exports",
    "hello",
    "inside",
    "operators",
    "wakeup",
)


def _compiled() -> str:
    return compiled(_SHARED_HEADERS, KINDS, load_facts())


def _abi() -> str:
    from tools.codegen.abi import abi_module

    module = abi_module(*(_SHARED_HEADERS / f"{name}.h" for name in ABI))
    return f'{module}COMPILED = "{_compiled()}"\n'


def _query_names() -> str:
    from cupti_etl.queries.catalog import library

    names = sorted(query.name for query in library() if not query.is_building_block)
    lines = "".join(f'    "{name}",\n' for name in names)
    return (
        '"""Names of the queries, for editors; made by tools.codegen."""\n\n'
        f"from typing import Literal\n\nQueryName = Literal[\n{lines}]\n"
    )


# Pages of the reference, and the modules whose functions NAME_markdown make them.
_PAGES = {
    "tables": "cupti_etl.schema.reference",
    "queries": "cupti_etl.queries.reference",
    "findings": "tools.codegen.findings_page",
    "cli": "tools.codegen.program_pages",
    "environment": "tools.codegen.program_pages",
    "presets": "cupti_etl.pm.reference",
}


def _page(name: str) -> str:
    return str(getattr(import_module(_PAGES[name]), f"{name}_markdown")())


def outputs() -> dict[str, Callable[[], str]]:
    """Path of each derived file, below the repository's root, and what makes it."""
    return {
        "native/generated/kinds.inc": lambda: kinds_inc(KINDS, load_facts()),
        "native/generated/callbacks.inc": lambda: callbacks_inc(load_callbacks()),
        "native/generated/env.h": env_h,
        "native/generated/pythons.inc": pythons_inc,
        "native/generated/fingerprint.h": lambda: fingerprint_h(KINDS, _compiled()),
        "cupti_etl/queries/names.py": _query_names,
        "cupti_etl/native/_abi.py": _abi,
        **{f"docs/reference/{name}.md": partial(_page, name) for name in _PAGES},
        "docs/dashboards/prometheus.json": prometheus_json,
        "docs/dashboards/infinity.json": infinity_json,
        **{f"docs/man/{name}": text.__str__ for name, text in man_pages().items()},
    }


def draft_migration() -> tuple[str, str] | None:
    """Path and text of the migration that the specification asks for, or None.

    Migrations are history: a draft is written once, read by a person, and then frozen.
    """
    from cupti_etl.storage.migrations import migration_draft, next_revision

    text = migration_draft()
    return (f"migrations/versions/{next_revision()}_tables.py", text) if text else None


def stale(root: Path = ROOT) -> list[str]:
    """The derived files that are missing or differ from what would be written."""
    paths = []
    for name, make in outputs().items():
        path = root / name
        if not path.exists() or path.read_text() != make():
            paths.append(name)
    draft = draft_migration()
    return [*paths, draft[0]] if draft else paths


def main(arguments: list[str]) -> int:
    """Entry point; 1 if ``--check`` found a stale file."""
    names = stale()
    if "--check" in arguments:
        for name in names:
            print(
                f"{name} is not what the specification says: run `make generate`", file=sys.stderr
            )
        return 1 if names else 0
    makers = outputs()
    for name in names:
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = None if name in makers else draft_migration()
        path.write_text(draft[1] if draft else makers[name]())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The description of the kinds as C: ``native/generated/kinds.inc`` and ``env.h``.

Offsets and numbers come from the facts of the newest public header, so that building
needs nothing of NVIDIA's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cupti_etl.config import ENVIRONMENT, LAUNCHERS
from cupti_etl.errors import SchemaError
from cupti_etl.schema.api_levels import DRIVER, LAUNCH, NOISE, STACKS
from cupti_etl.schema.callbacks import COPY_KINDS, DOMAINS
from cupti_etl.schema.own import DECODED
from cupti_etl.schema.spec import PROCESS_ID, Column, Enum, Kind, Table
from tools.codegen.headers import Facts

_ACTIVITY = "CUPTI_ACTIVITY_KIND_"
BANNER = "/* Made by `python -m tools.codegen`.  Do not edit. */\n"


def place(kind: Kind, column: Column, facts: Facts) -> tuple[int, int]:
    """Byte offset and width of a column in the newest record struct.

    Raises:
        SchemaError: the header has no such struct or member, or the type cannot be
            read from a member of that width.
    """
    if not column.source:
        return 0, 0
    where = f"{kind.table}.{column.name}"
    struct = facts["structs"].get(kind.struct)
    if struct is None:
        raise SchemaError(f"{where}: the header has no struct {kind.struct}")
    if column.source not in struct["members"]:
        raise SchemaError(f"{where}: {kind.struct} has no member {column.source!r}")
    offset, size = struct["members"][column.source]
    width = column.width or size
    if column.at + width > size:
        raise SchemaError(
            f"{where}: {column.at} + {width} bytes are more than {column.source} has ({size})"
        )
    if width not in column.type.widths:
        raise SchemaError(f"{where}: type {column.type.name} cannot be read from {width} bytes")
    return offset + column.at, width


def enumerator(name: str, facts: Facts) -> int:
    """The number of an enumerator.

    Raises:
        SchemaError: the header does not have it.
    """
    if name not in facts["enumerators"]:
        raise SchemaError(f"the header has no enumerator {name}")
    return facts["enumerators"][name]


def _activities(facts: Facts) -> str:
    """The numbers of all activity kinds, by CUPTI's names."""
    rows = "".join(
        f"\tETL_ACTIVITY_{name.removeprefix(_ACTIVITY)} = {number},\n"
        for name, number in sorted(facts["enumerators"].items(), key=lambda item: item[1])
        if name.startswith(_ACTIVITY)
    )
    return f"enum etl_activity {{\n{rows}}};\n\n"


def _labels(enum: Enum, facts: Facts) -> str:
    rows = ", ".join(f'{{ {enumerator(name, facts)}, "{label}" }}' for name, label in enum.labels)
    return f"static const struct etl_label {enum.name}_labels[] = {{ {rows} }};\n"


def _only(kind: Kind, column: Column, facts: Facts) -> str:
    if not column.only:
        return "0, 0, NULL"
    member, *values = column.only
    where = f"{kind.table}.{column.name}"
    if member not in facts["structs"][kind.struct]["members"]:
        raise SchemaError(f"{where}: {kind.struct} has no member {member!r}")
    offset, size = facts["structs"][kind.struct]["members"][member]
    if size < 4:
        raise SchemaError(f"{where}: only= needs a member of 32 bits, {member} has {size * 8}")
    numbers = ", ".join(
        str(enumerator(value, facts) if isinstance(value, str) else value) for value in values
    )
    return f"{offset}, {len(values)}, (const uint32_t[]){{ {numbers} }}"


def _kind_field(kind: Kind, facts: Facts) -> int:
    """The field that must come first; -1 if CUPTI makes no user-defined records of the kind."""
    name = kind.field(Column("kind", PROCESS_ID.type, "kind", "The activity kind."))
    return -1 if name is None else enumerator(name, facts)


def _field(kind: Kind, column: Column, facts: Facts) -> str:
    """The column's field, the byte in it, and the field of ``only``; -1 for none."""
    name = kind.field(column)
    number = -1 if name is None else enumerator(name, facts)
    # A field of another name is a part of the member already.
    at = 0 if column.field else column.at
    only = -1
    if column.only:
        whole = [c for c in kind.columns if c.source == column.only[0] and c.at == 0 and c.field]
        member = whole[0] if whole else replace(column, source=str(column.only[0]), field="")
        name = kind.field(member)
        only = -1 if name is None else enumerator(name, facts)
    return f"{number}, {at}, {only}"


def _column(kind: Kind, column: Column, facts: Facts) -> str:
    offset, width = place(kind, column, facts)
    labels = (
        f"{column.labels.name}_labels, {len(column.labels.labels)}" if column.labels else "NULL, 0"
    )
    return (
        f'\t{{ "{column.name}", {column.type.native}, {width}, {offset}, {column.since}, '
        f"{column.mask}, {int(column.null is not None)}, {column.null or 0}u, {labels}, "
        f"{_only(kind, column, facts)}, {_field(kind, column, facts)} }},\n"
    )


def _own_columns(table: Table) -> str:
    """Columns that are in no record of CUPTI's: only their types mean something."""
    rows = "".join(
        f'\t{{ .name = "{column.name}", .type = {column.type.native} }},\n'
        for column in table.columns
    )
    return f"\nstatic const struct etl_column {table.name}_columns[] = {{\n{rows}}};\n"


def _strings(name: str, values: Iterable[str]) -> str:
    items = "".join(f'\t"{value}",\n' for value in values)
    return f"__attribute__((unused)) static const char *const {name}[] = {{\n{items}\tNULL,\n}};\n"


def kinds_inc(kinds: tuple[Kind, ...], facts: Facts) -> str:
    """Text of ``native/generated/kinds.inc``.

    Raises:
        SchemaError: a kind contradicts the header, or two kinds claim the same records.
    """
    fed: dict[str, str] = {}
    for kind in kinds:
        for activity in kind.fed_by:
            if activity in fed:
                raise SchemaError(f"{fed[activity]} and {kind.table} both claim {activity} records")
            fed[activity] = kind.table
    # Those of kinds come first, by number.
    names = [*(kind.table for kind in kinds), *(table.name for table in DECODED)]
    numbers = "".join(f"\tETL_TABLE_{name.upper()},\n" for name in names)
    out = [_activities(facts), f"enum {{ ETL_N_KINDS = {len(kinds)} }};\n"]
    out.append(f"enum etl_table_number {{\n{numbers}\tETL_N_TABLES,\n}};\n\n")
    enums = {c.labels.name: c.labels for kind in kinds for c in kind.columns if c.labels}
    out += [_labels(enums[name], facts) for name in sorted(enums)]
    for kind in kinds:
        out.append(f"\nstatic const struct etl_column {kind.table}_columns[] = {{\n")
        out += [_column(kind, column, facts) for column in (PROCESS_ID, *kind.columns)]
        out.append("};\n")
    out += [_own_columns(table) for table in DECODED]
    out.append("\nstatic const struct etl_kind etl_kinds[] = {\n")
    for kind in kinds:
        numbers = ", ".join(str(enumerator(f"{_ACTIVITY}{name}", facts)) for name in kind.activity)
        name = f"{_ACTIVITY}{kind.serialized}"
        serialized = enumerator(name, facts) if kind.serialized else 0
        columns = f"{serialized}, {kind.table}_columns, {len(kind.columns) + 1}"
        preset = f"ETL_PRESET_{kind.preset.upper()}"
        rest = f"{columns}, {preset}, {int(kind.is_lasting)}, {_kind_field(kind, facts)}"
        out.append(f'\t{{ "{kind.table}", {{ {numbers} }}, {rest} }},\n')
    for table in DECODED:
        columns = f"{table.name}_columns, {len(table.columns)}"
        out.append(f'\t{{ "{table.name}", {{ 0 }}, 0, {columns}, ETL_PRESET_FULL, 0, -1 }},\n')
    out.append("};\n\n")
    out.append(_strings("etl_api_noise", NOISE))
    out.append(_strings("etl_api_launch", LAUNCH))
    out.append(_strings("etl_api_driver", DRIVER))
    out += [_strings(f"etl_stacks_{level}", calls) for level, calls in STACKS.items()]
    out.append(_strings("etl_callback_domains", DOMAINS))
    out.append(_strings("etl_callback_copy_kinds", COPY_KINDS))
    return f"{BANNER}{''.join(out)}"


def env_h() -> str:
    """Text of ``native/generated/env.h``: the names in ``config``."""
    lines = [f'#define ETL_ENV_{key} "{name}"\n' for key, (name, _) in ENVIRONMENT.items()]
    for key, names in LAUNCHERS.items():
        quoted = ", ".join(f'"{name}"' for name in names)
        lines.append(f"#define ETL_ENV_{key} {quoted}\n")
    return f"{BANNER}#ifndef ETL_ENV_H\n#define ETL_ENV_H\n\n{''.join(lines)}\n#endif\n"

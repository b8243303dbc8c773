"""Labels: the short names that tell the rows of an answer from one another.

They depend on what is shown together: two rows have one label only if they are of one thing, and
no label says more than that takes.  Neither chance nor the order of rows plays a part.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count, groupby
from typing import Any

from cupti_etl.queries.query import Label
from cupti_etl.render import kernel_names

# What a label is made of: a name, and what tells it from others of the same name.
Thing = tuple[Any, ...]
# Fewer characters than that before and behind what was cut away tell nobody anything.
_SHORTEST_PART = 4
# Columns that tell kernels apart by their whole names; the second has them mangled.
MANGLED = "mangled"
FULL = ("demangled", MANGLED)
_SEPARATOR = " / "
_IN_ORDER = " > "
# Ranges in a path that are shown one by one.
_LONGEST_PATH = 3
# What XLA calls its ranges: Thunk:#name=jit(f)/add,hlo_op=fusion.3,unique_hlo_op_id=7#.
_XLA = re.compile(r"\b(Thunk|Xla\w*):#.*#\Z")
_SAID = re.compile(r"[#,](hlo_op|hlo_module|name|module)=([^,#]+)")
_PROGRAM = re.compile(r"[#,]program_id=(\d+)")
# What captures write behind an operator of PyTorch: aten::t, sizes = [[2, 3]], types = ["float"].
_SIZES = re.compile(r", sizes = (\[\[[-\d, \[\]]*\]\])(?:, types = \[([^\]]*)\])?\Z")
# What emit_nvtx writes there: with these, ranges of one operator are told apart.
_NUMBERED = re.compile(r", (?:seq|op_id) = \d")


def label_rows(
    label: Label, rows: Sequence[Mapping[str, Any]], demangled: Mapping[str, str] | None = None
) -> list[str]:
    """A label for each row; "" where nothing is known of what it is about.

    Args:
        label: which columns have the names, and what tells them apart.
        rows: all that are shown together.
        demangled: demangled names of kernels by their mangled ones, where the rows have the latter.
    """
    things = [tuple(row.get(name) for name in (label.column, *label.of)) for row in rows]
    distinct = sorted(set(things), key=_order)
    if label.kind == "kernel":
        texts = _kernels(label, distinct, demangled or {})
    elif label.kind == "kernels":
        texts = _sequences(distinct, demangled or {})
    else:
        texts = _KINDS[label.kind](distinct)
    named = dict(zip(distinct, _numbered(texts), strict=True))
    return [named[thing] for thing in things]


def processes(rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Labels of rows of ``process`` by id: ``rank 3``, else the pid, with the host where needed."""
    rows = sorted(rows, key=lambda row: int(row["process_id"]))
    levels: list[Callable[[Mapping[str, Any]], str]] = [
        lambda row: "" if row["rank"] is None else f"rank {row['rank']}",
        lambda row: "" if row["pid"] is None else f"pid {row['pid']}",
        lambda row: "" if None in (row["host"], row["pid"]) else f"{row['host']}/{row['pid']}",
    ]
    for level in levels:
        texts = [level(row) for row in rows]
        if all(texts) and len(set(texts)) == len(texts):
            break
    else:
        texts = [next((text for each in levels[::-1] if (text := each(row))), "process")
                 for row in rows]  # fmt: skip
    return {row["process_id"]: text for row, text in zip(rows, _numbered(texts), strict=True)}


def cut(text: str, width: int) -> str:
    """The text with its middle left out where it is too long."""
    if len(text) <= width:
        return text
    if width < 2 * _SHORTEST_PART:
        return text[: max(width - 1, 0)] + "…"
    front = (width - 1) // 2
    return f"{text[:front]}…{text[len(text) - (width - 1 - front) :]}"


def cut_label(text: str, width: int) -> str:
    """A label, cut before the argument that tells it from others, if that is not too long."""
    at = text.find("<")
    inner = text[at:]
    if len(text) <= width or at < 0 or len(inner) > width - 2 * _SHORTEST_PART:
        return cut(text, width)
    return f"{text[: width - len(inner) - 1]}…{inner}"


def cut_apart(texts: Sequence[str], width: int) -> list[str]:
    """Labels, cut where they are too long, and so that different ones stay different."""
    distinct = sorted(set(texts))
    short = [cut_label(text, width) for text in distinct]
    alike = _alike(short)
    while alike:
        for members in alike:
            # What they have in common tells nothing: the rest is shown from where they differ.
            same = len(_common([distinct[at] for at in members]))
            front = min(same, 2 * _SHORTEST_PART)
            for at in members:
                text = distinct[at]
                if same > front:
                    short[at] = f"{text[:front]}…{cut(text[same:], max(width - front - 1, 1))}"
        # Of several, some may differ from one another later only.
        rest = [
            [members[at] for at in group]
            for members in alike
            for group in _alike([short[at] for at in members])
        ]
        if rest == alike:
            break
        alike = rest
    taken: set[str] = set()
    for at, text in enumerate(short):
        number = 1
        while text in taken or len(text) > width:
            number += 1
            end = f" ({number})"
            text = f"{cut(distinct[at], max(width - len(end), 1))}{end}"
        taken.add(text)
        short[at] = text
    named = dict(zip(distinct, short, strict=True))
    return [named[text] for text in texts]


def _kernels(label: Label, things: Sequence[Thing], demangled: Mapping[str, str]) -> list[str]:
    """The function; what of its arguments tells it apart; what else the columns say."""
    at = next((label.of.index(each) + 1 for each in FULL if each in label.of), 0)
    named = []
    for thing in things:
        full = thing[at] or ""
        if full in demangled:
            full = demangled[full]
        short = str(thing[0] or "")
        if short in demangled:
            full = demangled[short]
            short = kernel_names.parse(full).head
        named.append((short, full))
    texts = kernel_names.labels(named)
    rest = [tuple(thing[i] for i in range(1, len(thing)) if i != at) for thing in things]
    return _with_rest(texts, rest)


def _sequences(things: Sequence[Thing], demangled: Mapping[str, str]) -> list[str]:
    """The labels of several kernels, each once for as often as it comes in a row."""
    names = sorted({name for thing in things for name in thing[1:] if name})
    known = Label("name", "kernel", ("name",))
    label = dict(zip(names, label_rows(known, [{"name": name} for name in names], demangled),
                     strict=True))  # fmt: skip
    return [
        _IN_ORDER.join(
            label[name] + (f" x{n}" if n > 1 else "")
            for name, n in ((name, len(list(run))) for name, run in groupby(thing[1:]))
            if name
        )
        for thing in things
    ]


def _copies(things: Sequence[Thing]) -> list[str]:
    """The direction, the memory of the host, and then the other one, and what else there is."""
    texts = []
    for kind, source, target, *_ in (each + (None, None) for each in things):
        hosts = [each for each in (source, target) if each and each != "device"]
        texts.append(" ".join([str(kind or "copy"), *dict.fromkeys(hosts)]))
    return _with_rest(texts, [thing[1:] for thing in things])


def range_name(text: str) -> str:
    """What a range is called in a table: of one of XLA's the operation, module or pass."""
    if sized := _sized(text):
        return _with_sizes(text[: sized.start()], sized[1])
    found = _XLA.match(text)
    said: dict[str, str] = dict(_SAID.findall(text)) if found else {}
    if runs := said.get("hlo_op") or said.get("hlo_module"):
        return runs
    compiled = said.get("name") or said.get("module")
    return f"{found[1]} {compiled}" if found and compiled else text


def _sized(text: str) -> re.Match[str] | None:
    """Sizes and types behind the name of an operator; None if it is another range."""
    found = _SIZES.search(text)
    is_operator = found and found.start() and not _NUMBERED.search(text, 0, found.start())
    return found if is_operator else None


def path_name(path: str) -> str:
    """What a range and those around it are called in a sentence, which may begin before them."""
    names = []
    for name in path.split(_SEPARATOR):
        found = _XLA.search(name)
        begin = found.start() if found else 0
        names.append(name[:begin] + range_name(name[begin:]))
    return _SEPARATOR.join(names)


def _ranges(things: Sequence[Thing]) -> list[str]:
    """The innermost name of each path, and as many of those around it as it takes, or the outermost
    of these.
    """
    full = [str(thing[0] or "").split(_SEPARATOR) for thing in things]
    parts = [[range_name(name) for name in path] for path in full]
    for members in _alike(list(map(tuple, parts))):
        # Modules that XLA compiled anew have the same names, as have operators on other types.
        for at in members:
            for place, name in enumerate(full[at]):
                if program := _PROGRAM.search(name):
                    parts[at][place] += f" #{program[1]}"
                elif (sized := _sized(name)) and sized[2]:
                    parts[at][place] += " " + sized[2].replace('"', "")
    long = [1] * len(parts)
    while True:
        texts = [_SEPARATOR.join(each[-n:]) for each, n in zip(parts, long, strict=True)]
        grown = False
        for members in _alike(texts):
            for at in members:
                if long[at] < len(parts[at]):
                    long[at] += 1
                    grown = True
        if not grown:
            break
    # What lies between the range that tells paths apart and the innermost one says little.
    brief = [
        _SEPARATOR.join((each[-n], "…", each[-1])) if n > _LONGEST_PATH else text
        for each, n, text in zip(parts, long, texts, strict=True)
    ]
    for members in _alike(brief):
        for at in members:
            brief[at] = texts[at]
    return _with_rest(brief, [thing[1:] for thing in things])


def _operators(things: Sequence[Thing]) -> list[str]:
    """The operator, and the sizes of its inputs: ``aten::mm(8x16, 16x4)``."""
    texts = [_with_sizes(str(name or ""), dims) for name, dims, *_ in things]
    return _with_rest(texts, [thing[2:] for thing in things])


def _with_sizes(name: str, dims: Any) -> str:
    try:
        sizes = [_size(each) for each in json.loads(dims)] if dims else []
    except (ValueError, TypeError, RecursionError):  # it is what stood in a file
        sizes = [str(dims)]
    while sizes and not sizes[-1]:  # arguments that are no tensors
        sizes.pop()
    return f"{name}({', '.join(each or '-' for each in sizes)})" if sizes else name


def _size(dims: Any) -> str:
    """``8x16`` of a tensor, ``[8x16, 4]`` of a list of them, "" of anything else."""
    if not isinstance(dims, list):
        return str(dims)
    if any(isinstance(each, list) for each in dims):
        return f"[{', '.join(_size(each) or '-' for each in dims)}]"
    return "x".join(map(str, dims))


def _plain(things: Sequence[Thing]) -> list[str]:
    return _with_rest(["" if each[0] is None else str(each[0]) for each in things],
                      [thing[1:] for thing in things])  # fmt: skip


_KINDS: dict[str, Callable[[Sequence[Thing]], list[str]]] = {
    "copy": _copies,
    "range": _ranges,
    "operator": _operators,
    "process": _plain,
}


def _with_rest(texts: Sequence[str], rest: Sequence[Thing]) -> list[str]:
    """Texts that are still alike with more of what belongs to them, one after the other."""
    out = list(texts)
    for place in range(max(map(len, rest), default=0)):
        for members in _alike(out):
            if len({rest[at][place] for at in members}) > 1:
                for at in members:
                    if rest[at][place] is not None:
                        out[at] = f"{out[at]} {rest[at][place]}".strip()
    # Of what has no name at least the kind is said.
    return [
        text or next((str(each) for each in values if each is not None), "")
        for text, values in zip(out, rest, strict=True)
    ]


def _numbered(texts: Sequence[str]) -> list[str]:
    """Texts that are still alike with a number."""
    out = list(texts)
    taken = set(out)
    for members in _alike(out):
        numbers = count(2)
        for at in members[1:]:
            out[at] = next(text for n in numbers if (text := f"{texts[at]} ({n})") not in taken)
            taken.add(out[at])
    return out


def _alike(texts: Sequence[Hashable]) -> list[list[int]]:
    """Places of the texts that come more than once."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        groups[text].append(at)
    return [group for group in groups.values() if len(group) > 1]


def _common(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(texts), max(texts)
    for at, char in enumerate(first):
        if char != last[at : at + 1]:
            return first[:at]
    return first


def _order(thing: Thing) -> list[tuple[bool, str]]:
    return [(each is not None, str(each)) for each in thing]

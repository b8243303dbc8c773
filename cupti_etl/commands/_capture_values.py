"""Values of options of ``cupti-etl capture``, checked."""

from __future__ import annotations

from collections.abc import Sequence

from cupti_etl.config import PYTORCH_PARTS, Retain
from cupti_etl.errors import UsageError
from cupti_etl.units import duration_ns, size_bytes

# As often as rows are written at first.
_LEAST_ROLL_NS = 10**9
_RETAIN = "give an age or a size: 24h or 10GB"


def check_stacks(text: str) -> str:
    """The value of ``--python-stacks``.

    Raises:
        UsageError: it is none.
    """
    from cupti_etl.schema.api_levels import STACKS

    if text and text not in STACKS:
        raise UsageError(
            f"--python-stacks {text!r} names no calls",
            f"give --python-stacks alone or with ={', ='.join(STACKS)}",
        )
    return text


def check_pytorch(text: str) -> tuple[str, ...]:
    """The value of ``--pytorch``; sizes of inputs are those of operators.

    Raises:
        UsageError: a part is none.
    """
    words = {word.strip() for word in text.split(",")} - {""}
    unknown = sorted(words - set(PYTORCH_PARTS))
    if unknown:
        raise UsageError(
            f"--pytorch has no part {unknown[0]!r}",
            f"give --pytorch alone or with = and some of {', '.join(PYTORCH_PARTS)}",
        )
    if "shapes" in words:
        words.add("ops")
    return tuple(part for part in PYTORCH_PARTS if part in words)


def check_roll(text: str) -> int:
    """The value of ``--roll`` in ns.

    Raises:
        UsageError: it is no time, or too short a one.
    """
    time_ns = duration_ns(text)
    if time_ns < _LEAST_ROLL_NS:
        raise UsageError(f"--roll {text} would make very many small files", "give 1s or more")
    return time_ns


def check_retain(texts: Sequence[str]) -> Retain | None:
    """The values of ``--retain``: an age, a size, or one of each; None without any.

    Raises:
        UsageError: one is neither, is nothing, or there are two of a kind.
    """
    found: dict[str, int] = {}
    for text in texts:
        # Of 10M nobody knows whether it is minutes.
        is_size = text.strip().lower().endswith("b")
        try:
            value = size_bytes(text) if is_size else duration_ns(text)
        except UsageError:
            raise UsageError(f"--retain {text!r} is neither an age nor a size", _RETAIN) from None
        name = "most_bytes" if is_size else "age_ns"
        if text.strip().isdecimal():
            raise UsageError(f"--retain {text} has no unit", _RETAIN)
        if value <= 0:
            raise UsageError(f"--retain {text} would keep nothing", "leave it out to keep all")
        if name in found:
            raise UsageError("--retain takes one age and one size", "leave out one of them")
        found[name] = value
    return Retain(**found) if found else None


def check_tags(texts: Sequence[str]) -> dict[str, str]:
    """The values of ``--tag``.

    Raises:
        UsageError: one has no name, or two have the same.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, is_named, value = text.partition("=")
        if not name.strip() or not is_named:
            raise UsageError(f"--tag {text!r} is not NAME=VALUE", "for instance --tag model=llama")
        if name.strip() in found:
            raise UsageError(f"--tag {name.strip()} is given twice", "give each name once")
        found[name.strip()] = value.strip()
    return found


def check_range(text: str) -> str:
    """The value of ``--capture-range``.

    Raises:
        UsageError: it is none.
    """
    name, at, domain = text.removeprefix("nvtx:").rpartition("@")
    if text in ("", "cudaProfilerApi"):
        return text
    if text.startswith("nvtx:") and (domain if not at else name and domain):
        return text
    raise UsageError(
        f"--capture-range {text!r} is not a range", "give cudaProfilerApi or nvtx:NAME[@DOMAIN]"
    )


def choose_users(text: str) -> tuple[int, ...]:
    """The value of ``--allow-uid``.

    Raises:
        UsageError: a name is nobody's.
    """
    import pwd

    users = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        try:
            users.add(int(word) if word.isdecimal() else pwd.getpwnam(word).pw_uid)
        except KeyError:
            raise UsageError(
                f"there is no user {word!r}", "--allow-uid takes numbers and names of users"
            ) from None
    return tuple(sorted(users))


# Activity kinds that CUPTI has and no table can honestly hold.
_REFUSED = {
    "nvlink": "its record was laid out anew in CUPTI 13.2, with pointers to memory of the program",
    "module": "CUPTI lets no client enable it",
}


def choose_kinds(text: str, graph: str = "node") -> tuple[str, ...]:
    """Table names for ``--kinds`` and ``--graph``.

    Raises:
        UsageError: a name is neither a table nor a preset, or is of a kind that is refused
            or goes only with ``--graph graph``.
    """
    from cupti_etl.schema.kinds import KINDS
    from cupti_etl.schema.spec import PRESETS

    preset_of = {kind.table: kind.preset for kind in KINDS}
    chosen = {table for table, preset in preset_of.items() if preset == graph}
    for word in text.split(","):
        name = word.strip() or "default"
        if name in PRESETS:
            included = PRESETS[: PRESETS.index(name) + 1]
            chosen.update(table for table, preset in preset_of.items() if preset in included)
        elif name in _REFUSED:
            raise UsageError(f"the kind {name!r} cannot be recorded: {_REFUSED[name]}")
        elif name not in preset_of:
            raise UsageError(
                f"there is no kind {name!r}",
                f"kinds are {', '.join(preset_of)}; presets are {', '.join(PRESETS)}",
            )
        elif preset_of[name] == "graph" != graph:
            raise UsageError(
                f"the kind {name!r} takes the place of the kernels and copies of CUDA graphs",
                "add --graph graph if that is what you want",
            )
        else:
            chosen.add(name)
    return tuple(sorted(chosen))

"""Which of CUPTI's callbacks are asked for: domains, names, and what is wrong with a choice."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from cupti_etl.errors import UsageError

# Those of CUpti_CallbackDomain, from number 1 on.
DOMAINS = ("driver", "runtime", "resource", "synchronize", "nvtx", "state")
# Directions of copies, in the order of native/inject/callback_arguments.c: first those of
# cudaMemcpyKind.
COPY_KINDS = ("HtoH", "HtoD", "DtoH", "DtoD", "default", "HtoA", "AtoH", "DtoA", "AtoD", "AtoA")


def known_names(domain: str) -> list[str]:
    """What the newest CUPTI that this release knows calls back about in a domain."""
    from cupti_etl.schema.callback_names import NAMES

    return NAMES[domain].split()


def check_domain(domain: str) -> str:
    """The domain.

    Raises:
        UsageError: there is none of that name.
    """
    if domain in DOMAINS:
        return domain
    raise UsageError(f"there is no callback domain {domain!r}", f"domains are {', '.join(DOMAINS)}")


def check_names(domain: str, names: Iterable[str], known: list[str]) -> list[str]:
    """The names of a domain that are meant; an asterisk stands for any characters.

    Raises:
        UsageError: one of them is no callback's.
    """
    found: dict[str, None] = {}
    for name in names:
        matches = [one for one in known if fnmatchcase(one, name)]
        if not matches:
            raise UsageError(
                f"there is no callback {name!r} in the domain {domain}", _hint(name, known)
            )
        found.update(dict.fromkeys(matches))
    return list(found)


def _hint(name: str, known: list[str]) -> str:
    by_lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower().strip("*"), by_lower, 3, 0.5)
    if close:
        return f"did you mean {' or '.join(by_lower[one] for one in close)}?"
    return f"there are {len(known)}, {known[0]} to {known[-1]}; cuLaunch* stands for several"


def parse_callbacks(text: str) -> dict[str, list[str]]:
    """The value of ``--callbacks``: ``DOMAIN[:NAME,...]``, several with commas between.

    Raises:
        UsageError: a domain, or a name, does not exist.
    """
    chosen: dict[str, list[str]] = {}
    domain = ""
    for word in (part.strip() for part in text.split(",")):
        name = word
        if ":" in word or word in DOMAINS or not domain:
            domain, _, name = word.partition(":")
            check_domain(domain)
        chosen.setdefault(domain, []).append(name or "*")
    return {
        domain: check_names(domain, names, known_names(domain)) for domain, names in chosen.items()
    }


def selection(chosen: Mapping[str, Iterable[str]]) -> str:
    """The choice as the injected library reads it."""
    return ",".join(
        f"{DOMAINS.index(domain) + 1}:{name}" for domain, names in chosen.items() for name in names
    )

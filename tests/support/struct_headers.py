"""Our own declarations of structs of CUPTI, which a compiler compares with NVIDIA's headers."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.codegen.header_wheels import fetch_headers

ROOT = Path(__file__).parents[2]
_BEGIN = r"""
#include <stddef.h>
#include <stdio.h>
#define SIZE(t, m) sizeof(((t *)0)->m)
static void same(const char *what, size_t mine, size_t theirs) {
  if (mine != theirs) printf("%s: %zu, %zu\n", what, mine, theirs); }
int main(void) {
"""


@dataclass(frozen=True)
class Declarations:
    """What we declare, and what CUPTI does.

    Attributes:
        headers: CUPTI's and ours, as they are included.
        structs: our struct, CUPTI's, and the members of each in the same order.
        size: how CUPTI says the size of a struct, whose name it gets; one whose name does not end
            in ``Params`` says none.
        numbers: ours, and CUPTI's.
        since: members, and whole structs, that came later, and with which version.
        grown: structs of which we give the size that older releases have, too.
    """

    headers: Sequence[str]
    structs: Sequence[tuple[str, str, str, str]]
    size: str
    numbers: Mapping[str, str]
    since: Mapping[str, int] = field(default_factory=dict)
    grown: Collection[str] = ()

    def differences(self, major: int, folder: Path, shift: str = "") -> list[str]:
        """What the compiler says; ``shift`` is a struct whose offsets are taken wrongly."""
        headers = fetch_headers(major, ROOT / ".cache" / "headers")
        source, program = folder / "probe.c", folder / "probe"
        includes = [f"#include {header}" for header in ("<cupti_version.h>", *self.headers)]
        source.write_text("\n".join([*includes, _BEGIN, *self._compared(shift), "return 0; }", ""]))
        # A header of 12 includes one of C++, and uses nothing of it.
        (folder / "string").touch()
        paths = (*headers.include_dirs, ROOT / "native", ROOT / "native" / "include", folder)
        words = ["cc", "-w", *(f"-I{path}" for path in paths), "-o", program, source]
        subprocess.run(words, check=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def _compared(self, shift: str) -> Iterator[str]:
        for mine, theirs in self.numbers.items():
            yield f'same("{mine}", {mine}, {theirs});'
        for mine, theirs, my_members, their_members in self.structs:
            extra = " + 1" if mine == shift else ""
            yield f"#if CUPTI_API_VERSION >= {self.since.get(mine, 0)}"
            yield "{ size_t size = 0;"
            for my, their in zip(my_members.split(), their_members.split(), strict=True):
                what = f'"{mine}.{my}"'
                yield f"#if CUPTI_API_VERSION >= {self.since.get(my, 0)}"
                yield (
                    f"same({what}, offsetof(struct {mine}, {my}){extra},"
                    f" offsetof({theirs}, {their}));"
                )
                yield f"same({what}, SIZE(struct {mine}, {my}), SIZE({theirs}, {their}));"
                yield f"size = PM_SIZE({mine}, {my});"
                yield "#endif"
            if not theirs.endswith("Params"):
                yield f'same("size of {mine}", sizeof(struct {mine}), sizeof({theirs}));'
            elif mine not in self.grown:
                yield f'same("size of {mine}", size, {self.size.format(theirs)});'
            yield "}"
            yield "#endif"

"""NVIDIA's nvdisasm: finding it, and reading what it prints of a cubin."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Below site-packages, as the wheels of nvidia-cuda-nvdisasm have it, and below a toolkit.
_WHEEL_FOLDERS = ("nvidia/cu13/bin", "nvidia/cuda_nvdisasm/bin")
_TOOLKITS = ("/usr/local/cuda",)
_LIMIT_S = 120

_SECTION = re.compile(r'\s*\.section\s+"?\.text\.([^\s",]+)"?,')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*(?:/\*.*)?\Z")
_LINE = re.compile(r'\s*//## File "(.*?)", line (\d+)(?: inlined at "(.*?)", line (\d+))?')


@dataclass(frozen=True)
class Instruction:
    """One instruction of a cubin.

    Attributes:
        function: mangled name of the kernel or function whose section it is in.
        pc_offset: where in the section, in bytes.
        text: the instruction, such as ``LDG.E R7, desc[UR4][R6.64]``.
        file: the source file, as the compiler was given it; "" without line information.
        line: the line there, from 1; 0 without.
        inlined_at: the calls that it was inlined through, from the innermost out, as
            ``FILE:LINE``.
    """

    function: str
    pc_offset: int
    text: str
    file: str = ""
    line: int = 0
    inlined_at: tuple[str, ...] = ()


def find_nvdisasm() -> Path | None:
    """The program: that of PATH, of pip's package, of CUDA_HOME or of the installed toolkit."""
    if found := shutil.which("nvdisasm", path=os.environ.get("PATH", "")):
        return Path(found)
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders = [
        *(Path(entry, folder) for entry in sys.path for folder in _WHEEL_FOLDERS),
        *(Path(home, "bin") for home in (*homes, *_TOOLKITS)),
    ]
    places = (folder / "nvdisasm" for folder in folders)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def disassemble(nvdisasm: Path, cubin: bytes) -> Iterator[Instruction]:
    """The instructions of all functions of a cubin; none if nvdisasm cannot read it.

    Args:
        nvdisasm: the program.
        cubin: the bytes of an ELF file for a GPU.
    """
    with tempfile.TemporaryDirectory(prefix="cupti-etl-") as folder:
        file = Path(folder, "code.cubin")
        file.write_bytes(cubin)
        try:
            done = subprocess.run(
                [nvdisasm, "--print-code", "--print-line-info-inline", "--no-dataflow", file],
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
    yield from parse(done.stdout.splitlines())


def parse(lines: Sequence[str]) -> Iterator[Instruction]:
    """The instructions in what nvdisasm prints."""
    function, place = "", _Place()
    for line in lines:
        if found := _INSTRUCTION.match(line):
            if function:
                yield place.of(function, int(found[1], 16), found[2])
        elif found := _LINE.match(line):
            place.read(found)
        elif found := _SECTION.match(line):
            function, place = found[1], _Place()


class _Place:
    """The lines of source that the next instructions are from.

    The first is that of the instruction; each that follows is where the one before was inlined.
    """

    def __init__(self) -> None:
        self._file, self._line = "", 0
        self._calls: list[str] = []
        self._is_open = False  # whether what is read next belongs to the same instruction

    def read(self, found: re.Match[str]) -> None:
        if not self._is_open:
            self._file, self._line, self._calls = found[1], int(found[2]), []
            self._is_open = True
        if found[3]:
            self._calls.append(f"{found[3]}:{found[4]}")

    def of(self, function: str, pc_offset: int, text: str) -> Instruction:
        self._is_open = False
        return Instruction(function, pc_offset, text, self._file, self._line, tuple(self._calls))

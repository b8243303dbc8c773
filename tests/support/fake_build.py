"""Builds the fake driver, the fake CUPTIs and the test program from C.

One libcupti per release: the same objects, linked with that release's tables and a
version script that exports only the functions which the release has, so that looking
up any other gives NULL.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).resolve().parents[1] / "native"
TORCH = Path(__file__).parent / "fake_torch"
CACHE = Path(__file__).resolve().parents[2] / ".cache"
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-pthread")
# What some distributions have their compilers check by default, on all machines.
FLAGS += ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
HIDDEN = ("-fvisibility=hidden",)


@cache
def facts() -> dict[str, Any]:
    """Record layouts by release: see tests/native/facts/make_facts.py."""
    loaded: dict[str, Any] = json.loads((NATIVE / "facts" / "record_layouts.json").read_text())
    return loaded


@cache
def callback_facts() -> dict[str, Any]:
    """Callback ids: how many there are and the names of those that matter."""
    loaded: dict[str, Any] = json.loads((NATIVE / "facts" / "callback_names.json").read_text())
    return loaded


@cache
def field_facts() -> dict[str, Any]:
    """Fields of user-defined records: see tests/native/facts/record_fields.py."""
    loaded: dict[str, Any] = json.loads((NATIVE / "facts" / "record_fields.json").read_text())
    return loaded


def field_ids(kind: int) -> dict[str, int]:
    """Member -> number of the field, for a kind of the newest release."""
    groups = (group for group in field_facts().values() if kind in group["kinds"])
    return {member: number for group in groups for _, number, member, *_ in group["fields"]}


def layouts(release: str) -> dict[int, dict[str, Any]]:
    """Kind -> {struct, size, members: {name: [offset, size]}} of a release."""
    kinds = facts()["releases"][release]["kinds"]
    return {int(kind): facts()["layouts"][key] for kind, key in kinds.items()}


def api_version(release: str) -> int:
    """What cuptiGetVersion answers in a release."""
    return int(facts()["releases"][release]["api"])


def soname(release: str) -> str:
    """The file name under which programs look for a release's library."""
    major = release.split(".")[0]
    return "libcupti.so.11.8" if major == "11" else f"libcupti.so.{major}"


def callback_name(api: str, cbid: int) -> str:
    """The name that the fakes give a callback id; made up where the facts have none."""
    known: dict[str, str] = callback_facts()[api]
    prefix = "cudaUnnamed" if api == "runtime" else "cuUnnamed"
    return known.get(str(cbid), f"{prefix}{cbid}_v3020" if api == "runtime" else f"{prefix}{cbid}")


def names_source() -> str:
    """C tables of all callback names."""
    lines = ["#include <stddef.h>"]
    for api in ("runtime", "driver"):
        size = max(sizes[api] for sizes in callback_facts()["sizes"].values())
        lines.append(f"extern const char *const fake_{api}_names[{size}];")
        lines.append(f"const char *const fake_{api}_names[{size}] = {{NULL,")
        lines += [f'"{callback_name(api, cbid)}",' for cbid in range(1, size)]
        lines.append("};")
    return "\n".join(lines) + "\n"


def release_source(release: str) -> str:
    """C tables of one release: its records and what it knows of those before it."""
    lines = ['#include "fake_cupti.h"', "extern const char *const fake_runtime_names[];"]
    lines.append("extern const char *const fake_driver_names[];")
    table = []
    for kind, layout in sorted(layouts(release).items()):
        members = ", ".join(f'{{"{n}", {o}, {s}}}' for n, (o, s) in layout["members"].items())
        lines.append(f"static const struct member members_{kind}[] = {{{members}}};")
        count = len(layout["members"])
        table.append(f"{{{kind}, {layout['size']}, members_{kind}, {count}}}")
    lines.append(f"static const struct layout layouts[] = {{{', '.join(table)}}};")
    sizes = [
        f"{{{kind}, {api_version(other)}, {layout['size']}}}"
        for other in facts()["releases"]
        if 130000 <= api_version(other) <= api_version(release)
        for kind, layout in layouts(other).items()
    ]
    lines.append(f"static const struct struct_size sizes[] = {{{', '.join(sizes or ['{0}'])}}};")
    fields = [
        f'{{{kind}, {number}, "{member}", "{outer}", {at}, {size}, {width}}}'
        for group in field_facts().values()
        for kind in group["kinds"]
        for _, number, member, outer, at, size, width, since in group["fields"]
        if since <= api_version(release)
    ]
    lines.append(f"static const struct field_fact fields[] = {{{', '.join(fields or ['{0}'])}}};")
    major = release.split(".")[0]
    ids = callback_facts()["sizes"]["13" if major == "13" else "12"]
    lines.append(
        f'const struct release fake_release = {{"{release}", {api_version(release)}, layouts, '
        f"{len(table)}, sizes, {len(sizes)}, fields, {len(fields)}, "
        f"{ids['runtime']}, {ids['driver']}, fake_runtime_names, fake_driver_names}};"
    )
    return "\n".join(lines) + "\n"


@cache
def metric_facts() -> dict[str, Any]:
    """What a profiler host told of a GH100: chips, sets, base metrics, what fits one pass."""
    loaded: dict[str, Any] = json.loads((NATIVE / "facts" / "gh100_metrics.json").read_text())
    return loaded


def metrics_source() -> str:
    """C tables of what the fake profiler host knows."""
    facts = metric_facts()
    base = [
        f'{{"{name}", {number}}},'
        for number, kind in enumerate(("counter", "ratio", "throughput"))
        for name in facts["base_metrics"][kind]
    ]
    lines = ['#include "fake_profiler.h"', "const struct base_metric fake_base_metrics[] = {"]
    lines += [*base, "};", f"const size_t fake_base_metric_count = {len(base)};"]
    for table, count, names in (
        ("fake_chips", "fake_chip_count", facts["chips"]),
        ("fake_set_metrics", "fake_set_metric_count", facts["sets"]["TriageCompute"]),
    ):
        lines.append(f"const char *const {table}[] = {{")
        lines += [*(f'"{name}",' for name in names), "};", f"const size_t {count} = {len(names)};"]
    return "\n".join(lines) + "\n"


def exports(release: str, functions: list[str]) -> str:
    """Version script: the functions that the release has."""
    since = facts()["functions"]
    has = [name for name in functions if since.get(name, 0) <= api_version(release)]
    return "{ global: " + "; ".join(has) + "; local: *; };\n"


def _digest(compiler: list[str]) -> str:
    parts = [p.read_bytes() for p in sorted(NATIVE.glob("*.[ch]"))]
    parts += [p.read_bytes() for p in sorted(NATIVE.glob("facts/*.json"))]
    parts.append(Path(__file__).read_bytes())
    parts.append(shlex.join([*compiler, *FLAGS]).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


class Builder:
    """Compiles into a folder that is keyed by the sources, so each session builds once.

    Attributes:
        folder: where the products lie.
    """

    def __init__(self) -> None:
        self._compiler = shlex.split(os.environ.get("CC", "cc"))
        self._compiler += shlex.split(os.environ.get("FAKES_CFLAGS", ""))
        self.folder = CACHE / f"fakes-{_digest(self._compiler)}"
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _once(self, product: Path) -> Iterator[bool]:
        """True inside the one process that has to make the product."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield not product.exists()

    def _cc(self, output: Path, *arguments: str | Path) -> Path:
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = output.with_name(output.name + ".partial")
        command = [*self._compiler, *FLAGS, f"-I{NATIVE}", *map(str, arguments), "-o", str(partial)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")
        partial.rename(output)
        return output

    def driver(self) -> Path:
        """The fake libcuda.so.1."""
        product = self.folder / "driver" / "libcuda.so.1"
        with self._once(product) as make:
            if make:
                link = ("-shared", "-Wl,-soname,libcuda.so.1")
                self._cc(product, *HIDDEN, *link, *sorted(NATIVE.glob("fake_driver*.c")))
        return product

    def nvml(self) -> Path:
        """The fake libnvidia-ml.so.1."""
        product = self.folder / "nvml" / "libnvidia-ml.so.1"
        with self._once(product) as make:
            if make:
                link = ("-shared", "-Wl,-soname,libnvidia-ml.so.1")
                self._cc(product, *HIDDEN, *link, NATIVE / "fake_nvml.c")
        return product

    def torch(self) -> Path:
        """The folder that a fake torch is imported from."""
        product = self.folder / "torch" / "torch" / "lib" / "libtorch_cpu.so"
        with self._once(product) as make:
            if make:
                package = product.parents[1] / "__init__.py"
                package.parent.mkdir(parents=True, exist_ok=True)
                package.unlink(missing_ok=True)
                package.symlink_to(TORCH / "torch" / "__init__.py")
                link = ("-shared", "-Wl,-soname,libtorch_cpu.so")
                self._cc(product, *HIDDEN, *link, NATIVE / "fake_torch.c")
        return product.parents[2]

    def program(self) -> Path:
        """The program to trace."""
        product = self.folder / "fake_program"
        with self._once(product) as make:
            if make:
                sources = sorted(NATIVE.glob("fake_program*.c"))
                self._cc(product, *sources, "-ldl")
        return product

    def nccl(self) -> Path:
        """The program that calls NCCL's profiler plugin."""
        product = self.folder / "fake_nccl"
        with self._once(product) as make:
            if make:
                self._cc(product, NATIVE / "fake_nccl.c", "-ldl")
        return product

    def client(self) -> Path:
        """The small injectable client."""
        product = self.folder / "tiny_client.so"
        with self._once(product) as make:
            if make:
                self._cc(product, *HIDDEN, "-shared", NATIVE / "tiny_client.c")
        return product

    def _objects(self) -> list[Path]:
        generated = [self.folder / "fake_names.c", self.folder / "fake_metrics.c"]
        generated[0].write_text(names_source())
        generated[1].write_text(metrics_source())
        sources = [*sorted(NATIVE.glob("fake_cupti_*.c")), *generated]
        objects = [self.folder / "objects" / f"{source.stem}.o" for source in sources]
        if not all(item.exists() for item in objects):
            with ThreadPoolExecutor(2) as pool:
                jobs = zip(objects, sources, strict=True)
                list(pool.map(lambda job: self._cc(job[0], *HIDDEN, "-c", job[1]), jobs))
        return objects

    def cupti(self, release: str) -> Path:
        """The fake libcupti of a release, in a folder of its own."""
        product = self.folder / release / soname(release)
        with self._once(product) as make:
            if make:
                objects = self._objects()
                product.parent.mkdir(exist_ok=True)
                source = product.parent / "release.c"
                source.write_text(release_source(release))
                script = product.parent / "exports.map"
                script.write_text(exports(release, self._functions()))
                link = ("-shared", f"-Wl,-soname,{soname(release)}")
                hidden = f"-Wl,--version-script={script}"
                self._cc(product, *HIDDEN, *link, hidden, source, *objects, "-ldl")
        return product

    @staticmethod
    def _functions() -> list[str]:
        texts = [source.read_text() for source in NATIVE.glob("fake_cupti_*.c")]
        starts = (line for text in texts for line in text.splitlines() if line.startswith("API "))
        return sorted({line.split("(")[0].removeprefix("API int ") for line in starts})

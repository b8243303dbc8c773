"""A small CUDA workload: ``python -m cupti_etl.demo.workload``.

Two streams, four kernels, copies in three directions, sets, and a CUDA graph that is
replayed.  It checks its own results, and its last line of output is a JSON object that
counts what it asked for (see ``cupti_etl.demo.launched``).
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from array import array
from collections.abc import Sequence
from ctypes import c_float, c_uint, c_ulonglong
from dataclasses import dataclass

from cupti_etl.demo import ptx
from cupti_etl.demo.driver import Driver, Stream
from cupti_etl.demo.launched import LaunchLog, now_ns
from cupti_etl.errors import EtlError, UsageError

ELEMENTS = 1 << 16
SIZE = ELEMENTS * 4
_COUNT = c_uint(ELEMENTS)
SPIN_NS = 20_000
PROBES = 20

# One grid size per place that launches, so that each recorded kernel tells its place.
GRID = {"compute": 64, "transfer": 32, "graph": 16}
PROBE_GRID = 200


@dataclass(frozen=True)
class Buffers:
    """Memory of one stream: three device arrays, a device total, a pinned host array."""

    a: int
    b: int
    c: int
    total: int
    host: int


class Workload:
    """The workload on one device.

    Args:
        driver: an initialised driver.
        log: where launches are counted.
    """

    def __init__(self, driver: Driver, log: LaunchLog) -> None:
        self._driver = driver
        self._log = log
        module = driver.load_module(ptx.SOURCE)
        names = (ptx.VECTOR_ADD, ptx.SAXPY, ptx.REDUCE_SUM, ptx.SPIN)
        self._functions = {name: driver.function(module, name) for name in names}
        self._streams: dict[str, Stream] = {}
        self._buffers: dict[str, Buffers] = {}
        for label in ("compute", "transfer"):
            self._streams[label] = driver.create_stream()
            self._buffers[label] = Buffers(
                a=driver.allocate(SIZE),
                b=driver.allocate(SIZE),
                c=driver.allocate(SIZE),
                total=driver.allocate(8),
                host=driver.allocate_pinned(2 * SIZE),
            )
            log.streams[label] = self._streams[label].id

    def run(self, loops: int) -> None:
        """Do everything, and wait for it.

        Raises:
            EtlError: a call is refused, or a result is wrong.
        """
        self._fill()
        for _ in range(loops):
            self._compute("compute", GRID["compute"])
            self._transfer()
        self._driver.synchronize()
        self._check_compute()
        self._check_transfer()
        self._replay(max(1, loops // 4))
        self._check_compute()
        for number in range(PROBES):
            self._probe(PROBE_GRID + number)

    # --- the parts

    def _fill(self) -> None:
        for label, buffers in self._buffers.items():
            rows = (
                array("f", (i % 16 for i in range(ELEMENTS))),
                array("f", (i % 7 for i in range(ELEMENTS))),
            )
            for number, row in enumerate(rows):
                ctypes.memmove(buffers.host + number * SIZE, row.buffer_info()[0], SIZE)
            self._to_device(buffers.a, buffers.host, SIZE, label)
            self._to_device(buffers.b, buffers.host + SIZE, SIZE, label)
        self._driver.synchronize()

    def _compute(self, label: str, grid: int, *, in_graph: bool = False) -> None:
        """c = a + b; c = 2 a + c; total = the sum of c, which is brought to the host."""
        buffers, stream = self._buffers[label], self._streams[label].handle
        self._driver.set_words(buffers.total, 0, 1, stream)
        added = map(c_ulonglong, (buffers.a, buffers.b, buffers.c))
        self._launch(ptx.VECTOR_ADD, label, grid, in_graph, *added, _COUNT)
        self._saxpy(2.0, buffers.a, buffers.c, label, grid, in_graph)
        summed = map(c_ulonglong, (buffers.c, buffers.total))
        self._launch(ptx.REDUCE_SUM, label, grid, in_graph, *summed, _COUNT)
        self._driver.copy_to_host(buffers.host, buffers.total, 4, stream)
        if not in_graph:
            self._log.memset(4)
            self._log.copy("DtoH", 4)

    def _transfer(self) -> None:
        """c = a by copies through host and device; c = 3 a + c, twice; then wait a little."""
        label = "transfer"
        buffers, stream = self._buffers[label], self._streams[label].handle
        self._to_device(buffers.b, buffers.host, SIZE, label)
        self._driver.copy_on_device(buffers.c, buffers.b, SIZE, stream)
        self._log.copy("DtoD", SIZE)
        for _ in range(2):
            self._saxpy(3.0, buffers.a, buffers.c, label, GRID[label], in_graph=False)
        self._spin(label, GRID[label])

    def _replay(self, times: int) -> None:
        """What ``_compute`` does, once more as a CUDA graph, replayed."""
        stream = self._streams["compute"].handle
        # So that the check after the replays cannot see what came before them.
        c_float.from_address(self._buffers["compute"].host).value = 0.0
        self._driver.begin_capture(stream)
        self._compute("compute", GRID["graph"], in_graph=True)
        graph = self._driver.end_capture(stream)
        executable = self._driver.instantiate(graph)
        for _ in range(times):
            self._driver.launch_graph(executable, stream)
        self._driver.synchronize()
        for name in (ptx.VECTOR_ADD, ptx.SAXPY, ptx.REDUCE_SUM):
            self._log.graph_kernel(name, GRID["graph"], times)
        self._log.memset(4, times)
        self._log.copy("DtoH", 4, times)
        self._log.extra["graphs"] = [{"replays": times, "nodes": self._driver.count_nodes(graph)}]

    def _probe(self, grid: int) -> None:
        begin = now_ns()
        self._spin("compute", grid)
        self._driver.synchronize(self._streams["compute"].handle)
        self._log.probe(ptx.SPIN, grid, begin, now_ns())

    # --- one piece of work each

    def _launch(self, name: str, label: str, grid: int, in_graph: bool, *arguments: object) -> None:
        stream = self._streams[label].handle
        self._driver.launch(self._functions[name], grid, ptx.BLOCK, stream, arguments)
        if not in_graph:
            self._log.kernel(name, label, grid)

    def _saxpy(self, alpha: float, x: int, y: int, label: str, grid: int, in_graph: bool) -> None:
        values = (c_float(alpha), c_ulonglong(x), c_ulonglong(y), _COUNT)
        self._launch(ptx.SAXPY, label, grid, in_graph, *values)

    def _spin(self, label: str, grid: int) -> None:
        times = map(c_ulonglong, (SPIN_NS, self._buffers[label].total))
        self._launch(ptx.SPIN, label, grid, False, *times)

    def _to_device(self, target: int, source: int, size: int, label: str) -> None:
        self._driver.copy_to_device(target, source, size, self._streams[label].handle)
        self._log.copy("HtoD", size)

    # --- results; all numbers are small integers, which a float holds exactly

    def _check_compute(self) -> None:
        found = c_float.from_address(self._buffers["compute"].host).value
        expected = float(sum(3 * (i % 16) + i % 7 for i in range(ELEMENTS)))
        if found != expected:
            raise EtlError(f"the GPU added up to {found:.0f} where {expected:.0f} is right")

    def _check_transfer(self) -> None:
        buffers, stream = self._buffers["transfer"], self._streams["transfer"].handle
        self._driver.copy_to_host(buffers.host + SIZE, buffers.c, SIZE, stream)
        self._log.copy("DtoH", SIZE)
        self._driver.copy_to_host(buffers.host, buffers.total, 8, stream)
        self._log.copy("DtoH", 8)
        self._driver.synchronize(stream)
        found = array("f", ctypes.string_at(buffers.host + SIZE, SIZE))
        wrong = sum(value != 7 * (i % 16) for i, value in enumerate(found))
        if wrong:
            raise EtlError(f"the GPU got {wrong} of {ELEMENTS} elements of saxpy wrong")
        waited = ctypes.c_uint64.from_address(buffers.host).value
        if waited < SPIN_NS:
            raise EtlError(f"the GPU waited {waited} ns where {SPIN_NS} were asked for")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the workload; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m cupti_etl.demo.workload", description=__doc__)
    parser.add_argument("--loops", type=int, default=200, help="rounds of work (default: 200)")
    parser.add_argument("--device", type=int, default=0, help="CUDA device (default: 0)")
    parser.add_argument("--log", metavar="FILE", help="also write the JSON line to FILE")
    options = parser.parse_args(arguments)
    log = LaunchLog("driver_api", complete=True)
    begin = time.perf_counter()
    try:
        if options.loops < 1:
            raise UsageError("--loops must be at least 1")
        driver = Driver(options.device)
        log.extra["gpu"] = driver.device_name()
        workload = Workload(driver, log)
        log.begin()
        workload.run(options.loops)
        log.end()
    except EtlError as error:
        print(
            f"workload: {error.message}", *filter(None, [error.hint]), sep="\n  ", file=sys.stderr
        )
        return error.exit_code
    log.extra["seconds"] = round(time.perf_counter() - begin, 3)
    if options.log:
        log.write(options.log)
    print(log.dumps())
    return 0


if __name__ == "__main__":
    sys.exit(main())

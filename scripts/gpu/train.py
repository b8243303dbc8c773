"""A PyTorch training loop on several streams that knows part of what it launches.

    python train.py --log LOG [--steps 30] [--warmup 3] [--profile FILE]

PyTorch does not say which kernels it launches, so the log holds what can be known:

* kernels, copies and sets of our own among PyTorch's, exactly, per name and stream;
* how many nodes the replayed CUDA graph has, and how often it was replayed;
* NVTX ranges and marks, exactly;
* when the measured steps began and ended.

With ``--profile`` the same steps run under torch.profiler instead, in a process that nobody
traces, and FILE gets its counts per kernel name.  The two can then be compared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from ctypes import c_float, c_uint, c_ulonglong
from pathlib import Path
from typing import Any

import torch
from model import BATCH, CLASSES, SIDE, TOKENS, Model, optimizers
from torch import nn

from cupti_etl.demo import ptx
from cupti_etl.demo.driver import Driver
from cupti_etl.demo.launched import LaunchLog, now_ns

# Odd sizes, in elements of 4 bytes, that PyTorch has no reason to use.
UPLOAD, DOWNLOAD, MOVE, CLEAR = 98_765, 54_321, 43_210, 30_011
GRID = {"main": 40, "side": 24, "upload": 12, "graph": 8}
SPIN_NS = 5_000


class Known:
    """Our own kernels, copies and sets among PyTorch's, each counted where it is asked for."""

    def __init__(self, log: LaunchLog, streams: dict[str, torch.cuda.Stream]) -> None:
        self.driver = Driver()
        self.log = log
        self.streams = streams
        module = self.driver.load_module(ptx.SOURCE)
        names = (ptx.VECTOR_ADD, ptx.SAXPY, ptx.REDUCE_SUM, ptx.SPIN)
        self._functions = {name: self.driver.function(module, name) for name in names}
        for label, stream in streams.items():
            log.streams[label] = self.driver.stream_id(stream.cuda_stream)
        self.x = torch.ones(UPLOAD, device="cuda")
        self.y = torch.zeros(UPLOAD, device="cuda")
        self.total = torch.zeros(2, device="cuda")
        self.pinned_up = torch.ones(UPLOAD).pin_memory()
        self.pinned_down = torch.empty(DOWNLOAD).pin_memory()

    def _launch(self, name: str, label: str, stream: int, *arguments: Any) -> None:
        self.driver.launch(self._functions[name], GRID[label], ptx.BLOCK, stream, arguments)
        if label != "graph":
            self.log.kernel(name, label, GRID[label])

    def saxpy(self, label: str, stream: int) -> None:
        """y = 0.5 x + y."""
        x, y = c_ulonglong(self.x.data_ptr()), c_ulonglong(self.y.data_ptr())
        self._launch(ptx.SAXPY, label, stream, c_float(0.5), x, y, c_uint(UPLOAD))

    def step_main(self) -> None:
        """What the main stream gets in every step."""
        stream = self.streams["main"].cuda_stream
        self.saxpy("main", stream)
        self.saxpy("main", stream)
        self._launch(
            ptx.REDUCE_SUM, "main", stream,
            *map(c_ulonglong, (self.y.data_ptr(), self.total.data_ptr())),
            c_uint(UPLOAD),
        )  # fmt: skip

    def step_side(self) -> None:
        """What the side stream gets in every step."""
        with torch.cuda.stream(self.streams["side"]):
            stream = self.streams["side"].cuda_stream
            for _ in range(3):
                pointers = (self.x.data_ptr(), self.x.data_ptr(), self.y.data_ptr())
                self._launch(
                    ptx.VECTOR_ADD, "side", stream,
                    *map(c_ulonglong, pointers), c_uint(MOVE),
                )  # fmt: skip
            self.y[:MOVE].copy_(self.x[:MOVE])
            self.log.copy("DtoD", 4 * MOVE)
            self.driver.set_words(self.y.data_ptr(), 0, CLEAR, stream)
            self.log.memset(4 * CLEAR)
            self.pinned_down.copy_(self.x[:DOWNLOAD], non_blocking=True)
            self.log.copy("DtoH", 4 * DOWNLOAD)

    def step_upload(self) -> None:
        """What the upload stream gets in every step."""
        with torch.cuda.stream(self.streams["upload"]):
            self.x.copy_(self.pinned_up, non_blocking=True)
            self.log.copy("HtoD", 4 * UPLOAD)
            stream = self.streams["upload"].cuda_stream
            self._launch(ptx.SPIN, "upload", stream,
                         *map(c_ulonglong, (SPIN_NS, self.total.data_ptr())))  # fmt: skip


class Graph:
    """A small network as a CUDA graph, with one of our own kernels in it."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.replays = 0
        network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.LayerNorm(64))
        network = network.cuda().eval()
        data = torch.randn(32, 64, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(3):
                network(data)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.no_grad(), torch.cuda.graph(self._graph, stream=stream):
            self.result = network(data).softmax(dim=1)
            known.saxpy("graph", stream.cuda_stream)
        self.nodes = known.driver.count_nodes(self._graph.raw_cuda_graph())
        self._graph.instantiate()

    def replay(self) -> None:
        """Replay in the current stream."""
        self._graph.replay()
        self.replays += 1
        self._known.log.graph_kernel(ptx.SAXPY, GRID["graph"], 1)


class Training:
    """The training loop."""

    def __init__(self, log: LaunchLog) -> None:
        torch.manual_seed(0)
        # With benchmarking the algorithms, and so the kernels, would depend on timing.
        torch.backends.cudnn.benchmark = False
        labels = ("main", "side", "upload")
        self.streams = {label: torch.cuda.Stream() for label in labels}
        self.known = Known(log, self.streams)
        self.model = Model().cuda()
        self.optimizers = optimizers(self.model)
        self.image = torch.randn(BATCH, 3, SIDE, SIDE, device="cuda")
        self.tokens = torch.randint(0, 1000, (BATCH, TOKENS), device="cuda")
        self.labels = torch.randint(0, CLASSES, (BATCH,), device="cuda")
        self.graph = Graph(self.known)
        self.markers: Counter[str] = Counter()
        torch.cuda.synchronize()

    def _push(self, name: str) -> None:
        torch.cuda.nvtx.range_push(name)
        self.markers[name] += 1

    def step(self) -> None:
        """One step: upload, forward, backward, optimizers, graph replay."""
        nvtx = torch.cuda.nvtx
        self._push("step")
        upload = nvtx.range_start("upload")
        self.markers["upload"] += 1
        self.known.step_upload()
        nvtx.range_end(upload)
        with torch.cuda.stream(self.streams["main"]):
            self._push("forward")
            loss = self.model(self.image, self.tokens, self.labels)
            nvtx.range_pop()
            self._push("backward")
            loss.backward()
            nvtx.range_pop()
            self._push("optimizer")
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            nvtx.range_pop()
            self.known.step_main()
            self.graph.replay()
        self.known.step_side()
        nvtx.mark("step done")
        self.markers["step done"] += 1
        nvtx.range_pop()

    def steps(self, count: int) -> tuple[int, int]:
        """Do steps alone on the GPU; when they began and ended, in ns of CLOCK_REALTIME."""
        torch.cuda.synchronize()
        time.sleep(0.005)
        begin = now_ns()
        for _ in range(count):
            self.step()
        torch.cuda.synchronize()
        end = now_ns()
        time.sleep(0.005)
        return begin, end


def profiled_steps(training: Training, count: int) -> dict[str, Any]:
    """Do steps under torch.profiler and count what it saw."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        training.steps(count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    counts: dict[str, Counter[str]] = {
        "kernel": Counter(),
        "gpu_memcpy": Counter(),
        "gpu_memset": Counter(),
    }
    for event in events:
        if event.get("cat") in counts:
            counts[event["cat"]][event["name"]] += 1
    return {
        "kernels": counts["kernel"],
        "copies": counts["gpu_memcpy"],
        "memsets": counts["gpu_memset"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--profile", metavar="FILE")
    options = parser.parse_args()
    log = LaunchLog("train", complete=False)
    log.begin()
    # CUPTI 13 would crash here, if it were asked; it records nothing yet.
    with torch.cuda.nvtx.range("before CUDA"):
        pass
    torch.cuda.init()
    training = Training(log)
    training.steps(options.warmup)
    if options.profile:
        counts = profiled_steps(training, options.steps)
        Path(options.profile).write_text(json.dumps(counts))
    else:
        begin, end = training.steps(options.steps)
        log.extra["phase"] = {"begin_ns": begin, "end_ns": end, "steps": options.steps}
        log.extra["seconds_per_step"] = (end - begin) / 1e9 / max(options.steps, 1)
    log.end()
    log.extra["markers"] = [{"name": n, "count": c} for n, c in training.markers.items()]
    log.extra["graphs"] = [{"nodes": training.graph.nodes, "replays": training.graph.replays}]
    log.extra |= {"min_kernel_names": 50, "min_streams": 2, "torch": torch.__version__}
    log.write(options.log)
    print(f"train: {options.steps} steps, graph of {training.graph.nodes}")


if __name__ == "__main__":
    main()

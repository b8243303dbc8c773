"""The few functions of the CUDA driver API that the demo needs, by ctypes.

No CUDA toolkit and no Python package of NVIDIA's is needed: ``libcuda.so.1`` comes with
the driver.  Every function that refuses becomes an ``EtlError`` that names it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from typing import Any

from cupti_etl.errors import EtlError

LIBRARY = "libcuda.so.1"

STREAM_NON_BLOCKING = 1
CAPTURE_MODE_THREAD_LOCAL = 1
JIT_ERROR_LOG_BUFFER = 5
JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
GRAPH_NODE_TYPES = {0: "kernel", 1: "memcpy", 2: "memset"}


@dataclass(frozen=True)
class Stream:
    """A CUDA stream.

    Attributes:
        handle: the ``CUstream``.
        id: what ``cuStreamGetId`` says, or None where the driver is older than 12.0.
    """

    handle: int
    id: int | None


class Driver:
    """A loaded and initialised libcuda, with the primary context of one device current.

    Args:
        device: CUDA ordinal of the device.

    Raises:
        EtlError: libcuda is missing, there is no such device, or a call is refused.
    """

    def __init__(self, device: int = 0) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise EtlError(
                f"{LIBRARY} cannot be loaded: {error}", "install the NVIDIA driver of this GPU"
            ) from error
        self.call("cuInit", c_uint(0))
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        if not 0 <= device < count.value:
            raise EtlError(
                f"there is no CUDA device {device}: the driver shows {count.value}",
                "look at nvidia-smi and at CUDA_VISIBLE_DEVICES",
            )
        handle, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(handle), c_int(device))
        self.call("cuDevicePrimaryCtxRetain", byref(context), handle)
        self.call("cuCtxSetCurrent", context)
        self._device = handle

    def call(self, function: str, *arguments: Any) -> None:
        """Call a driver function; its arguments must be ctypes values.

        Raises:
            EtlError: the driver has no such function, or it did not return CUDA_SUCCESS.
        """
        code = self._function(function)(*arguments)
        if code:
            raise EtlError(f"{function} failed: {self._error_text(code)}")

    def _function(self, name: str) -> Any:
        try:
            return getattr(self._library, name)
        except AttributeError as error:
            raise EtlError(
                f"the driver has no function {name}", "update the NVIDIA driver"
            ) from error

    def _error_text(self, code: int) -> str:
        parts = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if not self._function(function)(c_int(code), byref(text)) and text.value:
                parts.append(text.value.decode())
        return ", ".join([*parts, f"error {code}"])

    def device_name(self) -> str:
        """Product name of the device."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, c_int(len(name)), self._device)
        return name.value.decode(errors="replace")

    # --- modules and launches

    def load_module(self, ptx: str) -> int:
        """Compile PTX text for the device and load it.

        Raises:
            EtlError: the driver's compiler refuses the text; the message holds its log.
        """
        log = ctypes.create_string_buffer(8192)
        options = (c_int * 2)(JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        module = c_void_p()
        try:
            text = c_char_p(ptx.encode())
            self.call("cuModuleLoadDataEx", byref(module), text, c_uint(2), options, values)
        except EtlError as error:
            reason = log.value.decode(errors="replace").strip()
            raise EtlError(f"{error.message}. {reason}".rstrip(". "), error.hint) from error
        return module.value or 0

    def function(self, module: int, name: str) -> int:
        """Handle of a kernel of a loaded module."""
        handle = c_void_p()
        self.call("cuModuleGetFunction", byref(handle), c_void_p(module), c_char_p(name.encode()))
        return handle.value or 0

    def launch(
        self, function: int, grid_x: int, block_x: int, stream: int, arguments: Sequence[Any]
    ) -> None:
        """Launch a kernel with a one-dimensional grid; arguments are ctypes values."""
        pointers = (c_void_p * len(arguments))(*(ctypes.addressof(value) for value in arguments))
        # Grid and block in three dimensions each, and no shared memory.
        sizes = map(c_uint, (grid_x, 1, 1, block_x, 1, 1, 0))
        self.call("cuLaunchKernel", c_void_p(function), *sizes, c_void_p(stream), pointers, None)

    # --- streams

    def create_stream(self) -> Stream:
        """A stream that does not wait for the default stream."""
        handle = c_void_p()
        self.call("cuStreamCreate", byref(handle), c_uint(STREAM_NON_BLOCKING))
        return Stream(handle.value or 0, self.stream_id(handle.value or 0))

    def stream_id(self, stream: int) -> int | None:
        """The driver's number of a stream, or None where it does not tell."""
        number = c_ulonglong()
        try:
            self.call("cuStreamGetId", c_void_p(stream), byref(number))
        except EtlError:
            return None
        return number.value

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for a stream, or for everything that the context was given."""
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", c_void_p(stream))

    # --- memory; sizes in bytes

    def allocate(self, size: int) -> int:
        """Device memory."""
        pointer = c_ulonglong()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        return pointer.value

    def allocate_pinned(self, size: int) -> int:
        """Page-locked host memory: copies from and to it are one record each."""
        pointer = c_void_p()
        self.call("cuMemAllocHost_v2", byref(pointer), c_size_t(size))
        return pointer.value or 0

    def copy_to_device(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy from host memory, asynchronously."""
        self._give("cuMemcpyHtoDAsync_v2", stream, target, source, size)

    def copy_to_host(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy to host memory, asynchronously."""
        self._give("cuMemcpyDtoHAsync_v2", stream, target, source, size)

    def copy_on_device(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy from device memory to device memory, asynchronously."""
        self._give("cuMemcpyDtoDAsync_v2", stream, target, source, size)

    def set_words(self, target: int, value: int, words: int, stream: int) -> None:
        """Fill device memory with a 32-bit value, asynchronously."""
        self._give("cuMemsetD32Async", stream, target, c_uint(value), words)

    def _give(self, function: str, stream: int, *arguments: Any) -> None:
        """Give a stream work; addresses and sizes have 64 bits."""
        sized = (c_ulonglong(each) if isinstance(each, int) else each for each in arguments)
        self.call(function, *sized, c_void_p(stream))

    # --- graphs

    def begin_capture(self, stream: int) -> None:
        """From here on, what the stream is given becomes nodes of a graph."""
        self.call("cuStreamBeginCapture_v2", c_void_p(stream), c_int(CAPTURE_MODE_THREAD_LOCAL))

    def end_capture(self, stream: int) -> int:
        """End the capture and return the graph."""
        graph = c_void_p()
        self.call("cuStreamEndCapture", c_void_p(stream), byref(graph))
        return graph.value or 0

    def instantiate(self, graph: int) -> int:
        """Make a graph executable."""
        executable = c_void_p()
        self.call("cuGraphInstantiateWithFlags", byref(executable), c_void_p(graph), c_ulonglong(0))
        return executable.value or 0

    def launch_graph(self, executable: int, stream: int) -> None:
        """Replay an executable graph."""
        self.call("cuGraphLaunch", c_void_p(executable), c_void_p(stream))

    def count_nodes(self, graph: int) -> dict[str, int]:
        """How many nodes of each type a graph has: kernel, memcpy, memset, other."""
        count = c_size_t()
        self.call("cuGraphGetNodes", c_void_p(graph), c_void_p(), byref(count))
        nodes = (c_void_p * count.value)()
        self.call("cuGraphGetNodes", c_void_p(graph), nodes, byref(count))
        found: dict[str, int] = {}
        for node in nodes:
            number = c_int()
            self.call("cuGraphNodeGetType", c_void_p(node), byref(number))
            label = GRAPH_NODE_TYPES.get(number.value, "other")
            found[label] = found.get(label, 0) + 1
        return found

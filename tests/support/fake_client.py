"""A CUPTI client written in a test: calls of a fake CUPTI one by one, in a process of its own.

    def scenario(cupti: FakeCupti) -> object:
        subscriber = cupti.subscribe_v2(name="first")
        ...
        return subscriber.records

    in_process(fakes, scenario, "13.5.25", driver_version=13050)

What the scenario returns is pickled; an exception in it is raised here.
"""

from __future__ import annotations

import ctypes as c
import os
import pickle
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from support.fakes import Fakes

Result = TypeVar("Result")

SIZE = 1 << 16
_REQUEST = c.CFUNCTYPE(None, c.POINTER(c.c_void_p), c.POINTER(c.c_size_t), c.c_void_p)
_REQUEST_2 = c.CFUNCTYPE(None, c.POINTER(c.c_void_p), c.POINTER(c.c_size_t), c.c_void_p, c.c_void_p)
_COMPLETE = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_void_p, c.c_size_t, c.c_size_t)
_COMPLETE_2 = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t, c.c_size_t, c.c_void_p)
_CALLBACK = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_uint32, c.c_void_p)


class SubscriberParams(c.Structure):
    """CUpti_SubscriberParams."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("subscriberName", c.c_char_p),
        ("oldSubscriberName", c.c_char_p),
        ("oldSubscriberSize", c.c_size_t),
        ("allowMultipleSubscribers", c.c_uint8),
        ("padding", c.c_uint8 * 7),
    ]


class FieldSelection(c.Structure):
    """CUpti_ActivityFieldSelection."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("numFields", c.c_size_t),
        ("pFieldIds", c.POINTER(c.c_int)),
    ]


class ActivityConfig(c.Structure):
    """CUpti_ActivityConfig."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("fieldSelection", FieldSelection),
        ("pKindOptions", c.c_void_p),
    ]


class CbidOptions(c.Structure):
    """CUpti_ActivityApiCbidOptions."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("pCbids", c.POINTER(c.c_uint32)),
        ("numCbids", c.c_size_t),
        ("enable", c.c_uint8),
    ]


class ApiOptions(c.Structure):
    """CUpti_ActivityApiOptions."""

    _fields_ = [("structSize", c.c_size_t), ("pCbidOptions", c.POINTER(CbidOptions))]


class CallbackData(c.Structure):
    """CUpti_CallbackData."""

    _fields_ = [
        ("callbackSite", c.c_int),
        ("functionName", c.c_char_p),
        ("functionParams", c.c_void_p),
        ("functionReturnValue", c.POINTER(c.c_int)),
        ("symbolName", c.c_char_p),
        ("context", c.c_void_p),
        ("contextUid", c.c_uint32),
        ("correlationData", c.POINTER(c.c_uint64)),
        ("correlationId", c.c_uint32),
    ]


class FieldEntry(c.Structure):
    """CUpti_ActivityFieldLayoutEntry."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("fieldId", c.c_int),
        ("offset", c.c_size_t),
        ("size", c.c_size_t),
        ("alignment", c.c_size_t),
    ]


class RecordLayout(c.Structure):
    """CUpti_ActivityRecordLayout."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("pEntries", c.POINTER(FieldEntry)),
        ("numFields", c.c_size_t),
        ("recordSize", c.c_size_t),
    ]


class CompleteInfo(c.Structure):
    """CUpti_BufferCallbackCompleteInfo."""

    _fields_ = [
        ("structSize", c.c_size_t),
        ("threadId", c.c_uint64),
        ("ppRecordLayouts", c.POINTER(c.POINTER(RecordLayout))),
        ("numRecordLayouts", c.c_size_t),
    ]


class Client:
    """Buffers given and taken back, callbacks heard.

    Attributes:
        handle: the subscriber, or None.
        status: what subscribing answered.
        records: the records that came, in order.
        sizes: of the records.
        foreign: buffers that came and that another had given.
        layouts: kind -> [(field, offset, size), ...] as the last buffer had it.
        layout_count: how many layouts, empty ones too, the last buffer had.
        heard: (domain, cbid, site, function name, correlation id) of each callback.
    """

    def __init__(self, cupti: FakeCupti) -> None:
        self.cupti = cupti
        self.handle: c.c_void_p | None = None
        self.status = 0
        self.records: list[bytes] = []
        self.foreign = 0
        self.layouts: dict[int, list[tuple[int, int, int]]] = {}
        self.layout_count = 0
        self.threads: set[int] = set()
        self.heard: list[tuple[int, int, int, str, int]] = []
        self.on_call: Callable[[int, int, int], None] | None = None
        self._buffers: dict[int, Any] = {}
        self._kept = (
            _REQUEST(self._request),
            _COMPLETE(self._complete),
            _REQUEST_2(self._request),
            _COMPLETE_2(self._complete_2),
        )
        self.callback = _CALLBACK(self._hear)

    def _request(self, buffer: Any, size: Any, max_records: Any, info: Any = None) -> None:
        memory = c.create_string_buffer(SIZE)
        self._buffers[c.addressof(memory)] = memory
        buffer[0], size[0] = c.addressof(memory), SIZE

    def _complete(self, context: Any, stream: int, buffer: int, size: int, valid: int) -> None:
        memory = self._buffers.pop(buffer, None)  # lives until the records are copied
        if memory is None:
            self.foreign += 1
            return
        record = c.c_void_p()
        while self.cupti.next_record(self.handle, buffer, valid, record) == 0:
            start = record.value or 0
            after = c.c_void_p(start)
            more = self.cupti.next_record(self.handle, buffer, valid, after) == 0
            end = (after.value or 0) if more else buffer + valid
            self.records.append(c.string_at(start, end - start))

    def _complete_2(self, buffer: int, size: int, valid: int, info: int) -> None:
        given = CompleteInfo.from_address(info)
        self.threads.add(given.threadId)
        self.layout_count = given.numRecordLayouts
        for kind in range(given.numRecordLayouts):
            layout = given.ppRecordLayouts[kind].contents
            if layout.pEntries:
                entries = layout.pEntries[: layout.numFields]
                self.layouts[kind] = [(e.fieldId, e.offset, e.size) for e in entries]
        self._complete(None, 0, buffer, size, valid)

    def _hear(self, data: Any, domain: int, cbid: int, call: int) -> None:
        given = CallbackData.from_address(call)
        name = (given.functionName or b"").decode()
        self.heard.append((domain, cbid, given.callbackSite, name, given.correlationId))
        if self.on_call is not None:
            self.on_call(domain, cbid, given.callbackSite)

    def register(self) -> int:
        """Callbacks for buffers, by version 1 or 2 as the client subscribed."""
        if self.handle is None or not self.cupti.is_v2(self.handle):
            return self.cupti.call("cuptiActivityRegisterCallbacks", *self._kept[:2])
        return self.cupti.call("cuptiActivityRegisterCallbacks_v2", self.handle, *self._kept[2:])

    def enable(
        self, kind: int, fields: Sequence[int] | None = None, options: ApiOptions | None = None
    ) -> int:
        """cuptiActivityEnable_v2, with a selection of fields."""
        config = ActivityConfig(structSize=c.sizeof(ActivityConfig))
        config.fieldSelection.structSize = c.sizeof(FieldSelection)
        if fields is not None:
            config.fieldSelection.numFields = len(fields)
            config.fieldSelection.pFieldIds = (c.c_int * len(fields))(*fields)
        if options is not None:
            config.pKindOptions = c.addressof(options)
        wants = fields is not None or options is not None
        pointer = c.byref(config) if wants else None
        return self.cupti.call("cuptiActivityEnable_v2", self.handle, kind, pointer)

    def set(self, attribute: int, value: int, size: int = 1) -> int:
        """cuptiActivitySetAttribute_v2 (or 1 without a subscription)."""
        data = c.create_string_buffer(value.to_bytes(size, "little"), size)
        length = c.c_size_t(size)
        if self.handle is None:
            return self.cupti.call("cuptiActivitySetAttribute", attribute, c.byref(length), data)
        name = "cuptiActivitySetAttribute_v2"
        return self.cupti.call(name, self.handle, attribute, c.byref(length), data)

    def get(self, attribute: int) -> int:
        """cuptiActivityGetAttribute_v2 (or 1 without a subscription)."""
        data, length = c.create_string_buffer(8), c.c_size_t(8)
        arguments = (attribute, c.byref(length), data)
        if self.handle is None:
            status = self.cupti.call("cuptiActivityGetAttribute", *arguments)
        else:
            status = self.cupti.call("cuptiActivityGetAttribute_v2", self.handle, *arguments)
        return int.from_bytes(data.raw[: length.value], "little") if status == 0 else -status

    def kinds(self) -> list[int]:
        """Kind of each record."""
        return [struct.unpack_from("<I", record)[0] for record in self.records]

    @property
    def sizes(self) -> set[int]:
        """Sizes of the records."""
        return set(map(len, self.records))


class FakeCupti:
    """The fake driver, initialised, and a fake CUPTI; both loaded in this process."""

    def __init__(self, fakes: Fakes, release: str, options: dict[str, Any]) -> None:
        os.environ.update(fakes.env(release, **options))
        self.cuda = c.CDLL(str(fakes.driver()), mode=c.RTLD_GLOBAL)
        self.handle = c.CDLL(str(fakes.cupti(release)))
        self._v2: set[int] = set()
        self.cuda.cuInit(0)

    def call(self, name: str, *arguments: Any) -> int:
        """A function's answer; -1 if this release does not have it."""
        try:
            function = getattr(self.handle, name)
        except AttributeError:
            return -1
        return int(function(*arguments))

    def launch(self, count: int = 1) -> None:
        """Some kernels."""
        for _ in range(count):
            assert self.cuda.fakeLaunch(0, 0, 0) == 0

    def flush(self) -> int:
        """Hand over what is complete."""
        return self.call("cuptiActivityFlushAll", 0)

    def is_v2(self, handle: c.c_void_p) -> bool:
        """Whether a handle is from cuptiSubscribe_v2."""
        return handle.value in self._v2

    def next_record(self, handle: c.c_void_p | None, buffer: int, valid: int, at: Any) -> int:
        """cuptiActivityGetNextRecord, of the version that fits the subscriber."""
        arguments = (c.c_void_p(buffer), c.c_size_t(valid), c.byref(at))
        of_v2 = handle is not None and self.is_v2(handle)
        if of_v2 and hasattr(self.handle, "cuptiActivityGetNextRecord_v2"):
            return self.call("cuptiActivityGetNextRecord_v2", handle, *arguments)
        return self.call("cuptiActivityGetNextRecord", *arguments)

    def client(self) -> Client:
        """One that does not subscribe."""
        return Client(self)

    def subscribe(self) -> Client:
        """One that subscribed by version 1."""
        client, handle = Client(self), c.c_void_p()
        client.status = self.call("cuptiSubscribe", c.byref(handle), client.callback, None)
        client.handle = handle if client.status == 0 else None
        return client

    def subscribe_v2(self, name: str = "", multiple: bool = False) -> tuple[Client, str]:
        """One that subscribed by version 2, and the name of who was there before."""
        client, handle, old = Client(self), c.c_void_p(), c.create_string_buffer(64)
        params = SubscriberParams(
            structSize=c.sizeof(SubscriberParams),
            subscriberName=name.encode(),
            oldSubscriberName=c.addressof(old),
            oldSubscriberSize=64,
            allowMultipleSubscribers=multiple,
        )
        client.status = self.call(
            "cuptiSubscribe_v2", c.byref(handle), client.callback, None, c.byref(params)
        )
        if client.status == 0:
            client.handle = handle
            self._v2.add(handle.value or 0)
        return client, old.value.decode()


def in_process(
    fakes: Fakes, scenario: Callable[[FakeCupti], Result], release: str = "13.5.25", **options: Any
) -> Result:
    """Run a scenario in a child of its own, for what is loaded and set stays in a process.

    Args:
        fakes: where the libraries come from.
        scenario: gets the loaded libraries; what it returns must pickle.
        release: of the fake CUPTI.
        options: of the fakes, see ``Fakes.env``.
    """
    fakes.cupti(release), fakes.driver()  # compile before the fork
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer: tuple[bool, Any] = (True, scenario(FakeCupti(fakes, release, options)))
            data = pickle.dumps(answer)
        except BaseException as error:
            data = pickle.dumps((False, repr(error)))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not data:
        raise AssertionError(f"the scenario's process ended with status {status}")
    good, answer = pickle.loads(data)
    if not good:
        raise AssertionError(answer)
    result: Result = answer
    return result

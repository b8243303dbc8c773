"""CUPTI's profiler host: what a chip can count, how to configure that, and what was counted.

::

    with ProfilerHost("GH100", ProfilerType.PM_SAMPLING) as host:
        config = host.create_config_image(["sm__cycles_active.avg"])
        get_num_of_passes(config)

It answers for every chip that the libcupti knows and needs no GPU, but a driver.  Facts: NVIDIA's
CUPTI reference, "CUPTI Profiler Host API" (CUDA 12.6 and later).

Every function raises ``CuptiValueError`` (a ValueError), ``CuptiMemoryError`` (a MemoryError),
``CuptiPermissionError`` (a PermissionError) or ``CuptiRuntimeError`` (a RuntimeError), with
CUPTI's result in ``code`` and its words in the message.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import CuptiRuntimeError, CuptiValueError
from cupti_etl.native.loader import text
from cupti_etl.pm.cupti import Cupti, open_cupti

if TYPE_CHECKING:
    import pyarrow as pa

_CHIP_BYTES = 64


class ProfilerType(enum.IntEnum):
    """What a configuration is for (CUpti_ProfilerType)."""

    RANGE_PROFILER = 0
    PM_SAMPLING = 1


class MetricType(enum.IntEnum):
    """What a metric is (CUpti_MetricType)."""

    COUNTER = 0
    RATIO = 1
    THROUGHPUT = 2


class MetricCollectionScope(enum.IntEnum):
    """Of what a metric counts the work (CUpti_MetricCollectionScope)."""

    CONTEXT = 0
    DEVICE = 1
    UNKNOWN = 2


@dataclass(frozen=True)
class MetricProperties:
    """What CUPTI says of a metric.

    Attributes:
        description: a sentence.
        hardware_unit: the part of the chip that counts it.
        dimension: unit of its values; "" for a pure number.
        metric_type: counter, ratio or throughput.
        collection_scope: UNKNOWN before CUDA 13.1.
    """

    description: str
    hardware_unit: str
    dimension: str
    metric_type: MetricType
    collection_scope: MetricCollectionScope


class ProfilerHost:
    """The profiler host of a chip.  Used by one thread at a time; as a context manager it is
    initialized and deinitialized.

    Args:
        chip_name: as ``get_supported_chips`` names it, such as ``GH100``.
        profiler_type: what configurations are for.
        single_pass_metric_set_name: use this set of ``get_single_pass_sets``; CUDA 13.2 or later.
        counter_availability_image: what the device allows to count, from
            ``get_counter_availability``; without it, all that the chip has.
        cupti: path of the libcupti to use; by default the first that is found.
    """

    def __init__(
        self,
        chip_name: str,
        profiler_type: ProfilerType,
        single_pass_metric_set_name: str | None = None,
        *,
        counter_availability_image: bytes | None = None,
        cupti: str | None = None,
    ) -> None:
        self.chip_name = chip_name
        self.profiler_type = ProfilerType(profiler_type)
        self.single_pass_metric_set_name = single_pass_metric_set_name
        self._availability = counter_availability_image
        self._path = cupti
        self._opened: Cupti | None = None
        self._handle: Any = None

    def initialize(self) -> None:
        """Make CUPTI's host object; nothing if it is there already."""
        if self._handle is not None:
            return
        cupti = open_cupti(self._path)
        name = self.single_pass_metric_set_name
        self._handle = cupti.number(
            "struct pm_host *",
            cupti.lib.etl_host_new,
            cupti.handle,
            self.chip_name.encode(),
            int(self.profiler_type),
            cupti.give(self._availability),
            cupti.ffi.NULL if name is None else cupti.ffi.new("char[]", name.encode()),
        )
        self._opened = cupti

    def deinitialize(self) -> None:
        """Free CUPTI's host object; nothing if there is none."""
        if self._opened is not None:
            self._opened.lib.etl_host_free(self._handle)
        self._opened = self._handle = None

    def __enter__(self) -> ProfilerHost:
        self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.deinitialize()

    def _cupti(self) -> Cupti:
        if self._opened is None:
            raise CuptiRuntimeError(
                -errno.EBADF, "the profiler host is not initialized", "call initialize() first"
            )
        return self._opened

    def create_config_image(self, metrics: Sequence[str]) -> bytes:
        """The configuration that counts ``metrics``; each call makes one of its own.

        Raises:
            CuptiValueError: CUPTI knows a metric not, or not with that rollup; the message
                names it.  The host can be used further.
        """
        return self.configure(metrics)[0]

    def configure(self, metrics: Sequence[str]) -> tuple[bytes, int]:
        """The configuration that counts ``metrics``, and the number of its passes."""
        cupti = self._cupti()
        names, _kept = cupti.texts(metrics)
        out, passes = cupti.ffi.new("struct etl_bytes *"), cupti.ffi.new("uint32_t *")
        cupti.call(cupti.lib.etl_host_config, self._handle, names, len(metrics), out, passes)
        return cupti.take(out), int(passes[0])

    def select(self, metrics: Sequence[str], is_optional: Sequence[bool]) -> list[bool]:
        """Which metrics one pass counts together: all that are not optional, and of the others
        each that CUPTI accepts beside those before it.

        Raises:
            CuptiError: those that are not optional are refused or need several passes.
        """
        cupti = self._cupti()
        names, _kept = cupti.texts(metrics)
        optional = cupti.ffi.new("uint8_t[]", bytes(map(bool, is_optional)))
        kept = cupti.ffi.new("uint8_t[]", max(len(metrics), 1))
        cupti.call(cupti.lib.etl_host_select, self._handle, names, optional, len(metrics), kept)
        return [bool(kept[i]) for i in range(len(metrics))]

    def evaluate_metric_values(
        self, counter_data_image: bytes, metrics: Sequence[str], index: int | None = None
    ) -> pa.RecordBatch:
        """Values of counter data.

        Args:
            counter_data_image: as CUPTI decoded it; any buffer.
            metrics: which; all must be of the configuration that was counted.
            index: of the sample or range; by default all whole samples of an image of PM
                sampling.

        Returns:
            A row a sample and a column of doubles a metric, in the metrics' own units.
        """
        import pyarrow as pa

        cupti = self._cupti()
        image = cupti.ffi.from_buffer("uint8_t[]", counter_data_image)
        first, rows = (0, self._samples(image)) if index is None else (index, 1)
        if first < 0:
            raise CuptiValueError(-errno.EINVAL, f"there is no sample {index}")
        buffers = [pa.allocate_buffer(8 * max(rows, 1)) for _ in metrics]
        columns = cupti.ffi.new(
            "double *[]", [cupti.ffi.cast("double *", buffer.address) for buffer in buffers]
        )
        names, _kept = cupti.texts(metrics)
        ask = (cupti.lib.etl_host_evaluate, self._handle, image, len(image), first, rows)
        cupti.call(*ask, names, len(metrics), columns)
        arrays = [pa.Array.from_buffers(pa.float64(), rows, [None, buffer]) for buffer in buffers]
        return pa.RecordBatch.from_arrays(arrays, names=list(metrics))

    def _samples(self, image: Any) -> int:
        cupti = self._cupti()
        ask = (cupti.lib.etl_cupti_samples, cupti.handle, image, len(image))
        samples = int(cupti.number("uint64_t", *ask))
        if samples > len(image):
            raise CuptiValueError(-errno.EINVAL, f"{len(image)} bytes are no counter data image")
        return samples

    def get_base_metrics(self, metric_type: MetricType) -> list[str]:
        """Names of the chip's metrics of a type, without rollups."""
        cupti = self._cupti()
        return cupti.names(cupti.lib.etl_host_base_metrics, self._handle, int(metric_type))

    def get_sub_metrics(self, metric_name: str, metric_type: MetricType | None = None) -> list[str]:
        """What follows a metric's name, such as ``.avg.per_second``.

        Args:
            metric_name: with or without a rollup.
            metric_type: of the metric; it is asked for if it is not given.
        """
        cupti = self._cupti()
        kind = (
            self.get_metric_properties(metric_name).metric_type
            if metric_type is None
            else metric_type
        )
        return cupti.names(
            cupti.lib.etl_host_sub_metrics, self._handle, int(kind), metric_name.encode()
        )

    def get_metric_properties(self, metric_name: str) -> MetricProperties:
        """What CUPTI says of a metric, with or without a rollup."""
        cupti = self._cupti()
        out = cupti.ffi.new("struct etl_metric_text *")
        cupti.call(cupti.lib.etl_host_describe, self._handle, metric_name.encode(), out)
        scope = out.collection_scope
        known = scope in (MetricCollectionScope.CONTEXT, MetricCollectionScope.DEVICE)
        return MetricProperties(
            text(cupti.ffi, out.description),
            text(cupti.ffi, out.hardware_unit),
            text(cupti.ffi, out.dimension),
            MetricType(out.metric_type),
            MetricCollectionScope(scope) if known else MetricCollectionScope.UNKNOWN,
        )


def get_supported_chips(*, cupti: str | None = None) -> list[str]:
    """The chips that a libcupti knows."""
    opened = open_cupti(cupti)
    return opened.names(opened.lib.etl_cupti_chips, opened.handle)


def get_single_pass_sets(chip_name: str, *, cupti: str | None = None) -> list[str]:
    """Names of the sets of metrics of a chip that fit one pass; CUDA 13.2 or later."""
    opened = open_cupti(cupti)
    return opened.names(opened.lib.etl_cupti_sets, opened.handle, chip_name.encode())


def get_metrics_in_single_pass_set(
    chip_name: str, single_pass_set_name: str, *, cupti: str | None = None
) -> list[str]:
    """Base metrics of such a set; CUDA 13.2 or later."""
    opened = open_cupti(cupti)
    return opened.names(
        opened.lib.etl_cupti_set_metrics,
        opened.handle,
        chip_name.encode(),
        single_pass_set_name.encode(),
    )


def get_num_of_passes(config_image: bytes, *, cupti: str | None = None) -> int:
    """How often the work must run to be counted; samples have one pass."""
    opened = open_cupti(cupti)
    image = opened.ffi.from_buffer("uint8_t[]", config_image)
    ask = (opened.lib.etl_cupti_passes, opened.handle, image, len(image))
    return int(opened.number("uint32_t", *ask))


def get_max_num_hardware_metrics_per_pass(
    chip_name: str,
    profiler_type: ProfilerType,
    counter_availability_image: bytes | None = None,
    *,
    cupti: str | None = None,
) -> int:
    """How many metrics of the hardware itself one pass can hold at most."""
    opened = open_cupti(cupti)
    given, most = counter_availability_image, opened.lib.etl_cupti_most_per_pass
    image = opened.ffi.NULL if given is None else opened.ffi.from_buffer("uint8_t[]", given)
    ask = (most, opened.handle, int(profiler_type), chip_name.encode(), image)
    return int(opened.number("uint64_t", *ask))


def get_chip_name(device: int = 0, *, cupti: str | None = None) -> str:
    """The chip of a GPU, by its number for CUDA."""
    opened = open_cupti(cupti)
    chip = opened.ffi.new("char[]", _CHIP_BYTES)
    opened.call(opened.lib.etl_cupti_device_chip, opened.handle, device, chip, _CHIP_BYTES)
    return text(opened.ffi, chip)


def get_counter_availability(device: int = 0, *, cupti: str | None = None) -> bytes:
    """What can be counted on a GPU now; for ``ProfilerHost``."""
    opened = open_cupti(cupti)
    out = opened.ffi.new("struct etl_bytes *")
    opened.call(opened.lib.etl_cupti_availability, opened.handle, device, out)
    return opened.take(out)


def get_sample_bytes(
    config_image: bytes,
    metrics: Sequence[str],
    device: int = 0,
    *,
    has_time_trigger: bool = True,
    cupti: str | None = None,
) -> float:
    """Bytes of counter data that each PM sample takes on a GPU: the price of a sample.

    The GPU is opened for sampling and closed again; nothing is sampled.

    Args:
        config_image: the configuration, of one pass.
        metrics: what it counts.
        device: number of the GPU for CUDA.
        has_time_trigger: whether the chip can sample by time (GA10x and later).
        cupti: path of the libcupti to use.
    """
    opened = open_cupti(cupti)
    names, _kept = opened.texts(metrics)
    gpu = (opened.lib.etl_cupti_sample_bytes, opened.handle, device, not has_time_trigger)
    return float(opened.number("double", *gpu, opened.give(config_image), names, len(metrics)))

"""The profiler host, against the fake CUPTIs of several releases."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from support.fake_build import metric_facts
from support.inside import Inside

from cupti_etl.errors import (
    CuptiError,
    CuptiMemoryError,
    CuptiPermissionError,
    CuptiRuntimeError,
    CuptiValueError,
)
from cupti_etl.pm import cupti as cupti_module
from cupti_etl.pm.cupti import open_cupti
from cupti_etl.pm.profiler_host import (
    MetricCollectionScope,
    MetricProperties,
    MetricType,
    ProfilerHost,
    ProfilerType,
    get_chip_name,
    get_counter_availability,
    get_max_num_hardware_metrics_per_pass,
    get_metrics_in_single_pass_set,
    get_num_of_passes,
    get_sample_bytes,
    get_single_pass_sets,
    get_supported_chips,
)

FACTS = metric_facts()
SM = "sm__cycles_active.avg"
PM = ProfilerType.PM_SAMPLING
LINK = "nvlrx__bytes.sum"
COUNTER_DATA_MAGIC = 0x54414454434B4146

# Struct sizes changed in 12.8, 13.1 and 13.2; sets came with 13.2.
RELEASES = ("12.6.80", "12.8.90", "12.9.79", "13.0.85", "13.1.115", "13.2.86", "13.5.25")


def refusal(call: Any) -> tuple[str, int, str, str]:
    """Class, code, message and hint of the error that a call raises."""
    try:
        call()
    except CuptiError as error:
        return type(error).__name__, error.code, error.message, error.hint
    raise AssertionError("it was not refused")


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_is_spoken_to_in_its_own_sizes(inside: Inside, release: str) -> None:
    def scenario(path: str) -> Any:
        with ProfilerHost("GH100", PM, cupti=path) as host:
            config, passes = host.configure([SM, "dram__bytes.sum"])
            return (
                get_supported_chips(cupti=path),
                [len(host.get_base_metrics(kind)) for kind in MetricType],
                host.get_sub_metrics(SM)[:2],
                host.get_metric_properties(SM),
                passes,
                get_num_of_passes(config, cupti=path),
                get_max_num_hardware_metrics_per_pass("GH100", PM, cupti=path),
                get_chip_name(cupti=path),
                get_sample_bytes(config, [SM, "dram__bytes.sum"], cupti=path) > 0,
            )

    chips, counts, subs, said, *rest = inside(scenario, release)
    assert chips == FACTS["chips"]
    assert counts == [len(names) for names in FACTS["base_metrics"].values()]
    assert subs == [".avg", ".avg.peak_sustained"]
    has_scope = tuple(map(int, release.split(".")))[:2] >= (13, 1)
    scope = MetricCollectionScope.CONTEXT if has_scope else MetricCollectionScope.UNKNOWN
    assert said == MetricProperties(
        "# of cycles_active", "sm", "unit_cycles", MetricType.COUNTER, scope
    )
    assert rest == [1, 1, 96, "GH100", True]


def test_single_pass_sets(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        metrics = get_metrics_in_single_pass_set("GH100", "TriageCompute", cupti=path)
        with ProfilerHost("GH100", PM, "TriageCompute", cupti=path) as host:
            names = FACTS["one_pass"]["TriageCompute"]
            return (
                get_single_pass_sets("GH100", cupti=path),
                get_single_pass_sets("GA100", cupti=path),
                get_metrics_in_single_pass_set("GH100", "Compute_Triage", cupti=path),
                metrics,
                get_num_of_passes(host.create_config_image(names), cupti=path),
                refusal(lambda: get_metrics_in_single_pass_set("GH100", "No", cupti=path))[:2],
                refusal(ProfilerHost("GH100", PM, "No", cupti=path).initialize)[:2],
            )

    sets, none, empty, metrics, passes, *refusals = inside(scenario)
    assert sets == ["TriageCompute", "Compute_Triage"]
    assert (none, empty) == ([], [])
    assert metrics == FACTS["sets"]["TriageCompute"]
    assert passes == 1
    assert refusals == [("CuptiValueError", 1)] * 2


@pytest.mark.parametrize("release", ["12.9.79", "13.1.115"])
def test_sets_need_cuda_13_2(inside: Inside, release: str) -> None:
    def scenario(path: str) -> Any:
        return [
            refusal(lambda: get_single_pass_sets("GH100", cupti=path)),
            refusal(ProfilerHost("GH100", PM, "TriageCompute", cupti=path).initialize),
        ]

    for name, _, message, hint in inside(scenario, release):
        assert name == "CuptiRuntimeError"
        assert "CUDA 13.2 or later is needed" in message
        assert "13.2" in hint


def test_a_refused_metric_is_named_and_the_host_goes_on(inside: Inside) -> None:
    """CUPTI's own object answers 999 to everything after a refusal."""

    def scenario(path: str) -> Any:
        with ProfilerHost("GH100", PM, cupti=path) as host:
            found = [
                refusal(lambda: host.create_config_image([SM, "sm__no_such.sum", "no__x.sum"])),
                refusal(lambda: host.create_config_image(["sm__cycles_active"])),
                refusal(lambda: host.get_metric_properties("sm__no_such")),
                refusal(lambda: host.get_sub_metrics(SM, MetricType.RATIO)),
                refusal(lambda: host.create_config_image([])),
            ]
            return found, host.configure([SM])[1], len(host.get_base_metrics(MetricType.RATIO))

    found, passes, ratios = inside(scenario)
    assert [item[:2] for item in found] == [("CuptiValueError", 17)] * 4 + [
        ("CuptiValueError", -22)
    ]
    assert "sm__no_such.sum on GH100" in found[0][2]
    assert "CUPTI_ERROR_INVALID_METRIC_NAME (17)" in found[0][2]
    assert "metrics list" in found[0][3]
    assert "refuses sm__cycles_active on GH100" in found[1][2]
    assert (passes, ratios) == (1, 614)


def test_the_fakes_object_is_spoilt_by_a_refusal(inside: Inside) -> None:
    """What the test above is worth: without a new object the next call fails."""

    def scenario(path: str) -> Any:
        import ctypes as c

        lib = c.CDLL(path)
        make = (c.c_size_t * 7)(56, 0, 1, 0, 0, 0, 0)
        chip = c.create_string_buffer(b"GH100")
        make[3] = c.addressof(chip)
        assert lib.cuptiProfilerHostInitialize(make) == 0
        name = c.create_string_buffer(b"no__x.sum")
        names = (c.c_void_p * 1)(c.addressof(name))
        add = (c.c_size_t * 5)(40, 0, make[5], c.addressof(names), 1)
        size = (c.c_size_t * 4)(32, 0, make[5], 0)
        wrong = (c.c_size_t * 4)(40, 0, make[5], 0)
        before = lib.cuptiProfilerHostGetConfigImageSize(size)
        return [
            lib.cuptiProfilerHostGetConfigImageSize(wrong),
            before,
            lib.cuptiProfilerHostConfigAddMetrics(add),
            lib.cuptiProfilerHostGetConfigImageSize(size),
        ]

    assert inside(scenario) == [1, 0, 17, 999]


def test_configurations_are_independent(inside: Inside) -> None:
    many = [f"sm__{what}.sum" for what in ("inst_executed", "inst_issued", "issue_active")]
    many += [f"sm__inst_executed_pipe_{p}.sum" for p in ("adu", "alu", "cbu", "fma", "lsu", "tex")]

    def scenario(path: str) -> Any:
        with ProfilerHost("GH100", ProfilerType.RANGE_PROFILER, cupti=path) as host:
            first = host.configure([SM])
            return host.configure(many)[1], host.configure([SM]) == first

    assert inside(scenario) == (2, True)


def test_optional_metrics_are_left_out(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        availability = get_counter_availability(cupti=path)
        host = ProfilerHost("GH100", PM, counter_availability_image=availability, cupti=path)
        with host:
            lanes = [f"lts__t_{what}.sum" for what in ("bytes", "requests", "sectors")]
            lanes += [f"lts__t_sectors_srcunit_{u}.sum" for u in ("gcc", "pe", "raster", "tex")]
            lanes += [f"lts__t_requests_srcunit_{u}.sum" for u in ("gcc", "pe", "raster")]
            return (
                host.select([SM, LINK, "dram__bytes.sum"], [False, True, True]),
                refusal(lambda: host.select([SM, LINK], [True, False]))[:2],
                # Eight of a unit fit a pass; the required ones come first.
                host.select(lanes, [True] * 4 + [False] * 6),
                refusal(lambda: host.select(lanes, [False] * 10)),
                host.select([], []),
            )

    kept, refused, lanes, many, none = inside(scenario)
    assert kept == [True, False, True]
    assert refused == ("CuptiRuntimeError", 27)
    assert lanes == [True, True, False, False, *[True] * 6]
    assert many[:2] == ("CuptiRuntimeError", -7)
    assert "2 passes" in many[2]
    assert none == []
    kept = inside(
        lambda path: [
            host.select([SM, LINK], [False, True])
            for host in [
                ProfilerHost(
                    "GH100",
                    PM,
                    counter_availability_image=get_counter_availability(cupti=path),
                    cupti=path,
                )
            ]
            if host.initialize() is None
        ],
        environ={"FAKE_PM_LINKS": "1"},
    )
    assert kept == [[True, True]]


def counter_data(samples: list[tuple[int, int, float]]) -> bytes:
    """An image as tests/native/fake_pm.h says."""
    slot = 64
    head = struct.pack("<5Q", COUNTER_DATA_MAGIC, slot, len(samples), len(samples), len(samples))
    return head + b"".join(struct.pack("<2Qd", *each).ljust(slot, b"\0") for each in samples)


def expected(metric: str, load: float) -> float:
    """What the fake says of a percentage: 100 * the base name's weight * load."""
    base = metric[: metric.index(".", metric.index("__"))]
    value = 2166136261
    for byte in base.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return 100 * (0.5 + value % 1000 / 2000) * load


def test_values_of_a_whole_image_and_of_one_sample(inside: Inside) -> None:
    metrics = [
        "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
        "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
    ]
    image = counter_data([(1000 * i, 1000 * i + 1000, i / 100) for i in range(100)])

    def scenario(path: str) -> Any:
        with ProfilerHost("GH100", PM, cupti=path) as host:
            host.create_config_image(metrics)
            whole = host.evaluate_metric_values(image, metrics)
            one = host.evaluate_metric_values(memoryview(image), metrics, 7)
            empty = host.evaluate_metric_values(counter_data([]), metrics)
            refusals = [
                refusal(lambda: host.evaluate_metric_values(image, metrics, 100)),
                refusal(lambda: host.evaluate_metric_values(image, metrics, -1)),
                refusal(lambda: host.evaluate_metric_values(image, ["no__x.sum"])),
                refusal(lambda: host.evaluate_metric_values(b"no image" * 8, metrics)),
            ]
            again = host.evaluate_metric_values(image, metrics, 7)
            return whole, one, empty, refusals, again

    whole, one, empty, refusals, again = inside(scenario)
    assert whole.schema.names == metrics
    assert whole.num_rows == 100
    for metric in metrics:
        values = whole.column(metric).to_pylist()
        assert values == pytest.approx([expected(metric, i / 100) for i in range(100)])
    assert one.to_pylist() == again.to_pylist() == whole.slice(7, 1).to_pylist()
    assert (empty.num_rows, empty.schema) == (0, whole.schema)
    assert [item[0] for item in refusals] == ["CuptiValueError"] * 4


@pytest.mark.parametrize(
    ("call", "code", "kind", "builtin", "words", "hint"),
    [
        ("cuptiProfilerInitialize", 35, CuptiPermissionError, PermissionError, "PRIVIL", "CAP_SYS"),
        ("cuptiProfilerHostInitialize", 8, CuptiMemoryError, MemoryError, "OUT_OF_MEMORY", ""),
        ("cuptiProfilerHostInitialize", 26, CuptiRuntimeError, RuntimeError, "BUSY", "dcgmi"),
        ("cuptiProfilerHostInitialize", 27, CuptiRuntimeError, RuntimeError, "NOT_SUPPORTED", ""),
        ("cuptiProfilerHostInitialize", 1, CuptiValueError, ValueError, "INVALID_PARAMETER", ""),
        ("cuptiProfilerHostGetConfigImage", 999, CuptiRuntimeError, RuntimeError, "UNKNOWN", ""),
        ("cuptiProfilerHostGetNumOfPasses", 999, CuptiRuntimeError, RuntimeError, "UNKNOWN", ""),
    ],
)
def test_refusals_are_exceptions_with_cuptis_result(
    inside: Inside,
    call: str,
    code: int,
    kind: type[CuptiError],
    builtin: type[Exception],
    words: str,
    hint: str,
) -> None:
    def scenario(path: str) -> Any:
        def all_of_it() -> None:
            with ProfilerHost("GH100", PM, cupti=path) as host:
                host.create_config_image([SM])

        return refusal(all_of_it)

    name, got, message, advice = inside(scenario, fail=f"{call}={code}")
    assert (name, got) == (kind.__name__, code)
    assert issubclass(kind, builtin)
    assert call in message
    assert words in message
    assert f"({code})" in message
    assert hint in advice


def test_an_unknown_chip(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        return refusal(ProfilerHost("XX100", PM, cupti=path).initialize)[:2]

    assert inside(scenario) == ("CuptiValueError", 1)


def test_a_host_is_used_between_initialize_and_deinitialize(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        host = ProfilerHost("GH100", PM, cupti=path)
        before = refusal(lambda: host.create_config_image([SM]))
        host.initialize()
        host.initialize()
        config = host.create_config_image([SM])
        host.deinitialize()
        host.deinitialize()
        after = refusal(lambda: host.get_base_metrics(MetricType.COUNTER))
        host.initialize()
        return before[2], after[2], host.create_config_image([SM]) == config

    before, after, same = inside(scenario)
    assert before == after == "the profiler host is not initialized"
    assert same


def test_a_cupti_before_12_6_says_so(inside: Inside) -> None:
    name, code, message, hint = inside(
        lambda path: refusal(lambda: open_cupti(path)), release="12.5.82"
    )
    assert (name, code) == ("CuptiRuntimeError", -2)
    assert "CUDA 12.6 or later" in message
    assert hint


def test_without_a_driver_no_cupti_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """13.2 ends the process if it is."""
    monkeypatch.setattr(cupti_module, "has_driver", lambda: False)
    monkeypatch.setattr(cupti_module, "find_cupti", pytest.fail)
    open_cupti.cache_clear()
    with pytest.raises(CuptiRuntimeError, match="no NVIDIA driver") as caught:
        get_supported_chips()
    assert "--chip GH100" in caught.value.hint

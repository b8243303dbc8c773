"""Our own declarations of the parameter structs against NVIDIA's public headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.struct_headers import Declarations

from tools.codegen.header_wheels import PACKAGES

# Our struct, CUPTI's (without _Params), and the members of each in the same order.
STRUCTS = (
    ("pm_chip_name", "CUpti_Device_GetChipName", "device chip", "deviceIndex pChipName"),
    (
        "pm_host_initialize",
        "CUpti_Profiler_Host_Initialize",
        "profiler_type chip availability object single_pass_set",
        "profilerType pChipName pCounterAvailabilityImage pHostObject pSinglePassMetricSetName",
    ),
    ("pm_object", "CUpti_Profiler_Host_Deinitialize", "object", "pHostObject"),
    (
        "pm_supported_chips",
        "CUpti_Profiler_Host_GetSupportedChips",
        "count chips",
        "numChips ppChipNames",
    ),
    (
        "pm_base_metrics",
        "CUpti_Profiler_Host_GetBaseMetrics",
        "object metric_type metrics count",
        "pHostObject metricType ppMetricNames numMetrics",
    ),
    (
        "pm_sub_metrics",
        "CUpti_Profiler_Host_GetSubMetrics",
        "object metric_type metric count sub_metrics",
        "pHostObject metricType pMetricName numOfSubmetrics ppSubMetrics",
    ),
    (
        "pm_properties",
        "CUpti_Profiler_Host_GetMetricProperties",
        "object metric description hardware_unit dimension metric_type collection_scope",
        "pHostObject pMetricName pDescription pHwUnit pDimUnit metricType metricCollectionScope",
    ),
    (
        "pm_evaluate",
        "CUpti_Profiler_Host_EvaluateToGpuValues",
        "object counter_data counter_data_size range metrics count values",
        "pHostObject pCounterDataImage counterDataImageSize "
        "rangeIndex ppMetricNames numMetrics pMetricValues",
    ),
    (
        "pm_add_metrics",
        "CUpti_Profiler_Host_ConfigAddMetrics",
        "object metrics count",
        "pHostObject ppMetricNames numMetrics",
    ),
    (
        "pm_config_size",
        "CUpti_Profiler_Host_GetConfigImageSize",
        "object size",
        "pHostObject configImageSize",
    ),
    (
        "pm_config_image",
        "CUpti_Profiler_Host_GetConfigImage",
        "object size image",
        "pHostObject configImageSize pConfigImage",
    ),
    (
        "pm_number_of_passes",
        "CUpti_Profiler_Host_GetNumOfPasses",
        "size image passes",
        "configImageSize pConfigImage numOfPasses",
    ),
    (
        "pm_max_per_pass",
        "CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass",
        "profiler_type chip availability count",
        "profilerType pChipName pCounterAvailabilityImage maxMetricsPerPass",
    ),
    (
        "pm_single_pass_sets",
        "CUpti_Profiler_Host_GetSinglePassSets",
        "chip count sets",
        "pChipName numOfSinglePassSets ppSinglePassSets",
    ),
    (
        "pm_set_metrics",
        "CUpti_Profiler_Host_GetMetricsInSinglePassSet",
        "chip set count buffer_size indices buffer",
        "pChipName pSinglePassSetName numOfMetricsInSinglePassSet "
        "metricsBufferSize pMetricsIndicesBuffer pMetricsBuffer",
    ),
    (
        "pm_availability",
        "CUpti_PmSampling_GetCounterAvailability",
        "device size image",
        "deviceIndex counterAvailabilityImageSize pCounterAvailabilityImage",
    ),
    ("pm_enable", "CUpti_PmSampling_Enable", "device object", "deviceIndex pPmSamplingObject"),
    ("pm_object", "CUpti_PmSampling_Start", "object", "pPmSamplingObject"),
    (
        "pm_set_config",
        "CUpti_PmSampling_SetConfig",
        "object config_size config hardware_buffer_size interval trigger append_mode",
        "pPmSamplingObject configSize pConfig "
        "hardwareBufferSize samplingInterval triggerMode hwBufferAppendMode",
    ),
    (
        "pm_counter_data_size",
        "CUpti_PmSampling_GetCounterDataSize",
        "object metrics count max_samples size",
        "pPmSamplingObject pMetricNames numMetrics maxSamples counterDataSize",
    ),
    (
        "pm_counter_data_initialize",
        "CUpti_PmSampling_CounterDataImage_Initialize",
        "object size image",
        "pPmSamplingObject counterDataSize pCounterData",
    ),
    (
        "pm_decode",
        "CUpti_PmSampling_DecodeData",
        "object image size stop_reason overflow",
        "pPmSamplingObject pCounterDataImage counterDataImageSize decodeStopReason overflow",
    ),
    (
        "pm_counter_data_info",
        "CUpti_PmSampling_GetCounterDataInfo",
        "image size total populated completed",
        "pCounterDataImage counterDataImageSize "
        "numTotalSamples numPopulatedSamples numCompletedSamples",
    ),
    (
        "pm_sample_info",
        "CUpti_PmSampling_CounterData_GetSampleInfo",
        "object image size index start_ns end_ns",
        "pPmSamplingObject pCounterDataImage counterDataImageSize "
        "sampleIndex startTimestamp endTimestamp",
    ),
    (
        "range_availability",
        "CUpti_Profiler_GetCounterAvailability",
        "context size image",
        "ctx counterAvailabilityImageSize pCounterAvailabilityImage",
    ),
    (
        "range_enable",
        "CUpti_RangeProfiler_Enable",
        "context object cache_control",
        "ctx pRangeProfilerObject cacheControlMode",
    ),
    ("pm_object", "CUpti_RangeProfiler_Disable", "object", "pRangeProfilerObject"),
    ("pm_object", "CUpti_RangeProfiler_Start", "object", "pRangeProfilerObject"),
    (
        "range_counter_data_size",
        "CUpti_RangeProfiler_GetCounterDataSize",
        "object metrics count max_ranges max_nodes size",
        "pRangeProfilerObject pMetricNames numMetrics maxNumOfRanges maxNumRangeTreeNodes "
        "counterDataSize",
    ),
    (
        "pm_counter_data_initialize",
        "CUpti_RangeProfiler_CounterDataImage_Initialize",
        "object size image",
        "pRangeProfilerObject counterDataSize pCounterData",
    ),
    (
        "range_set_config",
        "CUpti_RangeProfiler_SetConfig",
        "object config_size config size image range replay max_ranges levels min_level pass "
        "target_level",
        "pRangeProfilerObject configSize pConfig counterDataImageSize pCounterDataImage range "
        "replayMode maxRangesPerPass numNestingLevels minNestingLevel passIndex "
        "targetNestingLevel",
    ),
    (
        "range_stop",
        "CUpti_RangeProfiler_Stop",
        "object pass target_level is_all_submitted",
        "pRangeProfilerObject passIndex targetNestingLevel isAllPassSubmitted",
    ),
    (
        "range_decode",
        "CUpti_RangeProfiler_DecodeData",
        "object dropped",
        "pRangeProfilerObject numOfRangeDropped",
    ),
    (
        "range_counter_data_info",
        "CUpti_RangeProfiler_GetCounterDataInfo",
        "image size ranges",
        "pCounterDataImage counterDataImageSize numTotalRanges",
    ),
)
NUMBERS = {
    "RANGE_AUTO": "CUPTI_AutoRange",
    "RANGE_KERNEL_REPLAY": "CUPTI_KernelReplay",
    "RANGE_PROFILER_TYPE": "CUPTI_PROFILER_TYPE_RANGE_PROFILER",
}
# Members, and whole structs, that came later: native/pm/pm_params.h says when.
SINCE = {
    "append_mode": 26,
    "cache_control": 130400,
    "collection_scope": 130100,
    "single_pass_set": 130200,
    "pm_single_pass_sets": 130200,
    "pm_set_metrics": 130200,
}

DECLARATIONS = Declarations(
    headers=(
        "<cupti_result.h>",
        "<cupti_target.h>",
        "<cupti_profiler_target.h>",
        "<cupti_profiler_host.h>",
        "<cupti_pmsampling.h>",
        "<cupti_range_profiler.h>",
        '"pm/pm_params.h"',
        '"inject/range_params.h"',
    ),
    structs=[(mine, f"{stem}_Params", *members) for mine, stem, *members in STRUCTS],
    size="{}_STRUCT_SIZE",
    numbers=NUMBERS,
    since=SINCE,
    grown={"range_availability"},
)


@pytest.mark.network
@pytest.mark.parametrize("major", PACKAGES)
def test_parameter_structs_are_those_of_the_header(major: int, tmp_path: Path) -> None:
    assert DECLARATIONS.differences(major, tmp_path) == []


@pytest.mark.network
def test_a_member_in_a_wrong_place_is_seen(tmp_path: Path) -> None:
    found = DECLARATIONS.differences(13, tmp_path, shift="pm_decode")
    assert [line.split(":")[0] for line in found] == [
        f"pm_decode.{member}" for member in ("object", "image", "size", "stop_reason", "overflow")
    ]

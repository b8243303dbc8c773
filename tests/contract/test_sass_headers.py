"""Our own declarations for SASS metrics against NVIDIA's public headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.struct_headers import Declarations

from tools.codegen.header_wheels import PACKAGES

# Our struct, CUPTI's, and the members of each in the same order.
STRUCTS = (
    ("sass_metric", "CUpti_SassMetrics_MetricDetails", "id name description",
     "metricId pMetricName pMetricDescription"),
    ("sass_properties", "CUpti_SassMetrics_GetProperties_Params", "chip name metric",
     "pChipName pMetricName metric"),
    ("sass_config", "CUpti_SassMetrics_Config", "id granularity", "metricId outputGranularity"),
    ("sass_set_config", "CUpti_SassMetricsSetConfig_Params", "count configs device",
     "numOfMetricConfig pConfigs deviceIndex"),
    ("sass_unset_config", "CUpti_SassMetricsUnsetConfig_Params", "device", "deviceIndex"),
    ("sass_enable", "CUpti_SassMetricsEnable_Params", "context is_lazy", "ctx enableLazyPatching"),
    ("sass_disable", "CUpti_SassMetricsDisable_Params", "context dropped",
     "ctx numOfDroppedRecords"),
    ("sass_data_properties", "CUpti_SassMetricsGetDataProperties_Params",
     "context records instances", "ctx numOfPatchedInstructionRecords numOfInstances"),
    ("sass_value", "CUpti_SassMetrics_InstanceValue", "id value", "metricId value"),
    ("sass_record", "CUpti_SassMetrics_Data",
     "cubin_crc function_index function pc_offset values",
     "cubinCrc functionIndex functionName pcOffset pInstanceValues"),
    ("sass_flush", "CUpti_SassMetricsFlushData_Params", "context records data instances",
     "ctx numOfPatchedInstructionRecords pMetricsData numOfInstances"),
)  # fmt: skip

DECLARATIONS = Declarations(
    headers=("<cupti_sass_metrics.h>", '"inject/sass_params.h"'),
    structs=STRUCTS,
    size="{}_STRUCT_SIZE",
    numbers={"SASS_BY_GPU": "CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU"},
)


@pytest.mark.network
@pytest.mark.parametrize("major", PACKAGES)
def test_structs_of_sass_metrics_are_those_of_the_header(major: int, tmp_path: Path) -> None:
    assert DECLARATIONS.differences(major, tmp_path) == []


@pytest.mark.network
def test_a_member_of_sass_metrics_in_a_wrong_place_is_seen(tmp_path: Path) -> None:
    found = DECLARATIONS.differences(13, tmp_path, shift="sass_unset_config")
    assert [line.split(":")[0] for line in found] == ["sass_unset_config.device"]

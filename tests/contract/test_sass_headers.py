"""Our own declarations for SASS metrics against NVIDIA's public headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.codegen.header_wheels import PACKAGES, fetch_headers

ROOT = Path(__file__).parents[2]
# Our struct, CUPTI's, and the members of each in the same order.  Those whose names end in Params
# have a size of their own.
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


def probe(shift: str = "") -> str:
    """C that prints every difference; ``shift`` is a struct whose offsets are taken wrongly."""
    lines = [
        "#include <stddef.h>",
        "#include <stdio.h>",
        "#include <cupti_sass_metrics.h>",
        '#include "inject/sass_params.h"',
        "#define SIZE(t, m) sizeof(((t *)0)->m)",
        "static void same(const char *what, size_t mine, size_t theirs) {",
        '  if (mine != theirs) printf("%s: %zu, %zu\\n", what, mine, theirs); }',
        "int main(void) {",
        'same("SASS_BY_GPU", SASS_BY_GPU, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU);',
    ]
    for mine, theirs, my_members, their_members in STRUCTS:
        pairs = list(zip(my_members.split(), their_members.split(), strict=True))
        extra = " + 1" if mine == shift else ""
        for our, other in pairs:
            lines += [
                f'same("{mine}.{our}", offsetof(struct {mine}, {our}){extra}, '
                f"offsetof({theirs}, {other}));",
                f'same("{mine}.{our}", SIZE(struct {mine}, {our}), SIZE({theirs}, {other}));',
            ]
        whole = f"sizeof(struct {mine})", f"sizeof({theirs})"
        if theirs.endswith("_Params"):
            whole = f"PM_SIZE({mine}, {pairs[-1][0]})", f"{theirs}_STRUCT_SIZE"
        lines.append(f'same("size of {mine}", {whole[0]}, {whole[1]});')
    return "\n".join([*lines, "return 0; }", ""])


def differences(major: int, folder: Path, shift: str = "") -> list[str]:
    """What the compiler says of NVIDIA's header and ours."""
    headers = fetch_headers(major, ROOT / ".cache" / "headers")
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(probe(shift))
    paths = (*headers.include_dirs, ROOT / "native", ROOT / "native" / "include", folder)
    includes = [f"-I{path}" for path in paths]
    subprocess.run(["cc", "-w", *includes, "-o", program, source], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.network
@pytest.mark.parametrize("major", PACKAGES)
def test_structs_of_sass_metrics_are_those_of_the_header(major: int, tmp_path: Path) -> None:
    assert differences(major, tmp_path) == []


@pytest.mark.network
def test_a_member_of_sass_metrics_in_a_wrong_place_is_seen(tmp_path: Path) -> None:
    found = differences(13, tmp_path, shift="sass_unset_config")
    assert [line.split(":")[0] for line in found] == ["sass_unset_config.device"]

"""Our own declarations for PC sampling against NVIDIA's public headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.codegen.header_wheels import PACKAGES, fetch_headers

ROOT = Path(__file__).parents[2]
OURS = (ROOT / "native", ROOT / "native/include")
# Our struct, CUPTI's, and the members of each in the same order.  Those of CUPTI's that end in
# Params have a size of their own, up to the last member.
STRUCTS = (
    ("pc_context", "CUpti_PCSamplingEnableParams", "context", "ctx"),
    ("pc_context", "CUpti_PCSamplingDisableParams", "context", "ctx"),
    ("pc_context", "CUpti_PCSamplingStartParams", "context", "ctx"),
    ("pc_context", "CUpti_PCSamplingStopParams", "context", "ctx"),
    (
        "pc_configuration",
        "CUpti_PCSamplingConfigurationInfoParams",
        "context count attributes",
        "ctx numAttributes pPCSamplingConfigurationInfo",
    ),
    ("pc_get_data", "CUpti_PCSamplingGetDataParams", "context data", "ctx pcSamplingData"),
    (
        "pc_count_reasons",
        "CUpti_PCSamplingGetNumStallReasonsParams",
        "context count",
        "ctx numStallReasons",
    ),
    (
        "pc_reasons",
        "CUpti_PCSamplingGetStallReasonsParams",
        "context count indices names",
        "ctx numStallReasons stallReasonIndex stallReasons",
    ),
    ("pc_cubin_crc", "CUpti_GetCubinCrcParams", "bytes cubin crc", "cubinSize cubin cubinCrc"),
    ("pc_attribute", "CUpti_PCSamplingConfigurationInfo", "type status value",
     "attributeType attributeStatus attributeData"),
    ("pc_stall", "CUpti_PCSamplingStallReason", "reason samples",
     "pcSamplingStallReasonIndex samples"),
    (
        "pc_record",
        "CUpti_PCSamplingPCData",
        "size cubin_crc pc_offset function stall_count stalls correlation_id",
        "size cubinCrc pcOffset functionName stallReasonCount stallReason correlationId",
    ),
    (
        "pc_data",
        "CUpti_PCSamplingData",
        "size room samples dropped count remaining records not_user is_full",
        "size collectNumPcs totalSamples droppedSamples totalNumPcs remainingNumPcs pPcData "
        "nonUsrKernelsTotalSamples hardwareBufferFull",
    ),
)  # fmt: skip
_ATTRIBUTE = "CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_"
NUMBERS = {
    "PC_PERIOD": f"{_ATTRIBUTE}SAMPLING_PERIOD",
    "PC_MODE": f"{_ATTRIBUTE}COLLECTION_MODE",
    "PC_START_STOP": f"{_ATTRIBUTE}ENABLE_START_STOP_CONTROL",
    "PC_DATA_BUFFER": f"{_ATTRIBUTE}SAMPLING_DATA_BUFFER",
    "PC_CONTINUOUS": "CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS",
    "PC_SERIALIZED": "CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED",
    "PC_REASON_NAME_BYTES": "CUPTI_STALL_REASON_STRING_SIZE",
}


def probe(shift: str = "") -> str:
    """C that prints every difference; ``shift`` is a struct whose offsets are taken wrongly."""
    lines = [
        "#include <stddef.h>",
        "#include <stdio.h>",
        "#include <cupti_pcsampling.h>",
        '#include "inject/pc_params.h"',
        "#define SIZE(t, m) sizeof(((t *)0)->m)",
        "static void same(const char *what, size_t mine, size_t theirs) {",
        '  if (mine != theirs) printf("%s: %zu, %zu\\n", what, mine, theirs); }',
        "int main(void) {",
    ]
    for ours, theirs in NUMBERS.items():
        lines.append(f'same("{ours}", {ours}, {theirs});')
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
        if theirs.endswith("Params"):
            whole = f"PM_SIZE({mine}, {pairs[-1][0]})", f"{theirs}Size"
        lines.append(f'same("size of {mine}", {whole[0]}, {whole[1]});')
    return "\n".join([*lines, "return 0; }", ""])


def differences(major: int, folder: Path, shift: str = "") -> list[str]:
    headers = fetch_headers(major, ROOT / ".cache" / "headers")
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(probe(shift))
    includes = [f"-I{path}" for path in (*headers.include_dirs, *OURS, folder)]
    subprocess.run(["cc", "-w", *includes, "-o", program, source], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.network
@pytest.mark.parametrize("major", PACKAGES)
def test_structs_of_pc_sampling_are_those_of_the_header(major: int, tmp_path: Path) -> None:
    assert differences(major, tmp_path) == []


@pytest.mark.network
def test_a_member_of_pc_sampling_in_a_wrong_place_is_seen(tmp_path: Path) -> None:
    found = differences(13, tmp_path, shift="pc_get_data")
    assert [line.split(":")[0] for line in found] == ["pc_get_data.context", "pc_get_data.data"]

"""Our own declarations for PC sampling against NVIDIA's public headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.struct_headers import Declarations

from tools.codegen.header_wheels import PACKAGES

# Our struct, CUPTI's, and the members of each in the same order.
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

DECLARATIONS = Declarations(
    headers=("<cupti_pcsampling.h>", '"inject/pc_params.h"'),
    structs=STRUCTS,
    size="{}Size",
    numbers=NUMBERS,
)


@pytest.mark.network
@pytest.mark.parametrize("major", PACKAGES)
def test_structs_of_pc_sampling_are_those_of_the_header(major: int, tmp_path: Path) -> None:
    assert DECLARATIONS.differences(major, tmp_path) == []


@pytest.mark.network
def test_a_member_of_pc_sampling_in_a_wrong_place_is_seen(tmp_path: Path) -> None:
    found = DECLARATIONS.differences(13, tmp_path, shift="pc_get_data")
    assert [line.split(":")[0] for line in found] == ["pc_get_data.context", "pc_get_data.data"]

"""Clocks, temperature, power and cooling."""

from cupti_etl.schema.enums import ENVIRONMENT_KIND
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import enum, i32, timestamp

KIND = Kind(
    table="environment",
    activity=("ENVIRONMENT",),
    struct="CUpti_ActivityEnvironment",
    doc="One row per reading of a device's clocks, temperature, power or fan.",
    preset="full",
    fields=NO_FIELD,  # one field holds the whole union
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("environment_kind", enum, "environmentKind", "What was read; columns of other readings are NULL.", labels=ENVIRONMENT_KIND),
        C("sm_clock_mhz", i32, "data", "Clock of the multiprocessors.", unit="MHz", at=0, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_SPEED")),
        C("memory_clock_mhz", i32, "data", "Clock of the memory.", unit="MHz", at=4, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_SPEED")),
        C("pcie_link_generation", i32, "data", "Generation of the PCIe link.", at=8, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_SPEED")),
        C("pcie_link_width", i32, "data", "Lanes of the PCIe link.", unit="lanes", at=12, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_SPEED")),
        C("throttle_reasons", i32, "data", "Why clocks are lowered, as bits of CUpti_EnvironmentClocksThrottleReason; 0 for no reason.", at=16, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_SPEED")),
        C("gpu_temperature_c", i32, "data", "Temperature of the GPU.", unit="degrees Celsius", at=0, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE")),
        C("power_mw", i32, "data", "Power drawn.", unit="mW", at=0, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_POWER")),
        C("power_limit_mw", i32, "data", "Power at which the clocks are lowered.", unit="mW", at=4, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_POWER")),
        C("fan_speed_pct", i32, "data", "Speed of the fan, as a share of its greatest.", unit="%", at=0, width=4, only=("environmentKind", "CUPTI_ACTIVITY_ENVIRONMENT_COOLING")),
    ),
)

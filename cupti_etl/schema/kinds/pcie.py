"""PCIe devices and bridges."""

from cupti_etl.schema.enums import PCIE_TYPE
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32

KIND = Kind(
    table="pcie",
    activity=("PCIE",),
    struct="CUpti_ActivityPcie",
    doc="One row per GPU or bridge on PCIe.",
    preset="full",
    columns=(
        C("type", enum, "type", "gpu or bridge.", labels=PCIE_TYPE),
        C("device_id", i32, "id", "CUDA ordinal, of a GPU.", only=("type", "CUPTI_PCIE_DEVICE_TYPE_GPU"), joins="device.device_id"),
        C("bridge_id", i32, "id", "Number, of a bridge.", only=("type", "CUPTI_PCIE_DEVICE_TYPE_BRIDGE")),
        C("domain", i32, "domain", "PCIe domain."),
        C("generation", i32, "pcieGeneration", "PCIe generation."),
        C("link_rate_gtps", i32, "linkRate", "Link rate.", unit="gigatransfers/s"),
        C("link_width", i32, "linkWidth", "Lanes.", unit="lanes"),
        C("upstream_bus", i32, "upstreamBus", "Bus above it."),
    ),
)

"""PCIe devices and bridges."""

from cupti_etl.schema.enums import PCIE_TYPE
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32, uuid

KIND = Kind(
    table="pcie",
    activity=("PCIE",),
    struct="CUpti_ActivityPcie",
    doc="One row per GPU or bridge on PCIe.",
    preset="full",
    is_lasting=True,
    columns=(
        C("type", enum, "type", "gpu or bridge.", labels=PCIE_TYPE),
        C("device_id", i32, "id", "CUDA ordinal, of a GPU.", only=("type", "CUPTI_PCIE_DEVICE_TYPE_GPU"), joins="device.device_id"),
        C("device_uuid", uuid, "attr", "That GPU across processes and hosts.", at=0, width=16, only=("type", "CUPTI_PCIE_DEVICE_TYPE_GPU")),
        C("bridge_id", i32, "id", "Number, of a bridge.", only=("type", "CUPTI_PCIE_DEVICE_TYPE_BRIDGE")),
        C("domain", i32, "domain", "PCIe domain."),
        C("generation", i32, "pcieGeneration", "PCIe generation."),
        C("link_rate_gtps", i32, "linkRate", "Link rate.", unit="gigatransfers/s"),
        C("link_width", i32, "linkWidth", "Lanes.", unit="lanes"),
        C("upstream_bus", i32, "upstreamBus", "Bus above it."),
        C("secondary_bus", i32, "attr", "Bus below it, of a bridge.", at=0, width=2, only=("type", "CUPTI_PCIE_DEVICE_TYPE_BRIDGE")),
        C("bridge_device", i32, "attr", "PCI device id, of a bridge.", at=2, width=2, only=("type", "CUPTI_PCIE_DEVICE_TYPE_BRIDGE")),
        C("bridge_vendor", i32, "attr", "PCI vendor id, of a bridge.", at=4, width=2, only=("type", "CUPTI_PCIE_DEVICE_TYPE_BRIDGE")),
    ),
)

"""Key rotations of confidential computing."""

from cupti_etl.schema.enums import CHANNEL_TYPE, KEY_ROTATION_EVENT
from cupti_etl.schema.shared import OWNER
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32, timestamp

KIND = Kind(
    table="confidential_compute_rotation",
    activity=("CONFIDENTIAL_COMPUTE_ROTATION",),
    struct="CUpti_ActivityConfidentialComputeRotation",
    doc="One row per event of a key rotation.",
    preset="full",
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("event", enum, "eventType", "What happened to the channel.", labels=KEY_ROTATION_EVENT),
        *OWNER,
        C("channel_id", i32, "channelId", "Hardware channel.", null=0),
        C("channel_type", enum, "channelType", "Kind of hardware channel.", labels=CHANNEL_TYPE),
    ),
)

"""Ids that a program gives to stretches of its work."""

from cupti_etl.schema.enums import EXTERNAL_KIND
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i64

KIND = Kind(
    table="external_correlation",
    activity=("EXTERNAL_CORRELATION",),
    struct="CUpti_ActivityExternalCorrelation",
    doc="One row per API call made under an external correlation id.",
    preset="full",
    columns=(
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("external_kind", enum, "externalKind", "Which stack of ids.", labels=EXTERNAL_KIND),
        C("external_id", i64, "externalId", "The id, as the program pushed it."),
    ),
)

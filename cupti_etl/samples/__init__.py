"""What queries about PM samples ask that SQL is too slow for; the library's header says which."""

from __future__ import annotations

from cupti_etl.queries.stored import Maker
from cupti_etl.samples import alignment, overlap

# By the name of the query that says `native`.
MAKERS = {
    "pm_alignment": Maker(alignment.READS, alignment.make),
    "activity_sampled": Maker(overlap.READS, overlap.make_sampled),
    "activity_metric": Maker(overlap.READS, overlap.make_metric),
}

"""Looks at everything, in the order in which a capture needs it."""

from __future__ import annotations

from cupti_etl.doctor.ask import ask
from cupti_etl.doctor.conflicts import check_conflicts
from cupti_etl.doctor.cupti import check_cupti
from cupti_etl.doctor.driver import check_counters, check_driver
from cupti_etl.doctor.findings import FAIL, OK, Finding, System
from cupti_etl.doctor.host import check_limits, check_native, check_platform, check_python


def examine(system: System) -> list[Finding]:
    """All findings about a machine; loads CUDA's libraries only in subprocesses."""
    platform = list(check_platform(system))
    if any(finding.status == FAIL for finding in platform):
        # The rest asks what only Linux has.
        return [*platform, *check_python(system)]
    cuda = ask("cuda", environ=system.environ)
    conflicts = list(check_conflicts(system))
    return [
        *platform,
        *check_python(system),
        *check_native(system),
        *check_driver(system, cuda),
        *check_cupti(system, cuda),
        *check_counters(system),
        *(conflicts or [Finding("conflict", OK, "no other profiler, DCGM or MPS is in the way")]),
        *check_limits(system),
    ]

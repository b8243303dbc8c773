"""What Kineto says of GPUs."""

from __future__ import annotations

from typing import Any

_PROPERTIES = {
    "compute_capability_major": "computeMajor",
    "compute_capability_minor": "computeMinor",
    "max_threads_per_block": "maxThreadsPerBlock",
    "max_registers_per_block": "regsPerBlock",
    "max_registers_per_multiprocessor": "regsPerMultiprocessor",
    "threads_per_warp": "warpSize",
    "max_shared_per_block_bytes": "sharedMemPerBlock",
    "max_shared_per_multiprocessor_bytes": "sharedMemPerMultiprocessor",
    "multiprocessors": "numSms",
}


def _known(device: dict[str, Any]) -> dict[str, Any]:
    """What Kineto says of a device, as far as it is what it should be."""
    name, memory = device.get("name"), device.get("totalGlobalMem")
    return {
        "name": name if isinstance(name, str) else None,
        "global_memory_bytes": memory if type(memory) is int and 0 <= memory < 1 << 63 else None,
        **{ours: number_of(device.get(theirs)) for ours, theirs in _PROPERTIES.items()},
    }


# Blocks of a multiprocessor, which Kineto does not say, where they are not 32; from the table of
# technical specifications in the CUDA C++ programming guide.
_BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24, (12, 1): 24}


def _resident(device: dict[str, Any]) -> dict[str, int | None]:
    """How many warps and blocks a multiprocessor holds."""
    threads, warp = (
        number_of(device.get("maxThreadsPerMultiprocessor")),
        number_of(device.get("warpSize")),
    )
    major, minor = number_of(device.get("computeMajor")), number_of(device.get("computeMinor"))
    known = major is not None and minor is not None and 7 <= major <= 12
    return {
        "max_warps_per_multiprocessor": threads // warp if threads and warp else None,
        "max_blocks_per_multiprocessor": _BLOCKS.get((major or 0, minor or 0), 32)
        if known
        else None,
    }


def number_of(value: Any) -> int | None:
    """The value, if it is an integer of 32 bits."""
    return value if type(value) is int and abs(value) < 1 << 31 else None


def facts_of(device: dict[str, Any]) -> dict[str, Any]:
    """Columns of ``device``, of one of the properties."""
    return {**_known(device), **_resident(device)}


def facts_of_each(properties: object) -> dict[str, Any]:
    """What is so of all, where all are alike; nothing where they are not."""
    some = properties if isinstance(properties, list) else []
    facts = [facts_of(device) for device in some if isinstance(device, dict)]
    return facts[0] if facts and all(each == facts[0] for each in facts) else {}

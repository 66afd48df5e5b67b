"""Memory: the limit of this process and how much is free, of the machine or its control group, and of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

UNKNOWN = 4 << 30  # if the system gives no information
MEMINFO = Path("/proc/meminfo")
GROUPS = {  # the limit and the usage, for both versions of control groups
    Path("/sys/fs/cgroup/memory.max"): Path("/sys/fs/cgroup/memory.current"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"): Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
}


def limit() -> int:
    """The most bytes that this process may have; constant."""
    limits = [_machine("MemTotal") or UNKNOWN, *(found[0] for found in _groups())]
    if resource is not None:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min(limits)


def free() -> int:
    """Bytes that are currently free."""
    room = [most - used for most, used in _groups()]
    return max(0, min([_machine("MemAvailable") or UNKNOWN // 2, limit(), *room]))


def of_device(X: Any) -> int:
    """All bytes of the CUDA device that holds X, or 0."""
    if not getattr(X, "is_cuda", False):
        return 0
    import torch

    return int(torch.cuda.get_device_properties(X.device).total_memory)


def _machine(name: str) -> int | None:
    """An entry of the operating system's memory table, in bytes."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _groups() -> list[tuple[int, int]]:
    """Limit and usage of the control group, if it has a limit."""
    found = []
    for most, used in GROUPS.items():
        try:
            found.append((int(most.read_text()), int(used.read_text())))
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue
    return found

"""How much memory this process may have, and how much of it is free: that of the machine, or of its control group."""

from __future__ import annotations

from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

UNKNOWN = 4 << 30  # where the system does not tell
MEMINFO = Path("/proc/meminfo")
GROUPS = {  # the limit and what is used of it, in either version of control groups
    Path("/sys/fs/cgroup/memory.max"): Path("/sys/fs/cgroup/memory.current"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"): Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
}


def limit() -> int:
    """Bytes that this process may have at all; the same each time."""
    limits = [_machine("MemTotal") or UNKNOWN, *(found[0] for found in _groups())]
    if resource is not None:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min(limits)


def free() -> int:
    """Bytes that are free now."""
    room = [most - used for most, used in _groups()]
    return max(0, min([_machine("MemAvailable") or UNKNOWN // 2, limit(), *room]))


def _machine(name: str) -> int | None:
    """An entry of the kernel's table, in bytes."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _groups() -> list[tuple[int, int]]:
    """Limit and use of the control group, if it has a limit."""
    found = []
    for most, used in GROUPS.items():
        try:
            found.append((int(most.read_text()), int(used.read_text())))
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue
    return found

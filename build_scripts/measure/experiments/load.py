"""What else uses the machine while something is timed.

A pass is bound by memory and keeps every core busy between two barriers: what another process
takes from one core, all of them wait for. LIMIT is about what such a pass can lose before
its time is off by more than the few percent that predictions are judged by; the machine's own
upkeep stays well below it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LIMIT = 0.10
"""Cores that other processes may use while a sample is taken."""

TICK = 0.01
"""Seconds: the grain of /proc/stat. A short sample is not thrown away for its rounding."""


@dataclass(frozen=True)
class Reading:
    """Seconds since some moment: by the clock; of CPU time by all processes; by this process."""

    wall: float
    machine: float
    own: float


Reader = Callable[[], Reading | None]


def read() -> Reading | None:
    """Now; None on systems that do not tell what all processes use."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft, stolen = (int(field) for field in first[1:9])
    busy = (user + nice + system + irq + soft + stolen) / os.sysconf("SC_CLK_TCK")
    return Reading(time.perf_counter(), busy, time.process_time())


def foreign(before: Reading, after: Reading) -> float:
    """Cores that others used between two readings, on average, beyond what the grain can feign."""
    wall = after.wall - before.wall
    others = (after.machine - before.machine) - (after.own - before.own)
    return max(0.0, others - 2 * TICK) / wall if wall > 0 else 0.0


def disturbing(before: Reading | None, after: Reading | None, spare_cores: int = 0) -> float | None:
    """The cores that others used where that was too much for a sample; None where it was not.

    spare_cores: those that this process leaves idle, on which others disturb nobody.
    """
    if before is None or after is None:
        return None
    used = foreign(before, after)
    return used if used > spare_cores + LIMIT else None


def load_average() -> float:
    """Of one minute; 0 on systems that have none."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0

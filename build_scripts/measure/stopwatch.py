"""Where the time goes: each moment between two laps belongs to exactly one phase."""

from __future__ import annotations

import time

import torch


class Stopwatch:
    """laps: phases with their seconds, in order. They add up to the time from the start to the
    last lap, less what was skipped."""

    def __init__(self, device: torch.device) -> None:
        self.laps: list[tuple[str, float]] = []
        self._device = device
        self._last = self._now()

    def lap(self, phase: str) -> None:
        """What went by since the last lap was `phase`. Waits for a GPU to have finished it."""
        now = self._now()
        self.laps.append((phase, now - self._last))
        self._last = now

    def skip(self) -> None:
        """What went by since the last lap was no part of what is timed, such as somebody's watching."""
        self._last = self._now()

    @property
    def seconds(self) -> dict[str, float]:
        """By phase, in the order of their first laps."""
        seconds: dict[str, float] = {}
        for phase, lap in self.laps:
            seconds[phase] = seconds.get(phase, 0.0) + lap
        return seconds

    def _now(self) -> float:
        wait_for(self._device)
        return time.perf_counter()


def wait_for(device: torch.device) -> None:
    """Until a GPU has done what it was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)

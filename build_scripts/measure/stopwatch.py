"""Where the time goes: each moment between two laps belongs to exactly one phase."""

from __future__ import annotations

import time

import torch


class Stopwatch:
    """Seconds by phase. They add up to the time from the start to the last lap."""

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device
        self._last = self._now()

    def lap(self, phase: str) -> None:
        """What went by since the last lap was `phase`. Waits for a GPU to have finished it."""
        now = self._now()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def _now(self) -> float:
        wait_for(self._device)
        return time.perf_counter()


def wait_for(device: torch.device) -> None:
    """Until a GPU has done what it was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)

"""What is running, how much of it is done, and how long the rest will take.

On a terminal one line is drawn over and over; elsewhere, in a log, a line every ten seconds.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 24
REDRAWN = 0.1
LOGGED = 10.0
"""Seconds between two lines on a terminal, and in a log."""


class Progress:
    """Called with the share done, 0 to 1, and what is running."""

    def __init__(
        self, title: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.title = title
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._drawn = 0
        self._began: tuple[float, float] | None = None
        self._last = -float("inf")

    def __call__(self, done: float, what: str) -> None:
        now = self._clock()
        if self._began is None:
            self._began = (now, done)  # an earlier sitting's share says nothing about the speed of this one
        if now - self._last < (REDRAWN if self._terminal else LOGGED):
            return
        self._last = now
        self._show(f"{self.title}: {_bar(done) if self._terminal else ''}{done:4.0%} {self._left(now, done)}{what}")

    def note(self, text: str) -> None:
        """A line that stays."""
        self._clear()
        print(f"{self.title}: {text}", file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the terminal's line free."""
        self._clear()

    def _left(self, now: float, done: float) -> str:
        assert self._began is not None
        began, share = self._began
        if done <= share or now - began < 2:
            return "· "
        return f"· {duration((now - began) * (1 - done) / (done - share))} left · "

    def _show(self, line: str) -> None:
        if not self._terminal:
            print(line, file=self._stream, flush=True)
            return
        line = line[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + line + " " * (self._drawn - len(line)))
        self._stream.flush()
        self._drawn = len(line)

    def _clear(self) -> None:
        if self._terminal and self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


def duration(seconds: float) -> str:
    """Seconds in words: 40 s, 3 min, 1 h 20 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _bar(done: float) -> str:
    filled = round(WIDTH * min(max(done, 0.0), 1.0))
    return "█" * filled + "░" * (WIDTH - filled) + " "

"""Tasks done one after the other, each kept in a journal as soon as it is done.

A task is one sample, or a few that belong together. Where time is measured, a task during which
something else used the machine is thrown away and done again; what does not measure time, such
as the counting of accepted drafts, is not judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from build_scripts.measure.experiments import load
from build_scripts.measure.experiments.journal import Journal, Json
from build_scripts.measure.experiments.progress import Progress

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
PATIENCE = 600.0
"""Seconds of waiting, before the next try and in a row, until the run gives up."""


class Busy(RuntimeError):
    """Something else keeps using the machine; the message is one line."""


@dataclass(frozen=True)
class Task:
    """key: names the sample; what: for the line of progress; weight: how long it takes, in any
    unit; run: takes the sample."""

    key: str
    what: str
    weight: float
    run: Callable[[], Json]


@dataclass
class Runner:
    """Does tasks that the journal does not hold.

    spare_cores: see `load.disturbing`; allow_load: keep disturbed samples, and note that; rehearse:
    whether what is timed is done once before, as its first passes would pay for setting things up.
    """

    journal: Journal
    progress: Progress
    spare_cores: int = 0
    allow_load: bool = False
    rehearse: bool = False
    reader: load.Reader = load.read
    sleep: Callable[[float], None] = time.sleep
    _done: float = field(default=0.0, init=False)
    _all: float = field(default=0.0, init=False)

    def plan(self, weight: float) -> None:
        """Say beforehand how much there will be in all, where `complete` is called several times."""
        self._all = weight

    def complete(self, tasks: Sequence[Task], timed: bool) -> dict[str, Json]:
        """The samples of all tasks by key. Busy when the machine does not come to rest."""
        total = max(self._all, self._done + sum(task.weight for task in tasks))
        for task in tasks:
            if task.key not in self.journal.samples:
                self.progress(self._done / total, task.what)
                self._do(task, timed, self._done / total)
            self._done += task.weight
        return {task.key: self.journal.samples[task.key] for task in tasks}

    def _do(self, task: Task, timed: bool, done: float) -> None:
        waited, wait = 0.0, FIRST_WAIT
        if self.rehearse and timed:
            task.run()
        while True:
            before, began = self.reader(), time.perf_counter()
            sample = task.run()
            seconds, after = time.perf_counter() - began, self.reader()
            used = load.disturbing(before, after, self.spare_cores) if timed else None
            if used is None or self.allow_load:
                self.journal.note({"seconds": seconds, "disturbed": used is not None, "kept": True})
                self.journal.add(task.key, sample)
                return
            self.journal.note({"seconds": seconds, "disturbed": True, "kept": False})
            if waited >= PATIENCE:
                raise Busy(
                    f"other processes keep using the machine ({used:.1f} cores): "
                    "the samples so far are kept, run this again when it is idle"
                )
            self.progress(done, f"waiting: the machine is busy ({used:.1f} cores); {task.what}")
            self.sleep(wait)
            waited, wait = waited + wait, min(2 * wait, LONGEST_WAIT)


def totals(journal: Journal) -> tuple[float, int, int]:
    """Seconds that the tasks took, over all sittings; how many were thrown away because of load;
    how many were kept in spite of it."""
    notes = [note for note in journal.notes if "seconds" in note]
    return (
        sum(note["seconds"] for note in notes),
        sum(note["disturbed"] and not note["kept"] for note in notes),
        sum(note["disturbed"] and note["kept"] for note in notes),
    )

"""Samples are kept as soon as they are taken, disturbed ones are thrown away, and no end of the
process, however sudden, loses or doubles one."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from build_scripts.bench.project import ROOT
from build_scripts.measure.experiments.journal import InUse, Journal
from build_scripts.measure.experiments.load import LIMIT, Reading, disturbing
from build_scripts.measure.experiments.progress import Progress, duration
from build_scripts.measure.experiments.running import PATIENCE, Busy, Runner, Task, totals

WHAT = {"name": "a run", "seed": 1}


def runner_of(folder: Path, foreign: list[float], **options: object) -> Runner:
    """A runner on a machine whose other processes use so many cores, reading pair by pair; each
    task takes a second by its clock."""

    def readings() -> Iterator[Reading]:
        wall = machine = 0.0
        for used in foreign:
            yield Reading(wall, machine, 0.0)
            wall, machine = wall + 1, machine + used
            yield Reading(wall, machine, 0.0)

    told = readings()
    options = {"sleep": lambda seconds: None, **options}
    return Runner(Journal(folder, WHAT), Progress("a run", io.StringIO()), reader=lambda: next(told), **options)


def counting(taken: list[str], key: str) -> Task:
    return Task(key, key, 1.0, lambda: taken.append(key) or len(taken))


# --- what else uses the machine -----------------------------------------------------------------


def test_a_disturbed_sample_is_taken_again(tmp_path: Path) -> None:
    """A compiler that ran meanwhile made the sample slow; the record says that it was thrown away."""
    taken: list[str] = []
    runner = runner_of(tmp_path, [0.0, 1.0, 0.0])
    samples = runner.complete([counting(taken, "a"), counting(taken, "b")], timed=True)
    assert taken == ["a", "b", "b"] and samples == {"a": 1, "b": 3}
    assert totals(runner.journal)[1:] == (1, 0)


def test_what_is_timed_on_a_gpu_is_rehearsed(tmp_path: Path) -> None:
    """The first pass of a size captures its graph there, which takes longer than the pass; what only
    counts needs no rehearsal. A sample that is taken again has been rehearsed."""
    taken: list[str] = []
    runner = runner_of(tmp_path, [1.0, 0.0, 0.0], rehearse=True)
    samples = runner.complete([counting(taken, "timed")], timed=True)
    samples |= runner.complete([counting(taken, "counted")], timed=False)
    assert taken == ["timed", "timed", "timed", "counted"]
    assert samples == {"timed": 3, "counted": 4}


def test_a_disturbed_sample_is_kept_where_that_was_asked_for(tmp_path: Path) -> None:
    taken: list[str] = []
    runner = runner_of(tmp_path, [1.0, 0.0], allow_load=True)
    runner.complete([counting(taken, "a"), counting(taken, "b")], timed=True)
    assert taken == ["a", "b"] and totals(runner.journal)[1:] == (0, 1)


def test_counts_are_not_judged_by_the_load(tmp_path: Path) -> None:
    """How many drafts stand does not depend on who else computes."""
    taken: list[str] = []
    runner_of(tmp_path, [1.0]).complete([counting(taken, "a")], timed=False)
    assert taken == ["a"]


def test_a_machine_that_does_not_come_to_rest_ends_the_run_in_one_line(tmp_path: Path) -> None:
    """After minutes of waiting, each longer than the one before; what was taken before is kept."""
    waits: list[float] = []
    runner = runner_of(tmp_path, [0.0] + [0.8] * 100, sleep=waits.append)
    taken: list[str] = []
    with pytest.raises(Busy, match=r"other processes keep using the machine \(0.8 cores\)") as caught:
        runner.complete([counting(taken, "a"), counting(taken, "b")], timed=True)
    assert "\n" not in str(caught.value) and list(runner.journal.samples) == ["a"]
    assert waits == sorted(waits) and PATIENCE <= sum(waits) < PATIENCE + 60


@pytest.mark.parametrize(
    ("used", "spare", "found"), [(0.0, 0, False), (LIMIT, 0, False), (0.3, 0, True), (0.9, 1, False), (1.3, 1, True)]
)
def test_what_disturbs_is_what_takes_cores_that_are_needed(used: float, spare: int, found: bool) -> None:
    """A core that this process leaves idle is anybody's."""
    before, after = Reading(0.0, 5.0, 5.0), Reading(10.0, 5.0 + 10 * (used + 2), 5.0 + 20)
    assert (disturbing(before, after, spare) is not None) == found


def test_a_system_that_does_not_tell_disturbs_nothing() -> None:
    """macOS has no /proc: measuring goes on, and nothing is claimed."""
    assert disturbing(None, None) is None


# --- the journal --------------------------------------------------------------------------------


def test_a_line_that_a_crash_tore_is_dropped(tmp_path: Path) -> None:
    """The disk got half of the last line. The sample is taken again, those before it are not."""
    journal = Journal(tmp_path, WHAT, {"commit": "x"})
    journal.add("a", 1)
    journal.add("b", 2)
    journal.close()
    whole = journal.path.read_bytes()
    for cut in (1, 5, len(whole.splitlines()[-1])):
        journal.path.write_bytes(whole[:-cut])
        again = Journal(tmp_path, WHAT, {"commit": "y"})
        assert again.samples == {"a": 1} and again.header == {"commit": "x"} and not again.begun_afresh
        again.add("b", 3)
        again.close()
        assert [json.loads(line).get("key") for line in again.path.read_text().splitlines()] == [None, "a", "b"]


def test_two_runs_at_once_are_refused_in_one_line(tmp_path: Path) -> None:
    first = Journal(tmp_path, WHAT)
    with pytest.raises(InUse, match="another process is measuring here") as caught:
        Journal(tmp_path, WHAT)
    assert "\n" not in str(caught.value)
    first.add("a", 1)  # and the first one goes on
    first.close()
    second = Journal(tmp_path, WHAT)
    assert second.samples == {"a": 1}
    second.close()


SCRIPT = """
import argparse, sys, time
from pathlib import Path
from build_scripts.measure import command
from build_scripts.measure.experiments.journal import Journal
from build_scripts.measure.experiments.progress import Progress
from build_scripts.measure.experiments.running import Runner, Task

def sample(n):
    print(n, flush=True)
    time.sleep(60 if str(n) == sys.argv[2] else 0)
    return n

def measure(options):
    runner = Runner(Journal(Path(sys.argv[1]), {"a": "run"}), Progress("a run"), reader=lambda: None)
    runner.complete([Task(str(n), str(n), 1.0, lambda n=n: sample(n)) for n in range(12)], timed=True)
    return 0

command._run = measure
sys.exit(command.run(argparse.Namespace()))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_process_no_sample_is_lost_or_doubled(tmp_path: Path, number: signal.Signals) -> None:
    """Ended in the middle of the fifth sample, which takes a minute; the same command then takes that one and the rest."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    process = subprocess.Popen(
        [*command, "4"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 130
        assert "Stopped. What was finished is kept: the same command goes on from there." in said
        assert "Traceback" not in said

    again = subprocess.run([*command, "none"], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert again.returncode == 0, again.stderr
    assert again.stdout.split()[0] == "4"
    keys = [json.loads(line).get("key") for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [key for key in keys if key is not None] == [str(n) for n in range(12)]


# --- what one sees meanwhile --------------------------------------------------------------------


def test_progress_says_what_runs_how_much_is_done_and_how_long_it_takes() -> None:
    clock = iter([0.0, 30.0, 60.0])
    said = io.StringIO()
    progress = Progress("curve", said, lambda: next(clock))
    progress(0.0, "B = 1")
    progress(0.25, "B = 8")
    progress(0.5, "B = 32")
    assert said.getvalue().splitlines() == [
        "curve:   0% · B = 1", "curve:  25% · 90 s left · B = 8", "curve:  50% · 60 s left · B = 32"
    ]  # fmt: skip


def test_a_second_sitting_judges_by_its_own_speed() -> None:
    """Half was done yesterday: the ten percent of the last 30 seconds say how long the rest takes."""
    clock = iter([0.0, 30.0])
    said = io.StringIO()
    progress = Progress("curve", said, lambda: next(clock))
    progress(0.5, "B = 1")
    progress(0.6, "B = 8")
    assert said.getvalue().splitlines()[-1] == "curve:  60% · 2 min left · B = 8"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (99, "99 s"), (100, "2 min"), (3500, "58 min"), (4800, "1 h 20 min")]
)
def test_durations_are_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said

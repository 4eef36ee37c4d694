"""The script for a GPU, with a stand-in for python3 that writes down what it is asked to run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from build_scripts.bench.project import ROOT

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")

STAND_IN = """#!/bin/sh
case "$1" in
  -) cat > /dev/null; exit "${LACKING:-0}" ;;
  *) echo "$*" >> "$ASKED"; [ "$4" = "$FAILING" ] && exit 1; echo "what $4 found" ;;
esac
"""


def gpu_run(tmp_path: Path, *options: str, **environment: str) -> tuple[int, str, list[list[str]]]:
    """Exit status, all output, and the words of each experiment's command."""
    python, asked = tmp_path / "python", tmp_path / "asked"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    asked.write_text("")
    ended = subprocess.run(
        ["bash", str(ROOT / "build_scripts" / "measure" / "gpu_run.sh"), *options],
        env={**os.environ, "PYTHON": str(python), "ASKED": str(asked), "FAILING": "", **environment},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr, [line.split() for line in asked.read_text().splitlines()]


def test_it_runs_the_four_experiments_and_the_proof(tmp_path: Path) -> None:
    """In the order in which they need each other; records go where it was said, as seen from where."""
    status, said, asked = gpu_run(tmp_path, "--out", "here")
    assert status == 0
    assert [words[3] for words in asked] == ["curve", "acceptance", "speedup", "batch", "lossless"]
    for words in asked:
        assert words[4:] == ["--quick", "--device", "cuda", "--out", str(tmp_path / "here")]
    assert said.splitlines()[-1] == "lossless: what lossless found"


def test_without_weights_it_replays_and_proves_nothing(tmp_path: Path) -> None:
    """A proof about what is written needs the model that writes."""
    status, _, asked = gpu_run(tmp_path, "--replayed", "--full")
    assert status == 0
    assert [words[3] for words in asked] == ["curve", "acceptance", "speedup", "batch"]
    assert all(words[4:6] == ["--replayed", "--device"] for words in asked)


def test_what_fails_is_told_and_the_others_still_run(tmp_path: Path) -> None:
    status, said, asked = gpu_run(tmp_path, FAILING="speedup")
    assert status == 1 and len(asked) == 5
    assert "speedup: not finished" in said and "batch: what batch found" in said


def test_what_the_machine_lacks_stops_it_before_any_time_is_spent(tmp_path: Path) -> None:
    assert gpu_run(tmp_path, LACKING="1")[::2] == (1, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minutes", "soon"], "--minutes must be a whole number above 0, not 'soon'"),
        (["--minutes", "0"], "--minutes must be a whole number above 0, not '0'"),
        (["--out"], "--out needs a value"),
        (["--cuda"], "what is --cuda? There are"),
        (["--wheels", "nowhere"], "there is no folder"),
    ],
)
def test_a_bad_option_is_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    status, output, asked = gpu_run(tmp_path, *options)
    assert (status, asked) == (1, []) and said in output and output.count("\n") == 1

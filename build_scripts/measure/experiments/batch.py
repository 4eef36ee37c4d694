"""Experiment 4: what a batch does to the speedup.

With more rows a plain pass has more arithmetic for the same reading, so that the rows which
verification adds are no longer nearly free. Only rounds in which every row of the batch goes on
are timed: a server would fill the place of a row that ends. Prompts whose plain answer does not
reach the cap are left out for that reason. Greedy.

A batch larger than the number of prompts holds some of them more than once; rows know nothing
of each other, so that changes no time.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass

from build_scripts.measure.counts import Counts
from build_scripts.measure.decoding import Round, decode_plain, decode_speculative
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.experiments.speedup import READING, earlier, halfway
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.predicting import Costs, Unpredictable, costs_of, full, greedy_counts, pooled
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.stopping import Limits
from build_scripts.records.schema import (
    AcceptanceRecord,
    BatchCell,
    BatchRecord,
    CurveRecord,
    RoundCounts,
    hash_of,
)
from build_scripts.records.statistics import summarise

MIX = "mix"


@dataclass(frozen=True)
class Settings:
    """pairs: kind (or MIX) with what is measured on it, drafter and k; repeats: at least this many
    samples of each, one less of batches from `large` on, which take minutes; prompts: that many of
    them take part, also where a batch is small."""

    pairs: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    batches: tuple[int, ...]
    tokens: int
    repeats: int
    prompts: int
    large: int


def settings(device: str, quick: bool, drafters: tuple[str, ...]) -> Settings:
    mixed = (("int8_copy", 3), ("eagle_head", 1))
    quoting = (("context_ngram", 3),)
    batches = (1, 8, 32) if quick else (1, 2, 4, 8, 16, 32)
    pairs = [("quoting", quoting), (MIX, mixed)]
    return Settings(
        pairs=tuple(
            (kind, kept) for kind, each in pairs if (kept := tuple(pair for pair in each if pair[0] in drafters))
        ),
        batches=(*batches, 64, 128, 256) if device == "cuda" else batches,
        tokens=24 if quick else 32,
        repeats=1 if quick else 3,
        prompts=2 if quick else 8,
        large=16,
    )


def run(context: Context) -> Outcome:
    subject = context.subject
    chosen: Settings = context.settings.get("batch") or settings(
        context.device.kind, context.quick, tuple(subject.makers)
    )
    curve = earlier(context, CurveRecord, "curve")
    acceptance = earlier(context, AcceptanceRecord, "acceptance")
    basis = {"curve_sha256": hash_of(curve), "acceptance_sha256": hash_of(acceptance)}
    runner = context.begin("batch", chosen, basis)

    reaching = runner.complete([length_task(context, chosen)], timed=False)["lengths"]
    texts = {kind: in_turns(subject, kind, reaching) for kind, _ in chosen.pairs}
    tasks = [
        batch_task(context, chosen, kind, pairs, texts[kind], batch, repeat)
        for repeat in range(max(repeats(chosen, batch) for batch in chosen.batches))
        for batch in chosen.batches
        if repeat < repeats(chosen, batch)
        for kind, pairs in chosen.pairs
    ]
    samples = runner.complete(tasks, timed=True)

    costs = costs_of(curve)
    record = BatchRecord(
        experiment="batch",
        replayed=subject.recorded is not None,
        cells=[
            cell(samples, kind, drafter, k, batch, predicted(costs, acceptance, chosen, texts[kind], kind, drafter, k, batch))
            for kind, pairs in chosen.pairs
            for drafter, k in pairs
            for batch in chosen.batches
        ],
        **basis,
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record))


def repeats(chosen: Settings, batch: int) -> int:
    least = max(1, chosen.repeats - (batch >= chosen.large))
    return max(least, math.ceil(chosen.prompts / batch))


# --- which prompts -----------------------------------------------------------------------------


def length_task(context: Context, chosen: Settings) -> Task:
    """Which prompts have a plain answer that reaches the cap."""
    subject = context.subject
    limits = Limits(chosen.tokens, subject.ends)

    def find() -> Json:
        texts = [text for text in subject.texts if text.part == "speedup"]
        decoded = decode_plain(subject.target, [text.tokens for text in texts], limits)
        return [text.id for text, answer in zip(texts, decoded.answers) if answer.reason == "cap"]

    return Task("lengths", "how long the answers are", 5.0, find)


def in_turns(subject: Subject, kind: str, reaching: list[str]) -> list[Text]:
    """The prompts of a kind whose answers are long enough; of all kinds in turns for MIX."""
    kinds = KINDS if kind == MIX else (kind,)
    lists = [[text for text in subject.prompts(each, "speedup") if text.id in reaching] for each in kinds]
    longest = max(map(len, lists))
    found = [texts[place] for place in range(longest) for texts in lists if place < len(texts)]
    if not found:
        raise Unpredictable(f"no prompt of kind {kind} has an answer that reaches the cap")
    return found


# --- the runs ----------------------------------------------------------------------------------


def batch_task(
    context: Context, chosen: Settings, kind: str, pairs: tuple[tuple[str, int], ...],
    texts: list[Text], batch: int, repeat: int,
) -> Task:  # fmt: skip
    """Plain decoding of a batch, and what is measured on it, in turns: plain stands in the middle."""
    subject, limits = context.subject, Limits(chosen.tokens, context.subject.ends)
    rows = [texts[(repeat * batch + row) % len(texts)].tokens for row in range(batch)]

    def measure() -> Json:
        found: Json = {}
        for first in range(0, len(pairs), 2):
            two = pairs[first : first + 2]
            before = [speculative(drafter, k) for drafter, k in two[:1]]
            plain = plain_rate()
            after = [speculative(drafter, k) for drafter, k in two[1:]]
            for (drafter, k), (rate, counts) in zip(two, before + after):
                found[f"{drafter} {k}"] = {"plain": plain, "speculative": rate, "counts": counts}
        return found

    def plain_rate() -> float:
        decoded = decode_plain(subject.target, rows, limits)
        seconds = sum(value for phase, value in decoded.seconds.items() if phase not in READING)
        return sum(answer.counts.committed for answer in decoded.answers) / seconds

    def speculative(drafter: str, k: int) -> tuple[float, Json]:
        watch = FullRounds(batch, k)
        decode_speculative(subject.target, subject.drafter(drafter), rows, k, limits, watch=watch)
        return watch.tokens_per_s, asdict(watch.counts)

    return Task(
        key=f"{kind} B={batch} repeat={repeat}",
        what=f"B = {batch}, {kind}",
        weight=(len(pairs) + (len(pairs) + 1) // 2) * (1 + 0.06 * batch),
        run=measure,
    )


class FullRounds:
    """Watches a run: the time and the tokens of the rounds that all rows take part in. The first
    of them only starts the clock."""

    def __init__(self, batch: int, k: int) -> None:
        self.counts = Counts.zero(k)
        self.seconds = 0.0
        self._batch = batch
        self._last: float | None = None

    def __call__(self, round_: Round) -> None:
        if len(round_.requests) < self._batch:
            return
        now = time.perf_counter()
        if self._last is not None:
            self.seconds += now - self._last
            for drafted, accepted in zip(round_.proposal.counts.tolist(), round_.verdict.accepted.tolist()):
                self.counts.add_round(drafted, accepted)
        self._last = now

    @property
    def tokens_per_s(self) -> float:
        """ValueError where the rows did not go on together for two rounds."""
        if not self.counts.rounds:
            raise ValueError("no two rounds of a whole batch: the answers are too short to time")
        return self.counts.committed / self.seconds


def cell(
    samples: dict[str, Json], kind: str, drafter: str, k: int, batch: int, prediction: float | None
) -> BatchCell:
    found = [
        sample[f"{drafter} {k}"] for key, sample in samples.items() if key.startswith(f"{kind} B={batch} ")
    ]
    plain, speculative = [one["plain"] for one in found], [one["speculative"] for one in found]
    return BatchCell(
        drafter=drafter,
        kind=kind,
        k=k,
        batch=batch,
        plain_tokens_per_s=summarise(plain),
        speculative_tokens_per_s=summarise(speculative),
        speedup=summarise([other / one for one, other in zip(plain, speculative)]),
        counts=pooled(RoundCounts.model_validate(one["counts"]) for one in found),
        predicted_speedup=prediction,
    )


def predicted(
    costs: Costs, acceptance: AcceptanceRecord, chosen: Settings, texts: list[Text],
    kind: str, drafter: str, k: int, batch: int,
) -> float | None:  # fmt: skip
    """The full prediction for a batch; None where the curve or the acceptance does not reach it."""
    kinds = KINDS if kind == MIX else (kind,)
    middle = halfway(texts, chosen.tokens)
    try:
        counts = pooled(greedy_counts(acceptance, drafter, each, k) for each in kinds)
        draft_ms = costs.draft_ms(drafter, batch, k)
        return full(counts, batch, lambda m: costs.pass_ms(batch, m, middle), draft_ms).speedup
    except Unpredictable:
        return None


def headline(record: BatchRecord) -> str:
    """How the first drafter's speedup falls from the smallest batch to the largest."""
    first = record.cells[0]
    cells = [
        cell for cell in record.cells if (cell.drafter, cell.kind, cell.k) == (first.drafter, first.kind, first.k)
    ]
    least, most = min(cells, key=lambda cell: cell.batch), max(cells, key=lambda cell: cell.batch)
    return (
        f"{first.drafter} on {first.kind}, k = {first.k}: {least.speedup.median:.2f}× for B = {least.batch}, "
        f"{most.speedup.median:.2f}× for B = {most.batch}"
    )

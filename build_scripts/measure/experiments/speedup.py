"""Experiment 3: what speculative decoding brings, end to end, beside what was predicted.

The predictions come first: made from the records of `curve` and `acceptance`, which saw other
prompts, they are put into the journal and hashed before anything is decoded here.

Plain and speculative decoding of a prompt follow each other directly: the answers with every k of
a drafter, in an order drawn anew for every prompt, and in their middle the plain one that all of
them are compared with, so that a drift of the machine weighs on both sides alike. Greedy, one
row at a time.

Speed is that of the rounds: reading the prompt is left out on both sides, the target's prefill
as well as what the drafter does with it (`reset`), since both are paid once, however long the
answer; they are in the record by phase. Tokens beyond the cap count, so that a short answer is
not charged for the round that ends it; those beyond an end are lost and do not count.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from build_scripts.measure.decoding import Answer, Decoded, decode_plain, decode_speculative
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.predicting import costs_of, full, greedy_counts, pooled, textbook
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.stopping import Limits
from build_scripts.records.schema import (
    AcceptanceRecord,
    CurveRecord,
    Prediction,
    Record,
    RoundCounts,
    SpeedupCell,
    SpeedupRecord,
    hash_of,
)
from build_scripts.records.statistics import pool, summarise
from build_scripts.records.store import file_name_of, read_record

READING = ("prefill", "reset")
"""Phases that are not part of the speed."""

R = TypeVar("R", bound=Record)


class Missing(RuntimeError):
    """A record that predictions are made from is not there; one line that says what to run."""


@dataclass(frozen=True)
class Settings:
    """drafters: with the k of each; prompts: how many of each kind."""

    kinds: tuple[str, ...]
    drafters: dict[str, tuple[int, ...]]
    prompts: int
    tokens: int
    repeats: int


def settings(drafters: Sequence[str], quick: bool) -> Settings:
    return Settings(
        kinds=KINDS,
        drafters={name: (1, 3, 8) if quick else (1, 2, 4, 8) for name in drafters},
        prompts=2 if quick else 8,
        tokens=32 if quick else 48,
        repeats=1 if quick else 3,
    )


def run(context: Context) -> Outcome:
    subject = context.subject
    chosen: Settings = context.settings.get("speedup") or settings(list(subject.makers), context.quick)
    curve = earlier(context, CurveRecord, "curve")
    acceptance = earlier(context, AcceptanceRecord, "acceptance")
    predictions = predict(subject, chosen, curve, acceptance)
    frozen = [prediction.model_dump() for prediction in predictions]
    basis = {
        "predictions_sha256": hash_of(predictions),
        "curve_sha256": hash_of(curve),
        "acceptance_sha256": hash_of(acceptance),
    }
    runner = context.begin("speedup", chosen, {**basis, "predictions": frozen})
    tasks = [
        prompt_task(context, chosen, drafter, text, number)
        for number in range(chosen.repeats)
        for place in range(chosen.prompts)
        for kind in chosen.kinds
        for text in subject.prompts(kind, "speedup")[place : place + 1]
        for drafter in chosen.drafters
        if subject.ks(drafter, kind, chosen.drafters[drafter])
    ]
    warm_up(context, chosen)
    samples = runner.complete(tasks, timed=True)

    record = SpeedupRecord(
        experiment="speedup",
        replayed=subject.recorded is not None,
        predictions=predictions,
        cells=[
            cell(subject, samples, drafter, kind, k)
            for drafter, ks in chosen.drafters.items()
            for kind in chosen.kinds
            for k in subject.ks(drafter, kind, ks)
        ],
        **basis,
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record))


# --- predictions -------------------------------------------------------------------------------


def earlier(context: Context, kind: type[R], experiment: str) -> R:
    """The record of an experiment that ran before on this device; a quick one only for a quick run.

    Missing where there is none, or where it is of other weights or another kernel.
    """
    subject = context.subject
    names = [file_name_of(experiment, context.device, quick) for quick in ((True, False) if context.quick else (False,))]
    path = next((context.out / name for name in names if (context.out / name).is_file()), None)
    options = (" --quick" if context.quick else "") + (" --replayed" if subject.recorded is not None else "")
    advice = f"run this first, with the same --out: python -m build_scripts measure {experiment}{options}"
    if path is None:
        raise Missing(f"The predictions need {context.out / names[0]}; {advice}")
    record = read_record(path)
    assert isinstance(record, kind)
    mine = (subject.weights_sha256, subject.kernel, subject.dtype, dict(subject.drafter_sha256))
    if (record.weights_sha256, record.kernel, record.dtype, record.drafter_sha256) != mine:
        raise Missing(f"{path} is of other weights or of another kernel; {advice}")
    return record


def predict(
    subject: Subject, chosen: Settings, curve: CurveRecord, acceptance: AcceptanceRecord
) -> list[Prediction]:
    """For every drafter, kind and k, at the context halfway through the answers."""
    costs = costs_of(curve)
    found = []
    for drafter, ks in chosen.drafters.items():
        for kind in chosen.kinds:
            texts = subject.prompts(kind, "speedup")[: chosen.prompts]
            middle = halfway(texts, chosen.tokens)
            for k in subject.ks(drafter, kind, ks):
                counts = greedy_counts(acceptance, drafter, kind, k)
                draft_ms = costs.draft_ms(drafter, 1, k)
                found.append(
                    Prediction(
                        drafter=drafter,
                        kind=kind,
                        k=k,
                        textbook=textbook(counts, k, costs.pass_ms(1, 1, middle), draft_ms),
                        full=full(counts, 1, lambda m, middle=middle: costs.pass_ms(1, m, middle), draft_ms),
                    )
                )
    return found


def halfway(texts: Sequence[Text], tokens: int) -> float:
    """The mean context of the rounds of answers with this cap."""
    return statistics.fmean(len(text.tokens) for text in texts) + tokens / 2


# --- the runs ----------------------------------------------------------------------------------


def warm_up(context: Context, chosen: Settings) -> None:
    """A few tokens with every drafter, which nobody counts: memory is set up, kernels are loaded."""
    subject = context.subject
    text = subject.texts[0]
    decode_plain(subject.target, [text.tokens], Limits(4))
    for drafter, ks in chosen.drafters.items():
        for k in subject.ks(drafter, text.kind, ks):
            decode_speculative(subject.target, subject.drafter(drafter), [text.tokens], k, Limits(3))


def prompt_task(context: Context, chosen: Settings, drafter: str, text: Text, number: int) -> Task:
    """One prompt with every k of a drafter, and a plain answer in the middle."""
    subject, limits = context.subject, Limits(chosen.tokens, context.subject.ends)
    ks = subject.ks(drafter, text.kind, chosen.drafters[drafter])
    key = f"{drafter} {text.id} repeat={number}"

    def measure() -> Json:
        # In an order of the sample's own, the same in every sitting.
        order = list(ks)
        random.Random(f"{context.seed} {key}").shuffle(order)
        middle = len(order) // 2
        before = {k: speculative(k) for k in order[:middle]}
        plain = timed(decode_plain(subject.target, [text.tokens], limits))
        after = {k: speculative(k) for k in order[middle:]}
        return {str(k): {"plain": plain, "speculative": answer} for k, answer in (before | after).items()}

    def speculative(k: int) -> Json:
        return timed(decode_speculative(subject.target, subject.drafter(drafter), [text.tokens], k, limits))

    return Task(key, f"{drafter} on {text.id}", len(ks) + 1, measure)


def timed(decoded: Decoded) -> Json:
    """What is kept of one answer."""
    [answer] = decoded.answers
    working = sum(seconds for phase, seconds in decoded.seconds.items() if phase not in READING)
    return {
        "ms_per_token": 1000 * working / tokens if (tokens := tokens_of_rounds(answer)) else None,
        "seconds": decoded.seconds,
        "counts": asdict(answer.counts),
    }


def tokens_of_rounds(answer: Answer) -> int:
    """Those that the rounds are paid for: all that they committed, but for what an end threw away.

    0 for an answer that ends with its first token, which comes from the prefill.
    """
    counts = answer.counts
    return counts.committed - (0 if answer.reason == "cap" else counts.discarded)


def cell(subject: Subject, samples: dict[str, Json], drafter: str, kind: str, k: int) -> SpeedupCell:
    """All samples of one drafter, kind and k."""
    of_kind = {text.id for text in subject.texts if text.kind == kind}
    found = [
        (key.split()[1], sample[str(k)])
        for key, sample in samples.items()
        if key.split()[0] == drafter and key.split()[1] in of_kind
    ]
    # An answer of one token has no rounds, and so no speed.
    found = [(text, pair) for text, pair in found if all(one["ms_per_token"] for one in pair.values())]
    texts, pairs = [text for text, _ in found], [pair for _, pair in found]
    plain = [pair["plain"]["ms_per_token"] for pair in pairs]
    speculative = [pair["speculative"]["ms_per_token"] for pair in pairs]
    return SpeedupCell(
        drafter=drafter,
        kind=kind,
        k=k,
        speedup=summarise([one / other for one, other in zip(plain, speculative)], texts),
        pooled_speedup=pool(plain, speculative, texts),
        plain_ms_per_token=summarise(plain, texts),
        speculative_ms_per_token=summarise(speculative, texts),
        counts=pooled(RoundCounts.model_validate(pair["speculative"]["counts"]) for pair in pairs),
        plain_seconds=summed(pair["plain"]["seconds"] for pair in pairs),
        speculative_seconds=summed(pair["speculative"]["seconds"] for pair in pairs),
    )


def summed(phases: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in phases:
        for phase, seconds in each.items():
            total[phase] = total.get(phase, 0.0) + seconds
    return total


def errors(record: SpeedupRecord, which: str) -> list[float]:
    """|predicted / measured - 1| of every cell; which: "textbook" or "full"."""
    predicted = {(p.drafter, p.kind, p.k): getattr(p, which).speedup for p in record.predictions}
    return [
        abs(predicted[cell.drafter, cell.kind, cell.k] / cell.pooled_speedup.value - 1)
        for cell in record.cells
    ]


def headline(record: SpeedupRecord) -> str:
    """The cell with the largest speedup, and how good the predictions were over all cells."""
    best = max(record.cells, key=lambda cell: cell.pooled_speedup.value)
    predicted = next(
        prediction.full.speedup
        for prediction in record.predictions
        if (prediction.drafter, prediction.kind, prediction.k) == (best.drafter, best.kind, best.k)
    )
    measured = best.pooled_speedup
    return (
        f"{best.drafter} on {best.kind}, k = {best.k}: {measured.value:.2f}× "
        f"({measured.low:.2f}–{measured.high:.2f}), predicted {predicted:.2f}×; over {len(record.cells)} "
        f"settings the full prediction is off by {statistics.median(errors(record, 'full')):.1%}, "
        f"the textbook's by {statistics.median(errors(record, 'textbook')):.1%} (medians)"
    )

"""Experiment 2: how many drafts are accepted, by position, drafter, kind of text and temperature.

Only counts, no times: what a row accepts depends on its own text and seed, not on which other
rows share its batch, so all prompts of a kind are decoded at once. (On a device whose kernel
gives a row other roundings in another batch, a tie may fall the other way; `lossless` counts
how often.)

Greedy decoding is measured with every k that the speedup experiment uses. S_j for a smaller k
does not follow from a larger one: with k = 8 a quotation of 40 tokens is five rounds, with
k = 1 it is twenty, so rounds begin at other places, and the first draft stands more often.
Sampled decoding is measured with the largest k alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from build_scripts.measure.decoding import decode_speculative
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.predicting import pooled
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.sampling import Sampling
from build_scripts.measure.stopping import Limits
from build_scripts.records.schema import AcceptanceCell, AcceptanceRecord, PromptCounts


@dataclass(frozen=True)
class Settings:
    """cells: temperature and k of what is measured for each kind and drafter; prompts: how many of
    each kind, decoded together; tokens: the cap on an answer."""

    kinds: tuple[str, ...]
    cells: tuple[tuple[float, int], ...]
    prompts: int
    tokens: int


GREEDY_KS = (1, 2, 3, 4, 6, 8)


def settings(quick: bool) -> Settings:
    sampled = ((0.7, 8), (1.0, 8))
    return Settings(
        kinds=KINDS,
        cells=(*((0.0, k) for k in GREEDY_KS), *sampled),
        prompts=6 if quick else 20,
        tokens=32 if quick else 64,
    )


def run(context: Context) -> Outcome:
    chosen: Settings = context.settings.get("acceptance") or settings(context.quick)
    runner = context.begin("acceptance", chosen)
    tasks = [
        cell_task(context, chosen, drafter, kind, temperature, k)
        for temperature, k in chosen.cells
        for kind in chosen.kinds
        for drafter in context.subject.makers
    ]
    samples = runner.complete(tasks, timed=False)
    record = AcceptanceRecord(
        experiment="acceptance",
        replayed=False,
        cells=[AcceptanceCell.model_validate(samples[task.key]) for task in tasks],
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record))


def cell_task(
    context: Context, chosen: Settings, drafter: str, kind: str, temperature: float, k: int
) -> Task:
    """The counts of every prompt of a kind; request r draws from seed + r."""
    subject = context.subject

    def count() -> Json:
        texts = subject.prompts(kind, "acceptance")[: chosen.prompts]
        decoded = decode_speculative(
            subject.target,
            subject.drafter(drafter),
            [text.tokens for text in texts],
            k,
            Limits(chosen.tokens, subject.ends),
            Sampling(temperature),
            context.seed,
        )
        return {
            "drafter": drafter,
            "kind": kind,
            "temperature": temperature,
            "k": k,
            "prompts": [
                {"prompt": text.id, "counts": asdict(answer.counts)}
                for text, answer in zip(texts, decoded.answers)
            ],
        }

    return Task(
        key=f"{drafter} {kind} T={temperature} k={k}",
        what=f"{drafter} on {kind}, T = {temperature:g}, k = {k}",
        weight=2.0 + k + (2.0 if temperature else 0.0),
        run=count,
    )


def headline(record: AcceptanceRecord) -> str:
    """Of the greedy cells with k = 3 or the nearest, the one with the most tokens a round."""
    greedy = [cell for cell in record.cells if cell.temperature == 0]
    nearest = min((abs(cell.k - 3) for cell in greedy), default=0)

    def yielded(cell: AcceptanceCell) -> float:
        return pooled(entry.counts for entry in cell.prompts).tokens_per_round

    best = max((cell for cell in greedy if abs(cell.k - 3) == nearest), key=yielded)
    counts = pooled(entry.counts for entry in best.prompts)
    return (
        f"{best.drafter} on {best.kind}, k = {best.k}: {counts.tokens_per_round:.2f} tokens a round, "
        f"h = {counts.pooled_acceptance or 0:.2f}"
    )

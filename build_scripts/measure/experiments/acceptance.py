"""Experiment 2: how many drafts are accepted, by position, drafter, kind of text and temperature.

Only counts, no times: what a row accepts depends on its own text and seed, not on which other
rows share its batch, so all prompts of a kind are decoded at once. (On a device whose kernel
gives a row other roundings in another batch, a tie may fall the other way; `lossless` counts
how often.)

Greedy: the target writes each answer once, and every drafter drafts against it with every k (see
`replaying`). S_j for a smaller k does not follow from a larger one: with k = 8 a quotation of 40
tokens is five rounds, with k = 1 it is twenty, so rounds begin at other places, and the first
draft stands more often. Sampled decoding is run in full, with one k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from build_scripts.measure.counts import Counts
from build_scripts.measure.decoding import decode_speculative
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.recorded import Recorded
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.experiments.subject import Text
from build_scripts.measure.predicting import pooled
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.replaying import Known, read, replay, write
from build_scripts.measure.sampling import Sampling
from build_scripts.measure.stopping import Limits
from build_scripts.records.schema import AcceptanceCell, AcceptanceRecord, PromptCounts, hash_of


@dataclass(frozen=True)
class Settings:
    """cells: temperature and k of what is measured for each kind and drafter; prompts: how many of
    each kind, decoded together; tokens: the cap on an answer."""

    kinds: tuple[str, ...]
    cells: tuple[tuple[float, int], ...]
    prompts: int
    tokens: int


def settings(quick: bool) -> Settings:
    greedy = tuple((0.0, k) for k in range(1, 9))
    return Settings(
        kinds=KINDS,
        cells=(*greedy, (0.7, 4), (1.0, 4)),
        prompts=6 if quick else 20,
        tokens=32 if quick else 48,
    )


def run(context: Context) -> Outcome:
    if context.subject.recorded is not None:
        return replayed(context, context.subject.recorded)
    chosen: Settings = context.settings.get("acceptance") or settings(context.quick)
    runner = context.begin("acceptance", chosen)
    texts = {kind: context.subject.prompts(kind, "acceptance")[: chosen.prompts] for kind in chosen.kinds}
    answers = {kind: answers_task(context, chosen, kind, texts[kind]) for kind in chosen.kinds}
    written: dict[str, Json] = {}
    known: dict[str, Known] = {}

    def known_of(kind: str) -> Known:
        if kind not in known:
            prompts = [text.tokens for text in texts[kind]]
            known[kind] = read(context.subject.target, prompts, written[answers[kind].key])
        return known[kind]

    tasks = [
        cell_task(context, chosen, drafter, kind, temperature, k, texts[kind], known_of)
        for temperature, k in chosen.cells
        for kind in chosen.kinds
        for drafter in context.subject.makers
    ]
    runner.plan(sum(task.weight for task in [*answers.values(), *tasks]))
    written |= runner.complete(list(answers.values()), timed=False)
    samples = runner.complete(tasks, timed=False)
    record = AcceptanceRecord(
        experiment="acceptance",
        cells=[AcceptanceCell.model_validate(samples[task.key]) for task in tasks],
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record))


def replayed(context: Context, recorded: Recorded) -> Outcome:
    """What was accepted elsewhere: nothing is decoded here."""
    cells = recorded.cells(list(context.subject.makers))
    runner = context.begin("acceptance", settings(context.quick), {"replayed": hash_of(cells)})
    record = AcceptanceRecord(experiment="acceptance", replayed=True, cells=cells, **context.about(runner))
    return context.finish(runner, record, f"replayed from {len(cells)} recorded runs: {headline(record)}")


def answers_task(context: Context, chosen: Settings, kind: str, texts: Sequence[Text]) -> Task:
    """What the target writes, as far as the last round with the most drafts may reach."""
    tokens = chosen.tokens + max(k for _, k in chosen.cells)

    def answer() -> Json:
        return write(context.subject.target, [text.tokens for text in texts], tokens)

    return Task(f"plain {kind}", f"plain decoding of {kind}", 8.0, answer)


def cell_task(
    context: Context, chosen: Settings, drafter: str, kind: str, temperature: float, k: int,
    texts: Sequence[Text], known_of: Callable[[str], Known],
) -> Task:  # fmt: skip
    """The counts of every prompt of a kind; request r draws from seed + r."""
    subject, limits = context.subject, Limits(chosen.tokens, context.subject.ends)

    def greedy() -> list[Counts]:
        return replay(subject.drafter(drafter), known_of(kind), k, limits)

    def drawn() -> list[Counts]:
        prompts = [text.tokens for text in texts]
        decoded = decode_speculative(
            subject.target, subject.drafter(drafter), prompts, k, limits, Sampling(temperature), context.seed
        )
        return [answer.counts for answer in decoded.answers]

    def count() -> Json:
        return {
            "drafter": drafter,
            "kind": kind,
            "temperature": temperature,
            "k": k,
            "prompts": [
                {"prompt": text.id, "counts": asdict(counts)}
                for text, counts in zip(texts, drawn() if temperature else greedy())
            ],
        }

    return Task(
        key=f"{drafter} {kind} T={temperature} k={k}",
        what=f"{drafter} on {kind}, T = {temperature:g}, k = {k}",
        weight=10.0 if temperature else 0.2 + 0.2 * k,
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

"""Two predictions of the speedup, from what was measured beforehand and elsewhere.

The textbook's: one h for all positions, drafts in every round, and a verifying pass that costs
what a pass over one token costs (v = 1): E / (k·c + 1), Leviathan et al., theorem 3.8.

The full one: how many tokens a round committed on other prompts of the same kind; how wide its
rounds were; what passes of that width and drafts of that length cost on this machine:

    E · T(B, 1) / (D(B, k) + Σ_w P(w) · T(B, w + 1))

with T(B, m) a pass over B rows of m tokens, D a round's drafting and P(w) the share of rounds
whose widest row has w drafts; a round without drafts is a plain pass. For k = 1 and drafts
in every round that is E / (c + v).

Nothing here measures or knows the runs that it predicts. No torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from build_scripts.model import speculation
from build_scripts.records.schema import (
    AcceptanceRecord,
    CurveRecord,
    FullPrediction,
    RoundCounts,
    TextbookPrediction,
)


class Unpredictable(ValueError):
    """The records do not say what a prediction needs; the message is one line."""


# --- the formulas ------------------------------------------------------------------------------


def textbook(counts: RoundCounts, k: int, plain_ms: float, draft_ms: float) -> TextbookPrediction:
    """counts: of acceptance, pooled; plain_ms: T(1, 1); draft_ms: D(1, k), k steps of c each."""
    acceptance = counts.pooled_acceptance or 0.0
    round_ = speculation.Round(
        acceptance=acceptance, draft_tokens=k, target_ms=plain_ms, draft_ms=draft_ms / k, bonus=True
    )
    return TextbookPrediction(
        acceptance=acceptance,
        cost_ratio=draft_ms / k / plain_ms,
        expected_tokens=speculation.expected_tokens(acceptance, k, bonus=True),
        speedup=speculation.speedup(round_),
    )


def full(
    counts: RoundCounts, batch: int, pass_ms: Callable[[int], float], draft_ms: float
) -> FullPrediction:
    """counts: of rounds with this k, pooled; pass_ms(m): T(batch, m); draft_ms: D(batch, k)."""
    plain_ms = pass_ms(1)
    shares = widest_shares(width_shares(counts), batch)
    verify_ms = sum(share * pass_ms(width + 1) for width, share in enumerate(shares) if share)
    return FullPrediction(
        expected_tokens=counts.tokens_per_round,
        draft_cost=draft_ms / plain_ms,
        verify_cost=verify_ms / plain_ms,
        speedup=counts.tokens_per_round * plain_ms / (draft_ms + verify_ms),
    )


def width_shares(counts: RoundCounts) -> list[float]:
    """The share of a row's rounds that have 0, 1, … k drafts."""
    at_least = [counts.rounds, *counts.offered, 0]
    return [(more - fewer) / counts.rounds for more, fewer in zip(at_least, at_least[1:])]


def widest_shares(shares: Sequence[float], batch: int) -> list[float]:
    """The law of the widest of `batch` rows, if rows are independent: a pass is as wide as that."""
    up_to, below = [], 0.0
    for share in shares:
        below += share
        up_to.append(min(below, 1.0) ** batch)
    return [this - before for before, this in zip([0.0, *up_to], up_to)]


def pooled(counts: Iterable[RoundCounts]) -> RoundCounts:
    """The sum. ValueError for none, or of different k."""
    every = list(counts)
    if not every or len({len(one.histogram) for one in every}) != 1:
        raise ValueError("only counts of one k can be pooled, and at least one of them")

    def total(name: str) -> int | list[int]:
        values = [getattr(one, name) for one in every]
        return [sum(column) for column in zip(*values)] if isinstance(values[0], list) else sum(values)

    return RoundCounts(**{name: total(name) for name in RoundCounts.model_fields})


# --- what the records say ----------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """Medians in milliseconds. passes: by (batch, m), pairs of context and time, by context;
    drafts: by (drafter, batch, k)."""

    passes: dict[tuple[int, int], list[tuple[float, float]]]
    drafts: dict[tuple[str, int, int], float]

    def pass_ms(self, batch: int, m: int, context: float) -> float:
        """T(batch, m), linear between the contexts measured, beyond them that of the nearest, and
        linear between the m measured. Unpredictable for a batch or an m outside."""
        if (batch, m) in self.passes:
            return _between(self.passes[batch, m], context)
        known = sorted(each for rows, each in self.passes if rows == batch)
        if not known or not known[0] < m < known[-1]:
            raise Unpredictable(f"the curve has no pass of {batch} rows and {m} tokens")
        points = [(float(each), _between(self.passes[batch, each], context)) for each in known]
        return _between(points, float(m))

    def draft_ms(self, drafter: str, batch: int, k: int) -> float:
        """D(batch, k), linear between the batches measured. Unpredictable outside of them."""
        points = [
            (float(rows), ms) for (name, rows, each), ms in sorted(self.drafts.items())
            if (name, each) == (drafter, k)
        ]  # fmt: skip
        if not points or not points[0][0] <= batch <= points[-1][0]:
            raise Unpredictable(f"the curve has no drafting by {drafter} of {batch} rows and k = {k}")
        return _between(points, float(batch))


def costs_of(curve: CurveRecord) -> Costs:
    """The costs of the model that was decoded with: the record's first, with the record's kernel."""
    decoded = curve.models[0].id
    passes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for cost in curve.passes:
        if cost.model == decoded and (cost.kernel, cost.dtype) == (curve.kernel, curve.dtype):
            passes.setdefault((cost.batch, cost.m), []).append((float(cost.context), cost.ms.median))
    return Costs(
        passes={key: sorted(points) for key, points in passes.items()},
        drafts={(cost.drafter, cost.batch, cost.k): cost.ms.median for cost in curve.drafts},
    )


def greedy_counts(acceptance: AcceptanceRecord, drafter: str, kind: str, k: int) -> RoundCounts:
    """All greedy rounds of a drafter on a kind of text with this k. Unpredictable without them.

    With this very k: how often a drafter proposes, and how often its first draft stands, depends
    on where rounds begin, and so on k.
    """
    for cell in acceptance.cells:
        if (cell.drafter, cell.kind, cell.temperature, cell.k) == (drafter, kind, 0.0, k):
            return pooled(entry.counts for entry in cell.prompts)
    raise Unpredictable(f"the acceptance record has no greedy {drafter} on {kind} with k = {k}")


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    """Linear between points in ascending order; beyond them, the value of the nearest."""
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]

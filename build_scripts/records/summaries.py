"""What the records say in a few numbers: cost ratios, acceptance, speedups, errors of predictions.

Pure functions of records. The captions, tables and charts of the Measured page are made of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from build_scripts.model.readings import Outcome, Ratio
from build_scripts.records.schema import (
    AcceptanceCell,
    AcceptanceRecord,
    BatchCell,
    CurveRecord,
    DraftCost,
    LosslessCell,
    PassCost,
    PeerRow,
    Prediction,
    RoundCounts,
    SpeedupCell,
    SpeedupRecord,
    Statistic,
)
from build_scripts.records.statistics import summarise

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
NORMAL_95 = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""


def as_ratio(statistic: Statistic) -> Ratio:
    return Ratio(statistic.median, statistic.low, statistic.high)


def quotient(over: Statistic, under: Statistic) -> Ratio:
    """over / under. The range is the widest that the two intervals allow."""
    return Ratio(over.median / under.median, over.low / under.high, over.high / under.low)


def quotient_in_turns(over: Statistic, under: Statistic) -> Ratio:
    """over / under, of the medians, where sample i of one was taken beside sample i of the other.

    What the machine does to both at once cancels in each pair. The range is the 95 % interval of the
    median of the pairs' quotients by their ranks, from the binomial law (Conover, Practical
    Nonparametric Statistics, 3rd ed., 3.2), and wide enough to hold the value. Where the samples do
    not pair it is that of `quotient`.
    """
    if len(over.samples) != len(under.samples):
        return quotient(over, under)
    ratios = sorted(one / other for one, other in zip(over.samples, under.samples, strict=True))
    count = len(ratios)
    rank = max(0, math.floor(count / 2 - NORMAL_95 * math.sqrt(count) / 2))
    value = over.median / under.median
    return Ratio(value, min(value, ratios[rank]), max(value, ratios[count - 1 - rank]))


# --- what a pass costs -------------------------------------------------------------------------


@dataclass(frozen=True)
class PassLine:
    """Passes that differ only in their rows and their tokens."""

    model: str
    kernel: str
    dtype: str
    context: int

    def holds(self, cost: PassCost) -> bool:
        return self == PassLine(cost.model, cost.kernel, cost.dtype, cost.context)


def pass_lines(record: CurveRecord) -> list[PassLine]:
    """Every line with a pass over one row of one token, in the record's order."""
    lines = [
        PassLine(cost.model, cost.kernel, cost.dtype, cost.context)
        for cost in record.passes
        if cost.batch == cost.m == 1
    ]
    return list(dict.fromkeys(lines))


def own_line(record: CurveRecord) -> PassLine | None:
    """The first model with the record's own kernel and dtype: that of the other experiments."""
    decoded = record.models[0].id
    lines = pass_lines(record)
    return min(
        lines,
        key=lambda line: (line.model != decoded, line.kernel != record.kernel, line.dtype != record.dtype, lines.index(line)),
        default=None,
    )


def lines_beside(record: CurveRecord) -> list[PassLine]:
    """The own line, and those of other kernels and number formats for the same model and context."""
    own = own_line(record)
    if own is None:
        return []
    rest = [line for line in pass_lines(record) if (line.model, line.context) == (own.model, own.context)]
    return [own, *(line for line in rest if line != own)]


def longest_context(record: CurveRecord, line: PassLine) -> PassLine:
    """The same line with the longest context that it was measured with."""
    alike = [each for each in pass_lines(record) if (each.model, each.kernel, each.dtype) == (line.model, line.kernel, line.dtype)]
    return max(alike, key=lambda each: each.context)


def pass_cost(record: CurveRecord, line: PassLine, batch: int, m: int) -> Statistic | None:
    """T(m, B) in ms, None where it was not measured."""
    return next((c.ms for c in record.passes if line.holds(c) and (c.batch, c.m) == (batch, m)), None)


def lengths(record: CurveRecord, line: PassLine, batch: int) -> list[int]:
    """The m that were measured at that batch, beside m = 1."""
    found = sorted({cost.m for cost in record.passes if line.holds(cost) and cost.batch == batch})
    return found if 1 in found else []


def batches(record: CurveRecord, line: PassLine) -> list[int]:
    """The batches with a pass over one token a row."""
    return sorted({cost.batch for cost in record.passes if line.holds(cost) and cost.m == 1})


def verify_ratio(record: CurveRecord, line: PassLine, batch: int, m: int) -> Ratio | None:
    """v = T(m, B) / T(1, B): what E must beat with k = m - 1 drafts, even if drafting is free."""
    over, under = pass_cost(record, line, batch, m), pass_cost(record, line, batch, 1)
    if over is None or under is None:
        return None
    return Ratio(1.0, 1.0, 1.0) if m == 1 else quotient_in_turns(over, under)


def draft_ratio(record: CurveRecord, cost: DraftCost) -> Ratio | None:
    """k·c: the drafting of a round over a pass of one token for as many rows; None where that pass
    was not measured."""
    line = own_line(record)
    plain = None if line is None else pass_cost(record, line, cost.batch, 1)
    return None if plain is None else quotient(cost.ms, plain)


def best_rate(limit: Statistic) -> float:
    """A limit has to be one: of all samples the highest."""
    return max(limit.samples)


@dataclass(frozen=True)
class LimitShare:
    """A rate that passes reach, and its part of what the device was seen to do at best."""

    rate: float
    share: Ratio
    batch: int
    m: int


def read_share(record: CurveRecord) -> LimitShare:
    """The weights' bytes over T(1, 1), in GB/s, and its part of the read bandwidth of the same repeat:
    the median over repeats."""
    pairs = zip(record.pass_gbps.samples, record.read_gbps.samples)
    share = summarise([reached / limit for reached, limit in pairs])
    return LimitShare(record.pass_gbps.median, Ratio(share.median, share.low, share.high), 1, 1)


def arithmetic_share(record: CurveRecord, line: PassLine) -> LimitShare | None:
    """Of all passes the highest rate of arithmetic, in GFLOP/s, over the best that the device was
    seen to do.

    A token takes two operations a weight: 2 · weights · m · B over T(m, B).
    """
    size = _matrix_bytes(record, line)
    if size is None:
        return None
    weights = size / BYTES[line.dtype]
    found = [
        _limit_share(2 * weights * cost.m * cost.batch / 1e6, cost.ms, record.peak_gflops, cost.batch, cost.m)
        for cost in record.passes
        if line.holds(cost)
    ]
    return max(found, key=lambda share: share.rate, default=None)


def _matrix_bytes(record: CurveRecord, line: PassLine) -> int | None:
    if line.dtype not in BYTES:
        return None
    # The record counts them in its own dtype.
    size = next(model.matrix_bytes for model in record.models if model.id == line.model)
    return size * BYTES[line.dtype] // BYTES[record.dtype]


def _limit_share(work: float, time: Statistic, limit: Statistic, batch: int, m: int) -> LimitShare:
    """work: a rate once it is divided by milliseconds."""
    most = best_rate(limit)
    share = Ratio(work / time.median / most, work / time.high / most, work / time.low / most)
    return LimitShare(work / time.median, share, batch, m)


# --- what is accepted --------------------------------------------------------------------------


def pooled(cell: AcceptanceCell) -> RoundCounts:
    """The counts of all prompts together."""
    counts = [entry.counts for entry in cell.prompts]

    def by_place(name: str) -> list[int]:
        return [sum(column) for column in zip(*(getattr(count, name) for count in counts), strict=True)]

    lists = {name: by_place(name) for name in ("histogram", "offered", "examined", "accepted")}
    sums = {name: sum(getattr(c, name) for c in counts) for name in ("recovered", "bonus", "empty", "first", "discarded")}
    return RoundCounts.model_validate(lists | sums)


def longest_drafts(record: AcceptanceRecord) -> list[AcceptanceCell]:
    """Of each drafter, kind and temperature the cell with the largest k, which has all positions."""
    found: dict[tuple[str, str, float], AcceptanceCell] = {}
    for cell in record.cells:
        key = (cell.drafter, cell.kind, cell.temperature)
        if key not in found or found[key].k < cell.k:
            found[key] = cell
    return list(found.values())


def acceptance_by_position(cell: AcceptanceCell) -> list[Ratio | None]:
    """a_1 … a_k: accepted over examined, None where nothing was examined.

    The interval is the ratio estimate's, with prompts as the units that were drawn, since the
    tokens of one prompt are not independent (Cochran, Sampling Techniques, 3rd ed., 6.4):
    var = n / (n - 1) · Σ (accepted_i - a · examined_i)² / (Σ examined)². Where only one prompt
    reached the position there is no such interval, and it is the whole range from 0 to 1.
    """
    found: list[Ratio | None] = []
    for place in range(cell.k):
        pairs = [
            (entry.counts.accepted[place], entry.counts.examined[place])
            for entry in cell.prompts
            if entry.counts.examined[place]
        ]
        examined = sum(whole for _, whole in pairs)
        if not examined:
            found.append(None)
            continue
        value = sum(part for part, _ in pairs) / examined
        n = len(pairs)
        if n < 2:
            found.append(Ratio(value, 0.0, 1.0))
            continue
        squares = sum((part - value * whole) ** 2 for part, whole in pairs)
        off = NORMAL_95 * math.sqrt(n / (n - 1) * squares) / examined
        found.append(Ratio(value, max(0.0, value - off), min(1.0, value + off)))
    return found


def survival(counts: RoundCounts) -> list[float | None]:
    """S_1 … S_k: the share of the rounds that proposed in which at least j drafts were accepted."""
    return [part / counts.proposing if counts.proposing else None for part in counts.accepted]


# --- what it brings ----------------------------------------------------------------------------


def speedup_of(cell: SpeedupCell | BatchCell) -> Ratio:
    """Of single sequences the pooled one, plain time over speculative time of all samples together:
    that is what a prediction from pooled counts predicts. Of batches the median of the repeats."""
    if isinstance(cell, SpeedupCell):
        return Ratio(cell.pooled_speedup.value, cell.pooled_speedup.low, cell.pooled_speedup.high)
    return as_ratio(cell.speedup)


def outcome(cell: SpeedupCell | BatchCell) -> Outcome:
    """By the whole interval: what reaches into the band around 1 is too close to call."""
    return speedup_of(cell).outcome


def best(cells: Iterable[SpeedupCell]) -> SpeedupCell:
    return max(cells, key=lambda cell: speedup_of(cell).value)


def worst(cells: Iterable[SpeedupCell]) -> SpeedupCell:
    return min(cells, key=lambda cell: speedup_of(cell).value)


def losses(cells: Iterable[SpeedupCell]) -> list[SpeedupCell]:
    """The cells that lost beyond their interval, the heaviest loss first."""
    return sorted((cell for cell in cells if outcome(cell) == "slower"), key=lambda cell: speedup_of(cell).value)


@dataclass(frozen=True)
class Comparison:
    """A measured speedup beside its two predictions; errors are predicted over measured, less 1."""

    cell: SpeedupCell
    prediction: Prediction

    @property
    def textbook_error(self) -> float:
        return self.prediction.textbook.speedup / speedup_of(self.cell).value - 1

    @property
    def full_error(self) -> float:
        return self.prediction.full.speedup / speedup_of(self.cell).value - 1


def comparisons(record: SpeedupRecord) -> list[Comparison]:
    """Every measured cell with its prediction, in the record's order."""
    by_key = {(entry.drafter, entry.kind, entry.k): entry for entry in record.predictions}
    return [Comparison(cell, by_key[cell.drafter, cell.kind, cell.k]) for cell in record.cells]


def foreseen(points: Iterable[Comparison], batches: Iterable[BatchCell] = ()) -> tuple[int, int]:
    """Of how many settings, batches among them, the full prediction said rightly whether they gain, and
    of how many that gained or lost beyond their interval."""
    predicted = [(point.prediction.full.speedup, outcome(point.cell)) for point in points]
    predicted += [(cell.predicted_speedup, outcome(cell)) for cell in batches if cell.predicted_speedup is not None]
    decided = [(speedup > 1, verdict == "faster") for speedup, verdict in predicted if verdict != "equal"]
    return sum(said == was for said, was in decided), len(decided)


def batch_errors(cells: Iterable[BatchCell]) -> list[float]:
    """Predicted over measured, less 1, of the batches that were predicted."""
    return [cell.predicted_speedup / speedup_of(cell).value - 1 for cell in cells if cell.predicted_speedup is not None]


def median_error(errors: Sequence[float]) -> float:
    """The median of their sizes, whatever their signs."""
    return statistics.median(abs(error) for error in errors)


def last_win(cells: Iterable[BatchCell]) -> int | None:
    """The largest batch up to which every measured batch is a win; None where the first is none."""
    last = None
    for cell in sorted(cells, key=lambda cell: cell.batch):
        if outcome(cell) != "faster":
            break
        last = cell.batch
    return last


# --- proofs and peers --------------------------------------------------------------------------


def largest_margin(cells: Iterable[LosslessCell]) -> float | None:
    """Of all positions where an answer left the plain one; None where none did."""
    return max((entry.margin for cell in cells for entry in cell.differences), default=None)


def times_as_fast(row: PeerRow, other: PeerRow) -> float:
    """The median over prompts and repeats, each pair run in turns; of the medians where the samples
    do not pair."""
    rates, others = row.tokens_per_s, other.tokens_per_s
    if len(rates.samples) != len(others.samples):
        return rates.median / others.median
    return statistics.median(one / base for one, base in zip(rates.samples, others.samples, strict=True))


def own_plain(rows: Iterable[PeerRow], own_engine: str, kind: str) -> PeerRow | None:
    return next((row for row in rows if (row.engine, row.mode, row.kind) == (own_engine, "plain", kind)), None)


def other_arithmetic(rows: Sequence[PeerRow], own_engine: str) -> list[tuple[PeerRow, float]]:
    """Engines that decode plainly in another arithmetic, and how many times as fast as ours."""
    return [
        (row, times_as_fast(row, ours))
        for row in rows
        if row.mode == "plain" and row.same_tokens is None and row.engine != own_engine
        and (ours := own_plain(rows, own_engine, row.kind)) is not None
    ]  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """Our fastest way to decode, plain or with drafts, beside another engine's in the same arithmetic."""

    ours: PeerRow
    theirs: PeerRow

    @property
    def factor(self) -> float:
        return times_as_fast(self.ours, self.theirs)


def beside_others(rows: Sequence[PeerRow], own_engine: str) -> list[Beside]:
    """For each kind, engine and mode of it, the fastest of its settings: plain against our plain,
    and speculation against our fastest speculation."""

    def fastest(found: list[PeerRow]) -> PeerRow | None:
        return max(found, key=lambda row: row.tokens_per_s.median, default=None)

    others = [row for row in rows if row.engine != own_engine and row.same_tokens is not None]
    pairs = []
    for kind, engine, mode in dict.fromkeys((row.kind, row.engine, row.mode) for row in others):
        own = [row for row in rows if (row.kind, row.engine) == (kind, own_engine)]
        ours = fastest([row for row in own if (row.mode == "plain") == (mode == "plain")])
        theirs = fastest([row for row in others if (row.kind, row.engine, row.mode) == (kind, engine, mode)])
        if ours is not None and theirs is not None:
            pairs.append(Beside(ours, theirs))
    return pairs

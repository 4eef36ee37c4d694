"""The measured numbers for the table of all numbers: what each is, its value, and its record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from build_scripts.model.readings import Ratio
from build_scripts.records.schema import (
    AcceptanceRecord,
    BatchRecord,
    CurveRecord,
    LosslessRecord,
    PeersRecord,
    Record,
    SpeedupRecord,
)
from build_scripts.records.store import Records
from build_scripts.records.summaries import (
    batches,
    best_rate,
    comparisons,
    lengths,
    longest_drafts,
    median_error,
    own_line,
    pass_cost,
    pass_lines,
    pooled,
    speedup_of,
    verify_ratio,
)
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredCost, MeasuredPrediction
from build_scripts.spec.schema import Calculator, Kind, Lesson
from build_scripts.views.blocks import blocks_of
from build_scripts.views.measured import frame
from build_scripts.views.measured.cost import full_line_name
from build_scripts.views.measured.presets import measured_presets


PRESET_NUMBERS: tuple[tuple[str, str, Kind], ...] = (
    ("target_ms", " ms", "measured"), ("draft_ms", " ms", "computed"), ("acceptance", "", "computed"),
)  # fmt: skip
"""Of each preset: a token of plain decoding, and what was computed so that the formula fits."""


@dataclass(frozen=True)
class MeasuredNumber:
    what: str
    text: str
    value: float
    record: Record
    kind: Kind = "measured"
    """`computed` for what a formula makes of measured numbers."""


def measured_numbers(lesson: Lesson, records: Records) -> Iterator[MeasuredNumber]:
    """The costs, h and E, the speedups and the rates of every record that the pages show.

    Acceptance by position is in the page's own tables, and all samples are in the records.
    """
    words = lesson.measured
    for curve in records.of(CurveRecord):
        yield from _costs(curve, lesson)
    for accepted in records.of(AcceptanceRecord):
        for cell in longest_drafts(accepted):
            counts = pooled(cell)
            name = f"{frame.drafter_name(cell.drafter, words)}, {frame.kind_name(cell.kind, words)}, T = {fixed(cell.temperature, 2, trim=True)}, k = {cell.k}"
            if (h := counts.pooled_acceptance) is not None:
                yield MeasuredNumber(f"h, {name}", fixed(h, 2), h, accepted)
            if counts.rounds:
                yield MeasuredNumber(f"E, {name}", fixed(counts.tokens_per_round, 2), counts.tokens_per_round, accepted)
    for gains in records.of(SpeedupRecord):
        yield from _speedups(gains, lesson)
    for served in records.of(BatchRecord):
        for cell in served.cells:
            name = f"{frame.drafter_name(cell.drafter, words)}, {frame.kind_name(cell.kind, words)}, k = {cell.k}, B = {cell.batch}"
            yield MeasuredNumber(name, _times(speedup_of(cell)), speedup_of(cell).value, served)
    for proof in records.of(LosslessRecord):
        identical, prompts = (sum(getattr(cell, name) for cell in proof.cells) for name in ("identical", "prompts"))
        yield MeasuredNumber(words.experiments["lossless"], f"{identical} / {prompts}", identical, proof)
    for peers in records.of(PeersRecord):
        for row in peers.rows:
            mode = frame.drafter_name(row.mode, words) + ("" if row.k is None else f", k = {row.k}")
            rate = row.tokens_per_s.median
            name = f"{row.engine}, {mode}, {frame.kind_name(row.kind, words)}"
            yield MeasuredNumber(name, f"{frame.rate(rate)} tok/s", rate, peers)
    yield from _presets(lesson, records)


def _costs(record: CurveRecord, lesson: Lesson) -> Iterator[MeasuredNumber]:
    words = lesson.measured
    own = own_line(record)
    if own is not None and (one := pass_cost(record, own, 1, 1)) is not None:
        yield MeasuredNumber("T(1, 1)", f"{fixed(one.median, 2)} ms", one.median, record)
    read, peak = best_rate(record.read_gbps), best_rate(record.peak_gflops)
    yield MeasuredNumber("GB/s", f"{frame.rate(read)} GB/s", read, record)
    yield MeasuredNumber("GFLOP/s", f"{frame.rate(peak)} GFLOP/s", peak, record)
    for block in blocks_of(lesson, MeasuredCost):
        for line in pass_lines(record):
            name = full_line_name(block, record, line, words)
            for batch in batches(record, line):
                for m in lengths(record, line, batch):
                    ratio = verify_ratio(record, line, batch, m)
                    if m > 1 and ratio is not None:
                        yield MeasuredNumber(f"v, {name}, m = {m}, B = {batch}", _times(ratio), ratio.value, record)


def _speedups(record: SpeedupRecord, lesson: Lesson) -> Iterator[MeasuredNumber]:
    words = lesson.measured
    points = comparisons(record)
    for point in points:
        cell = point.cell
        name = f"{frame.drafter_name(cell.drafter, words)}, {frame.kind_name(cell.kind, words)}, k = {cell.k}"
        yield MeasuredNumber(name, _times(speedup_of(cell)), speedup_of(cell).value, record)
    for prediction in blocks_of(lesson, MeasuredPrediction):
        for title, errors in (
            (prediction.full, [point.full_error for point in points]),
            (prediction.textbook, [point.textbook_error for point in points]),
        ):
            error = median_error(errors)
            yield MeasuredNumber(title, frame.percent(error, 1), error, record, "computed")


def _presets(lesson: Lesson, records: Records) -> Iterator[MeasuredNumber]:
    for calculator in blocks_of(lesson, Calculator):
        for preset in measured_presets(calculator, lesson, records):
            assert calculator.measured_presets is not None
            label = calculator.measured_presets.label.format(drafter=frame.drafter_name(preset.drafter, lesson.measured))
            for name, unit, kind in PRESET_NUMBERS:
                value = preset.settings[name]
                what = f"{label}: {getattr(lesson.parameters, name).label}"
                yield MeasuredNumber(what, fixed(value, 2, trim=True) + unit, value, preset.record, kind)


def _times(ratio: Ratio) -> str:
    return f"{frame.times(ratio.value)} ({frame.interval(ratio)})"

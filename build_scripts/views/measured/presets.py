"""Presets of the calculator "as measured here": one for each drafter, made from the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from build_scripts.model.speculation import MIN_TARGET_MS, Round, expected_tokens, speedup
from build_scripts.records.schema import FullPrediction, SpeedupCell, SpeedupRecord
from build_scripts.records.store import Records
from build_scripts.records.summaries import best, speedup_of
from build_scripts.render.numbers import fixed
from build_scripts.spec.schema import Calculator, Lesson
from build_scripts.views.measured import frame


@dataclass(frozen=True)
class MeasuredPreset:
    """Settings of the calculator, and the runs that they are made from; `file` is their record."""

    id: str
    drafter: str
    settings: dict[str, Any]
    cell: SpeedupCell
    costs: FullPrediction
    """A round's costs in plain passes, from the curve, over rounds with and without drafts."""
    file: str
    record: SpeedupRecord


def measured_presets(block: Calculator, lesson: Lesson, records: Records) -> list[MeasuredPreset]:
    """One for each drafter of the first device: its best k on the block's kind of text.

    A setting beyond the sliders is left out, and so is its drafter: the calculator could not show it.
    """
    measured = records.of(SpeedupRecord)
    if block.measured_presets is None or not measured:
        return []
    record, kind = measured[0], block.measured_presets.kind
    found = []
    for drafter in frame.distinct([cell.drafter for cell in record.cells]):
        cells = [cell for cell in record.cells if (cell.drafter, cell.kind) == (drafter, kind) and cell.counts.rounds]
        if not cells:
            continue
        cell = best(cells)
        costs = next(
            entry.full for entry in record.predictions if (entry.drafter, entry.kind, entry.k) == (drafter, kind, cell.k)
        )
        settings = calculator_settings(cell, costs)
        if _in_reach(lesson, settings):
            name = f"measured-{drafter.replace('_', '-')}"
            found.append(MeasuredPreset(name, drafter, settings, cell, costs, records.file_of(record), record))
    return found


def calculator_settings(cell: SpeedupCell, costs: FullPrediction) -> dict[str, Any]:
    """Settings with which the calculator's formula, E / (k·c + 1), says what the full one does.

    target_ms: a token of plain decoding. acceptance: the h that gives the E that was counted.
    draft_ms: the calculator takes the check as one pass, but it was dearer, v = verify_cost; what is
    above one pass is shared out to the draft steps, (draft_cost + verify_cost - 1) / k passes each.
    """
    target_ms = cell.plain_ms_per_token.median
    above_a_pass = max(0.0, costs.draft_cost + costs.verify_cost - 1)
    return {
        "acceptance": round(acceptance_for(cell.counts.tokens_per_round, cell.k), 2),
        "draft_tokens": cell.k,
        "target_ms": round(target_ms, 2),
        "draft_ms": round(above_a_pass * target_ms / cell.k, 2),
        "bonus": True,
    }


def acceptance_for(tokens: float, k: int) -> float:
    """The h, the same at all positions, at which a round of k drafts commits `tokens`, 1 … k + 1.

    By halving: E rises with h.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if expected_tokens(middle, k, bonus=True) < tokens:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def preset_text(preset: MeasuredPreset, block: Calculator, lesson: Lesson) -> str:
    """What was measured, how the settings were made of it, and what the calculator makes of them."""
    assert block.measured_presets is not None
    words = lesson.measured
    settings, counts = preset.settings, preset.cell.counts
    return frame.unbroken(
        block.measured_presets.text.format(
            drafter=frame.drafter_name(preset.drafter, words),
            kind=frame.kind_name(block.measured_presets.kind, words),
            device=frame.device_name(preset.record.device, words),
            k=preset.cell.k,
            measured=frame.times(speedup_of(preset.cell).value),
            target_ms=fixed(settings["target_ms"], 2, trim=True),
            expected=fixed(counts.tokens_per_round, 2),
            share=frame.percent(counts.proposing_share),
            h=fixed(settings["acceptance"], 2),
            draft_cost=fixed(preset.costs.draft_cost, 2 if preset.costs.draft_cost >= 0.1 else 4, trim=True),
            v=fixed(preset.costs.verify_cost, 2),
            draft_ms=fixed(settings["draft_ms"], 2, trim=True),
            computed=frame.times(speedup(Round(**settings))),
        )
    )


def _in_reach(lesson: Lesson, settings: dict[str, Any]) -> bool:
    def fits(name: str) -> bool:
        parameter = getattr(lesson.parameters, name)
        return bool(parameter.min <= settings[name] <= parameter.max)

    return settings["target_ms"] >= MIN_TARGET_MS and all(
        fits(name) for name in ("acceptance", "draft_tokens", "target_ms", "draft_ms")
    )

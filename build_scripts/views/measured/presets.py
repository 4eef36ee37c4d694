"""Presets of the calculator "as measured here": one for each drafter, made from the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from build_scripts.model.speculation import MIN_TARGET_MS, Round, speedup
from build_scripts.records.schema import AcceptanceRecord, CurveRecord, SpeedupCell, SpeedupRecord
from build_scripts.records.summaries import (
    best,
    draft_cost_ratio,
    own_line,
    pass_cost,
    pooled,
    speedup_of,
)
from build_scripts.render.numbers import fixed
from build_scripts.spec.schema import Calculator, Lesson
from build_scripts.records.store import Records
from build_scripts.views.measured import frame


@dataclass(frozen=True)
class MeasuredPreset:
    """Settings of the calculator, and what was measured with them; `file` is the speedup's record."""

    id: str
    drafter: str
    settings: dict[str, Any]
    cell: SpeedupCell
    proposing_share: float
    verify_cost: float
    """v, over the rounds with drafts and those without, as the full prediction has it."""
    file: str
    record: SpeedupRecord


def measured_presets(block: Calculator, lesson: Lesson, records: Records) -> list[MeasuredPreset]:
    """One for each drafter of which the first device has all three records.

    acceptance: pooled over all positions at temperature 0; draft_tokens: the best k of those
    measured; target_ms: T(1, 1); draft_ms: c times that. A setting beyond the sliders is left out,
    and so is its drafter: the calculator could not show it.
    """
    if block.measured_presets is None:
        return []
    kind = block.measured_presets.kind
    for record in records.of(SpeedupRecord):
        curve = next((each for each in records.of(CurveRecord) if each.device == record.device), None)
        accepted = next((each for each in records.of(AcceptanceRecord) if each.device == record.device), None)
        line = None if curve is None else own_line(curve)
        plain = None if curve is None or line is None else pass_cost(curve, line, 1, 1)
        if curve is None or accepted is None or plain is None:
            continue
        found = []
        for drafter in frame.distinct([cell.drafter for cell in record.cells]):
            cells = [cell for cell in record.cells if (cell.drafter, cell.kind) == (drafter, kind)]
            greedy = [
                cell for cell in accepted.cells if (cell.drafter, cell.kind, cell.temperature) == (drafter, kind, 0)
            ]
            if not cells or not greedy:
                continue
            cell = best(cells)
            counts = pooled(max(greedy, key=lambda each: each.k))
            ratio = draft_cost_ratio(curve, drafter, cell.k)
            h = counts.pooled_acceptance
            if ratio is None or h is None:
                continue
            settings = {
                "acceptance": round(h, 2),
                "draft_tokens": cell.k,
                "target_ms": round(plain.median, 2),
                "draft_ms": round(ratio * plain.median, 2),
                "bonus": True,
            }
            if not _in_reach(lesson, settings):
                continue
            full = next(
                p.full for p in record.predictions if (p.drafter, p.kind, p.k) == (drafter, kind, cell.k)
            )
            found.append(
                MeasuredPreset(
                    f"measured-{drafter.replace('_', '-')}", drafter, settings, cell, counts.proposing_share,
                    full.verify_cost, records.file_of(record), record,
                )
            )  # fmt: skip
        return found
    return []


def preset_text(preset: MeasuredPreset, block: Calculator, lesson: Lesson) -> str:
    """What was measured, beside what the calculator makes of the same settings."""
    assert block.measured_presets is not None
    words = lesson.measured
    settings = preset.settings
    return block.measured_presets.text.format(
        drafter=frame.drafter_name(preset.drafter, words),
        kind=frame.kind_name(block.measured_presets.kind, words),
        h=fixed(settings["acceptance"], 2),
        share=frame.percent(preset.proposing_share),
        k=settings["draft_tokens"],
        draft_ms=fixed(settings["draft_ms"], 2, trim=True),
        target_ms=fixed(settings["target_ms"], 2, trim=True),
        measured=frame.times(speedup_of(preset.cell).value),
        computed=frame.times(speedup(Round(**settings))),
        v=fixed(preset.verify_cost, 2),
        device=frame.device_name(preset.record.device, words),
    )


def _in_reach(lesson: Lesson, settings: dict[str, Any]) -> bool:
    def fits(name: str) -> bool:
        parameter = getattr(lesson.parameters, name)
        return bool(parameter.min <= settings[name] <= parameter.max)

    return settings["target_ms"] >= MIN_TARGET_MS and all(
        fits(name) for name in ("acceptance", "draft_tokens", "target_ms", "draft_ms")
    )

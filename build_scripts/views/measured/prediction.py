"""What the formulas said beforehand, beside what was measured: the textbook one and the full one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from build_scripts.model.readings import Ratio
from build_scripts.records.schema import CurveRecord, SpeedupRecord
from build_scripts.records.summaries import Comparison, comparisons, median_error, own_line, pass_cost, speedup_of
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredPrediction
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame
from build_scripts.views.measured.speedup import case

MARKERS = (
    {"symbol": "circle", "colour": "accent"},
    {"symbol": "square", "colour": "draft"},
    {"symbol": "diamond", "colour": "accepted"},
    {"symbol": "triangle-up", "colour": "ink"},
    {"symbol": "circle", "colour": "muted", "filled": False},
)

SAME_SPEED = 0.05
"""By how much a token of plain decoding may differ from a pass alone: it has its bookkeeping too."""


def render(block: MeasuredPrediction, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: SpeedupRecord, records: Sequence[SpeedupRecord], suffix: str) -> frame.Shown:
        chart = frame.Chart(f"{block.id}-chart{suffix}", block.chart.title, figure(block, record, records, page))
        return frame.Shown([chart], [caption(block, record, page)], [table(block, record, page)])

    drafters = frame.distinct([cell.drafter for record in page.records.of(SpeedupRecord) for cell in record.cells])
    key = [
        (panels.swatch(panels.Series([], [], [], lines=False, **_marker(i))), frame.drafter_name(drafter, words))
        for i, drafter in enumerate(drafters)
    ]
    return frame.render(block, page, SpeedupRecord, "speedup", show, key)


def figure(
    block: MeasuredPrediction, record: SpeedupRecord, records: Sequence[SpeedupRecord], page: PageContext
) -> Figure:
    """Two panels, predicted over measured; on the diagonal the prediction is right."""
    words = page.lesson.measured
    points = comparisons(record)
    drafters = frame.distinct([cell.drafter for each in records for cell in each.cells])

    def panel(title: str, predicted: Callable[[Comparison], float], error: Callable[[Comparison], float]) -> panels.Panel:
        errors = [error(point) for point in points]
        note = block.panel_note.format(
            median=frame.percent(median_error(errors), 1), largest=frame.percent(max(map(abs, errors)), 0)
        )
        series = []
        for index, drafter in enumerate(drafters):
            own = [point for point in points if point.cell.drafter == drafter]
            series.append(
                panels.Series(
                    x=[math.log2(speedup_of(point.cell).value) for point in own],
                    y=[math.log2(predicted(point)) for point in own],
                    hover=[
                        f"{case(point.cell, words)}; {title}: {frame.times(predicted(point))} ({frame.signed_percent(error(point))})"
                        for point in own
                    ],
                    lines=False,
                    **_marker(index),
                )
            )
        return panels.Panel(title, note, series)

    everything = [
        Ratio(value, value, value)
        for each in records
        for point in comparisons(each)
        for value in (speedup_of(point.cell).value, point.prediction.full.speedup, point.prediction.textbook.speedup)
    ]
    axis = panels.doublings(everything, block.chart.x_title, room=0.15)
    return panels.grid(
        [
            panel(block.full, lambda point: point.prediction.full.speedup, lambda point: point.full_error),
            panel(block.textbook, lambda point: point.prediction.textbook.speedup, lambda point: point.textbook_error),
        ],
        axis,
        panels.doublings(everything, block.chart.y_title, room=0.15),
        page.palette,
        f"{block.chart.alt} {caption(block, record, page)}",
        (2, 1),
        (270, 220),
        [panels.Guide(block.diagonal_label, None, "dash")],
    )


def caption(block: MeasuredPrediction, record: SpeedupRecord, page: PageContext) -> str:
    """The errors, and whether the machine ran as fast as when the costs were measured."""
    words = page.lesson.measured
    points = comparisons(record)
    full = max(points, key=lambda point: abs(point.full_error))
    textbook = max(points, key=lambda point: abs(point.textbook_error))
    said = block.caption.format(
        cells=len(points),
        full_median=frame.percent(median_error([point.full_error for point in points]), 1),
        full_largest=frame.signed_percent(full.full_error), full_case=case(full.cell, words),
        textbook_median=frame.percent(median_error([point.textbook_error for point in points]), 1),
        textbook_largest=frame.signed_percent(textbook.textbook_error), textbook_case=case(textbook.cell, words),
    )  # fmt: skip
    return " ".join([said, *_speeds(block, record, page)])


def _speeds(block: MeasuredPrediction, record: SpeedupRecord, page: PageContext) -> list[str]:
    """What a pass took when the costs were measured, and a token of plain decoding in these runs."""
    costs = next((curve for curve in page.records.of(CurveRecord) if curve.device == record.device), None)
    line = None if costs is None else own_line(costs)
    one = None if costs is None or line is None else pass_cost(costs, line, 1, 1)
    if one is None:
        return []
    plain = statistics.median(sample for cell in record.cells for sample in cell.plain_ms_per_token.samples)
    said = [block.caption_speeds.format(pass_ms=fixed(one.median, 1), plain_ms=fixed(plain, 1))]
    return said if abs(plain / one.median - 1) <= SAME_SPEED else [*said, block.caption_other_speed]


def table(block: MeasuredPrediction, record: SpeedupRecord, page: PageContext) -> frame.Table:
    words = page.lesson.measured
    rows = [
        [
            f"{frame.drafter_name(point.cell.drafter, words)}, {frame.kind_name(point.cell.kind, words)}, k = {point.cell.k}",
            frame.times(speedup_of(point.cell).value),
            frame.times(point.prediction.textbook.speedup),
            frame.signed_percent(point.textbook_error),
            frame.times(point.prediction.full.speedup),
            frame.signed_percent(point.full_error),
        ]
        for point in comparisons(record)
    ]
    return frame.Table(page.lesson.labels.table, block.table_titles, rows)


def _marker(index: int) -> dict[str, object]:
    return {"size": 7.0, **MARKERS[min(index, len(MARKERS) - 1)]}

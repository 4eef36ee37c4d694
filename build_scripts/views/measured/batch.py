"""What a larger batch leaves of the gain, measured and predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from build_scripts.model.readings import Ratio
from build_scripts.records.schema import BatchCell, BatchRecord
from build_scripts.records.summaries import batch_errors, last_win, median_error, speedup_of
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.spec.measured import MeasuredBatch, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame

PREDICTED = {"colour": "muted", "dash": "dash", "width": 1.5, "size": 6, "symbol": "diamond", "filled": False}
MEASURED = {"colour": "accent", "width": 2.5, "size": 7}


def render(block: MeasuredBatch, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: BatchRecord, records: Sequence[BatchRecord], suffix: str) -> frame.Shown:
        chart = frame.Chart(f"{block.id}-chart{suffix}", block.chart.title, figure(block, record, records, page))
        return frame.Shown([chart], [caption(block, record, words)], [table(block, record, page)])

    key = [
        (panels.swatch(panels.Series([], [], [], **MEASURED)), block.measured_label),
        (panels.swatch(panels.Series([], [], [], **PREDICTED)), block.predicted_label),
    ]
    return frame.render(block, page, BatchRecord, "batch", show, key, asks_for_cuda=True)


def settings(record: BatchRecord) -> dict[tuple[str, str, int], list[BatchCell]]:
    """The cells of each drafter, kind and k, by batch."""
    found: dict[tuple[str, str, int], list[BatchCell]] = {}
    for cell in record.cells:
        found.setdefault((cell.drafter, cell.kind, cell.k), []).append(cell)
    return {key: sorted(cells, key=lambda cell: cell.batch) for key, cells in found.items()}


def figure(
    block: MeasuredBatch, record: BatchRecord, records: Sequence[BatchRecord], page: PageContext
) -> Figure:
    words = page.lesson.measured
    drawn, said = [], []
    for (drafter, kind, k), cells in settings(record).items():
        title = block.panel_title.format(drafter=frame.drafter_name(drafter, words), k=k)
        note = block.panel_note.format(kind=frame.kind_name(kind, words))
        measured = panels.Series(
            x=[math.log2(cell.batch) for cell in cells],
            y=[math.log2(speedup_of(cell).value) for cell in cells],
            low=[math.log2(speedup_of(cell).low) for cell in cells],
            high=[math.log2(speedup_of(cell).high) for cell in cells],
            hover=[f"B = {cell.batch}: {_says(cell)}" for cell in cells],
            **MEASURED,
        )
        known = [(cell, cell.predicted_speedup) for cell in cells if cell.predicted_speedup is not None]
        predicted = panels.Series(
            x=[math.log2(cell.batch) for cell, _ in known],
            y=[math.log2(value) for _, value in known],
            hover=[f"B = {cell.batch}: {block.predicted_label} {frame.times(value)}" for cell, value in known],
            **PREDICTED,
        )
        drawn.append(panels.Panel(title, note, [predicted, measured] if known else [measured]))
        said.append(f"{title}, {note}: {'; '.join(measured.hover)}")
    served = sorted({cell.batch for cell in record.cells})
    ratios = [speedup_of(cell) for each in records for cell in each.cells]
    ratios += [
        Ratio(value, value, value)
        for each in records
        for cell in each.cells
        if (value := cell.predicted_speedup) is not None
    ]
    ticks = [(math.log2(batch), str(batch)) for batch in served]
    return panels.grid(
        drawn,
        panels.Axis(ticks[0][0] - 0.3, ticks[-1][0] + 0.3, ticks, block.chart.x_title, ticks[::2] if len(ticks) > 6 else None),
        panels.doublings(ratios, block.chart.y_title),
        page.palette,
        f"{block.chart.alt} {'. '.join(said)}.",
        (min(3, len(drawn)), 1),
        (190, 130),
        [panels.Guide(block.equal_label, 0.0, at="left")],
    )


def caption(block: MeasuredBatch, record: BatchRecord, words: MeasuredWords) -> str:
    """What becomes of each setting's gain between the smallest and the largest batch."""
    said = []
    for (drafter, kind, k), cells in settings(record).items():
        win = last_win(cells)
        names = {
            "drafter": frame.drafter_name(drafter, words), "kind": frame.kind_name(kind, words), "k": k,
            "first": frame.times(speedup_of(cells[0]).value), "first_batch": cells[0].batch,
            "last": frame.times(speedup_of(cells[-1]).value), "last_batch": cells[-1].batch,
        }  # fmt: skip
        if win is None:
            said.append(block.never.format(**names))
        elif win == cells[-1].batch:
            said.append(block.stays.format(**names))
        else:
            said.append(block.turns.format(**names, win=win))
    errors = batch_errors(record.cells)
    if errors:
        said.append(block.error.format(median=frame.percent(median_error(errors), 1), cells=len(errors)))
    return " ".join(said)


def table(block: MeasuredBatch, record: BatchRecord, page: PageContext) -> frame.Table:
    words = page.lesson.measured
    rows = []
    for (drafter, kind, k), cells in settings(record).items():
        for cell in cells:
            predicted = cell.predicted_speedup
            rows.append([
                block.panel_title.format(drafter=frame.drafter_name(drafter, words), k=k),
                frame.kind_name(kind, words),
                str(cell.batch),
                frame.rate(cell.plain_tokens_per_s.median),
                frame.rate(cell.speculative_tokens_per_s.median),
                _says(cell),
                "–" if predicted is None else frame.times(predicted),
            ])  # fmt: skip
    return frame.Table(page.lesson.labels.table, block.table_titles, rows)


def _says(cell: BatchCell) -> str:
    ratio = speedup_of(cell)
    return f"{panels.MARKS[ratio.outcome]} {frame.times(ratio.value)} ({frame.interval(ratio)})"

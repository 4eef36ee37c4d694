"""Speculative against plain decoding: bars up for wins, down for losses, by drafter, kind of text and k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from build_scripts.records.schema import SpeedupCell, SpeedupRecord
from build_scripts.records.summaries import best, losses, outcome, speedup_of, worst
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.spec.measured import MeasuredSpeedup, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredSpeedup, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: SpeedupRecord, records: Sequence[SpeedupRecord], suffix: str) -> frame.Shown:
        charts = [
            frame.Chart(
                f"{block.id}-{drafter.replace('_', '-')}{suffix}",
                frame.drafter_name(drafter, words),
                figure(block, record, records, drafter, page),
                drafter_caption(block, [cell for cell in record.cells if cell.drafter == drafter], words),
            )
            for drafter in frame.distinct([cell.drafter for cell in record.cells])
        ]
        return frame.Shown(charts, [caption(block, record, words)], [table(block, record, page)])

    return frame.render(block, page, SpeedupRecord, "speedup", show)


def case(cell: SpeedupCell, words: MeasuredWords) -> str:
    """A cell in words."""
    return words.case.format(
        drafter=frame.drafter_name(cell.drafter, words), kind=frame.kind_name(cell.kind, words), k=cell.k,
        speedup=frame.times(speedup_of(cell).value),
    )  # fmt: skip


def figure(
    block: MeasuredSpeedup, record: SpeedupRecord, records: Sequence[SpeedupRecord], drafter: str, page: PageContext
) -> Figure:
    """One drafter's bars; the scale is that of every drafter on every device."""
    words = page.lesson.measured
    lengths = sorted({cell.k for cell in record.cells})
    drawn, said = [], []
    for kind in frame.distinct([cell.kind for cell in record.cells]):
        cells = [cell for cell in record.cells if (cell.drafter, cell.kind) == (drafter, kind)]
        # The highest bar above the line and the lowest below it: their labels cannot meet.
        named = [cell for cell in (best(cells), worst(cells)) if cells] if cells else []
        top = [cell for cell in named[:1] if speedup_of(cell).value >= 1]
        bottom = [cell for cell in named[1:] if speedup_of(cell).value < 1]
        bars = []
        for cell in cells:
            ratio = speedup_of(cell)
            text = f"k = {cell.k}: {frame.times(ratio.value)} ({frame.interval(ratio)})"
            label = frame.times(ratio.value) if cell in top + bottom else ""
            bars.append(panels.Bar(lengths.index(cell.k), ratio, f"{frame.kind_name(kind, words)}, {text}", label))
        drawn.append(panels.Panel(frame.kind_name(kind, words), bars=bars))
        said.append("; ".join(bar.hover for bar in bars))
    ratios = [speedup_of(cell) for each in records for cell in each.cells]
    return panels.grid(
        drawn,
        panels.Axis(-0.6, len(lengths) - 0.4, [(i, str(k)) for i, k in enumerate(lengths)], block.chart.x_title),
        panels.doublings(ratios, block.chart.y_title, room=0.7),
        page.palette,
        f"{block.chart.alt} {frame.drafter_name(drafter, words)}. {'. '.join(said)}.",
        (len(drawn), 2),
        (180, 170),
        [panels.Guide("", 0.0)],
    )


def caption(block: MeasuredSpeedup, record: SpeedupRecord, words: MeasuredWords) -> str:
    count = Counter(map(outcome, record.cells))
    return block.caption.format(
        cells=len(record.cells), wins=count["faster"], equals=count["equal"], losses=count["slower"],
        best=case(best(record.cells), words), worst=case(worst(record.cells), words),
    )  # fmt: skip


def drafter_caption(block: MeasuredSpeedup, cells: list[SpeedupCell], words: MeasuredWords) -> str:
    """Its best k, its counts, and every case in which it loses."""
    count = Counter(map(outcome, cells))
    said = block.caption_drafter.format(
        best=case(best(cells), words), wins=count["faster"], equals=count["equal"], cells=len(cells)
    )
    lost = losses(cells)
    if not lost:
        return f"{said} {block.loses_none}"
    cases = [
        block.loses_case.format(
            kind=frame.kind_name(kind, words), ks=", ".join(str(k) for k in sorted(c.k for c in lost if c.kind == kind))
        )
        for kind in frame.distinct([cell.kind for cell in cells])
        if any(cell.kind == kind for cell in lost)
    ]
    return f"{said} {block.loses.format(losses=len(lost), cases='; '.join(cases))}"


def table(block: MeasuredSpeedup, record: SpeedupRecord, page: PageContext) -> frame.Table:
    """A row for each drafter and kind, a column for each k."""
    words = page.lesson.measured
    lengths = sorted({cell.k for cell in record.cells})
    rows = []
    for drafter, kind in dict.fromkeys((cell.drafter, cell.kind) for cell in record.cells):
        cells = {cell.k: cell for cell in record.cells if (cell.drafter, cell.kind) == (drafter, kind)}
        shown = [
            f"{panels.MARKS[outcome(cells[k])]} {frame.times(speedup_of(cells[k]).value)} ({frame.interval(speedup_of(cells[k]))})"
            if k in cells
            else "–"
            for k in lengths
        ]
        name = f"{frame.drafter_name(drafter, words)}, {frame.kind_name(kind, words)}"
        rows.append([name, f"k = {best(cells.values()).k}", *shown])
    return frame.Table(page.lesson.labels.table, [*block.table_titles, *(f"k = {k}" for k in lengths)], rows)

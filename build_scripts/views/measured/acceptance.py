"""Acceptance by position: a chart for each drafter, a panel for each kind of text, a line a temperature."""

from __future__ import annotations

from collections.abc import Sequence

from build_scripts.model.speculation import expected_tokens
from build_scripts.records.schema import AcceptanceCell, AcceptanceRecord, RoundCounts
from build_scripts.records.summaries import acceptance_by_position, longest_drafts, pooled
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredAcceptance, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame

STYLES = (
    {"colour": "accepted", "width": 2.5, "size": 7},
    {"colour": "muted", "dash": "dash", "width": 1.5, "size": 6, "symbol": "square", "filled": False},
    {"colour": "muted", "dash": "dot", "width": 1.5, "size": 6, "symbol": "diamond", "filled": False},
)  # fmt: skip
"""Of the temperatures, the lowest first."""


def render(block: MeasuredAcceptance, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: AcceptanceRecord, records: Sequence[AcceptanceRecord], suffix: str) -> frame.Shown:
        charts = []
        for drafter in frame.distinct([cell.drafter for cell in record.cells]):
            known = words.drafters.get(drafter)
            title = drafter if known is None else f"{known.name}: {known.what}"
            name = f"{block.id}-{drafter.replace('_', '-')}{suffix}"
            charts.append(
                frame.Chart(name, title, figure(block, record, drafter, page), drafter_caption(block, record, drafter, page))
            )
        return frame.Shown(charts, [overall_caption(block, record, page)], [table(block, record, page)])

    temperatures = sorted({cell.temperature for record in page.records.of(AcceptanceRecord) for cell in record.cells})
    key = [
        (
            panels.swatch(panels.Series([], [], [], **STYLES[min(index, len(STYLES) - 1)])),
            block.temperature.format(temperature=fixed(temperature, 2, trim=True)),
        )
        for index, temperature in enumerate(temperatures)
    ]
    return frame.render(block, page, AcceptanceRecord, "acceptance", show, key)


def cells_of(record: AcceptanceRecord, drafter: str) -> dict[tuple[str, float], AcceptanceCell]:
    """By kind and temperature; of several k the largest, which holds the most positions."""
    return {(cell.kind, cell.temperature): cell for cell in longest_drafts(record) if cell.drafter == drafter}


def figure(block: MeasuredAcceptance, record: AcceptanceRecord, drafter: str, page: PageContext) -> Figure:
    words = page.lesson.measured
    cells = cells_of(record, drafter)
    temperatures = sorted({cell.temperature for cell in record.cells})
    longest = max(cell.k for cell in record.cells)
    drawn = []
    said = []
    for kind in frame.distinct([cell.kind for cell in record.cells]):
        series = []
        for index, temperature in enumerate(temperatures):
            cell = cells.get((kind, temperature))
            if cell is None:
                continue
            label = block.temperature.format(temperature=fixed(temperature, 2, trim=True))
            one = _series(cell, block.fewest, label, index)
            # The first one lies on top of the others.
            series.insert(0, one)
            said.append(f"{frame.kind_name(kind, words)}, {label}: {'; '.join(one.hover)}")
        greedy = cells.get((kind, temperatures[0]))
        note = "" if greedy is None else _note(block, pooled(greedy))
        drawn.append(panels.Panel(frame.kind_name(kind, words), note, series))
    ticks = [(float(j), str(j)) for j in range(1, longest + 1)]
    return panels.grid(
        drawn,
        panels.Axis(0.5, longest + 0.5, ticks, block.chart.x_title, ticks if longest <= 8 else ticks[::2]),
        panels.Axis(0.0, 1.05, [(0.0, "0"), (0.5, "0.5"), (1.0, "1")], block.chart.y_title),
        page.palette,
        f"{block.chart.alt} {frame.drafter_name(drafter, words)}. {'. '.join(said)}.",
        (len(drawn), 2),
        (130, 110),
    )


def drafter_caption(block: MeasuredAcceptance, record: AcceptanceRecord, drafter: str, page: PageContext) -> str:
    """What is accepted most and least at the lowest temperature, and what the highest one does to h."""
    words = page.lesson.measured
    cells = cells_of(record, drafter)
    temperatures = sorted({temperature for _, temperature in cells})
    greedy = {kind: pooled(cell) for (kind, temperature), cell in cells.items() if temperature == temperatures[0]}
    known = {kind: h for kind, counts in greedy.items() if (h := counts.pooled_acceptance) is not None}
    if not known:
        return ""
    best, worst = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    rounds = sum(counts.rounds for counts in greedy.values())
    said = block.caption.format(
        best_kind=frame.kind_name(best, words), best_h=fixed(known[best], 2),
        best_expected=fixed(greedy[best].tokens_per_round, 2),
        worst_kind=frame.kind_name(worst, words), worst_h=fixed(known[worst], 2),
        worst_expected=fixed(greedy[worst].tokens_per_round, 2),
        share=frame.percent(sum(counts.proposing for counts in greedy.values()) / rounds), rounds=rounds,
    )  # fmt: skip
    return " ".join([said, *_hot_caption(block, record, drafter, best, words)])


def _hot_caption(
    block: MeasuredAcceptance, record: AcceptanceRecord, drafter: str, kind: str, words: MeasuredWords
) -> list[str]:
    """What the highest temperature does to h; nothing where it was not measured with a k that the
    lowest was measured with too, since h depends on k."""
    own = [cell for cell in record.cells if (cell.drafter, cell.kind) == (drafter, kind)]
    coldest, hottest = min(cell.temperature for cell in own), max(cell.temperature for cell in own)
    h = {(cell.temperature, cell.k): pooled(cell).pooled_acceptance for cell in own}
    pairs = [
        (k, cold, hot)
        for (temperature, k), hot in h.items()
        if temperature == hottest > coldest and hot is not None and (cold := h.get((coldest, k))) is not None
    ]
    return [
        block.caption_hot.format(
            kind=frame.kind_name(kind, words), k=k, h=fixed(cold, 2), hot_h=fixed(hot, 2),
            temperature=fixed(hottest, 2, trim=True),
        )
        for k, cold, hot in pairs[-1:]
    ]  # fmt: skip


def overall_caption(block: MeasuredAcceptance, record: AcceptanceRecord, page: PageContext) -> str:
    """The greedy case in which one h for all positions predicts E worst."""
    words = page.lesson.measured
    lowest = min(cell.temperature for cell in record.cells)
    found = [
        (cell, counts, predicted)
        for cell in longest_drafts(record)
        if cell.temperature == lowest and (predicted := from_one_h(counts := pooled(cell))) is not None
    ]
    if not found:
        return ""
    cell, counts, predicted = max(found, key=lambda entry: abs(entry[2] / entry[1].tokens_per_round - 1))
    seen = [(place, ratio) for place, ratio in enumerate(acceptance_by_position(cell), start=1) if ratio is not None]
    often = [entry for entry in seen if counts.examined[entry[0] - 1] >= block.fewest] or seen
    return block.overall.format(
        drafter=frame.drafter_name(cell.drafter, words), kind=frame.kind_name(cell.kind, words),
        first=fixed(often[0][1].value, 2), last=fixed(often[-1][1].value, 2), place=often[-1][0],
        h=fixed(counts.pooled_acceptance or 0.0, 2), expected=fixed(counts.tokens_per_round, 2),
        predicted=fixed(predicted, 2), k=cell.k,
    ) + " " + block.fewest_note.format(fewest=block.fewest)  # fmt: skip


def from_one_h(counts: RoundCounts) -> float | None:
    """E by the pooled h at every position, for the rounds that proposed; 1 for the others."""
    h = counts.pooled_acceptance
    if h is None:
        return None
    k = len(counts.histogram) - 1
    return 1 + counts.proposing_share * (expected_tokens(h, k, bonus=True) - 1)


def table(block: MeasuredAcceptance, record: AcceptanceRecord, page: PageContext) -> frame.Table:
    words = page.lesson.measured
    longest = max(cell.k for cell in record.cells)
    rows = []
    for cell in longest_drafts(record):
        counts = pooled(cell)
        h = counts.pooled_acceptance
        case = block.case.format(
            drafter=frame.drafter_name(cell.drafter, words), kind=frame.kind_name(cell.kind, words),
            temperature=fixed(cell.temperature, 2, trim=True), k=cell.k,
        )  # fmt: skip
        places = acceptance_by_position(cell)
        rows.append([
            case,
            "–" if h is None else fixed(h, 2),
            fixed(counts.tokens_per_round, 2) if counts.rounds else "–",
            frame.percent(counts.proposing_share) if counts.rounds else "–",
            str(counts.rounds),
            str(len(cell.prompts)),
            *("–" if ratio is None else f"{fixed(ratio.value, 2)} ({frame.interval(ratio)})" for ratio in places),
            *["–"] * (longest - cell.k),
        ])  # fmt: skip
    titles = [*block.table_titles, *(block.position_title.format(j=j) for j in range(1, longest + 1))]
    return frame.Table(page.lesson.labels.table, titles, rows)


def _note(block: MeasuredAcceptance, counts: RoundCounts) -> str:
    h = counts.pooled_acceptance
    if h is None:
        return ""
    return block.panel_note.format(h=fixed(h, 2), expected=fixed(counts.tokens_per_round, 2))


def _series(cell: AcceptanceCell, fewest: int, label: str, index: int) -> panels.Series:
    examined = pooled(cell).examined
    points = [
        (place, ratio)
        for place, ratio in enumerate(acceptance_by_position(cell), start=1)
        if ratio is not None and examined[place - 1] >= fewest
    ]
    style = STYLES[min(index, len(STYLES) - 1)]
    # Intervals on the first line only: three sets of them on top of each other hide everything.
    low = [ratio.low for _, ratio in points] if index == 0 else None
    high = [ratio.high for _, ratio in points] if index == 0 else None
    return panels.Series(
        x=[place for place, _ in points],
        y=[ratio.value for _, ratio in points],
        low=low,
        high=high,
        hover=[f"{label}, {place}: {fixed(ratio.value, 2)} ({frame.interval(ratio)})" for place, ratio in points],
        **style,
    )

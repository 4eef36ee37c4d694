"""Published latencies as bars of their ratio: what wins goes up, what loses goes down.

The axis is the logarithm to base 2, so that twice as fast and twice as slow are bars of one
length. The uncertainty of each reading goes into an error bar, and into the bar's word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from build_scripts.model.readings import Ratio, latency_ratio
from build_scripts.render import figures
from build_scripts.render.numbers import fixed
from build_scripts.render.palette import Palette
from build_scripts.render.svg import chart_html
from build_scripts.spec.schema import Panel, PublishedBenchmark, Reading
from build_scripts.views.base import PageContext, Rendered

MARKS = {"faster": "▲", "equal": "=", "slower": "▼"}
FILLS = {"faster": "accepted-bg", "equal": "line", "slower": "rejected-bg"}
EDGES = {"faster": "accepted", "equal": "muted", "slower": "rejected"}

BAR_WIDTH = 0.66
ROOM = 0.62
"""Above the highest and below the lowest interval, in doublings, for the bar's label."""

HEIGHT = 350
MARGIN = {"l": 46, "r": 8, "t": 54, "b": 46}
GAP = 0.07
"""Between two panels side by side, as a part of the plot."""

PANEL_HEIGHT = 200
NARROW_MARGIN = {"l": 40, "r": 6, "t": 54, "b": 46}
NARROW_GAP = 84
"""Between two panels, one above the other, in pixels: the ticks of one and the title of the next."""


@dataclass(frozen=True)
class Bar:
    """One pair of readings and what follows from them."""

    panel: Panel
    reading: Reading
    ratio: Ratio

    @property
    def qps(self) -> str:
        return fixed(self.reading.request_rate_qps, 2, trim=True)

    @property
    def factor(self) -> str:
        return f"{fixed(self.ratio.value, 2)}×"

    @property
    def interval(self) -> str:
        return f"{fixed(self.ratio.low, 2)}–{fixed(self.ratio.high, 2)}"


def render(block: PublishedBenchmark, page: PageContext) -> Rendered:
    """The bars, their caption and table made from the readings, and what the source says itself."""
    rows = bars(block)
    chart = figure(block, page.palette)
    url = next(source.url for source in page.lesson.sources if source.id == block.source)
    panels = {panel.id: panel for panel in block.panels}
    html = page.template(
        "published-benchmark.html",
        block=block,
        chart=chart_html(block.id, chart),
        caption=caption(block),
        citation=page.rich_inline(f"[@{block.source}]"),
        url=url,
        headlines=[
            {
                "mark": MARKS[headline.outcome],
                "outcome": headline.outcome,
                "factor": f"{fixed(headline.factor, 2, trim=True)}×",
                "word": getattr(block.outcomes, headline.outcome),
                "panel": panels[headline.panel].dataset,
                "text": page.rich_inline(headline.text),
            }
            for headline in block.headlines
        ],
        rows=[
            {
                "panel": bar.panel.title,
                "qps": bar.qps,
                "plain": fixed(bar.reading.plain_s, 2),
                "speculative": fixed(bar.reading.speculative_s, 2),
                "uncertainty": fixed(bar.reading.uncertainty_s, 2),
                "factor": bar.factor,
                "interval": bar.interval,
                "outcome": bar.ratio.outcome,
                "mark": MARKS[bar.ratio.outcome],
                "word": getattr(block.outcomes, bar.ratio.outcome),
            }
            for bar in rows
        ],
    )
    return Rendered(html, {"figures": {block.id: chart}}, {block.id: chart})


def bars(block: PublishedBenchmark) -> list[Bar]:
    """All bars, panel by panel. ValueError where an uncertainty swallows its reading."""
    return [
        Bar(panel, reading, latency_ratio(reading.plain_s, reading.speculative_s, reading.uncertainty_s))
        for panel in block.panels
        for reading in panel.readings
    ]


def caption(block: PublishedBenchmark) -> str:
    """The caption, filled in from the readings."""
    rows = bars(block)
    best = max(rows, key=lambda bar: bar.ratio.value)
    worst = min(rows, key=lambda bar: bar.ratio.value)
    count = {outcome: sum(bar.ratio.outcome == outcome for bar in rows) for outcome in MARKS}
    return block.caption.format(
        bars=len(rows),
        wins=count["faster"],
        equals=count["equal"],
        losses=count["slower"],
        best=best.factor,
        best_dataset=best.panel.dataset,
        best_qps=best.qps,
        worst=worst.factor,
        worst_dataset=worst.panel.dataset,
        worst_qps=worst.qps,
    )


def figure(block: PublishedBenchmark, palette: Palette) -> figures.Figure:
    """One panel beside the other; in a narrow box one below the other."""
    rows = bars(block)
    low = min(0.0, *(math.log2(bar.ratio.low) for bar in rows)) - ROOM
    high = max(0.0, *(math.log2(bar.ratio.high) for bar in rows)) + ROOM
    powers = range(math.ceil(low), math.floor(high) + 1)
    ticks = {
        "tickvals": list(powers),
        "ticktext": [fixed(2.0**power, 3, trim=True) + "×" for power in powers],
    }
    count = len(block.panels)
    narrow_plot = count * PANEL_HEIGHT + (count - 1) * NARROW_GAP
    layout: dict[str, Any] = {"height": HEIGHT, "margin": MARGIN, "shapes": []}
    narrow: dict[str, Any] = {
        "height": narrow_plot + NARROW_MARGIN["t"] + NARROW_MARGIN["b"],
        "margin": NARROW_MARGIN,
    }
    traces, wide_labels, narrow_labels = [], [], []
    for index, panel in enumerate(block.panels):
        suffix = "" if index == 0 else str(index + 1)
        own = [bar for bar in rows if bar.panel is panel]
        bottom = (count - 1 - index) * (PANEL_HEIGHT + NARROW_GAP) / narrow_plot
        layout[f"xaxis{suffix}"] = {
            "domain": _side_by_side(block, index),
            "anchor": f"y{suffix}",
            "range": [-0.6, len(own) - 0.4],
            "showgrid": False,
            "tickvals": list(range(len(own))),
            "ticktext": [bar.qps for bar in own],
            "title": {"text": figures.text(block.x_title), "standoff": 6, "font": {"size": figures.SMALL}},
        }
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}",
            "range": [low, high],
            "showticklabels": index == 0,
            **ticks,
        }
        narrow[f"xaxis{suffix}.domain"] = [0, 1]
        narrow[f"yaxis{suffix}.domain"] = [bottom, bottom + PANEL_HEIGHT / narrow_plot]
        narrow[f"yaxis{suffix}.showticklabels"] = True
        traces.append(_trace(own, suffix, palette))
        layout["shapes"].append(
            {
                "type": "line",
                "xref": f"x{suffix} domain",
                "yref": f"y{suffix}",
                **{"x0": 0, "x1": 1, "y0": 0, "y1": 0},
                "line": {"color": palette["muted"], "width": 1.5},
            }
        )
        labels = _labels(block, panel, own, suffix, palette)
        wide_labels += labels
        narrow_labels += labels
    y_title = figures.label(
        block.y_title, palette, "muted", x=0, y=1, xref="paper", yref="paper",
        xanchor="left", yanchor="bottom", xshift=-30, yshift=34,
    )  # fmt: skip
    layout["annotations"] = [*wide_labels, y_title]
    narrow["annotations"] = [*narrow_labels, y_title]
    return figures.build(traces, layout, palette, describe(block), narrow)


def describe(block: PublishedBenchmark) -> str:
    """The chart in words: each panel with the ratio of each of its bars."""
    said = []
    for panel in block.panels:
        own = [bar for bar in bars(block) if bar.panel is panel]
        values = ", ".join(f"{bar.qps}: {bar.factor} {getattr(block.outcomes, bar.ratio.outcome)}" for bar in own)
        said.append(f"{panel.title}: {values}")
    return f"{block.y_title}; {block.x_title}. {'. '.join(said)}."


def _side_by_side(block: PublishedBenchmark, index: int) -> list[float]:
    """The part of the width that a panel takes: as much for each bar."""
    counts = [len(panel.readings) + 0.2 for panel in block.panels]
    room = 1 - GAP * (len(counts) - 1)
    start = sum(counts[:index]) / sum(counts) * room + GAP * index
    return [start, min(1.0, start + counts[index] / sum(counts) * room)]


def _trace(own: list[Bar], suffix: str, palette: Palette) -> dict[str, Any]:
    outcomes = [bar.ratio.outcome for bar in own]
    heights = [math.log2(bar.ratio.value) for bar in own]
    return {
        "type": "bar",
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "x": list(range(len(own))),
        "y": heights,
        "width": BAR_WIDTH,
        "customdata": [bar.ratio.value for bar in own],
        "hovertext": [f"{bar.factor} ({bar.interval})" for bar in own],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "color": [palette[FILLS[outcome]] for outcome in outcomes],
            "line": {"color": [palette[EDGES[outcome]] for outcome in outcomes], "width": 1.5},
        },
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [math.log2(bar.ratio.high) - height for bar, height in zip(own, heights, strict=True)],
            "arrayminus": [height - math.log2(bar.ratio.low) for bar, height in zip(own, heights, strict=True)],
            "color": palette["ink"],
            "thickness": 1,
            "width": 4,
        },
    }


def _labels(
    block: PublishedBenchmark, panel: Panel, own: list[Bar], suffix: str, palette: Palette
) -> list[dict[str, Any]]:
    """The panel's title, each bar's factor with its mark, and the words on the line at 1."""
    axes = {"xref": f"x{suffix}", "yref": f"y{suffix}"}
    labels = [
        figures.label(
            panel.title, palette, "ink", 650, x=0, y=1, xref=f"x{suffix} domain", yref=f"y{suffix} domain",
            xanchor="left", yanchor="bottom", yshift=10,
        )
    ]  # fmt: skip
    for index, bar in enumerate(own):
        down = bar.ratio.outcome == "slower"
        label = figures.label(
            bar.factor,
            palette,
            EDGES[bar.ratio.outcome],
            650,
            x=index,
            y=math.log2(bar.ratio.low if down else bar.ratio.high),
            xanchor="center",
            yanchor="top" if down else "bottom",
            yshift=-4 if down else 4,
            **axes,
        )
        mark = MARKS[bar.ratio.outcome]
        # The mark in a line of its own: beside the factor it would not fit a phone.
        label["text"] = f"{label['text']}<br>{mark}" if down else f"{mark}<br>{label['text']}"
        label["align"] = "center"
        labels.append(label)
    # Over the last bar if that one goes down, else under it: there the line is free.
    over = own[-1].ratio.outcome == "slower"
    labels.append(
        figures.label(
            block.equal_label, palette, "muted", x=1, y=0, xref=f"x{suffix} domain", yref=f"y{suffix}",
            xanchor="right", yanchor="bottom" if over else "top", yshift=3 if over else -8,
        )
    )  # fmt: skip
    return labels

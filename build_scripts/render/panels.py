"""Charts of several small panels that share their axes, for measurements with intervals.

Panels stand side by side; in a narrow box there are fewer beside each other. Knows no lesson.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from build_scripts.model.readings import Outcome, Ratio
from build_scripts.render import figures
from build_scripts.render.labelling import Frame, Spot, best_spot
from build_scripts.render.numbers import fixed
from build_scripts.render.palette import Palette
from build_scripts.render.svg import symbol_element

MARKS: dict[Outcome, str] = {"faster": "▲", "equal": "=", "slower": "▼"}
FILLS: dict[Outcome, str] = {"faster": "accepted-bg", "equal": "line", "slower": "rejected-bg"}
EDGES: dict[Outcome, str] = {"faster": "accepted", "equal": "muted", "slower": "rejected"}

LEFT, NARROW_LEFT, RIGHT, NARROW_RIGHT = 48, 47, 10, 8
BELOW = 44
"""Under a panel: its ticks and the title of its axis."""
TITLES = 26
"""Over the first row: the title of the y axis, above the panels' own."""
TITLE_LINE = 18
COLUMN_GAP, NARROW_COLUMN_GAP = 20, 16
LABEL_HEIGHT = 16.0
DOUBLING_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 32)


@dataclass(frozen=True)
class Axis:
    """The range of every panel's axis; ticks as (where, words)."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    title: str
    narrow_ticks: list[tuple[float, str]] | None = None


@dataclass(frozen=True)
class Series:
    """Points of a panel in the axes' units; `low` and `high` are ends of intervals."""

    x: list[float]
    y: list[float]
    hover: list[str]
    low: list[float] | None = None
    high: list[float] | None = None
    colour: str = "accent"
    dash: str = "solid"
    lines: bool = True
    symbol: str = "circle"
    size: float = 7
    filled: bool = True
    width: float = 2
    label: str = ""
    """Beside the line; only where a chart has one panel."""


@dataclass(frozen=True)
class Bar:
    """A bar from 1, up for a win and down for a loss; `label` stands at its end."""

    x: float
    ratio: Ratio
    hover: str
    label: str = ""


@dataclass(frozen=True)
class Panel:
    title: str = ""
    note: str = ""
    series: list[Series] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)


@dataclass(frozen=True)
class Guide:
    """A line through every panel: level at `y`, or the diagonal. Labelled in the first panel."""

    label: str
    y: float | None = None
    dash: str = "solid"
    at: str = "right"
    """The end of the line where its label stands."""


def doublings(ratios: Sequence[Ratio], title: str, room: float = 0.35) -> Axis:
    """An axis of the logarithm to base 2, so that twice as fast and twice as slow are equally far."""
    low = min(0.0, *(math.log2(ratio.low) for ratio in ratios)) - room
    high = max(0.0, *(math.log2(ratio.high) for ratio in ratios)) + room
    steps = DOUBLING_TICKS if high - low < 4 else [tick for tick in DOUBLING_TICKS if math.log2(tick).is_integer()]
    ticks = [(math.log2(tick), f"{fixed(tick, 2, trim=True)}×") for tick in steps if low <= math.log2(tick) <= high]
    return Axis(low, high, ticks, title)


def grid(
    panels: Sequence[Panel],
    x: Axis,
    y: Axis,
    palette: Palette,
    alt: str,
    columns: tuple[int, int],
    heights: tuple[int, int],
    guides: Sequence[Guide] = (),
    end_room: int = 0,
) -> figures.Figure:
    """The figure. columns, heights: of a panel in the wide and in the narrow layout.

    end_room: pixels to the right of a single panel for its lines' labels, at their ends; with 0
    they stand beside the lines, where they cover nothing.
    """
    head = _head(panels)
    wide = _Sheet(len(panels), columns[0], heights[0], figures.WIDE, LEFT, RIGHT + end_room, COLUMN_GAP, head, end_room)
    small = _Sheet(
        len(panels), columns[1], heights[1], figures.NARROW, NARROW_LEFT, NARROW_RIGHT + end_room,
        NARROW_COLUMN_GAP, head, end_room,
    )  # fmt: skip
    layout: dict[str, Any] = {"height": wide.height, "margin": wide.margin, "shapes": []}
    narrow: dict[str, Any] = {"height": small.height, "margin": small.margin}
    traces: list[dict[str, Any]] = []
    for index, panel in enumerate(panels):
        suffix = "" if index == 0 else str(index + 1)
        layout[f"xaxis{suffix}"] = {
            "anchor": f"y{suffix}", "domain": wide.across(index), "range": [x.low, x.high], "showgrid": False,
            **_ticks(x.ticks),
            "title": {"text": figures.text(x.title), "standoff": 6, "font": {"size": figures.SMALL}},
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}", "domain": wide.along(index), "range": [y.low, y.high],
            "showticklabels": index % columns[0] == 0, **_ticks(y.ticks),
        }  # fmt: skip
        narrow[f"xaxis{suffix}.domain"] = small.across(index)
        narrow[f"yaxis{suffix}.domain"] = small.along(index)
        narrow[f"yaxis{suffix}.showticklabels"] = index % columns[1] == 0
        if x.narrow_ticks is not None:
            for name, value in _ticks(x.narrow_ticks).items():
                narrow[f"xaxis{suffix}.{name}"] = value
        traces += [_points(series, suffix, palette) for series in panel.series]
        if panel.bars:
            traces.append(_bars(panel.bars, suffix, palette))
        layout["shapes"] += [_guide(guide, suffix, x, y, palette) for guide in guides]
    layout["annotations"] = _annotations(panels, x, y, guides, palette, wide)
    narrow["annotations"] = _annotations(panels, x, y, guides, palette, small)
    return figures.build(traces, layout, palette, alt, narrow)


def swatch(series: Series) -> Markup:
    """A piece of a line and a marker, for a key above the chart."""
    colour = f"var(--ls-{series.colour})"
    dash = {"dash": "8 5", "dot": "2 4"}.get(series.dash)
    line = ""
    if series.lines:
        pattern = f' stroke-dasharray="{dash}"' if dash else ""
        line = f'<path d="M0 7H34" stroke="{colour}" stroke-width="{series.width}" fill="none"{pattern}/>'
    paint = f'fill="{colour}"' if series.filled else f'fill="var(--ls-bg)" stroke="{colour}" stroke-width="1.5"'
    width = 34 if series.lines else 16
    return Markup(
        f'<svg width="{width}" height="14" viewBox="0 0 {width} 14" aria-hidden="true">{line}'
        f"<{symbol_element(series.symbol, width / 2, 7, series.size / 2)} {paint}/></svg>"
    )


# --- the layout ----------------------------------------------------------------------------------


def _head(panels: Sequence[Panel]) -> int:
    """Pixels over each panel for its title and its note."""
    return TITLE_LINE * max((bool(panel.title) + bool(panel.note) for panel in panels), default=0) + 6


@dataclass(frozen=True)
class _Sheet:
    """Where the panels stand at one width."""

    count: int
    columns: int
    panel_height: int
    width: int
    left: int
    right: int
    gap: int
    head: int
    end_room: int

    @property
    def rows(self) -> int:
        return math.ceil(self.count / self.columns)

    @property
    def plot(self) -> int:
        return self.rows * self.panel_height + (self.rows - 1) * (BELOW + self.head)

    @property
    def margin(self) -> dict[str, int]:
        return {"l": self.left, "r": self.right, "t": TITLES + self.head, "b": BELOW}

    @property
    def height(self) -> int:
        return self.plot + self.margin["t"] + self.margin["b"]

    def across(self, index: int) -> list[float]:
        room = self.width - self.left - self.right
        each = (room - (self.columns - 1) * self.gap) / self.columns
        start = (index % self.columns) * (each + self.gap) / room
        return [start, min(1.0, start + each / room)]

    def along(self, index: int) -> list[float]:
        top = (index // self.columns) * (self.panel_height + BELOW + self.head)
        return [max(0.0, 1 - (top + self.panel_height) / self.plot), 1 - top / self.plot]


def _ticks(ticks: list[tuple[float, str]]) -> dict[str, Any]:
    return {"tickvals": [where for where, _ in ticks], "ticktext": [words for _, words in ticks]}


# --- what is drawn -------------------------------------------------------------------------------


def _points(series: Series, suffix: str, palette: Palette) -> dict[str, Any]:
    colour = palette[series.colour]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if series.lines else "markers",
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "x": series.x,
        "y": series.y,
        "line": {"color": colour, "width": series.width, "dash": series.dash, "simplify": False},
        "marker": {
            "symbol": series.symbol,
            "size": series.size,
            "color": colour if series.filled else palette["bg"],
            "line": {"color": colour, "width": 0 if series.filled else 1.5},
        },
        "hovertext": series.hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
    }
    if series.low is not None and series.high is not None:
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [high - y for high, y in zip(series.high, series.y, strict=True)],
            "arrayminus": [y - low for low, y in zip(series.low, series.y, strict=True)],
            "color": colour,
            "thickness": 1,
            "width": 3,
        }
    return trace


def _bars(bars: Sequence[Bar], suffix: str, palette: Palette) -> dict[str, Any]:
    outcomes = [bar.ratio.outcome for bar in bars]
    heights = [math.log2(bar.ratio.value) for bar in bars]
    return {
        "type": "bar",
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "x": [bar.x for bar in bars],
        "y": heights,
        "width": 0.72,
        "hovertext": [bar.hover for bar in bars],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "color": [palette[FILLS[outcome]] for outcome in outcomes],
            "line": {"color": [palette[EDGES[outcome]] for outcome in outcomes], "width": 1.5},
        },
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [math.log2(bar.ratio.high) - height for bar, height in zip(bars, heights, strict=True)],
            "arrayminus": [height - math.log2(bar.ratio.low) for bar, height in zip(bars, heights, strict=True)],
            "color": palette["ink"],
            "thickness": 1,
            "width": 2,
        },
    }


def _guide(guide: Guide, suffix: str, x: Axis, y: Axis, palette: Palette) -> dict[str, Any]:
    if guide.y is not None:
        ends = {"x0": x.low, "x1": x.high, "y0": guide.y, "y1": guide.y}
    else:
        low, high = max(x.low, y.low), min(x.high, y.high)
        ends = {"x0": low, "x1": high, "y0": low, "y1": high}
    return {
        "type": "line",
        "layer": "between",
        "xref": f"x{suffix}",
        "yref": f"y{suffix}",
        **ends,
        "line": {"color": palette["muted"], "width": 1.2, "dash": guide.dash},
    }


def _annotations(
    panels: Sequence[Panel], x: Axis, y: Axis, guides: Sequence[Guide], palette: Palette, sheet: _Sheet
) -> list[dict[str, Any]]:
    notes = [
        figures.label(
            y.title, palette, "muted", x=0, y=1, xref="paper", yref="paper",
            xanchor="left", yanchor="bottom", xshift=8 - sheet.left, yshift=sheet.head + 2,
        )
    ]  # fmt: skip
    for index, panel in enumerate(panels):
        suffix = "" if index == 0 else str(index + 1)
        corner = {"x": 0, "y": 1, "xref": f"x{suffix} domain", "yref": f"y{suffix} domain", "xanchor": "left", "yanchor": "bottom"}
        if panel.title:
            lift = 4 + (TITLE_LINE if panel.note else 0)
            notes.append(figures.label(panel.title, palette, "ink", 650, **corner, yshift=lift))
        if panel.note:
            notes.append(figures.label(panel.note, palette, "muted", **corner, yshift=4))
        for bar in panel.bars:
            if bar.label:
                notes.append(_bar_label(bar, suffix, palette))
    if len(panels) == 1:
        notes += _line_labels(panels[0], x, y, guides, palette, sheet)
    else:
        notes += _guide_notes(guides, x, y, palette)
    return notes


def _bar_label(bar: Bar, suffix: str, palette: Palette) -> dict[str, Any]:
    """The factor at the bar's end, with its mark in a line of its own."""
    down = bar.ratio.value < 1
    mark = MARKS[bar.ratio.outcome]
    label = figures.label(
        bar.label, palette, EDGES[bar.ratio.outcome], 650, x=bar.x,
        y=math.log2(bar.ratio.low if down else bar.ratio.high), xref=f"x{suffix}", yref=f"y{suffix}",
        xanchor="center", yanchor="top" if down else "bottom", yshift=-3 if down else 3,
    )  # fmt: skip
    label["text"] = f"{label['text']}<br>{mark}" if down else f"{mark}<br>{label['text']}"
    label["align"] = "center"
    return label


def _guide_notes(guides: Sequence[Guide], x: Axis, y: Axis, palette: Palette) -> list[dict[str, Any]]:
    return [_guide_label(guide, x, y, palette) for guide in guides if guide.label]


def _guide_label(guide: Guide, x: Axis, y: Axis, palette: Palette) -> dict[str, Any]:
    """On the guide, in the first panel, at the end that the chart leaves free."""
    if guide.y is not None:
        right = guide.at == "right"
        return figures.label(
            guide.label, palette, "muted", x=x.high if right else x.low, y=guide.y,
            xanchor="right" if right else "left", yanchor="top", yshift=-3, xref="x", yref="y",
        )  # fmt: skip
    high = min(x.high, y.high)
    # The diagonal falls by no more than a pixel for each to the left, and so passes above.
    drop = figures.text_width(guide.label, figures.SMALL) + 6
    return figures.label(
        guide.label, palette, "muted", x=high, y=high, xanchor="right", yanchor="top", yshift=-drop, xref="x", yref="y"
    )


def _line_labels(
    panel: Panel, x: Axis, y: Axis, guides: Sequence[Guide], palette: Palette, sheet: _Sheet
) -> list[dict[str, Any]]:
    """Each line's label beside it, where it covers nothing."""
    margin = sheet.margin
    widths = (
        (figures.NARROW_BELOW, figures.WIDE_UP_TO) if sheet.width == figures.WIDE else (figures.NARROW_FROM, figures.NARROW_UP_TO)
    )
    frames = [
        Frame(
            width, figures.height_at(sheet.height, width), margin["l"], margin["r"], margin["t"], margin["b"],
            (x.low, x.high), (y.low, y.high),
        )
        for width in widths
    ]  # fmt: skip
    if sheet.end_room:
        return _end_labels(panel, frames[0], palette) + _guide_notes(guides, x, y, palette)
    lines = [list(zip(series.x, series.y, strict=True)) for series in panel.series]
    lines += [[(x.low, guide.y), (x.high, guide.y)] for guide in guides if guide.y is not None]
    words = [(series.label, series.colour, series.width) for series in panel.series]
    words += [(guide.label, "muted", 1) for guide in guides if guide.y is not None]
    taken: list[list[Any]] = [[] for _ in frames]
    labels = []
    for (label, colour, width), line in zip(words, lines, strict=True):
        if not label:
            continue
        bold = width > 2
        size = (figures.text_width(label, figures.SMALL, bold), LABEL_HEIGHT)
        spot = best_spot(_beside(line, x.high), size, frames, lines, taken)
        for boxes, frame in zip(taken, frames, strict=True):
            boxes.append(spot.box(frame, *size))
        labels.append(
            figures.label(
                label, palette, colour, 650 if bold else 400, x=spot.x, y=spot.y, xshift=spot.dx, yshift=spot.dy,
                xanchor=spot.xanchor, yanchor=spot.yanchor,
            )
        )  # fmt: skip
    return labels


def _end_labels(panel: Panel, frame: Frame, palette: Palette) -> list[dict[str, Any]]:
    """Each line's label to the right of its last point, moved up where it would touch the one below."""
    labels = []
    free = math.inf
    for series in sorted((one for one in panel.series if one.label and one.y), key=lambda one: one.y[-1]):
        own = frame.y(series.y[-1])
        place = min(own, free)
        free = place - LABEL_HEIGHT + 2
        labels.append(
            figures.label(
                series.label, palette, series.colour, 650 if series.width > 2 else 400, x=series.x[-1], y=series.y[-1],
                xshift=9, yshift=own - place, xanchor="left", yanchor="middle",
            )
        )  # fmt: skip
    return labels


def _beside(line: list[tuple[float, float]], end: float) -> list[Spot]:
    """Over and under a line, from its right end on, near first."""
    spots = []
    for distance in (6.0, 16.0, 30.0):
        for x, y in reversed(line):
            spots += [
                Spot(x, y, -4.0, distance, "right", "bottom"),
                Spot(end, y, 0.0, -distance, "right", "top"),
                Spot(x, y, 4.0, -distance, "left", "top"),
                Spot(x, y, 4.0, distance, "left", "bottom"),
            ]
    return spots

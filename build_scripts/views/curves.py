"""The calculator's three charts: what acceptance and the number of drafted tokens are worth.

`docs/assets/lesson/views/curves.js` makes the same figures for whatever the reader sets:
it takes the figure made here as its base and puts in the curves, the marks and the labels.
Labels stand at the lines, not in a legend; where they find room is worked out anew for
every state (`curve_labels.py`).
"""

from __future__ import annotations

from typing import Any

from build_scripts.model.speculation import Round
from build_scripts.render import figures
from build_scripts.render.labelling import Point, Spot
from build_scripts.render.numbers import ROUND_PARAMETERS, fixed, round_at
from build_scripts.render.palette import Palette
from build_scripts.render.svg import chart_html
from build_scripts.spec.schema import Calculator, ChartName, ChartWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.curve_data import (
    EXPECTED,
    OVER_DRAFT_TOKENS,
    Curves,
    Texts,
    describe,
    label_texts,
    trace_curves,
)
from build_scripts.views.curve_labels import LABEL_WEIGHT, NARROW, WIDE, Sheet, axes, place_labels

LABELS = ("y_title", "without", "with_", "reference", "mark", "point")
"""The order of the annotations. Those that a state lacks are there, but not visible."""


def render(block: Calculator, page: PageContext) -> Rendered:
    """All charts of a calculator, and for its script each chart's figure and words."""
    lesson = page.lesson
    draft_range = (lesson.parameters.draft_tokens.min, lesson.parameters.draft_tokens.max)
    charts = {
        words.chart: figure(words, round_at(lesson), draft_range, page.palette, lesson.labels.none)
        for words in block.charts
    }
    html = "".join(chart_html(words.chart, charts[words.chart], words.title) for words in block.charts)
    data = {
        "figures": charts,
        "words": {words.chart: words.model_dump() for words in block.charts},
        "draft_tokens": list(draft_range),
        "inputs": {name: getattr(lesson.parameters, name).default for name in ROUND_PARAMETERS},
    }
    return Rendered(f'<div class="charts">{html}</div>', data, charts)


def figure(
    words: ChartWords, inputs: Round, draft_range: tuple[int, int], palette: Palette, none: str
) -> figures.Figure:
    """The chart that `words` names, at the state `inputs`.

    draft_range: the least and the most drafted tokens that the reader can set, the ends of
    the axis of the chart over them. none: the word for a number that does not exist.
    """
    curves = trace_curves(words.chart, inputs, draft_range)
    texts = label_texts(words, inputs, curves, none)
    x_range, y_range = axes(curves)
    layout = {
        "height": WIDE.height,
        "margin": WIDE.margin,
        "xaxis": {
            "range": list(x_range),
            "showgrid": False,
            "title": {"text": figures.text(words.x_title), "standoff": 6, "font": {"size": figures.SMALL}},
            **_x_ticks(words.chart, draft_range, 12),
        },
        "yaxis": {"range": list(y_range), **_y_ticks(words.chart, curves)},
        "shapes": _shapes(curves, texts, palette),
        "annotations": _annotations(curves, texts, inputs.bonus, WIDE, palette),
    }
    narrow = {
        "height": NARROW.height,
        "margin": NARROW.margin,
        **{f"xaxis.{key}": value for key, value in _x_ticks(words.chart, draft_range, 6).items()},
        "annotations": _annotations(curves, texts, inputs.bonus, NARROW, palette),
    }
    traces = _traces(words, inputs.bonus, curves, palette)
    return figures.build(traces, layout, palette, describe(words, inputs, texts, none), narrow)


def count_ticks(draft_range: tuple[int, int], at_most: int) -> list[int]:
    """Whole numbers of the range, about so many at most: the first, then the multiples of a step."""
    first, last = draft_range
    step = 1
    while (last - first) / step + 1 > at_most:
        step += 1
    return [first, *(k for k in range(first + 1, last + 1) if k % step == 0)]


def _x_ticks(chart: ChartName, draft_range: tuple[int, int], at_most: int) -> dict[str, Any]:
    if chart == OVER_DRAFT_TOKENS:
        ticks: list[float] = list(count_ticks(draft_range, at_most))
    else:
        ticks = [0, 0.25, 0.5, 0.75, 1] if at_most > 6 else [0, 0.5, 1]
    return {"tickvals": ticks, "ticktext": [fixed(tick, 2, trim=True) for tick in ticks]}


def _y_ticks(chart: ChartName, curves: Curves) -> dict[str, Any]:
    top, step = curves.top
    ticks = [step * n for n in range(int(top / step + 0.5) + 1)]
    return {"tickvals": ticks, "ticktext": [fixed(tick, 2, trim=True) + _unit(chart) for tick in ticks]}


def _unit(chart: ChartName) -> str:
    return "" if chart == EXPECTED else "×"


def _traces(words: ChartWords, bonus: bool, curves: Curves, palette: Palette) -> list[dict[str, Any]]:
    """The other setting's line, the reader's own line, the mark, and the reader's point on top."""
    own, other = (curves.with_, curves.without) if bonus else (curves.without, curves.with_)
    over_k = words.chart == OVER_DRAFT_TOKENS
    x_format = "" if over_k else ":.2f"
    hover = (
        f"{figures.text(words.x_title)}: %{{x{x_format}}}<br>"
        f"{figures.text(words.y_title)}: %{{y:.2f}}{_unit(words.chart)}<extra></extra>"
    )

    def line(y: list[float], colour: str, width: float, dash: str, size: int) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines+markers" if over_k else "lines",
            "x": curves.x,
            "y": y,
            "line": {"color": palette[colour], "width": width, "dash": dash, "simplify": False},
            "marker": {"color": palette[colour], "size": size},
            "hovertemplate": hover,
        }

    def dot(at: Point | None, size: int, fill: str, edge: str, width: float) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "markers",
            "x": [] if at is None else [at[0]],
            "y": [] if at is None else [at[1]],
            "marker": {"size": size, "color": fill, "line": {"color": palette[edge], "width": width}},
            "hoverinfo": "skip",
            "cliponaxis": False,  # a mark at the edge is a whole mark
        }

    return [
        line(other, "muted", 1.5, "dot", 4),
        line(own, "accent", 2.5, "solid", 6),
        # A ring around the best k, so that the reader's point fits into it.
        dot(curves.mark, 17, figures.TRANSPARENT, "ink", 1.5)
        if over_k
        else dot(curves.mark, 9, palette["bg"], "ink", 1.5),
        dot(curves.point, 13, palette["accent"], "bg", 2),
    ]


def _shapes(curves: Curves, texts: Texts, palette: Palette) -> list[dict[str, Any]]:
    """The line of plain decoding, and the stem below the break-even point."""
    (low, high), _ = axes(curves)
    even = 0.0 if curves.even is None else curves.even[0]
    line = {"type": "line", "layer": "between"}
    return [
        {
            **line,
            "visible": bool(texts.reference),
            **{"x0": low, "x1": high, "y0": 1, "y1": 1},
            "line": {"color": palette["muted"], "width": 1, "dash": "dash"},
        },
        {
            **line,
            "visible": curves.even is not None,
            **{"x0": even, "x1": even, "y0": 0, "y1": 1},
            "line": {"color": palette["muted"], "width": 1},
        },
    ]


def _annotations(
    curves: Curves, texts: Texts, bonus: bool, sheet: Sheet, palette: Palette
) -> list[dict[str, Any]]:
    spots = place_labels(curves, texts, bonus, sheet)
    own = "with_" if bonus else "without"
    return [
        figures.label(
            getattr(texts, name),
            palette,
            colour="ink" if name == "point" else "accent" if name == own else "muted",
            weight=LABEL_WEIGHT if name == "point" else 400,
            **_place(spots[name]),
        )
        for name in LABELS
    ]


def _place(spot: Spot) -> dict[str, Any]:
    return {
        "x": spot.x,
        "y": spot.y,
        "xshift": spot.dx,
        "yshift": spot.dy,
        "xanchor": spot.xanchor,
        "yanchor": spot.yanchor,
    }

"""The base of every chart: a Plotly figure that is validated, plain and the same twice.

A figure is a dictionary as Plotly's JavaScript takes it. `layout.meta` carries what the
page needs and Plotly ignores:

    alt       the chart in words, its accessible name
    colours   light colour -> custom property, so that the page can redraw it in the dark
    narrow    layout for a box narrower than NARROW_BELOW, as dotted paths -> values

`svg.py` draws the static picture from it and `charts.js` the live one.
"""

from __future__ import annotations

import copy
import html
import json
import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from build_scripts.render.palette import Palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

Figure = dict[str, Any]

FONT_FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
FONT_SIZE = 13
SMALL = 12

WIDE = 720
NARROW = 300
"""The two widths, in CSS pixels, at which a chart is drawn as a static picture."""

NARROW_BELOW = 600
"""A box narrower than this gets the narrow layout; charts.js and lesson.css agree."""

WIDE_UP_TO = 780
NARROW_FROM = 250
NARROW_UP_TO = 360
"""How far the pictures may be stretched and shrunk; the height goes with the width."""

TICK_STANDOFF = 4
"""Pixels between the plot and the tick labels."""

TICK_STEPS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

TRANSPARENT = "rgba(0,0,0,0)"

_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)


def build(
    traces: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    palette: Palette,
    alt: str,
    narrow: Mapping[str, Any] | None = None,
) -> Figure:
    """A plain figure from traces and a layout, with the defaults of every chart of the lesson.

    `narrow` maps dotted layout paths ("yaxis2.domain") to what replaces them in a narrow box.
    ValueError where Plotly does not know an attribute or its value.
    """
    whole = _merged(_defaults(palette), layout)
    for name in [name for name in whole if name.startswith(("xaxis", "yaxis"))]:
        whole[name] = _merged(_axis_defaults(palette), whole[name])
    _validated(traces, _patched(whole, narrow or {}))
    plain = _validated(traces, whole)
    plain["layout"]["meta"] = {
        "alt": alt,
        "colours": _used_colours([plain, narrow], palette.variables()),
        "narrow": _plain(narrow or {}),
    }
    return plain


def to_plain(figure: go.Figure) -> Figure:
    """The figure as nested dicts, lists, numbers and strings, without Plotly's default template.

    Numbers keep six significant digits, halves rounded away from zero as JavaScript's
    toPrecision does it, so that the figure does not depend on the last bit of a computation.
    """
    plain = figure.to_plotly_json()
    layout = dict(plain["layout"])
    layout.pop("template", None)
    return {"data": _plain(plain["data"]), "layout": _plain(layout)}


def at_width(figure: Figure, width: float) -> Figure:
    """A copy of the figure laid out for a box of that many pixels: width, height, narrow or not."""
    layout = figure["layout"]
    narrow = width < NARROW_BELOW
    laid_out = _patched(layout, layout["meta"]["narrow"] if narrow else {})
    laid_out["width"] = width
    laid_out["height"] = height_at(laid_out["height"], width)
    return {"data": figure["data"], "layout": laid_out}


def height_at(height: float, width: float) -> int:
    """The height of a chart in a box of that width; `height` is that of its static picture."""
    if width < NARROW_BELOW:
        scale = min(width, NARROW_UP_TO) / NARROW
    else:
        scale = min(width, WIDE_UP_TO) / WIDE
    return int(height * scale + 0.5)


def axis_top(highest: float) -> tuple[float, float]:
    """The upper end of an axis that starts at 0, and the step of its ticks, for values up to `highest`.

    The smallest of the round steps that needs no more than five.
    """
    for step in TICK_STEPS:
        count = math.ceil(highest / step)
        if count <= 5:
            return count * step, step
    raise ValueError(f"no axis is made for values up to {highest}")


def label(words: str, palette: Palette, colour: str, weight: int = 400, **place: Any) -> dict[str, Any]:
    """An annotation: words in the role `colour`, on the page's ground so that lines do not cross them.

    `place` are its x, y, anchors and shifts. Without words it is there, but not visible.
    """
    return {
        # Plotly leaves out an annotation without text, and the next ones would move up.
        "text": text(words) or " ",
        "visible": bool(words),
        "showarrow": False,
        "align": "left",
        "borderpad": 0,
        "borderwidth": 0,
        "bgcolor": palette["bg"],
        "font": {"size": SMALL, "color": palette[colour], "weight": weight},
        **place,
    }


def text(words: str) -> str:
    """Words of an author as Plotly's text: it reads a little HTML."""
    return html.escape(words, quote=False)


def text_width(words: str, size: float, bold: bool = False) -> float:
    """Roughly how many pixels a line of text takes in a system font; never much too few."""
    return len(words) * size * (0.6 if bold else 0.56)


# --- the parts ---------------------------------------------------------------------------


def _defaults(palette: Palette) -> dict[str, Any]:
    return {
        "font": {"family": FONT_FAMILY, "size": FONT_SIZE, "color": palette["muted"]},
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "showlegend": False,
        # A drag must scroll the page, not zoom the chart.
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": palette["bg"],
            "bordercolor": palette["muted"],
            "font": {"family": FONT_FAMILY, "size": FONT_SIZE, "color": palette["ink"]},
        },
    }


def _axis_defaults(palette: Palette) -> dict[str, Any]:
    return {
        "fixedrange": True,
        "automargin": False,
        "zeroline": False,
        "showline": False,
        "gridcolor": palette["line"],
        "gridwidth": 1,
        "tickfont": {"size": SMALL},
        "ticks": "",
        "ticklabelstandoff": TICK_STANDOFF,
    }


def _validated(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> Figure:
    """The plain figure; the caller may change it."""
    return copy.deepcopy(_validated_once(json.dumps([list(traces), dict(layout)])))


@lru_cache(maxsize=256)
def _validated_once(text: str) -> Figure:
    """Once for each figure: while a site is served, a save changes few of them."""
    # Here, since the import takes a tenth of a second that a check of the lesson need not wait for.
    import plotly.graph_objects as go

    traces, layout = json.loads(text)
    return to_plain(go.Figure(data=traces, layout=layout))


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _patched(layout: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of the layout in which each dotted path holds its new value."""
    patched = copy.deepcopy(dict(layout))
    for path, value in patch.items():
        *parents, last = path.split(".")
        place = patched
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = copy.deepcopy(value)
    return patched


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return significant(value)
    return value


def significant(value: float) -> float | int:
    """The number to six significant digits; a whole one as an int, as JavaScript writes it."""
    rounded = float(_DIGITS.create_decimal(Decimal(value)))
    return int(rounded) if rounded.is_integer() else rounded


def _used_colours(value: Any, variables: Mapping[str, str]) -> dict[str, str]:
    """The colours of the palette that stand anywhere in `value`, with their custom properties."""
    used: dict[str, str] = {}

    def look(part: Any) -> None:
        if isinstance(part, Mapping):
            for item in part.values():
                look(item)
        elif isinstance(part, (list, tuple)):
            for item in part:
                look(item)
        elif isinstance(part, str) and part in variables:
            used[part] = variables[part]

    look(value)
    return dict(sorted(used.items()))

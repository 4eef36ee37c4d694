"""A figure of `figures.py` as a static picture: an SVG string, the same for the same figure.

It draws the part of Plotly's format that the lesson uses: scatter lines and markers, bars,
error bars, linear and log axes with given ticks, straight lines and rectangles,
annotations. A chart is drawn at two widths with text of its real size, since a picture
that is scaled down to a phone cannot be read. Colours name the stylesheet's custom
properties, so the picture follows the page into the dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from build_scripts.render.figures import NARROW, NARROW_BELOW, SMALL, WIDE, Figure, at_width

_LINE_HEIGHT = 1.3
_BOTTOM, _MIDDLE, _TOP = -0.24, 0.36, 0.96
"""From the anchor of a line of text down to its baseline, in parts of the font size."""

_DASHES = {"dot": (1, 1), "dash": (3, 3), "longdash": (5, 5), "dashdot": (3, 1, 1, 1)}
_TEXT_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def chart_html(name: str, figure: Figure, title: str | None = None) -> Markup:
    """A chart as it stands in a page: its title, and the static picture at both widths.

    lesson.css shows the picture that fits, and `charts.js` puts the live chart in its place.
    """
    alt = html.escape(figure["layout"]["meta"]["alt"])
    heading = f'<figcaption class="chart-title">{html.escape(title)}</figcaption>' if title else ""
    return Markup(
        f'<figure class="chart-box">{heading}'
        f'<div class="chart" data-chart="{html.escape(name)}" role="img" aria-label="{alt}">'
        f"{to_svg(figure, WIDE)}{to_svg(figure, NARROW)}</div></figure>"
    )


def to_svg(figure: Figure, width: int) -> str:
    """The figure as one SVG element of that width in CSS pixels.

    Below NARROW_BELOW it takes the figure's narrow layout. ValueError for a trace that is
    neither scatter nor bar, and for an axis without a range.
    """
    laid_out = at_width(figure, width)
    drawing = _Drawing(laid_out)
    shape = "narrow" if width < NARROW_BELOW else "wide"
    label = html.escape(figure["layout"]["meta"]["alt"])
    return (
        f'<svg class="chart-static chart-{shape}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" width="{drawing.width}" height="{drawing.height}" '
        f'role="img" aria-label="{label}" font-family="{html.escape(drawing.font["family"])}" '
        f'font-size="{drawing.font["size"]}">{"".join(drawing.elements())}</svg>'
    )


class _Axis:
    """One axis: values to pixels along it."""

    def __init__(self, name: str, axis: Mapping[str, Any], start: float, length: float) -> None:
        if "range" not in axis:
            raise ValueError(f"{name} has no range")
        self.options = axis
        self.log = axis.get("type") == "log"
        self.low, self.high = axis["range"]
        first, last = axis.get("domain", (0, 1))
        self.horizontal = name.startswith("x")
        self.length = length * (last - first)
        # Pixels grow downwards, a y axis upwards.
        self.start = start + length * (first if self.horizontal else 1 - last)

    def at(self, value: float) -> float:
        if self.log:
            value = math.log10(value)
        return self.at_share((value - self.low) / (self.high - self.low))

    def at_share(self, share: float) -> float:
        """The pixel at a share of the axis, 0 at its low end."""
        return self.start + self.length * (share if self.horizontal else 1 - share)


class _Drawing:
    """The elements of one picture, from the back to the front."""

    def __init__(self, figure: Figure) -> None:
        self.traces = figure["data"]
        self.layout = figure["layout"]
        self.colours = self.layout["meta"]["colours"]
        self.font = self.layout["font"]
        self.width, self.height = self.layout["width"], self.layout["height"]
        margin = self.layout["margin"]
        self.left, self.top = margin["l"], margin["t"]
        self.plot_width = self.width - margin["l"] - margin["r"]
        self.plot_height = self.height - margin["t"] - margin["b"]
        self.axes: dict[str, _Axis] = {}
        for name, options in self.layout.items():
            if name.startswith("xaxis"):
                self.axes[name.replace("axis", "")] = _Axis(name, options, self.left, self.plot_width)
            elif name.startswith("yaxis"):
                self.axes[name.replace("axis", "")] = _Axis(name, options, self.top, self.plot_height)

    def elements(self) -> list[str]:
        shapes = [shape for shape in self.layout.get("shapes", []) if shape.get("visible", True)]
        below = [shape for shape in shapes if shape.get("layer", "above") != "above"]
        above = [shape for shape in shapes if shape.get("layer", "above") == "above"]
        return [
            *(element for name in sorted(self.axes) for element in self._axis(name)),
            *map(self._shape, below),
            *(element for trace in self.traces for element in self._trace(trace)),
            *map(self._shape, above),
            *(
                self._annotation(annotation)
                for annotation in self.layout.get("annotations", [])
                if annotation.get("visible", True)
            ),
        ]

    # --- parts of the picture ---

    def _axis(self, name: str) -> list[str]:
        axis = self.axes[name]
        options = axis.options
        other = self.axes[options.get("anchor", name.replace("x", "#").replace("y", "x").replace("#", "y"))]
        size = options.get("tickfont", {}).get("size", SMALL)
        colour = options.get("tickfont", {}).get("color", self.font["color"])
        near, far = other.start, other.start + other.length
        standoff = options.get("ticklabelstandoff", 0)
        elements = []
        for value, words in zip(options.get("tickvals", []), options.get("ticktext", []), strict=True):
            at = axis.at(value)
            if not axis.start - 0.5 <= at <= axis.start + axis.length + 0.5:
                continue
            if options.get("showgrid", True):
                ends = (at, near, at, far) if axis.horizontal else (near, at, far, at)
                elements.append(self._line(*ends, {"color": options["gridcolor"], "width": options.get("gridwidth", 1)}))
            if options.get("showticklabels", True):
                if axis.horizontal:
                    elements.append(self._text(words, at, far + standoff, size, colour, "center", "top"))
                else:
                    elements.append(self._text(words, near - 3 - standoff, at, size, colour, "right", "middle"))
        title = options.get("title", {})
        if title.get("text") and axis.horizontal:
            middle = axis.start + axis.length / 2
            title_size = title.get("font", {}).get("size", self.font["size"])
            below = far + standoff + size * _LINE_HEIGHT + title.get("standoff", 0)
            elements.append(self._text(title["text"], middle, below, title_size, self.font["color"], "center", "top"))
        return elements

    def _trace(self, trace: Mapping[str, Any]) -> list[str]:
        x, y = self.axes[trace.get("xaxis", "x")], self.axes[trace.get("yaxis", "y")]
        if trace["type"] == "bar":
            return self._bars(trace, x, y)
        if trace["type"] != "scatter":
            raise ValueError(f"no static picture is made of a {trace['type']} trace")
        points = [(x.at(a), y.at(b)) for a, b in zip(trace["x"], trace["y"], strict=True)]
        mode = trace.get("mode", "lines")
        elements = []
        if "lines" in mode and len(points) > 1:
            path = "M" + "L".join(f"{_px(a)} {_px(b)}" for a, b in points)
            elements.append(f'<path d="{path}" fill="none" {self._stroke(trace["line"])} stroke-linejoin="round"/>')
        if error := trace.get("error_y"):
            line = {"color": error["color"], "width": error["thickness"]}
            for index, (place, value) in enumerate(zip(trace["x"], trace["y"], strict=True)):
                elements += self._interval(x.at(place), y, value, error, index, line)
        if "markers" in mode:
            marker = trace["marker"]
            outline = self._stroke(marker["line"]) if marker.get("line", {}).get("width") else ""
            for a, b in points:
                shape = symbol_element(marker.get("symbol", "circle"), a, b, marker["size"] / 2)
                elements.append(f'<{shape} fill="{self._colour(marker["color"])}" {outline}/>')
        return elements

    def _bars(self, trace: Mapping[str, Any], x: _Axis, y: _Axis) -> list[str]:
        marker, error = trace["marker"], trace.get("error_y")
        elements = []
        for index, (place, value) in enumerate(zip(trace["x"], trace["y"], strict=True)):
            left, right = x.at(place - trace["width"] / 2), x.at(place + trace["width"] / 2)
            ends = sorted((y.at(trace.get("base", 0)), y.at(trace.get("base", 0) + value)))
            outline = {key: _item(part, index) for key, part in marker["line"].items()}
            elements.append(
                f'<rect x="{_px(left)}" y="{_px(ends[0])}" width="{_px(right - left)}" '
                f'height="{_px(ends[1] - ends[0])}" fill="{self._colour(_item(marker["color"], index))}" '
                f"{self._stroke(outline)}/>"
            )
            if error:
                line = {"color": error["color"], "width": error["thickness"]}
                elements += self._interval((left + right) / 2, y, value, error, index, line)
        return elements

    def _interval(
        self, middle: float, y: _Axis, value: float, error: Mapping[str, Any], index: int, line: Mapping[str, Any]
    ) -> list[str]:
        """An error bar: a stroke from one end of the interval to the other, and a cap on each."""
        high = y.at(value + error["array"][index])
        low = y.at(value - error.get("arrayminus", error["array"])[index])
        cap = error["width"]
        return [
            self._line(middle, low, middle, high, line),
            *(self._line(middle - cap, end, middle + cap, end, line) for end in (low, high)),
        ]

    def _shape(self, shape: Mapping[str, Any]) -> str:
        x0, x1 = (self._along(shape, "x", shape[end]) for end in ("x0", "x1"))
        y0, y1 = (self._along(shape, "y", shape[end]) for end in ("y0", "y1"))
        if shape["type"] == "line":
            return self._line(x0, y0, x1, y1, shape["line"])
        return (
            f'<rect x="{_px(min(x0, x1))}" y="{_px(min(y0, y1))}" width="{_px(abs(x1 - x0))}" '
            f'height="{_px(abs(y1 - y0))}" fill="{self._colour(shape["fillcolor"])}"/>'
        )

    def _annotation(self, annotation: Mapping[str, Any]) -> str:
        font = annotation.get("font", {})
        return self._text(
            annotation["text"],
            self._along(annotation, "x", annotation["x"]) + annotation.get("xshift", 0),
            self._along(annotation, "y", annotation["y"]) - annotation.get("yshift", 0),
            font.get("size", self.font["size"]),
            font.get("color", self.font["color"]),
            annotation.get("xanchor", "center"),
            annotation.get("yanchor", "middle"),
            font.get("weight", 400),
            annotation.get("bgcolor"),
        )

    # --- from the figure's terms to SVG's ---

    def _along(self, item: Mapping[str, Any], direction: str, value: float) -> float:
        """A coordinate in pixels, by what it refers to: an axis, an axis' whole length, or the plot."""
        reference = item.get(f"{direction}ref", direction)
        if reference == "paper":
            start, length = (self.left, self.plot_width) if direction == "x" else (self.top, self.plot_height)
            return start + length * (value if direction == "x" else 1 - value)
        if reference.endswith(" domain"):
            return self.axes[reference.removesuffix(" domain")].at_share(value)
        return self.axes[reference].at(value)

    def _line(self, x0: float, y0: float, x1: float, y1: float, line: Mapping[str, Any]) -> str:
        return f'<path d="M{_px(x0)} {_px(y0)}L{_px(x1)} {_px(y1)}" fill="none" {self._stroke(line)}/>'

    def _stroke(self, line: Mapping[str, Any]) -> str:
        width = line["width"]
        dashes = _DASHES.get(line.get("dash", "solid"))
        pattern = ""
        if dashes:
            pattern = f' stroke-dasharray="{" ".join(_px(part * max(width, 3)) for part in dashes)}"'
        return f'stroke="{self._colour(line["color"])}" stroke-width="{_px(width)}"{pattern}'

    def _text(
        self,
        words: str,
        x: float,
        y: float,
        size: float,
        colour: str,
        xanchor: str,
        yanchor: str,
        weight: int = 400,
        ground: str | None = None,
    ) -> str:
        """A label of one or more lines (<br>); x and y are where its anchors stand.

        `ground` is a colour around the letters that keeps lines away from them.
        """
        lines = [html.unescape(line) for line in words.split("<br>")]
        height = size * _LINE_HEIGHT * (len(lines) - 1)
        baseline = {
            "top": y + _TOP * size,
            "middle": y + _MIDDLE * size - height / 2,
            "bottom": y + _BOTTOM * size - height,
        }[yanchor]
        spans = "".join(
            f'<tspan x="{_px(x)}" y="{_px(baseline + index * size * _LINE_HEIGHT)}">{html.escape(line, quote=False)}</tspan>'
            for index, line in enumerate(lines)
        )
        halo = ""
        if ground is not None:
            halo = f' stroke="{self._colour(ground)}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
        bold = f' font-weight="{weight}"' if weight != 400 else ""
        return (
            f'<text font-size="{size}" fill="{self._colour(colour)}" '
            f'text-anchor="{_TEXT_ANCHORS[xanchor]}"{bold}{halo}>{spans}</text>'
        )

    def _colour(self, colour: str) -> str:
        """A colour of the palette as its custom property; the light colour where a picture stands alone."""
        variable = self.colours.get(colour)
        if variable is not None:
            return f"var({variable},{colour})"
        return "none" if colour.replace(" ", "") == "rgba(0,0,0,0)" else html.escape(colour)


def symbol_element(symbol: str, x: float, y: float, r: float) -> str:
    """A marker's element, without its paint. Plotly's symbols of one size cover about the same area."""
    if symbol == "square":
        return f'rect x="{_px(x - r)}" y="{_px(y - r)}" width="{_px(2 * r)}" height="{_px(2 * r)}"'
    corners = {
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        "triangle-up": [(0, -1.15), (1.15, 0.85), (-1.15, 0.85)],
    }.get(symbol)
    if corners is None:
        return f'circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(r)}"'
    return f'path d="M{"L".join(f"{_px(x + a * r)} {_px(y + b * r)}" for a, b in corners)}Z"'


def _item(value: Any, index: int) -> Any:
    """Plotly takes one value for all bars, or a list of one a bar."""
    return value[index] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _px(value: float) -> str:
    """Pixels to a tenth, without trailing zeros; -0 is 0."""
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text

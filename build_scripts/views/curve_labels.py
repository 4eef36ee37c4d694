"""Where the labels of the calculator's charts stand, at any state and at any width.

`docs/assets/lesson/views/curve_labels.js` finds the same places.
"""

from __future__ import annotations

from dataclasses import dataclass

from build_scripts.render import figures
from build_scripts.render.labelling import Box, Frame, Point, Spot, around, best_spot
from build_scripts.views.curve_data import Curves, Texts

LABEL_HEIGHT = 16.0
LABEL_WEIGHT = 650
"""Of the reader's point; the other labels are not bold."""

NEAR = (10.0, 26.0, 42.0)
BESIDE_LINE = (5.0, 21.0)
DOT = 8.0
"""Half of the square that a dot takes up."""


@dataclass(frozen=True)
class Sheet:
    """The measures of the wide or of the narrow layout."""

    height: int
    margin: dict[str, int]
    widths: tuple[int, int]
    """The narrowest and the widest box that gets it."""


WIDE = Sheet(310, {"l": 46, "r": 16, "t": 28, "b": 46}, (figures.NARROW_BELOW, figures.WIDE_UP_TO))
NARROW = Sheet(250, {"l": 40, "r": 10, "t": 28, "b": 46}, (figures.NARROW_FROM, figures.NARROW_UP_TO))


def axes(curves: Curves) -> tuple[Point, Point]:
    """The ranges of x and y: half a step around whole numbers, and a little above the last tick."""
    whole = isinstance(curves.x[0], int)
    pad = 0.5 if whole else 0.0
    return (curves.x[0] - pad, curves.x[-1] + pad), (0.0, curves.top[0] * 1.04)


def place_labels(curves: Curves, texts: Texts, bonus: bool, sheet: Sheet) -> dict[str, Spot]:
    """A spot for every label, by the names of `Texts`. Those with the least choice come first."""
    x_range, y_range = axes(curves)
    frames = [_frame(sheet, width, x_range, y_range) for width in sheet.widths]
    step = 4 if len(curves.x) > 40 else 1
    without = list(zip(curves.x, curves.without, strict=True))[::step]
    with_ = list(zip(curves.x, curves.with_, strict=True))[::step]
    lines: list[list[Point]] = [without, with_]
    if texts.reference:
        lines.append([(x_range[0], 1.0), (x_range[1], 1.0)])
    if curves.even is not None:
        lines.append([(curves.even[0], 0.0), curves.even])
    dots = [dot for dot in (curves.point, curves.mark) if dot is not None]
    taken = [[_dot_box(frame, dot) for dot in dots] for frame in frames]

    spots = {"y_title": Spot(x_range[0], y_range[1], -30.0, 10.0, "left", "bottom")}
    title_size = (figures.text_width(texts.y_title, figures.SMALL), LABEL_HEIGHT)
    for boxes, frame in zip(taken, frames, strict=True):
        boxes.append(spots["y_title"].box(frame, *title_size))
    for name, candidates in (
        ("point", around(*curves.point, "nw ne se sw n s" if bonus else "se sw nw ne s n", NEAR)),
        ("mark", _mark_spots(curves)),
        ("reference", _reference_spots(x_range)),
        ("with_", _line_spots(with_, "n", x_range)),
        ("without", _line_spots(without, "s", x_range)),
    ):
        words = getattr(texts, name)
        if not words:
            spots[name] = candidates[0]
            continue
        size = (figures.text_width(words, figures.SMALL, name == "point"), LABEL_HEIGHT)
        spots[name] = best_spot(candidates, size, frames, lines, taken)
        for boxes, frame in zip(taken, frames, strict=True):
            boxes.append(spots[name].box(frame, *size))
    return spots


def _frame(sheet: Sheet, width: int, x_range: Point, y_range: Point) -> Frame:
    margin = sheet.margin
    height = figures.height_at(sheet.height, width)
    return Frame(width, height, margin["l"], margin["r"], margin["t"], margin["b"], x_range, y_range)


def _dot_box(frame: Frame, dot: Point) -> Box:
    x, y = frame.x(dot[0]), frame.y(dot[1])
    return x - DOT, y - DOT, x + DOT, y + DOT


def _line_spots(line: list[Point], side: str, x_range: Point) -> list[Spot]:
    """Along one side of a line, "n" above or "s" below, from its right end to its left.

    Where a long label finds no room there, on the other side: its colour still tells whose it is.
    """
    spots = []
    for way in (side, "s" if side == "n" else "n"):
        for distance in BESIDE_LINE:
            for x, y in reversed(line):
                spots += around(x, y, "nw ne" if way == "n" else "se sw", (distance,))
                if way == "s":
                    # Under a line that rises: flush with the end of the plot, at this height.
                    spots.append(Spot(x_range[1], y, 0.0, -distance, "right", "top"))
    return spots


def _mark_spots(curves: Curves) -> list[Spot]:
    if curves.mark is None:
        # The best k is off the chart: said at the end of the line that is nearer to it.
        at_right = curves.best is not None and curves.best[0] > curves.x[-1]
        end = -1 if at_right else 0
        height = max(curves.with_[end], curves.without[end])
        return around(curves.x[end], height, "nw sw" if at_right else "ne se", NEAR)
    if curves.even is None:
        return around(*curves.mark, "n nw ne s se sw", NEAR)
    x = curves.even[0]
    return [
        *(Spot(x, 0.0, 6.0, dy, "left", "bottom") for dy in (2.0, 18.0)),
        *(Spot(x, 0.0, -6.0, dy, "right", "bottom") for dy in (2.0, 18.0)),
        *around(x, 1.0, "nw ne se sw n", NEAR),
        # A long label has room for itself only flush with an end of the plot.
        *(Spot(0.0, 1.0, 2.0, dy, "left", "bottom") for dy in NEAR),
        *(Spot(1.0, 0.0, -2.0, dy, "right", "bottom") for dy in (2.0, 18.0)),
    ]


def _reference_spots(x_range: Point) -> list[Spot]:
    """Right on top of the line or right under it: at its ends, then along it."""
    left, right = x_range
    spots = [
        Spot(left, 1.0, 4.0, 3.0, "left", "bottom"),
        Spot(right, 1.0, -4.0, -3.0, "right", "top"),
        Spot(right, 1.0, -4.0, 3.0, "right", "bottom"),
        Spot(left, 1.0, 4.0, -3.0, "left", "top"),
    ]
    for share in (0.75, 0.5, 0.25):
        x = left + (right - left) * share
        spots += [Spot(x, 1.0, 0.0, -3.0, "center", "top"), Spot(x, 1.0, 0.0, 3.0, "center", "bottom")]
    return spots

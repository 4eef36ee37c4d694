"""Where a label may stand in a chart: beside its point, and on nothing else.

A label has several spots, the best first. Each is tried at the narrowest and the widest
box that the layout is made for; the first with the least harm is taken. All of it is
arithmetic on a few rectangles and lines, so that `labelling.js` finds the same spots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the picture; y grows downwards."""

_OUTSIDE = 40.0
_COVERED = 4.0
_CROSSED = 12.0
"""Cost of a pixel outside, of a square pixel over another label, of a pixel of line under the text."""


@dataclass(frozen=True)
class Frame:
    """The plot of a figure at one size: where its axes' ends lie in pixels."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_range: Point
    y_range: Point

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom)


@dataclass(frozen=True)
class Spot:
    """A place for a label: a point of the data, a shift in pixels (up is positive), and its anchors."""

    x: float
    y: float
    dx: float
    dy: float
    xanchor: str
    yanchor: str

    def box(self, frame: Frame, width: float, height: float) -> Box:
        """The rectangle of a label of that size in the picture."""
        left = frame.x(self.x) + self.dx - {"left": 0.0, "center": width / 2, "right": width}[self.xanchor]
        top = frame.y(self.y) - self.dy - {"top": 0.0, "middle": height / 2, "bottom": height}[self.yanchor]
        return left, top, left + width, top + height


def around(x: float, y: float, order: str, distances: Sequence[float]) -> list[Spot]:
    """Spots around a point, first near it and then further off.

    `order` names the directions, the best first: "nw ne se sw n s".
    """
    return [
        Spot(
            x,
            y,
            {"w": -distance / 2, "e": distance / 2}.get(way[-1], 0.0),
            distance if way[0] == "n" else -distance,
            {"w": "right", "e": "left"}.get(way[-1], "center"),
            "bottom" if way[0] == "n" else "top",
        )
        for distance in distances
        for way in order.split()
    ]


def best_spot(
    spots: Sequence[Spot],
    size: Point,
    frames: Sequence[Frame],
    lines: Sequence[Sequence[Point]],
    taken: Sequence[Sequence[Box]],
) -> Spot:
    """The spot that does the least harm in all frames together; of equals the first.

    size: width and height of the label in pixels. lines: polylines in data coordinates that
    the label should not cover. taken: for each frame the boxes that are no longer free.
    """
    drawn = [[[(frame.x(x), frame.y(y)) for x, y in line] for line in lines] for frame in frames]
    best, least = spots[0], math.inf
    for index, spot in enumerate(spots):
        # A spot costs at least its place in the list, so no later one can do better.
        if least <= index:
            break
        cost = float(index)
        for frame, polylines, boxes in zip(frames, drawn, taken, strict=True):
            box = spot.box(frame, *size)
            cost += _OUTSIDE * _outside(box, frame)
            for other in boxes:
                cost += _COVERED * _overlap(box, other)
            for line in polylines:
                for a, b in zip(line, line[1:], strict=False):
                    cost += _CROSSED * _inside(box, a, b)
        if cost < least:
            best, least = spot, cost
    return best


def _outside(box: Box, frame: Frame) -> float:
    """Pixels by which the box leaves the picture; the tick labels' margin at the bottom is not free."""
    left, top, right, bottom = box
    return (
        max(0.0, frame.left - left)
        + max(0.0, right - frame.width)
        + max(0.0, -top)
        + max(0.0, bottom - (frame.height - frame.bottom))
    )


def _overlap(a: Box, b: Box) -> float:
    """Square pixels that two boxes share."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _inside(box: Box, a: Point, b: Point) -> float:
    """Pixels of the segment from a to b that lie in the box (Liang and Barsky's clipping)."""
    if (
        max(a[0], b[0]) < box[0]
        or min(a[0], b[0]) > box[2]
        or max(a[1], b[1]) < box[1]
        or min(a[1], b[1]) > box[3]
    ):
        return 0.0
    start, end = 0.0, 1.0
    dx, dy = b[0] - a[0], b[1] - a[1]
    for step, room in (
        (-dx, a[0] - box[0]),
        (dx, box[2] - a[0]),
        (-dy, a[1] - box[1]),
        (dy, box[3] - a[1]),
    ):
        if step == 0:
            if room < 0:
                return 0.0
        elif step < 0:
            start = max(start, room / step)
        else:
            end = min(end, room / step)
    return (end - start) * math.sqrt(dx * dx + dy * dy) if end > start else 0.0

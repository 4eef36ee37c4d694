"""What the calculator's charts show at one state: the values, and what is said about them.

Nothing here knows how it is drawn. `docs/assets/lesson/views/curves.js` mirrors it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from build_scripts.model.speculation import (
    Round,
    best_draft_tokens,
    break_even_acceptance,
    expected_tokens,
    speedup,
)
from build_scripts.render.figures import axis_top
from build_scripts.render.labelling import Point
from build_scripts.render.numbers import fixed, format_number
from build_scripts.spec.schema import ChartName, ChartWords

EXPECTED: ChartName = "expected-over-acceptance"
OVER_ACCEPTANCE: ChartName = "speedup-over-acceptance"
OVER_DRAFT_TOKENS: ChartName = "speedup-over-draft-tokens"

SAMPLES = 100
"""Steps of the acceptance axis."""


@dataclass(frozen=True)
class Curves:
    """What one chart shows for one state."""

    x: list[float]
    without: list[float]
    with_: list[float]
    point: Point
    """Where the reader is."""
    even: Point | None = None
    """Where the speedup breaks even, on the chart over acceptance."""
    best: Point | None = None
    """The best k, on the chart over k; it may lie beyond the axis."""

    @property
    def top(self) -> tuple[float, float]:
        """The last tick of the y axis and the step of its ticks; above 1 there is room for a label."""
        return axis_top(max(1.15, *self.without, *self.with_))

    @property
    def mark(self) -> Point | None:
        """The point that the chart marks besides the reader's, if it lies on the chart."""
        if self.best is not None and self.x[0] <= self.best[0] <= self.x[-1]:
            return self.best
        return self.even


def trace_curves(chart: ChartName, inputs: Round, draft_range: tuple[int, int]) -> Curves:
    """The lines, the point and the mark of a chart at one state.

    draft_range: the first and the last k of the chart over drafted tokens.
    """
    if chart == OVER_DRAFT_TOKENS:
        counts = list(range(draft_range[0], draft_range[1] + 1))
        best = best_draft_tokens(inputs)
        return Curves(
            x=counts,
            without=[speedup(replace(inputs, draft_tokens=k, bonus=False)) for k in counts],
            with_=[speedup(replace(inputs, draft_tokens=k, bonus=True)) for k in counts],
            point=(inputs.draft_tokens, speedup(inputs)),
            best=(best, speedup(replace(inputs, draft_tokens=best))),
        )
    acceptances = [step / SAMPLES for step in range(SAMPLES + 1)]
    if chart == EXPECTED:
        k = inputs.draft_tokens
        return Curves(
            x=acceptances,
            without=[expected_tokens(h, k, bonus=False) for h in acceptances],
            with_=[expected_tokens(h, k, bonus=True) for h in acceptances],
            point=(inputs.acceptance, expected_tokens(inputs.acceptance, k, inputs.bonus)),
        )
    even = break_even_acceptance(inputs)
    return Curves(
        x=acceptances,
        without=[speedup(replace(inputs, acceptance=h, bonus=False)) for h in acceptances],
        with_=[speedup(replace(inputs, acceptance=h, bonus=True)) for h in acceptances],
        point=(inputs.acceptance, speedup(inputs)),
        even=None if even is None else (even, 1.0),
    )


@dataclass(frozen=True)
class Texts:
    """What stands beside the lines and the points; "" where this state has nothing to say."""

    y_title: str
    without: str
    with_: str
    reference: str
    mark: str
    point: str


def label_texts(words: ChartWords, inputs: Round, curves: Curves, none: str) -> Texts:
    """The labels of a chart, its templates filled in. none: the word for a missing number."""
    mark = ""
    if curves.even is not None and words.mark_label is not None:
        even = format_number("break_even_acceptance", curves.even[0], none)
        mark = words.mark_label.format(break_even=even, k=inputs.draft_tokens, speedup=_speedup(1.0, none))
    elif curves.best is not None and words.mark_label is not None:
        template = words.mark_label
        if curves.mark is None and words.mark_beyond_label is not None:
            template = words.mark_beyond_label
        k, factor = curves.best
        mark = template.format(break_even="", k=fixed(k, 0), speedup=_speedup(factor, none))
    # Where the reader's k is the best one, the mark says it all.
    at_best = bool(mark) and curves.best is not None and curves.best[0] == curves.point[0]
    point = words.point_label.format(
        acceptance=format_number("acceptance", inputs.acceptance, none),
        k=inputs.draft_tokens,
        expected=format_number(
            "expected_tokens", expected_tokens(inputs.acceptance, inputs.draft_tokens, inputs.bonus), none
        ),
        speedup=_speedup(speedup(inputs), none),
    )
    return Texts(
        y_title=words.y_title,
        without=words.without_label,
        with_=words.with_label,
        reference=words.reference_label or "",
        mark=mark,
        point="" if at_best else point,
    )


def describe(words: ChartWords, inputs: Round, texts: Texts, none: str) -> str:
    """The chart in words: its title, the reader's point, the mark, the other setting's value."""
    other = replace(inputs, bonus=not inputs.bonus)
    if words.chart == EXPECTED:
        value = expected_tokens(other.acceptance, other.draft_tokens, other.bonus)
        shown = format_number("expected_tokens", value, none)
    else:
        shown = _speedup(speedup(other), none)
    labels = (words.without_label, words.with_label)
    own, not_own = labels[inputs.bonus], labels[not inputs.bonus]
    said = [text for text in (texts.point, texts.mark) if text]
    return ". ".join([words.title, f"{own}: {'; '.join(said)}", f"{not_own}: {shown}"]) + "."


def _speedup(factor: float, none: str) -> str:
    return format_number("speedup", factor, none)

"""What the parameters and each block must satisfy beyond their types, one rule a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel

from build_scripts.model.speculation import MIN_TARGET_MS
from build_scripts.spec.context import Context, anchor_of
from build_scripts.spec.faults import DataPath
from build_scripts.spec.schema import (
    Calculator,
    Card,
    ComputedNumber,
    Formula,
    Kind,
    Labels,
    Numbers,
    Panel,
    Parameter,
    Parameters,
    Preset,
    PublishedBenchmark,
    QuestionBase,
    Settings,
    StepDiagram,
    SwitchParameter,
    Terms,
)
from build_scripts.spec.wording import amount, one_of, quoted, unknown

LONGEST_ROUND = 40
"""Target passes. The step diagram draws its two lanes to scale, a block for each pass."""

Rule = Callable[[Context, Any, DataPath], None]
"""Notes every fault of a valid value at a path."""

# --- words of every page -----------------------------------------------------------------


def _labels(context: Context, labels: Labels, path: DataPath) -> None:
    for name in ("kinds", "kinds_help"):
        missing = [kind for kind in get_args(Kind) if kind not in getattr(labels, name)]
        if missing:
            context.note((*path, name), f"needs a text for every kind; missing: {one_of(missing)}")


def _terms(context: Context, block: Terms, path: DataPath) -> None:
    no_repeats(context, block.terms, (*path, "terms"))


def repeats(items: Iterable[Any]) -> Iterator[int]:
    """Where something stands that stood before."""
    seen = set()
    for i, item in enumerate(items):
        if item in seen:
            yield i
        seen.add(item)


def no_repeats(context: Context, items: list[Any], path: DataPath) -> None:
    for i in repeats(items):
        context.note((*path, i), f"{quoted(items[i])} is here twice")


# --- parameters and settings -------------------------------------------------------------


def _parameter(context: Context, parameter: Any, path: DataPath) -> None:
    if isinstance(parameter, SwitchParameter):
        return
    low, high, step, default = parameter.min, parameter.max, parameter.step, parameter.default
    if low >= high:
        context.note((*path, "max"), f"must be above min, {amount(low)}, not {amount(high)}")
        return
    if not low <= default <= high:
        context.note((*path, "default"), f"{amount(default)} is not from {amount(low)} to {amount(high)}")
    if step > (high - low) * (1 + 1e-9):  # 0.3 - 0.1 is less than 0.2 in binary
        context.note((*path, "step"), f"{amount(step)} is more than max - min, {amount(high - low)}")


def _parameters(context: Context, parameters: Parameters, path: DataPath) -> None:
    if parameters.target_ms.min < MIN_TARGET_MS:
        context.note((*path, "target_ms", "min"), f"must be at least {amount(MIN_TARGET_MS)}")


def _preset(context: Context, preset: Preset, path: DataPath) -> None:
    _in_reach(context, preset.settings, (*path, "settings"))
    _has_source(context, preset, path)


def _question(context: Context, question: QuestionBase, path: DataPath) -> None:
    _has_source(context, question, path)
    if question.open is not None:
        _in_reach(context, question.open, (*path, "open"))
        if not context.has_block(None, "calculator"):
            context.note((*path, "open"), "there is no calculator in this lesson to open")


def _in_reach(context: Context, settings: Settings, path: DataPath) -> None:
    """Settings that move the sliders must be where the sliders go."""
    if context.parameters is None:
        return
    for name, value in settings.model_dump(exclude_none=True).items():
        parameter = getattr(context.parameters, name)
        if isinstance(parameter, SwitchParameter) or parameter.min <= value <= parameter.max:
            continue
        reach = f"{amount(parameter.min)} to {amount(parameter.max)}"
        context.note((*path, name), f"{amount(value)} is beyond the parameter's range, {reach}")


def _has_source(context: Context, numbers: Any, path: DataPath) -> None:
    if numbers.kind in ("published", "measured") and numbers.source is None:
        context.note((*path, "kind"), f"{numbers.kind} numbers need a source")


def _computed(context: Context, number: ComputedNumber, path: DataPath) -> None:
    outcome = context.outcome(number.at)
    if isinstance(outcome, str):
        context.note((*path, "at"), outcome)


# --- the step diagram --------------------------------------------------------------------


def _step_diagram(context: Context, diagram: StepDiagram, path: DataPath) -> None:
    drafted, target, alternatives = diagram.drafted, diagram.target, diagram.alternatives
    k = len(drafted)
    if len(target) != k + 1:
        need = f"{k} drafted words need {k + 1} target words, one for each and one for the bonus"
        context.note((*path, "target"), f"{need}, not {len(target)}")
    if len(alternatives) != k:
        context.note(
            (*path, "alternatives"), f"{k} drafted words need {k} alternatives, not {len(alternatives)}"
        )
    for i, (draft, word, other) in enumerate(zip(drafted, target, alternatives, strict=False)):
        if word == draft and other == draft:
            message = f"the target agrees with {quoted(draft)} here, so its alternative must be another word"
        elif word != draft and other != draft:
            message = f"the target differs from {quoted(draft)} here, so its alternative must be that word"
        else:
            continue
        context.note((*path, "alternatives", i), message)
    if context.parameters is not None:
        target_ms, draft_ms = context.parameters.target_ms.default, context.parameters.draft_ms.default
        passes = 1 + k * draft_ms / target_ms
        if passes > LONGEST_ROUND:
            long = f"at the default costs a round is {amount(passes)} target passes long"
            context.note(path, f"{long}; the diagram draws {LONGEST_ROUND} at most")


# --- the calculator and the cards --------------------------------------------------------


def _calculator(context: Context, calculator: Calculator, path: DataPath) -> None:
    charts = [words.chart for words in calculator.charts]
    for i in repeats(charts):
        context.note((*path, "charts", i, "chart"), f"{quoted(charts[i])} is here twice")


def _card(context: Context, card: Card, path: DataPath) -> None:
    if card.number is None and card.evidence is None:
        context.note(path, "a card needs a number or evidence")
    if card.number is not None and card.number_label is None:
        context.note(path, "the card's number needs a number_label")
    if card.number is None and card.number_label is not None:
        context.note((*path, "number_label"), "this card has no number")


# --- published figures -------------------------------------------------------------------


def _panel(context: Context, panel: Panel, path: DataPath) -> None:
    rates = [reading.request_rate_qps for reading in panel.readings]
    for i in repeats(rates):
        context.note((*path, "readings", i, "request_rate_qps"), f"{amount(rates[i])} is here twice")
    for i, reading in enumerate(panel.readings):
        smaller = min(reading.speculative_s, reading.plain_s)
        if reading.uncertainty_s >= smaller:
            message = f"must be below the readings, {amount(smaller)}, not {amount(reading.uncertainty_s)}"
            context.note((*path, "readings", i, "uncertainty_s"), message)


def _benchmark(context: Context, benchmark: PublishedBenchmark, path: DataPath) -> None:
    panels = {panel.id: panel for panel in benchmark.panels}
    for i, headline in enumerate(benchmark.headlines):
        here = (*path, "headlines", i)
        panel = panels.get(headline.panel)
        if panel is None:
            context.note((*here, "panel"), unknown("panel", headline.panel, panels))
            continue
        readings = {reading.request_rate_qps: reading for reading in reversed(panel.readings)}
        reading = readings.get(headline.request_rate_qps)
        if reading is None:
            rates = one_of(amount(reading.request_rate_qps) for reading in panel.readings)
            message = f"panel {quoted(panel.id)} has no reading at {amount(headline.request_rate_qps)}"
            context.note((*here, "request_rate_qps"), f"{message}; it has {rates}")
            continue
        gain = reading.plain_s - reading.speculative_s
        if abs(gain) > 2 * reading.uncertainty_s and (gain > 0) != (headline.outcome == "faster"):
            seconds = (
                f"{amount(reading.speculative_s)} s with speculation, {amount(reading.plain_s)} s without"
            )
            context.note((*here, "outcome"), f"the panel's reading says otherwise: {seconds}")


# --- the method page ---------------------------------------------------------------------


def _formula(context: Context, formula: Formula, path: DataPath) -> None:
    no_repeats(context, formula.sources, (*path, "sources"))
    if formula.pass_example is not None and not context.has_block(None, "baseline-strip"):
        context.note(
            (*path, "pass_example"), "needs a baseline-strip in the lesson, for its model and hardware"
        )


def _numbers(context: Context, numbers: Numbers, path: DataPath) -> None:
    here = [part for part in context.parts if part.type is Formula and part.path[:2] == path[:2]]
    formulas = [name for part in here if (name := anchor_of(part)) is not None]
    for readout, name in numbers.formulas.items():
        if name not in formulas:
            context.note((*path, "formulas", readout), unknown("formula of this page", name, formulas))


RULES: tuple[tuple[type[BaseModel], Rule], ...] = (
    (Labels, _labels),
    (Terms, _terms),
    (Parameter, _parameter),
    (Parameters, _parameters),
    (Preset, _preset),
    (QuestionBase, _question),
    (ComputedNumber, _computed),
    (StepDiagram, _step_diagram),
    (Calculator, _calculator),
    (Card, _card),
    (Panel, _panel),
    (PublishedBenchmark, _benchmark),
    (Formula, _formula),
    (Numbers, _numbers),
)

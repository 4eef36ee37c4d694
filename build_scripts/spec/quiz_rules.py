"""What the questions of a quiz must satisfy beyond their types."""

from __future__ import annotations

from pydantic import BaseModel

from build_scripts.spec.context import Context
from build_scripts.spec.faults import DataPath
from build_scripts.spec.rules import Rule, no_repeats, repeats
from build_scripts.spec.schema import ComputedNumber, MultipleChoice, Numeric, SingleChoice, Slip
from build_scripts.spec.wording import quoted


def _single(context: Context, question: SingleChoice, path: DataPath) -> None:
    _is_option(context, question.answer, len(question.options), (*path, "answer"))
    _options_differ(context, question, path)


def _multiple(context: Context, question: MultipleChoice, path: DataPath) -> None:
    count = len(question.options)
    for i, answer in enumerate(question.answers):
        _is_option(context, answer, count, (*path, "answers", i))
    no_repeats(context, question.answers, (*path, "answers"))
    if set(question.answers) >= set(range(count)):
        context.note((*path, "answers"), "every option is right; at least one must be wrong")
    _options_differ(context, question, path)


def _is_option(context: Context, answer: int, count: int, path: DataPath) -> None:
    if not 0 <= answer < count:
        context.note(path, f"{answer} is no option; there are {count}, numbered 0 to {count - 1}")


def _options_differ(context: Context, question: SingleChoice | MultipleChoice, path: DataPath) -> None:
    texts = [option.text for option in question.options]
    for i in repeats(texts):
        context.note((*path, "options", i, "text"), f"the same text as option {texts.index(texts[i])}")


def _slip(context: Context, slip: Slip, path: DataPath) -> None:
    if (slip.value is None) == (slip.number is None):
        context.note(path, "a slip has either a value or a number")


def _numeric(context: Context, question: Numeric, path: DataPath) -> None:
    right = _number(context, question.number, (*path, "number"))
    wrong: list[float] = []
    for i, slip in enumerate(question.slips):
        here = (*path, "slips", i)
        if (slip.value is None) == (slip.number is None):
            continue
        field = "value" if slip.number is None else "number"
        value = slip.value if slip.number is None else _number(context, slip.number, (*here, field))
        if value is None:
            continue
        if right is not None and abs(value - right) <= question.tolerance:
            message = f"{value:.6g} is within the tolerance of the right answer, {right:.6g}"
            context.note((*here, field), message)
        elif any(abs(value - other) <= question.tolerance for other in wrong):
            context.note((*here, field), f"{value:.6g} is within the tolerance, {question.tolerance:g}, of a slip above")
        wrong.append(value)


def _number(context: Context, number: ComputedNumber, path: DataPath) -> float | None:
    """The number's value; None, and a fault, where the model has none."""
    outcome = context.outcome(number.at)
    if outcome is None or isinstance(outcome, str):
        return None
    value = getattr(outcome, number.readout)
    if isinstance(value, (int, float)):
        return float(value)
    what = "has no value at these settings" if value is None else "is a word, not a number"
    context.note((*path, "readout"), f"{quoted(number.readout)} {what}")
    return None


QUIZ_RULES: tuple[tuple[type[BaseModel], Rule], ...] = (
    (SingleChoice, _single),
    (MultipleChoice, _multiple),
    (Slip, _slip),
    (Numeric, _numeric),
)

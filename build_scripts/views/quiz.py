"""The quiz: every question with its answer and its reasons, complete without JavaScript.

The page holds each text once: feedback stands in the closed "answer and why", and
`views/quiz.js` copies from there what a reader's answer calls for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from markupsafe import Markup

from build_scripts.render.numbers import number
from build_scripts.spec.schema import (
    Block,
    ComputedNumber,
    Lesson,
    Numeric,
    ParameterName,
    Question,
    Quiz,
    Settings,
    SingleChoice,
    Slip,
)
from build_scripts.views.base import PageContext, Rendered


@dataclass(frozen=True)
class Note:
    """One thing to say about one answer. `key` is how the script finds it."""

    key: str
    answer: Markup
    feedback: Markup
    right: bool = False


@dataclass(frozen=True)
class QuestionView:
    """One question as the template shows it."""

    question: Question
    count: str
    link_label: str
    prompt: Markup
    hint: str
    explanation: Markup
    notes: list[Note]
    right_number: str | None
    otherwise: Markup | None
    see_it: str | None
    citation: Markup | None


def render(block: Quiz, page: PageContext) -> Rendered:
    """The whole quiz. ValueError, in one line, for a numeric question whose model has no number."""
    total = len(block.questions)
    views = [_view(question, n, total, block, page) for n, question in enumerate(block.questions, start=1)]
    html = page.template(
        "quiz.html",
        words=block.labels,
        block=block,
        intro=page.rich(block.intro),
        questions=views,
        progress=block.labels.progress.format(n=0, total=total),
        score=block.labels.score.format(right=0, answered=0, total=total),
    )
    return Rendered(html, _data(block, page.lesson), scripts=["assets/lesson/views/quiz.js"], wakes="near")


def _view(question: Question, n: int, total: int, block: Quiz, page: PageContext) -> QuestionView:
    words = block.labels
    numeric = isinstance(question, Numeric)
    if numeric:
        tolerance = with_unit(plain(question.tolerance), question.unit)
        hint = words.within.format(tolerance=tolerance)
    else:
        hint = words.choose_one if isinstance(question, SingleChoice) else words.choose_all
    return QuestionView(
        question=question,
        count=words.question.format(n=n, total=total),
        link_label=words.link.format(n=n),
        prompt=page.rich_inline(question.prompt),
        hint=hint,
        explanation=page.rich(question.explanation),
        notes=_slip_notes(question, page) if numeric else _option_notes(question, page),
        right_number=with_unit(number_of(question, page.lesson, question.number)[1], question.unit)
        if numeric
        else None,
        otherwise=page.rich(question.otherwise) if numeric else None,
        see_it=calculator_link(page.lesson, block, question.open) if question.open else None,
        citation=page.rich_inline(f"[@{question.source}]") if question.source else None,
    )


def _option_notes(question: Question, page: PageContext) -> list[Note]:
    right = set(right_answers(question))
    return [
        Note(str(i), page.rich_inline(option.text), page.rich(option.feedback), i in right)
        for i, option in enumerate(question.options)
    ]


def _slip_notes(question: Numeric, page: PageContext) -> list[Note]:
    notes = []
    for i, slip in enumerate(question.slips):
        text = plain(slip.value) if slip.number is None else number_of(question, page.lesson, slip.number)[1]
        notes.append(
            Note(f"slip-{i}", Markup.escape(with_unit(text, question.unit)), page.rich(slip.feedback))
        )
    return notes


def right_answers(question: Question) -> list[int]:
    """The indices of the right options of a choice question."""
    return [question.answer] if isinstance(question, SingleChoice) else list(question.answers)


def number_of(question: Question, lesson: Lesson, computed: ComputedNumber) -> tuple[float, str]:
    """The model's value and its text. ValueError where the readout is a word, or there is none."""
    result = number(lesson, computed.readout, computed.at)
    if isinstance(result.value, bool) or not isinstance(result.value, (int, float)):
        raise ValueError(f"quiz question {question.id}: {computed.readout} is no number at these settings")
    return float(result.value), result.text


def calculator_link(lesson: Lesson, block: Quiz, settings: Settings) -> str | None:
    """The address that opens the calculator at these settings, all of the model's parameters written.

    Within the quiz's own page it is a hash only; None where the lesson has no calculator.
    """
    home = _page_of(lesson, lambda other: other is block)
    place = _page_of(lesson, lambda other: other.view == "calculator")
    if place is None:
        return None
    page_id, figure_id = place
    pairs = []
    for name in get_args(ParameterName):
        parameter = getattr(lesson.parameters, name)
        chosen = getattr(settings, name)
        pairs.append(f"{parameter.key}={plain(parameter.default if chosen is None else chosen)}")
    hash_ = "#" + "&".join(pairs) + f"&at={figure_id}"
    return hash_ if home is not None and home[0] == page_id else f"{page_id}.html{hash_}"


def _page_of(lesson: Lesson, wanted: Callable[[Block], bool]) -> tuple[str, str] | None:
    """The id of the page of the first block that is wanted, and the block's own id."""
    for page in lesson.pages:
        for block in page.blocks:
            if wanted(block):
                return page.id, block.id
    return None


def plain(value: float) -> str:
    """A number as an address holds it: 0.75, 45, and a switch as 1 or 0."""
    text = format(Decimal(repr(float(value))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_unit(text: str, unit: str | None) -> str:
    """The text with its unit, unless it has it already."""
    if not unit or text.endswith(unit):
        return text
    return text + ("" if unit in "×%" else "\N{NO-BREAK SPACE}") + unit


def _data(block: Quiz, lesson: Lesson) -> dict[str, Any]:
    """What the script needs to grade, and under which name the device keeps the answers."""
    course = re.sub(r"[^a-z0-9]+", "-", lesson.course.lower()).strip("-")
    return {
        "store": f"{course}/{lesson.number}/{block.id}",
        "labels": block.labels.model_dump(),
        "questions": [_grading(question, lesson) for question in block.questions],
    }


def _grading(question: Question, lesson: Lesson) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": question.id, "type": question.type}
    if isinstance(question, Numeric):
        entry |= {
            "value": number_of(question, lesson, question.number)[0],
            "tolerance": question.tolerance,
            "unit": question.unit,
            "slips": [_slip_value(question, lesson, slip) for slip in question.slips],
        }
        asked: Any = [question.unit]
    else:
        entry |= {"count": len(question.options), "answers": right_answers(question)}
        asked = [option.text for option in question.options]
    # A kept answer is shown again only to the question that it answered: a changed question
    # gets another mark. Better feedback does not make an answer stale.
    content = json.dumps([entry, question.prompt, asked], sort_keys=True)
    entry["mark"] = hashlib.sha256(content.encode()).hexdigest()[:12]
    return entry


def _slip_value(question: Numeric, lesson: Lesson, slip: Slip) -> float:
    if slip.number is not None:
        return number_of(question, lesson, slip.number)[0]
    if slip.value is None:
        raise ValueError(f"quiz question {question.id}: a slip has neither a value nor a number")
    return slip.value

"""The quiz as HTML: complete without a script, graded by the model, and worth the reader's while."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError

from build_scripts.model.speculation import Round, evaluate
from build_scripts.render.numbers import format_number
from build_scripts.render.palette import read_palette
from build_scripts.render.richtext import RichTextRenderer
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Lesson, Numeric, Quiz, Settings, SingleChoice
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.quiz import calculator_link, plain, render, right_answers, with_unit

ROOT = Path(__file__).resolve().parent.parent
STYLESHEET = ROOT / "docs" / "assets" / "lesson" / "lesson.css"

LABELS = {
    "check": "Check",
    "retry": "Try again",
    "reset": "Clear all",
    "cleared": "All cleared.",
    "right": "Right.",
    "wrong": "Not right.",
    "partly": "Right ticks: {hits}. Wrong ticks: {misses}.",
    "missing": "Some are missing.",
    "choose_first": "Choose first.",
    "choose_one": "Choose one.",
    "choose_all": "Tick all.",
    "field": "Your answer",
    "within": "Within {tolerance} counts.",
    "enter_number": "Enter a number first.",
    "not_a_number": "That is not a number.",
    "progress": "Answered: {n} of {total}",
    "score": "Right: {right}",
    "saved": "Kept on this device.",
    "question": "Question {n} of {total}",
    "link": "Link to question {n}",
    "copied": "Link copied.",
    "answer": "Answer and why",
    "see_it": "See it",
    "source": "Source",
}

SMALL: dict[str, Any] = {
    "view": "quiz",
    "id": "questions",
    "intro": "Three questions.",
    "labels": LABELS,
    "questions": [
        {
            "id": "one",
            "type": "single",
            "prompt": "Which of the three?",
            "explanation": "Because it is the second.",
            "options": [
                {"text": "first", "feedback": "First is too early."},
                {"text": "second", "feedback": "Second is it."},
                {"text": "third", "feedback": "Third is too late."},
            ],
            "answer": 1,
            "open": {"acceptance": 0.5, "bonus": True},
        },
        {
            "id": "many",
            "type": "multiple",
            "prompt": "Which are even?",
            "explanation": "Two divides them.",
            "options": [
                {"text": "2", "feedback": "2 is even."},
                {"text": "3", "feedback": "3 is odd."},
                {"text": "4", "feedback": "4 is even."},
                {"text": "5", "feedback": "5 is odd."},
            ],
            "answers": [0, 2],
        },
        {
            "id": "number",
            "type": "numeric",
            "prompt": "How many tokens?",
            "explanation": "It is the sum.",
            "number": {
                "readout": "expected_tokens",
                "at": {"acceptance": 0.75, "draft_tokens": 3, "bonus": True},
            },
            "tolerance": 0.02,
            "unit": "tokens",
            "slips": [
                {
                    "number": {
                        "readout": "expected_tokens",
                        "at": {"acceptance": 0.75, "draft_tokens": 3, "bonus": False},
                    },
                    "feedback": "That is without the bonus.",
                },
                {"value": 2.25, "feedback": "That is k times h."},
            ],
            "otherwise": "Add up the chances.",
        },
    ],
}


def page_context(lesson: Lesson) -> PageContext:
    """What the build gives to a view."""
    environment = Environment(
        loader=FileSystemLoader(ROOT / "build_scripts" / "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rich = RichTextRenderer(lesson)
    return PageContext(
        lesson=lesson,
        rich=rich.block,
        rich_inline=rich.inline,
        template=lambda name, **variables: environment.get_template(f"views/{name}").render(
            lesson=lesson, labels=lesson.labels, rich=rich.block, rich_inline=rich.inline, **variables
        ),
        palette=read_palette(STYLESHEET),
    )


def quiz_of(lesson: Lesson) -> Quiz:
    """The lesson's quiz."""
    (quiz,) = [
        block for page in lesson.pages for part in page.parts for block in part.blocks if block.view == "quiz"
    ]
    return quiz


def with_quiz(lesson: Lesson, quiz: Quiz) -> Lesson:
    """The lesson with that quiz in place of its own."""
    pages = [
        page.model_copy(
            update={
                "parts": [
                    part.model_copy(
                        update={"blocks": [quiz if block.view == "quiz" else block for block in part.blocks]}
                    )
                    for part in page.parts
                ]
            }
        )
        for page in lesson.pages
    ]
    return lesson.model_copy(update={"pages": pages})


def with_default(lesson: Lesson, **defaults: Any) -> Lesson:
    """The lesson with other defaults for some of its parameters."""
    changed = {
        name: getattr(lesson.parameters, name).model_copy(update={"default": value})
        for name, value in defaults.items()
    }
    return lesson.model_copy(update={"parameters": lesson.parameters.model_copy(update=changed)})


def small_quiz(**changes: Any) -> Quiz:
    """The quiz of three questions; `changes` are by question id."""
    questions = [question | changes.get(question["id"], {}) for question in SMALL["questions"]]
    return Quiz.model_validate(SMALL | {"questions": questions})


def rendered(lesson: Lesson, quiz: Quiz | None = None) -> Rendered:
    quiz = quiz or quiz_of(lesson)
    lesson = with_quiz(lesson, quiz)
    return render(quiz, page_context(lesson))


def grading(result: Rendered, question_id: str) -> dict[str, Any]:
    (entry,) = [entry for entry in result.data["questions"] if entry["id"] == question_id]
    return entry


class Elements(HTMLParser):
    """Every start tag with its attributes, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"\{\{.*?\}\}|\$.*?\$", " x ", text))


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


@pytest.fixture(scope="module")
def quiz(lesson: Lesson) -> Quiz:
    return quiz_of(lesson)


# --- the lesson's own questions --------------------------------------------------------


def test_there_are_enough_questions_of_every_type(quiz: Quiz) -> None:
    """At least ten; several to tick and several to work out, so that guessing does not carry."""
    types = [question.type for question in quiz.questions]
    assert len(types) >= 10
    assert types.count("multiple") >= 2
    assert types.count("numeric") >= 3


def test_every_wrong_answer_is_told_what_it_overlooks(quiz: Quiz) -> None:
    """A reader who picks a distractor learns something: no note is empty, curt or used twice."""
    for question in quiz.questions:
        if isinstance(question, Numeric):
            notes = [slip.feedback for slip in question.slips] + [question.otherwise]
            assert len(notes) >= 3, question.id
        else:
            right = right_answers(question)
            notes = [option.feedback for i, option in enumerate(question.options) if i not in right]
        for note in notes:
            # In a multiple choice a wrong tick is told by a single figure at times; a sentence all the same.
            assert len(words_of(note)) >= 8, f"{question.id}: {note}"
        assert len(set(notes)) == len(notes), question.id
        assert len(words_of(question.explanation)) >= 12, question.id


def test_the_right_option_has_no_favourite_place_and_no_favourite_length(quiz: Quiz) -> None:
    """Neither "the first one" nor "the longest one" is a way through the quiz."""
    single = [question for question in quiz.questions if isinstance(question, SingleChoice)]
    places = [question.answer for question in single]
    assert len(set(places)) >= 3
    assert max(places.count(place) for place in places) <= len(places) // 2
    longest = [
        max(range(len(question.options)), key=lambda i: len(question.options[i].text)) == question.answer
        for question in single
    ]
    assert sum(longest) <= len(longest) // 2


def test_answers_are_options(quiz: Quiz) -> None:
    for question in quiz.questions:
        if not isinstance(question, Numeric):
            right = right_answers(question)
            assert len(set(right)) == len(right)
            assert all(0 <= i < len(question.options) for i in right), question.id
            assert len(right) < len(question.options), question.id


def test_no_slip_is_graded_right_and_no_two_are_alike(lesson: Lesson, quiz: Quiz) -> None:
    """Were a slip within the tolerance, the misconception would be called right."""
    for entry in rendered(lesson).data["questions"]:
        if entry["type"] == "numeric":
            for slip in entry["slips"]:
                assert abs(slip - entry["value"]) > 2 * entry["tolerance"], entry["id"]
            assert len(set(entry["slips"])) == len(entry["slips"])


def test_published_numbers_name_their_source(lesson: Lesson, quiz: Quiz) -> None:
    published = [question for question in quiz.questions if question.kind == "published"]
    assert published
    known = {source.id: source for source in lesson.sources}
    html = rendered(lesson).html
    for question in published:
        assert question.source in known
        assert f"source-{question.source}" in html


# --- numbers come from the model -------------------------------------------------------


def test_right_numbers_are_the_models(lesson: Lesson, quiz: Quiz) -> None:
    """The same value as the model gives, to the last bit, and its text in the answer."""
    result = rendered(lesson)
    for question in quiz.questions:
        if isinstance(question, Numeric):
            defaults = {
                name: getattr(lesson.parameters, name).default
                for name in ("acceptance", "draft_tokens", "target_ms", "draft_ms", "bonus")
            }
            chosen = question.number.at.model_dump(exclude_none=True)
            value = getattr(evaluate(Round(**(defaults | chosen))), question.number.readout)
            assert grading(result, question.id)["value"] == value
            text = format_number(question.number.readout, value, "none")
            assert f"<strong>{with_unit(text, question.unit)}</strong>" in result.html


def test_a_parameter_of_the_lesson_changes_the_right_number(lesson: Lesson) -> None:
    """An author who sets another draft time edits no answer."""
    quiz = small_quiz(number={"number": {"readout": "tpot_ms", "at": {}}, "unit": "ms", "slips": []})
    before = rendered(with_default(lesson, target_ms=45.0, draft_ms=3.0, acceptance=0.75), quiz)
    after = rendered(with_default(lesson, target_ms=45.0, draft_ms=30.0, acceptance=0.75), quiz)
    assert grading(before, "number")["value"] == pytest.approx(54 / 2.3125)
    assert grading(after, "number")["value"] == pytest.approx(135 / 2.3125)
    assert "23.4 ms" in before.html and "23.4 ms" not in after.html
    assert "58.4 ms" in after.html


def test_a_right_number_cannot_be_typed() -> None:
    with pytest.raises(ValidationError):
        small_quiz(number={"number": 2.73})
    with pytest.raises(ValidationError):
        small_quiz(number={"value": 2.73})


@pytest.mark.parametrize(
    "number",
    [
        {"readout": "verdict", "at": {}},
        {"readout": "break_even_acceptance", "at": {"draft_tokens": 1, "draft_ms": 3, "bonus": False}},
    ],
)
def test_a_question_without_a_number_is_a_fault_in_one_line(lesson: Lesson, number: dict[str, Any]) -> None:
    """A verdict is a word, and some costs never break even: neither can be asked for as a number."""
    with pytest.raises(ValueError, match="quiz question number: ") as fault:
        rendered(lesson, small_quiz(number={"number": number}))
    assert "\n" not in str(fault.value)


# --- the HTML, without a script --------------------------------------------------------


def test_ids_are_unique_and_every_question_has_its_own(lesson: Lesson, quiz: Quiz) -> None:
    """A link to a question leads to that question."""
    elements = Elements(rendered(lesson).html).found
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    articles = [attributes["id"] for tag, attributes in elements if tag == "article"]
    assert articles == [f"quiz-{question.id}" for question in quiz.questions]
    links = [attributes["href"] for _, attributes in elements if attributes.get("class") == "quiz-link"]
    assert links == [f"#{article}" for article in articles]
    named = [a[key] for _, a in elements for key in ("for", "aria-labelledby", "aria-describedby") if key in a]
    for reference in " ".join(str(name) for name in named).split():
        assert reference in ids


def test_controls_are_native_and_wait_for_the_script(lesson: Lesson) -> None:
    """Radios, boxes and a text field of their own; no button that does nothing without a script."""
    elements = Elements(rendered(lesson, small_quiz()).html).found
    inputs = [attributes for tag, attributes in elements if tag == "input"]
    assert [attributes["type"] for attributes in inputs] == ["radio"] * 3 + ["checkbox"] * 4 + ["text"]
    assert inputs[-1]["inputmode"] == "decimal"
    assert {attributes["name"] for attributes in inputs[:3]} == {"quiz-one"}
    assert not any("checked" in attributes or "disabled" in attributes for attributes in inputs)
    for tag, attributes in elements:
        if attributes.get("class") in ("quiz-actions", "quiz-bar", "quiz-why", "quiz-feedback", "quiz-saved"):
            assert "hidden" in attributes
    assert not any(tag == "form" for tag, _ in elements)


def test_answers_and_reasons_stand_in_a_closed_box(lesson: Lesson) -> None:
    """Without JavaScript, and in print, nothing of the quiz is lost."""
    html = rendered(lesson, small_quiz()).html
    boxes = re.findall(r"<details class=\"quiz-answer\">.*?</details>", html, re.S)
    assert len(boxes) == 3
    for expected in ("First is too early.", "Second is it.", "Third is too late.", "Because it is the second."):
        assert expected in boxes[0]
    assert boxes[0].count("✓") == 1 and boxes[0].count("✗") == 2
    assert boxes[1].count("✓") == 2 and boxes[1].count("✗") == 2
    for expected in ("2.73\N{NO-BREAK SPACE}tokens", "2.31\N{NO-BREAK SPACE}tokens", "That is k times h."):
        assert expected in boxes[2]


def test_each_text_stands_in_the_page_once(lesson: Lesson) -> None:
    """The script copies notes from the page: they are not sent a second time as data."""
    result = rendered(lesson, small_quiz())
    assert result.html.count("First is too early.") == 1
    assert "First is too early." not in str(result.data)


def test_what_an_author_writes_is_text(lesson: Lesson) -> None:
    """A unit or a label with a bracket in it is no markup."""
    html = rendered(lesson, small_quiz(number={"unit": "<b>ms</b>"})).html
    assert "&lt;b&gt;ms&lt;/b&gt;" in html
    assert "<b>ms</b>" not in html


def test_the_same_lesson_gives_the_same_page(lesson: Lesson) -> None:
    assert rendered(lesson) == rendered(lesson)


# --- the link to the calculator, and what the device keeps -----------------------------


def test_the_calculator_link_writes_every_parameter(lesson: Lesson) -> None:
    """Numbers plainly, the switch as 1 or 0, the figure last: what the page's state reads."""
    lesson = with_default(lesson, acceptance=0.75, draft_tokens=3, target_ms=45.0, draft_ms=3.0, bonus=False)
    at = next(b.id for p in lesson.pages for part in p.parts for b in part.blocks if b.view == "calculator")
    link = calculator_link(lesson, quiz_of(lesson), Settings(acceptance=0.5, draft_ms=0.5, bonus=True))
    assert link == f"#h=0.5&k=3&target=45&draft=0.5&bonus=1&at={at}"
    link = calculator_link(lesson, quiz_of(lesson), Settings())
    assert link == f"#h=0.75&k=3&target=45&draft=3&bonus=0&at={at}"


def test_a_calculator_on_another_page_is_linked_there(lesson: Lesson) -> None:
    quiz = quiz_of(lesson)
    home = next(page for page in lesson.pages if any(quiz in part.blocks for part in page.parts))
    part = next(part for part in home.parts if quiz in part.blocks)
    calculator = next(page for page in lesson.pages).model_copy(update={"id": "tools"})
    moved = home.model_copy(update={"id": "questions", "parts": [part]})
    others = calculator.model_copy(update={"parts": [p for p in calculator.parts if p is not part]})
    both = lesson.model_copy(update={"pages": [moved, others]})
    assert str(calculator_link(both, quiz, Settings())).startswith("tools.html#h=")
    alone = lesson.model_copy(update={"pages": [moved]})
    assert calculator_link(alone, quiz, Settings()) is None


def test_only_a_changed_question_gets_another_mark(lesson: Lesson) -> None:
    """Answers kept on a device are dropped for the questions that changed, and for no others."""
    before = rendered(lesson, small_quiz())
    marks = {entry["id"]: entry["mark"] for entry in before.data["questions"]}
    changed = [
        small_quiz(one={"answer": 2}),
        small_quiz(one={"prompt": "Which of these three?"}),
        small_quiz(one={"options": list(reversed(SMALL["questions"][0]["options"]))}),
    ]
    for quiz in changed:
        after = {entry["id"]: entry["mark"] for entry in rendered(lesson, quiz).data["questions"]}
        assert after["one"] != marks["one"]
        assert (after["many"], after["number"]) == (marks["many"], marks["number"])
    better = rendered(lesson, small_quiz(one={"explanation": "A better one."}))
    assert grading(better, "one")["mark"] == marks["one"]


def test_the_store_is_named_after_course_lesson_and_quiz(lesson: Lesson) -> None:
    """Two lessons of one site do not read each other's answers."""
    name = rendered(lesson, small_quiz()).data["store"]
    assert name.endswith(f"/{lesson.number}/questions")
    other = lesson.model_copy(update={"number": lesson.number + 1})
    assert rendered(other, small_quiz()).data["store"] != name


# --- small parts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.75, "0.75"), (45.0, "45"), (3, "3"), (0.0, "0"), (100, "100"), (1e-6, "0.000001"), (True, "1")],
)
def test_plain_numbers(value: float, text: str) -> None:
    """As an address holds them: no exponent, no trailing zeros, a switch as a digit."""
    assert plain(value) == text


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("2.73", None, "2.73"),
        ("2.73", "tokens", "2.73\N{NO-BREAK SPACE}tokens"),
        ("0.77×", "×", "0.77×"),
        ("1.3", "×", "1.3×"),
        ("54 ms", "ms", "54 ms"),
    ],
)
def test_units(text: str, unit: str | None, expected: str) -> None:
    assert with_unit(text, unit) == expected

"""The quiz in a real browser: how it is answered, what it says, what it keeps, and for whom it works."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Lesson, Numeric, Quiz, SingleChoice
from build_scripts.views.base import Rendered
from test_quiz import ROOT, quiz_of, rendered, right_answers, small_quiz

ASSETS = ROOT / "docs" / "assets" / "lesson"
ADDRESS = "https://lesson.test/quiz.html"

# Room above and below, so that a page that jumps is seen to jump.
HARNESS = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quiz</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<style>{css}
body {{ background: var(--ls-bg); color: var(--ls-ink); font: 16px/1.6 sans-serif; margin: 0 }}
main {{ margin: 0 auto; max-width: 820px; padding: 300px 16px 900px }} a {{ color: var(--ls-accent) }}
</style></head><body data-md-color-scheme="{scheme}"><main><h1>Quiz</h1>
<section class="view view-quiz" data-view="quiz" id="questions">{html}
<script type="application/json" class="view-data">{data}</script></section></main>
<script>{script}</script>
<script>(() => {{ const root = document.querySelector("[data-view]");
Lesson.views.quiz(root, JSON.parse(root.querySelector(":scope > .view-data").textContent), {{}}); }})();</script>
</body></html>"""


def harness(result: Rendered, scheme: str = "default") -> str:
    """A page with the quiz, its stylesheet and its script, and nothing else."""
    return HARNESS.format(
        css=(ASSETS / "lesson.css").read_text(encoding="utf-8"),
        scheme=scheme,
        html=result.html,
        data=json.dumps(result.data).replace("<", "\\u003c"),
        script="".join((ASSETS / name).read_text(encoding="utf-8") for name in ("format.js", "views/quiz.js")),
    )


@dataclass
class Visit:
    """A reader's device, and the page open on it."""

    context: BrowserContext
    page: Page
    errors: list[str]
    html: str

    def load(self, hash_: str = "") -> None:
        self.page.goto("about:blank")
        self.page.goto(ADDRESS + hash_)

    def question(self, name: str) -> Locator:
        return self.page.locator(f"#quiz-{name}")

    def choice(self, name: str, i: int) -> Locator:
        return self.question(name).locator(".quiz-choice").nth(i)

    def tick(self, name: str, *indices: int) -> None:
        for i in indices:
            self.choice(name, i).locator("input").check()

    def check(self, name: str) -> None:
        self.question(name).locator(".quiz-check").click()

    def answer(self, name: str, *indices: int) -> None:
        self.tick(name, *indices)
        self.check(name)

    def enter(self, text: str) -> None:
        self.question("number").locator("input").fill(text)
        self.check("number")

    def verdict(self, name: str) -> Locator:
        return self.question(name).locator(".quiz-verdict")

    def status(self) -> Locator:
        return self.page.get_by_role("status")

    def score(self) -> tuple[str, str, str]:
        bar = self.page.locator(".quiz-bar")
        value = bar.locator("progress").evaluate("bar => `${bar.value}/${bar.max}`")
        return value, bar.locator(".quiz-progress").inner_text(), bar.locator(".quiz-score").inner_text()

    def kept(self) -> dict[str, Any]:
        texts = self.page.evaluate("Object.values(localStorage)")
        return json.loads(texts[0]) if texts else {}


Open = Callable[..., Visit]
Grade = Callable[[Any, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


@pytest.fixture(scope="module")
def small(lesson: Lesson) -> Rendered:
    return rendered(lesson, small_quiz())


@pytest.fixture(scope="module")
def grade(browser: Browser) -> Iterator[Grade]:
    """The grading on an empty page, where it finds nothing but its arguments."""
    page = browser.new_page()
    page.add_script_tag(path=ASSETS / "format.js")
    page.add_script_tag(path=ASSETS / "views" / "quiz.js")
    yield lambda question, response: page.evaluate("([q, r]) => Lesson.quiz.grade(q, r)", [question, response])
    page.close()


@pytest.fixture
def open_quiz(browser: Browser, small: Rendered) -> Iterator[Open]:
    """Opens a quiz (the small one, if none is given) on a fresh device; no script may fail on it."""
    visits: list[Visit] = []

    def open_(
        result: Rendered | None = None,
        *,
        scheme: str = "default",
        hash_: str = "",
        before: str | None = None,
        **device: Any,
    ) -> Visit:
        context = browser.new_context(**({"viewport": {"width": 900, "height": 700}} | device))
        context.set_default_timeout(5000)
        visit = Visit(context, context.new_page(), [], harness(result or small, scheme))
        visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
        context.route(
            "https://lesson.test/**",
            lambda route: route.fulfill(body=visit.html, content_type="text/html; charset=utf-8"),
        )
        if before:
            context.add_init_script(f"if (location.hostname) {{ {before} }}")
        visits.append(visit)
        visit.load(hash_)
        return visit

    yield open_
    for visit in visits:
        visit.context.close()
        assert visit.errors == []


# --- grading, apart from the page ------------------------------------------------------

NUMBER = {"type": "numeric", "value": 0.77, "tolerance": 0.02, "unit": "×", "slips": [1.93, 1.9, 0.8]}
BOXES = {"type": "multiple", "answers": [0, 2], "count": 4}


@pytest.mark.parametrize(
    ("question", "response", "outcome", "notes"),
    [
        (NUMBER, "0.77", "right", []),
        (NUMBER, " 0,77 ", "right", []),
        (NUMBER, ".77×", "right", []),
        (NUMBER, "0.77 x", "right", []),
        (NUMBER, "77 %", "right", []),
        (NUMBER, "0.75", "right", []),  # on the edge of the tolerance, which binary numbers miss
        (NUMBER, "0.79", "right", []),  # within reach of a slip too: right comes first
        (NUMBER, "0.7499", "wrong", ["otherwise"]),
        (NUMBER, "0.81", "wrong", ["slip-2"]),
        (NUMBER, "1.92", "wrong", ["slip-0"]),  # within reach of two: the nearest explains it
        (NUMBER, "1.91", "wrong", ["slip-1"]),
        (NUMBER, "-0.77", "wrong", ["otherwise"]),
        (NUMBER, "\N{MINUS SIGN}0.77", "wrong", ["otherwise"]),
        (NUMBER, "  ", "empty", []),
        (NUMBER, "about 1", "not-a-number", []),
        (NUMBER, "1.2.3", "not-a-number", []),
        (NUMBER, "1e3", "not-a-number", []),
        (NUMBER, ".", "not-a-number", []),
        (NUMBER, "NaN", "not-a-number", []),
        (NUMBER, "×", "not-a-number", []),
        (NUMBER | {"unit": "ms"}, "0.77 ms", "right", []),
        (NUMBER | {"unit": "ms"}, "0.77 MS", "right", []),
        (NUMBER | {"unit": None, "slips": []}, "5", "wrong", ["otherwise"]),
        (BOXES, [], "empty", []),
        (BOXES, [0, 2], "right", ["0", "2"]),
        (BOXES, [0], "wrong", []),
        (BOXES, [0, 1, 2], "wrong", ["1"]),
        (BOXES, [1, 3], "wrong", ["1", "3"]),
        ({"type": "single", "answers": [1], "count": 3}, [1], "right", ["1"]),
        ({"type": "single", "answers": [1], "count": 3}, [2], "wrong", ["2"]),
    ],
)
def test_grading(grade: Grade, question: Any, response: Any, outcome: str, notes: list[str]) -> None:
    """A pure function: what was asked and what was answered in, the verdict and the notes out."""
    result = grade(question, response)
    assert (result["outcome"], result["notes"]) == (outcome, notes)


def test_grading_counts_ticks(grade: Grade) -> None:
    result = grade(BOXES, [0, 1])
    assert (result["hits"], result["misses"], result["missing"]) == (1, 1, 1)


# --- answering -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mouse", "label", "space"])
@pytest.mark.parametrize(("i", "said"), [(1, "Right."), (0, "Not right.")])
def test_right_and_wrong_however_it_is_answered(open_quiz: Open, how: str, i: int, said: str) -> None:
    """By the radio itself, by its text, and by the space bar: the same verdict, right and wrong."""
    visit = open_quiz()
    radio = visit.choice("one", i).locator("input")
    button = visit.question("one").locator(".quiz-check")
    if how == "space":
        radio.focus()
        visit.page.keyboard.press("Space")
        button.focus()
        visit.page.keyboard.press("Space")
    else:
        (radio if how == "mouse" else visit.choice("one", i).locator(".quiz-text")).click()
        button.click()
    expect(radio).to_be_checked()
    expect(visit.verdict("one")).to_have_text(said)
    expect(visit.choice("one", i).locator(".quiz-mark:visible")).to_have_text("✓" if i == 1 else "✗")


def test_an_arrow_key_only_moves_the_choice(open_quiz: Open) -> None:
    """Nothing is graded, kept or locked while a reader goes through the options."""
    visit = open_quiz()
    radios = visit.question("one").locator("input")
    radios.nth(0).focus()
    for i in (1, 2, 0, 1):
        visit.page.keyboard.press("ArrowDown")
        expect(radios.nth(i)).to_be_checked()
    expect(visit.verdict("one")).to_have_text("")
    expect(visit.status()).to_have_text("")
    assert visit.score()[0] == "0/3"
    assert visit.kept() == {}
    for i in range(3):
        expect(radios.nth(i)).to_be_enabled()
    # Nor after a check: the arrow takes the verdict away, and another check gives it again.
    visit.check("one")
    expect(visit.verdict("one")).to_have_text("Right.")
    radios.nth(1).focus()
    visit.page.keyboard.press("ArrowDown")
    expect(radios.nth(2)).to_be_checked()
    expect(visit.verdict("one")).to_have_text("")
    visit.check("one")
    expect(visit.verdict("one")).to_have_text("Not right.")


def test_enter_on_a_radio_submits_nothing(open_quiz: Open) -> None:
    visit = open_quiz()
    visit.choice("one", 0).locator("input").focus()
    visit.page.keyboard.press("Enter")
    expect(visit.verdict("one")).to_have_text("")
    assert visit.page.url == ADDRESS


def test_a_wrong_answer_is_explained_and_the_right_one_not_given_away(open_quiz: Open) -> None:
    """The chosen option's own note, and no other; nothing marks the right one."""
    visit = open_quiz()
    visit.answer("one", 2)
    question = visit.question("one")
    expect(question).to_contain_text("Third is too late.", use_inner_text=True)
    for hidden in ("First is too early.", "Second is it.", "Because it is the second."):
        expect(question).not_to_contain_text(hidden, use_inner_text=True)
    expect(question.locator(".quiz-choice.is-right")).to_have_count(0)
    expect(question.locator(".quiz-answer")).to_be_hidden()
    expect(visit.choice("one", 2).locator("input")).to_have_accessible_description("Third is too late.")
    expect(visit.choice("one", 2).locator("input")).to_have_accessible_name("third Not right.")


def test_a_right_answer_is_explained(open_quiz: Open) -> None:
    visit = open_quiz()
    expect(visit.question("one").locator(".quiz-see")).to_be_hidden()
    visit.answer("one", 1)
    expect(visit.question("one")).to_contain_text("Because it is the second.", use_inner_text=True)
    link = visit.question("one").locator(".quiz-see")
    expect(link).to_be_visible()
    assert str(link.get_attribute("href")).startswith("#h=0.5&")


def test_check_without_an_answer_asks_for_one(open_quiz: Open) -> None:
    visit = open_quiz()
    visit.check("one")
    expect(visit.verdict("one")).to_have_text("Choose first.")
    visit.check("many")
    expect(visit.verdict("many")).to_have_text("Choose first.")
    visit.enter(" ")
    expect(visit.verdict("number")).to_have_text("Enter a number first.")
    assert visit.score()[0] == "0/3"


def test_partly_right_says_how_much_and_not_which(open_quiz: Open) -> None:
    """Two ticks, one wrong: the wrong one is explained, the missing one is not named."""
    visit = open_quiz()
    visit.answer("many", 0, 3)
    question = visit.question("many")
    expect(visit.verdict("many")).to_have_text(
        "Not right. Right ticks: 1. Wrong ticks: 1. Some are missing."
    )
    expect(question.locator(".quiz-feedback:visible")).to_have_text(["5 is odd."])
    expect(question).not_to_contain_text("4 is even.", use_inner_text=True)
    expect(visit.choice("many", 2).locator(".quiz-mark:visible")).to_have_count(0)
    visit.tick("many", 2)
    visit.check("many")
    expect(visit.verdict("many")).to_have_text("Not right. Right ticks: 2. Wrong ticks: 1.")
    visit.choice("many", 3).locator("input").uncheck()
    visit.check("many")
    expect(visit.verdict("many")).to_have_text("Right.")
    expect(question).to_contain_text("Two divides them.", use_inner_text=True)


@pytest.mark.parametrize(
    ("text", "said", "note"),
    [
        ("2.73", "Right.", "It is the sum."),
        ("2,73", "Right.", "It is the sum."),
        ("2.73 tokens", "Right.", "It is the sum."),
        ("2.31", "Not right.", "That is without the bonus."),
        ("2,25", "Not right.", "That is k times h."),
        ("7", "Not right.", "Add up the chances."),
        ("many", "That is not a number.", None),
    ],
)
def test_numbers(open_quiz: Open, text: str, said: str, note: str | None) -> None:
    """With a point or a comma; a known slip is named, another wrong number gets a hint."""
    visit = open_quiz()
    visit.enter(text)
    question = visit.question("number")
    expect(visit.verdict("number")).to_have_text(said)
    field = question.locator("input")
    if note:
        expect(question).to_contain_text(note, use_inner_text=True)
        assert visit.score()[0] == "1/3"
    else:
        expect(field).to_have_attribute("aria-invalid", "true")
        assert visit.score()[0] == "0/3"
        field.fill("1")
        assert field.get_attribute("aria-invalid") is None
    expect(field).to_have_accessible_name("Your answer")


def test_enter_checks_a_number_and_keeps_the_focus(open_quiz: Open) -> None:
    visit = open_quiz()
    field = visit.question("number").locator("input")
    field.fill("2.31")
    field.press("Enter")
    expect(visit.verdict("number")).to_have_text("Not right.")
    expect(field).to_be_focused()
    field.fill("2.73")
    expect(visit.verdict("number")).to_have_text("")
    field.press("Enter")
    expect(visit.verdict("number")).to_have_text("Right.")


def test_focus_stays_on_check(open_quiz: Open) -> None:
    visit = open_quiz()
    for i in (0, 1):
        visit.answer("one", i)
        expect(visit.question("one").locator(".quiz-check")).to_be_focused()


def test_try_again_clears_the_choice_and_goes_to_it(open_quiz: Open) -> None:
    visit = open_quiz()
    retry = visit.question("one").locator(".quiz-retry")
    expect(retry).to_be_hidden()
    visit.answer("one", 2)
    retry.click()
    expect(visit.question("one").locator("input:checked")).to_have_count(0)
    expect(visit.choice("one", 0).locator("input")).to_be_focused()
    expect(visit.verdict("one")).to_have_text("")
    expect(visit.question("one").locator(".quiz-feedback:visible")).to_have_count(0)
    expect(retry).to_be_hidden()
    assert visit.score()[0] == "0/3"
    visit.answer("one", 1)
    expect(visit.verdict("one")).to_have_text("Right.")


@pytest.mark.parametrize("name", ["one", "many", "number"])
@pytest.mark.parametrize("right", [True, False])
def test_answering_does_not_scroll(open_quiz: Open, name: str, right: bool) -> None:
    """The page stays where it is, and the focus is not lost, whatever the verdict opens."""
    visit = open_quiz()
    visit.question(name).evaluate("element => element.scrollIntoView({block: 'center'})")
    if name == "number":
        visit.question(name).locator("input").fill("2.73" if right else "2.31")
    else:
        visit.tick(name, *({"one": [1], "many": [0, 2]}[name] if right else [0]))
    button = visit.question(name).locator(".quiz-check")
    box = button.bounding_box()
    assert box is not None
    before = visit.page.evaluate("scrollY")
    assert before > 0
    visit.page.mouse.click(box["x"] + 5, box["y"] + 5)
    expect(visit.verdict(name)).not_to_have_text("")
    visit.page.wait_for_timeout(120)
    assert visit.page.evaluate("scrollY") == before
    expect(button).to_be_focused()


# --- what is announced -----------------------------------------------------------------


def test_the_status_says_it_once(open_quiz: Open) -> None:
    """The verdict with its note, one announcement a check, and again when checked again."""
    visit = open_quiz()
    visit.page.evaluate(
        """() => { window.said = []; const status = document.querySelector('[role=status]');
        new MutationObserver(() => status.textContent && said.push(status.textContent))
          .observe(status, {childList: true, characterData: true, subtree: true}); }"""
    )
    visit.answer("one", 2)
    expect(visit.status()).to_have_text("Not right. Third is too late.")
    visit.check("one")
    visit.page.wait_for_function("said.length === 2")
    visit.answer("one", 1)
    expect(visit.status()).to_have_text("Right. Second is it.")
    visit.enter("2.73")
    expect(visit.status()).to_have_text("Right. It is the sum.")
    assert visit.page.evaluate("said") == [
        "Not right. Third is too late.",
        "Not right. Third is too late.",
        "Right. Second is it.",
        "Right. It is the sum.",
    ]
    expect(visit.page.locator("[role=status], [role=alert], [aria-live]")).to_have_count(1)


def test_nothing_is_announced_on_load(open_quiz: Open) -> None:
    visit = open_quiz()
    visit.answer("one", 1)
    visit.load()
    expect(visit.verdict("one")).to_have_text("Right.")
    visit.page.wait_for_timeout(120)
    expect(visit.status()).to_have_text("")


# --- score, and what the device keeps --------------------------------------------------


def test_score_and_progress(open_quiz: Open) -> None:
    """Answered and right are two counts; what was once answered right stays so."""
    visit = open_quiz()
    assert visit.score() == ("0/3", "Answered: 0 of 3", "Right: 0")
    visit.answer("one", 0)
    assert visit.score() == ("1/3", "Answered: 1 of 3", "Right: 0")
    visit.answer("one", 1)
    visit.answer("many", 0, 2)
    assert visit.score() == ("2/3", "Answered: 2 of 3", "Right: 2")
    visit.answer("one", 2)  # to read what the third option overlooks
    assert visit.score() == ("2/3", "Answered: 2 of 3", "Right: 2")
    visit.question("many").locator(".quiz-retry").click()
    assert visit.score() == ("2/3", "Answered: 2 of 3", "Right: 2")
    expect(visit.page.get_by_role("progressbar")).to_have_accessible_name("Answered: 2 of 3")


def test_answers_survive_a_reload(open_quiz: Open) -> None:
    visit = open_quiz()
    visit.answer("one", 1)
    visit.answer("many", 0, 1)
    visit.enter("2,31")
    visit.load()
    assert visit.score() == ("3/3", "Answered: 3 of 3", "Right: 1")
    expect(visit.choice("one", 1).locator("input")).to_be_checked()
    expect(visit.question("one")).to_contain_text("Because it is the second.", use_inner_text=True)
    expect(visit.question("many")).to_contain_text("3 is odd.", use_inner_text=True)
    expect(visit.question("number").locator("input")).to_have_value("2,31")
    expect(visit.question("number")).to_contain_text("That is without the bonus.", use_inner_text=True)
    expect(visit.page.locator(".quiz-saved")).to_be_visible()


def test_a_changed_question_loses_its_own_answer_only(open_quiz: Open, lesson: Lesson) -> None:
    visit = open_quiz()
    visit.answer("one", 1)
    visit.answer("many", 0, 2)
    visit.html = harness(rendered(lesson, small_quiz(one={"prompt": "Which of these three?"})))
    visit.load()
    assert visit.score() == ("1/3", "Answered: 1 of 3", "Right: 1")
    expect(visit.question("one").locator("input:checked")).to_have_count(0)
    expect(visit.verdict("many")).to_have_text("Right.")
    assert list(visit.kept()) == ["many"]


def test_two_tabs_do_not_undo_each_other(open_quiz: Open) -> None:
    visit = open_quiz()
    other = visit.context.new_page()
    other.goto(ADDRESS)
    visit.answer("one", 1)
    other.locator("#quiz-many input").nth(1).check()
    other.locator("#quiz-many .quiz-check").click()
    visit.load()
    assert visit.score()[0] == "2/3"


def test_reset_clears_everything_and_keeps_the_focus(open_quiz: Open) -> None:
    visit = open_quiz()
    visit.answer("one", 0)
    visit.answer("many", 0, 2)
    visit.enter("2.73")
    reset = visit.page.get_by_role("button", name="Clear all")
    reset.focus()
    visit.page.keyboard.press("Enter")
    expect(reset).to_be_focused()
    expect(visit.status()).to_have_text("All cleared.")
    assert visit.score() == ("0/3", "Answered: 0 of 3", "Right: 0")
    expect(visit.page.locator("input:checked")).to_have_count(0)
    expect(visit.question("number").locator("input")).to_have_value("")
    expect(visit.page.locator(".is-right, .is-wrong, .is-solved")).to_have_count(0)
    visit.load()
    assert visit.score()[0] == "0/3"


FORBIDDEN = """Object.defineProperty(window, 'localStorage', {
  get() { throw new DOMException('denied', 'SecurityError'); } });"""
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


@pytest.mark.parametrize("broken", [FORBIDDEN, FULL])
def test_storage_that_fails_breaks_nothing(open_quiz: Open, broken: str) -> None:
    """In private mode, or on a full disk, answers last as long as the page, and nothing else is said."""
    visit = open_quiz(before=broken)
    visit.answer("one", 1)
    visit.answer("many", 1)
    assert visit.score() == ("2/3", "Answered: 2 of 3", "Right: 1")
    expect(visit.page.locator(".quiz-saved")).to_be_hidden()
    visit.question("many").locator(".quiz-retry").click()
    assert visit.score() == ("1/3", "Answered: 1 of 3", "Right: 1")
    visit.page.locator(".quiz-reset").click()
    assert visit.score()[0] == "0/3"
    visit.load()
    assert visit.score()[0] == "0/3"


@pytest.mark.parametrize(
    "spoiled",
    [
        "{",
        "null",
        "[]",
        '"text"',
        "7",
        '{"one": null}',
        '{"one": {"mark": MARK, "response": [7], "solved": true}}',
        '{"one": {"mark": MARK, "response": "2.73", "solved": true}}',
        '{"one": {"mark": MARK}}',
        '{"one": {"mark": MARK, "response": [1.5], "solved": true}}',
    ],
)
def test_spoiled_storage_is_as_none(open_quiz: Open, small: Rendered, spoiled: str) -> None:
    """What somebody else wrote under our name is dropped, and the quiz starts anew."""
    text = spoiled.replace("MARK", json.dumps(small.data["questions"][0]["mark"]))
    store = small.data["store"]
    visit = open_quiz(before=f"localStorage.setItem({json.dumps(store)}, {json.dumps(text)})")
    assert visit.score()[0] == "0/3"
    visit.answer("one", 1)
    assert visit.score() == ("1/3", "Answered: 1 of 3", "Right: 1")


# --- links to a question ---------------------------------------------------------------


def test_a_link_to_a_question_brings_it_up(open_quiz: Open) -> None:
    """On load and on the open page: in view, and focused, so that Tab goes on from there."""
    visit = open_quiz(hash_="#quiz-many")
    expect(visit.question("many")).to_be_focused()
    expect(visit.question("many")).to_be_in_viewport(ratio=0.9)
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Tab")
    expect(visit.choice("many", 0).locator("input")).to_be_focused()
    visit.page.evaluate("location.hash = '#quiz-number'")
    expect(visit.question("number")).to_be_focused()


@pytest.mark.parametrize("hash_", ["#quiz-none", "#h=0.5&k=3", "#%", "#"])
def test_other_addresses_are_left_alone(open_quiz: Open, hash_: str) -> None:
    visit = open_quiz(hash_=hash_)
    assert visit.page.evaluate("document.activeElement === document.body")
    visit.answer("one", 1)
    expect(visit.verdict("one")).to_have_text("Right.")


def test_a_link_is_copied(open_quiz: Open) -> None:
    """Where the browser allows it; the page does not move, and it is said."""
    visit = open_quiz(permissions=["clipboard-read", "clipboard-write"])
    link = visit.question("many").get_by_role("link", name="Link to question 2")
    link.click()
    expect(visit.status()).to_have_text("Link copied.")
    expect(visit.question("many").locator(".quiz-copied")).to_have_text("Link copied.")
    assert visit.page.evaluate("navigator.clipboard.readText()") == ADDRESS + "#quiz-many"
    assert visit.page.url == ADDRESS


def test_a_link_is_followed_where_copying_is_refused(open_quiz: Open) -> None:
    refused = "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));"
    visit = open_quiz(before=refused)
    visit.question("many").locator(".quiz-link").click()
    expect(visit.question("many")).to_be_focused()
    assert visit.page.url == ADDRESS + "#quiz-many"


# --- for everybody ---------------------------------------------------------------------

IN_SIGHT = """() => { const box = document.activeElement.getBoundingClientRect();
  const bar = document.querySelector('.quiz-bar').getBoundingClientRect();
  return box.top >= 0 && (box.bottom <= bar.top || box.top >= bar.bottom); }"""


def test_the_whole_quiz_by_keyboard_alone(open_quiz: Open, lesson: Lesson) -> None:
    """Every question of the lesson is answered right with Tab, arrows, Space and Enter only."""
    result = rendered(lesson)
    quiz = quiz_of(lesson)
    visit = open_quiz(result)
    keyboard = visit.page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(12):
            keyboard.press("Tab")
            if visit.page.evaluate("s => document.activeElement.matches(s)", selector):
                # The bar with the score does not cover what takes the focus.
                assert visit.page.evaluate(IN_SIGHT)
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    for question, entry in zip(quiz.questions, result.data["questions"], strict=True):
        at = f"#quiz-{question.id}"
        if isinstance(question, Numeric):
            tab_to(f"{at} input")
            keyboard.type(f"{entry['value']:.6f}")
            keyboard.press("Enter")
        elif isinstance(question, SingleChoice):
            tab_to(f"{at} input")
            keyboard.press("Space")
            for _ in range(question.answer):
                keyboard.press("ArrowDown")
            tab_to(f"{at} .quiz-check")
            keyboard.press("Enter")
        else:
            for i in right_answers(question):
                tab_to(f"{at} input[value='{i}']")
                keyboard.press("Space")
            tab_to(f"{at} .quiz-check")
            keyboard.press("Space")
        expect(visit.verdict(question.id)).to_have_text(quiz.labels.right)
    total = len(quiz.questions)
    assert visit.score()[0] == f"{total}/{total}"
    assert str(total) in visit.score()[2]


def _answer_all(visit: Visit, quiz: Quiz, data: dict[str, Any], right: bool) -> None:
    """Answers every question right, or every one wrong."""
    for question, entry in zip(quiz.questions, data["questions"], strict=True):
        if isinstance(question, Numeric):
            value = entry["value"] if right else entry["slips"][0]
            visit.question(question.id).locator("input").fill(f"{value:.6f}")
        else:
            count = len(question.options)
            indices = right_answers(question)
            if not right:
                wrong = [i for i in range(count) if i not in indices]
                indices = wrong[:1] if isinstance(question, SingleChoice) else [indices[0], *wrong]
            visit.tick(question.id, *indices)
        visit.check(question.id)
        said = quiz.labels.right if right else quiz.labels.wrong
        assert visit.verdict(question.id).inner_text().startswith(said)


@pytest.mark.parametrize("scheme", ["default", "slate"])
@pytest.mark.parametrize("state", ["unanswered", "wrong", "right"])
def test_axe_finds_no_fault(open_quiz: Open, lesson: Lesson, scheme: str, state: str) -> None:
    """The lesson's quiz, in both palettes: names, roles, contrast."""
    result = rendered(lesson)
    visit = open_quiz(result, scheme=scheme)
    if state != "unanswered":
        _answer_all(visit, quiz_of(lesson), result.data, state == "right")
    found = Axe().run(visit.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_nothing_is_wider_than_the_page(open_quiz: Open, lesson: Lesson, width: int) -> None:
    result = rendered(lesson)
    visit = open_quiz(result, viewport={"width": width, "height": 700})
    _answer_all(visit, quiz_of(lesson), result.data, right=False)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        visit.page.evaluate(
            """() => [...document.querySelectorAll('.view-quiz *')].filter(element =>
            element.offsetParent && !element.closest('.sr-only') &&
            element.getBoundingClientRect().right > innerWidth + 1).length"""
        )
        == 0
    )


@pytest.mark.parametrize(("device", "least"), [({}, 24), ({"has_touch": True, "is_mobile": True}, 44)])
def test_targets_are_large_enough(open_quiz: Open, device: dict[str, bool], least: int) -> None:
    """24 px for a mouse, 44 px for a finger."""
    visit = open_quiz(viewport={"width": 360, "height": 700}, **device)
    visit.answer("one", 1)
    sizes = visit.page.evaluate(
        """() => [...document.querySelectorAll(
          '.quiz-choice > label:has(input), .quiz-field > input, .view-quiz button, .quiz-link, .quiz-see')]
        .filter(element => element.offsetParent).map(element => {
          const box = element.getBoundingClientRect();
          return [element.className || element.tagName, box.width, box.height]; })"""
    )
    assert len(sizes) > 10
    assert [size for size in sizes if min(size[1:]) < least] == []


def test_marks_are_no_matter_of_colour(open_quiz: Open) -> None:
    """A sign to see and a word to hear stand with each colour."""
    visit = open_quiz()
    visit.answer("many", 0, 1)
    for i, sign, word in ((0, "✓", "Right."), (1, "✗", "Not right.")):
        choice = visit.choice("many", i)
        expect(choice.locator(".quiz-mark:visible")).to_have_text(sign)
        expect(choice.locator("input")).to_have_accessible_name(f"{2 + i} {word}")


def test_without_javascript_the_answers_are_there(open_quiz: Open) -> None:
    visit = open_quiz(java_script_enabled=False)
    question = visit.question("one")
    expect(visit.page.get_by_role("button")).to_have_count(0)
    expect(question.get_by_text("Because it is the second.")).to_be_hidden()
    question.get_by_text("Answer and why").click()
    expect(question.get_by_text("Because it is the second.")).to_be_visible()
    expect(question.get_by_text("Third is too late.")).to_be_visible()
    visit.choice("one", 2).locator("input").check()


@pytest.mark.parametrize("script", [True, False])
def test_print_shows_every_answer(open_quiz: Open, script: bool) -> None:
    """On paper nothing can be opened: answers stand there, and controls do not."""
    visit = open_quiz(java_script_enabled=script)
    if script:
        visit.answer("one", 0)
        visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    visit.page.emulate_media(media="print")
    for text in ("Because it is the second.", "Third is too late.", "Two divides them.", "It is the sum."):
        expect(visit.page.locator(".quiz-answer").get_by_text(text)).to_be_visible()
    expect(visit.page.locator(".quiz-actions:visible, .quiz-bar:visible")).to_have_count(0)
    if script:
        visit.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        expect(visit.page.locator("details[open]")).to_have_count(0)


def test_the_script_needs_nothing_but_the_page() -> None:
    """It is read from disk: no module, no request, and short enough to be read at one sitting."""
    script = Path(ASSETS / "views" / "quiz.js").read_text(encoding="utf-8")
    assert not any(word in script for word in ("import ", "export ", "fetch(", "XMLHttpRequest", "innerHTML"))
    assert len(script.splitlines()) < 300

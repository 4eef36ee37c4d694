"""The types of lesson.yaml: every fault at once, each with its line, and in plain words."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_text import SMALL_LESSON, TEXT, assert_refused, changed, faults_of, lesson_from

from build_scripts.spec import Lesson, SpecError, load_lesson
from build_scripts.spec.schema import Calculator, Quiz

DIAGRAM = "pages[0].parts[0].blocks[4]"
CALCULATOR = "pages[0].parts[0].blocks[5]"
BENCHMARK = "pages[0].parts[1].blocks[1]"
QUIZ = "pages[0].parts[2].blocks[0]"


def test_the_small_lesson_is_valid_and_typed() -> None:
    lesson = load_lesson(SMALL_LESSON)
    assert isinstance(lesson, Lesson)
    assert lesson.parameters.draft_tokens.step == 1
    blocks = [block for part in lesson.pages[0].parts for block in part.blocks]
    assert any(isinstance(block, Quiz) for block in blocks)
    assert any(isinstance(block, Calculator) for block in blocks)


def test_the_published_lesson_is_valid(lesson_path: Path) -> None:
    assert load_lesson(lesson_path).pages[0].id == "index"


def test_the_small_lesson_has_every_view_once() -> None:
    """Else a view could break for a second lesson without a test that sees it."""
    views = {block.view for page in lesson_from(TEXT).pages for block in page.blocks}
    known = Lesson.model_json_schema()["$defs"]["Part"]["properties"]["blocks"]["items"]["discriminator"][
        "mapping"
    ]
    assert views == set(known)


def test_a_fault_names_the_file_as_the_author_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(changed(("number: 2", "number: 0")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as caught:
        load_lesson("mine.yaml")
    assert str(caught.value) == "mine.yaml:4:9: number: must be at least 1, not 0"


# --- one fault at a time -----------------------------------------------------------------

ALL_VIEWS = (
    "prose, terms, note, baseline-strip, step-diagram, calculator, cards, published-benchmark, published-results, "
    "quiz, summary, formula, acceptance-traces, glossary, sources, numbers, measured-cost, measured-acceptance, "
    "measured-training, measured-speedup, measured-prediction, measured-batch, measured-lossless, measured-peers, "
    "measured-records, measured-card, race, replay"
)

WORDS = "pages[0].parts[0].blocks[3].words"


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        # fields
        ("year: 2020\n", "year: 2020\n    ¦urll: x\n", "sources[0].urll", "there is no such field here; did you mean 'url'?"),
        ("symbol: h\n", "symbol: h\n    ¦colour: red\n", "parameters.acceptance.colour", "there is no such field here; allowed: key, label, symbol, unit, help, kind, default, min, max, step"),
        ("  - id: editor\n    term: Editor\n", "  - ¦id: editor\n", "terms[1].term", "this field is missing"),
        # kinds of value
        ("number: 2\n", "number: ¦two\n", "number", "must be a whole number, not the text 'two'"),
        ("number: 2\n", "number: ¦2.5\n", "number", "must be a whole number, not the number 2.5"),
        ("number: 2\n", "number: ¦2.0\n", "number", "must be a whole number, not the number 2.0"),
        ("number: 2\n", "number: ¦true\n", "number", "must be a whole number, not true"),
        ("number: 2\n", "number: ¦02\n", "number", "must be a whole number, not the text '02' (a number has no leading zero)"),
        ("default: 60\n", "default: ¦12:30\n", "parameters.target_ms.default", "must be a number, not the text '12:30'"),
        ("default: 60\n", "default:¦\n", "parameters.target_ms.default", "must be a number, not nothing"),
        ("default: true", "default: ¦yes", "parameters.bonus.default", "must be true or false, not the text 'yes'"),
        ("default: true", "default: ¦1", "parameters.bonus.default", "must be true or false, not the number 1"),
        ("words: [dear, sir]", "words: [dear, ¦7]", f"{WORDS}[1]", "must be text, not the number 7: put it in quotes"),
        ("words: [dear, sir]", "words: [dear, ¦true]", f"{WORDS}[1]", "must be text, not true: put it in quotes"),
        ("words: [dear, sir]", "words: [dear, ¦' ']", f"{WORDS}[1]", "must not be empty"),
        ("words: [dear, sir]", "words: ¦dear", WORDS, "must be a list, not the text 'dear'"),
        ("words: [dear, sir]", "words: ¦[dear]", WORDS, "needs at least 2 items, and has 1"),
        ("words: [dear, sir]", "words: ¦[a, b, c, d, e, f, g, h, i]", WORDS, "takes at most 8 items, and has 9"),
        ("  title: One Word at a Time", "  ¦- One Word at a Time", "previous", "must be a mapping, not a list"),
        ("  title: The clerk at work", "  title:\n    ¦x: 1", "video.title", "must be text, not a mapping"),
        ("drafted: [sir, and]", "drafted: ¦[]", f"{DIAGRAM}.drafted", "needs at least 1 item, and has 0"),
        # ranges
        ("default: 0.8", "default: ¦1.5", "parameters.acceptance.default", "must be at most 1, not 1.5"),
        ("default: 0.8", "default: ¦-0.1", "parameters.acceptance.default", "must be at least 0, not -0.1"),
        ("default: 60\n", "default: ¦0\n", "parameters.target_ms.default", "must be above 0, not 0"),
        ("default: 5\n", "default: ¦-1\n", "parameters.draft_ms.default", "must be at least 0, not -1"),
        ("year: 2020", "year: ¦1800", "sources[0].year", "must be at least 1900, not 1800"),
        ("ttft_ms: 150", "ttft_ms: ¦1e10", f"{CALCULATOR}.ttft_ms", "must be at most 1e+09, not 1e+10"),
        # texts with a form
        ("id: why", "id: ¦Why", "pages[0].parts[0].id", "'Why' must be small letters, digits and hyphens, a letter first"),
        ("key: ttft", "key: ¦t-t", "parameters.slo_ttft_ms.key", "'t-t' must be small letters and digits, a letter first"),
        ('number: "01"', "number: ¦'1'", "pages[0].parts[0].number", "'1' must be two digits, such as '04'"),
        ("url: https://example.org/desk", "url: ¦ftp://x.org", "sources[1].url", "'ftp://x.org' must be an address that starts with http:// or https://"),
        # words from a list
        ("kind: computed\n", "kind: ¦guessed\n", f"{QUIZ}.questions[2].kind", "'guessed' is no value of this field; allowed: assumed, computed, measured, published"),
        ("clock: drafted", "clock: ¦draftd", f"{DIAGRAM}.steps[0].clock", "'draftd' is no value of this field; did you mean 'drafted'?"),
        ("clock: drafted", "clock: ¦3", f"{DIAGRAM}.steps[0].clock", "must be one of start, drafted, verified, not the number 3"),
        ("shows: [context, draft]", "shows: [context, ¦darft]", f"{DIAGRAM}.steps[0].shows[1]", "'darft' is no value of this field; did you mean 'draft'?"),
        ("chart: speedup-over-acceptance", "chart: ¦speed-over-acceptance", f"{CALCULATOR}.charts[0].chart", "'speed-over-acceptance' is no value of this field; did you mean 'speedup-over-acceptance'?"),
        # names of a table
        ("    measured: measured\n", "    ¦mesured: measured\n", "labels.kinds.mesured", "'mesured' is no name here; did you mean 'measured'?"),
        ("expected_tokens: yield", "¦expectd_tokens: yield", "pages[1].parts[0].blocks[4].formulas.expectd_tokens", "'expectd_tokens' is no name here; did you mean 'expected_tokens'?"),
        # which view, which type of question
        ("view: note", "view: ¦remark", "pages[0].parts[0].blocks[2].view", f"'remark' is no view; allowed: {ALL_VIEWS}"),
        ("view: note", "view: ¦nte", "pages[0].parts[0].blocks[2].view", "'nte' is no view; did you mean 'note'?"),
        ("view: note", "view: ¦7", "pages[0].parts[0].blocks[2].view", "must be text, not the number 7"),
        ("view: note", "view: ¦[note]", "pages[0].parts[0].blocks[2].view", "must be text, not a list"),
        ("- view: note\n            title", "- ¦title", "pages[0].parts[0].blocks[2].view", "this field is missing"),
        ("- view: glossary", "- ¦glossary", "pages[1].parts[0].blocks[2]", "must be a mapping, not the text 'glossary'"),
        ("type: single", "type: ¦choice", f"{QUIZ}.questions[0].type", "'choice' is no type; allowed: single, multiple, numeric"),
    ],
)  # fmt: skip
def test_each_fault_is_placed_and_said_in_plain_words(old: str, new: str, path: str, message: str) -> None:
    assert_refused(changed((old, new)), (path, message))


def test_a_misspelt_field_is_one_that_is_there_and_one_that_is_not() -> None:
    """What is missing has no place of its own: the mapping that lacks it has."""
    assert_refused(
        changed(("course: Office", "¦course: Office"), ("title: The Clerk", "¦titel: The Clerk")),
        ("title", "this field is missing"),
        ("titel", "there is no such field here; did you mean 'title'?"),
    )


def test_no_path_has_the_name_of_a_union_member() -> None:
    """pydantic would say pages.0.parts.0.blocks.4.step-diagram.labels.flip."""
    (fault,) = faults_of(changed(('flip: "Change the word {word}"', "flip: 3")))
    assert f": {DIAGRAM}.labels.flip: must be text" in fault


def test_every_fault_comes_at_once_and_in_the_order_of_the_file() -> None:
    """Types, texts and what needs two places, in different blocks, in one go."""
    text = changed(
        ("number: 2\n", "number: ¦0\n¦number: 1\n"),
        ("default: 0.8", "default: ¦8"),
        ("{{ draft_tokens }} words", "¦{{ draft_token }} words"),
        ("view: note", "view: ¦notice"),
        ("target: [sir, or, madam]", "target: ¦[sir, or]"),
        ("answer: 0", "answer: ¦4"),
        ("[0.8, 0.7]", "[0.8, ¦7]"),
    )
    assert_refused(
        text,
        ("number", "must be at least 1, not 0"),
        ("number", "this field is already set on line 4"),
        ("parameters.acceptance.default", "must be at most 1, not 8"),
        ("pages[0].parts[0].blocks[0].text", "'draft_token' is no number; did you mean 'draft_tokens'?"),
        ("pages[0].parts[0].blocks[2].view", "'notice' is no view; did you mean 'note'?"),
        (
            f"{DIAGRAM}.target",
            "2 drafted words need 3 target words, one for each and one for the bonus, not 2",
        ),
        (f"{QUIZ}.questions[0].answer", "4 is no option; there are 2, numbered 0 to 1"),
        ("pages[1].parts[0].blocks[1].traces[0].acceptances[1]", "must be at most 1, not 7"),
    )


def test_a_value_that_yaml_broke_is_one_fault() -> None:
    """Braces without quotes are a mapping to YAML; that it is no text is no news."""
    text = changed(("text: As Smith had it.", "text: {¦{ speedup }}"))
    message = "a field's name must be a word; text that starts with { or [ needs quotes"
    assert_refused(text, (f"{CALCULATOR}.presets[1].text", message))


def test_a_text_takes_a_number_in_quotes_only() -> None:
    """A part's number is text: 04 and "04" are, 4 is not."""
    assert faults_of(changed(('number: "01"', "number: 01"))) == []
    assert len(faults_of(changed(('number: "01"', "number: 11")))) == 1

"""What two places of the lesson must agree on. Each fault names its line, and comes with all others."""

from __future__ import annotations

import pytest
from lesson_text import TEXT, assert_refused, changed, faults_of

PARTS = "pages[0].parts[0].blocks"
DIAGRAM, CALCULATOR = f"{PARTS}[4]", f"{PARTS}[5]"
CARDS, BENCHMARK = "pages[0].parts[1].blocks[0]", "pages[0].parts[1].blocks[1]"
QUIZ = "pages[0].parts[2].blocks[0].questions"
FORMULA, NUMBERS = "pages[1].parts[0].blocks[0]", "pages[1].parts[0].blocks[4]"


def line(needle: str) -> int:
    """The line of the small lesson on which `needle` stands first."""
    return TEXT[: TEXT.index(needle)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        # ids
        ("- id: index", "- id: ¦start", "pages[0].id", "the first page is 'index', not 'start'"),
        ("- id: results", "- id: ¦why", "pages[0].parts[1].id", f"'why' is already used on line {line('id: why')}"),
        ("id: diagram", "id: ¦baseline", f"{DIAGRAM}.id", f"'baseline' is already used on line {line('id: baseline')}"),
        ("id: q-helps", "id: ¦part", f"{QUIZ}[1].id", f"'part' is already used on line {line('id: quiz-part')}"),
        ("id: traces", "id: ¦yield", "pages[1].parts[0].blocks[1].id", f"'yield' is already used on line {line('id: yield')}"),
        ("id: q-helps", "id: ¦q-signs", f"{QUIZ}[1].id", f"'q-signs' is already used on line {line('id: q-signs')}"),
        ("id: sign\n", "id: ¦draft\n", f"{DIAGRAM}.steps[1].id", f"'draft' is already used on line {line('id: draft')}"),
        ("id: smith\n", "id: ¦slow-clerk\n", f"{CALCULATOR}.presets[1].id", f"'slow-clerk' is already used on line {line('id: slow-clerk')}"),
        ("key: itl", "key: ¦ttft", "parameters.slo_itl_ms.key", f"'ttft' is already used on line {line('key: ttft')}"),
        ("key: itl", "key: ¦at", "parameters.slo_itl_ms.key", "'at' has another meaning in the page's address"),
        ("- id: results", "- id: ¦top", "pages[0].parts[1].id", "'top' is an id that every page has already"),
        ("id: traces", "id: ¦term-clerk", "pages[1].parts[0].blocks[1].id", "'term-clerk' is the id of an entry on this page"),
        ("- view: sources", "- view: ¦glossary\n          - view: sources", "pages[1].parts[0].blocks[3].view", f"a lesson has one block 'glossary'; there is one on line {line('view: glossary')}"),
        # sources and terms
        ("[@smith-2020]", "¦[@smth]", f"{PARTS}[0].text", "'smth' is no source; allowed: smith-2020, desk-maker"),
        ("sources: [smith-2020]", "sources: [¦jones]", f"{FORMULA}.sources[0]", "'jones' is no source; allowed: smith-2020, desk-maker"),
        ("sources: [smith-2020]", "sources: [smith-2020, ¦smith-2020]", f"{FORMULA}.sources[1]", "'smith-2020' is here twice"),
        ("terms: [clerk, editor]", "terms: [clerk, ¦reader]", f"{PARTS}[1].terms[1]", "'reader' is no term; allowed: clerk, editor"),
        ("terms: [clerk, editor]", "terms: [clerk, ¦clerk]", f"{PARTS}[1].terms[1]", "'clerk' is here twice"),
        ("    note: Read in full.\n", "  - id: ¦unread\n    label: U\n    title: U\n    url: https://example.org\n", "sources[1].id", "'unread' is cited nowhere"),
        # addresses
        ("url: https://example.org/desk", "url: ¦https://exa mple.org", "sources[1].url", "'https://exa mple.org' is no address"),
        ("url: https://example.org/desk", "url: ¦http://?x", "sources[1].url", "'http://?x' is no address"),
        ("url: https://example.org/video", "url: ¦https://a@example.org", "video.url", "'https://a@example.org' is no address"),
        ("url: https://example.org/two", "url: ¦https://example.org:99999/two", "next.url", "'https://example.org:99999/two-clerks' is no address"),
        ("[the quiz](#quiz)", "[the quiz¦](#quizz)", f"{PARTS}[2].text", "'quizz' is no id of that page; did you mean 'quiz'?"),
        ("[method](method.html#yield)", "[method¦](methods.html#yield)", f"{PARTS}[0].text", "'methods' is no page; did you mean 'method'?"),
        ("[method](method.html#yield)", "[method¦](method.html#yeild)", f"{PARTS}[0].text", "'yeild' is no id of that page; did you mean 'yield'?"),
        ("[method](method.html#yield)", "[method¦](javascript:alert)", f"{PARTS}[0].text", "a link goes to http://…, https://…, page.html or #id, not to 'javascript:alert'"),
        ("[method](method.html#yield)", "[method¦](https://x.org/<)", f"{PARTS}[0].text", "'https://x.org/<' is no address"),
        # words of every page
        # parameters
        ("max: 200\n    step: 1\n  slo_throughput_tps", "max: ¦1\n    step: 1\n  slo_throughput_tps", "parameters.slo_itl_ms.max", "must be above min, 1, not 1"),
        ("default: 60\n", "default: ¦600\n", "parameters.target_ms.default", "600 is not from 1 to 200"),
        ("max: 100\n    step: 0.5", "max: 100\n    step: ¦101", "parameters.draft_ms.step", "101 is more than max - min, 100"),
        ("step: 0.01", "step: ¦2", "parameters.acceptance.step", "2 is more than max - min, 1"),
        ("min: 1\n    max: 200\n    step: 1\n  draft_ms", "min: ¦1e-9\n    max: 200\n    step: 1\n  draft_ms", "parameters.target_ms.min", "must be at least 1e-06"),
        # settings that move the sliders, and settings that the model refuses
        ("draft_ms: 40\n                kind", "draft_ms: ¦400\n                kind", f"{CALCULATOR}.presets[0].settings.draft_ms", "400 is beyond the parameter's range, 0 to 100"),
        ("draft_tokens: 4}", "draft_tokens: ¦9}", f"{CALCULATOR}.presets[1].settings.draft_tokens", "9 is beyond the parameter's range, 1 to 8"),
        ("open:\n                  acceptance: 0.8", "open:\n                  draft_tokens: ¦0", f"{QUIZ}[2].open.draft_tokens", "0 is beyond the parameter's range, 1 to 8"),
        ("at: {draft_ms: 40}", "at: ¦{target_ms: 1e-9}", f"{CARDS}.cards[0].number.at", "target_ms must be a number from 1e-06 to 1e+09, not 1e-09"),
        ("{{ speedup bonus=off }}", "¦{{ speedup target_ms=1e-9 }}", f"{PARTS}[0].text", "target_ms must be a number from 1e-06 to 1e+09, not 1e-09"),
        # what a number is
        # the step diagram
        ("target: [sir, or, madam]", "target: ¦[sir, or]", f"{DIAGRAM}.target", "2 drafted words need 3 target words, one for each and one for the bonus, not 2"),
        ("alternatives: [friend, and]", "alternatives: ¦[friend]", f"{DIAGRAM}.alternatives", "2 drafted words need 2 alternatives, not 1"),
        ("alternatives: [friend, and]", "alternatives: [¦sir, and]", f"{DIAGRAM}.alternatives[0]", "the target agrees with 'sir' here, so its alternative must be another word"),
        ("alternatives: [friend, and]", "alternatives: [friend, ¦but]", f"{DIAGRAM}.alternatives[1]", "the target differs from 'and' here, so its alternative must be that word"),
        # the calculator and the cards
        ("evidence: The rule is exact.", "evidence: The rule.\n                number_label: ¦none", f"{CARDS}.cards[1].number_label", "this card has no number"),
        # published figures
        ("panel: letters", "panel: ¦letter", f"{BENCHMARK}.headlines[0].panel", "'letter' is no panel; did you mean 'letters'?"),
        ("request_rate_qps: 1\n                panel", "request_rate_qps: ¦2\n                panel", f"{BENCHMARK}.headlines[0].request_rate_qps", "panel 'letters' has no reading at 2; it has 1, 8"),
        ("outcome: faster", "outcome: ¦slower", f"{BENCHMARK}.headlines[0].outcome", "the panel's reading says otherwise: 1.5 s with speculation, 2.5 s without"),
        ("uncertainty_s: 0.05", "uncertainty_s: ¦1.5", f"{BENCHMARK}.panels[0].readings[0].uncertainty_s", "must be below the readings, 1.5, not 1.5"),
        ("request_rate_qps: 8", "request_rate_qps: ¦1", f"{BENCHMARK}.panels[0].readings[1].request_rate_qps", "1 is here twice"),
        # the quiz
        ("answer: 0", "answer: ¦2", f"{QUIZ}[0].answer", "2 is no option; there are 2, numbered 0 to 1"),
        ("answer: 0", "answer: ¦-1", f"{QUIZ}[0].answer", "-1 is no option; there are 2, numbered 0 to 1"),
        ("answers: [0, 1]", "answers: [0, ¦3]", f"{QUIZ}[1].answers[1]", "3 is no option; there are 3, numbered 0 to 2"),
        ("answers: [0, 1]", "answers: [0, ¦0]", f"{QUIZ}[1].answers[1]", "'0' is here twice"),
        ("answers: [0, 1]", "answers: ¦[0, 1, 2]", f"{QUIZ}[1].answers", "every option is right; at least one must be wrong"),
        ("- text: The clerk\n", "- text: ¦The editor\n", f"{QUIZ}[0].options[1].text", "the same text as option 0"),
        ("value: 1.6\n", "value: ¦2.445\n", f"{QUIZ}[2].slips[0].value", "2.445 is within the tolerance of the right answer, 2.44"),
        ("- value: 1.6\n", "- ¦value: 1.6\n                    number: {readout: speedup}\n", f"{QUIZ}[2].slips[0]", "a slip has either a value or a number"),
        ("- value: 1.6\n                    feedback", "- ¦feedback", f"{QUIZ}[2].slips[0]", "a slip has either a value or a number"),
        ("number:\n                  readout: expected_tokens\n", "number:\n                  readout: ¦verdict\n", f"{QUIZ}[2].number.readout", "'verdict' is a word, not a number"),
        ("number:\n                  readout: expected_tokens\n", "number:\n                  readout: ¦break_even_acceptance\n                  at: {draft_ms: 100}\n", f"{QUIZ}[2].number.readout", "'break_even_acceptance' has no value at these settings"),
        # the method page
        ("expected_tokens: yield", "expected_tokens: ¦yields", f"{NUMBERS}.formulas.expected_tokens", "'yields' is no formula of this page; did you mean 'yield'?"),
        # texts
        ("x_title: signed", "x_title: signed ¦{{ acceptance }}", f"{CALCULATOR}.charts[0].x_title", "{{ means nothing in this field: its text is plain"),
        ("by: \"{margin}", "by: \"¦[@smith-2020] {margin}", f"{CALCULATOR}.labels.by", "[@ means nothing in this field: its text is plain"),
        ('step_of: "{n} of {total}"', 'step_of: "¦{m} of {total}"', "labels.step_of", "'m' is no name of this template; allowed: n, total"),
        ('step_of: "{n} of {total}"', 'step_of: "{n} of ¦{total"', "labels.step_of", "a { without its partner; write {{ for the brace itself"),
        ("latex: S_j = h^j", "latex: ¦S_j = \\frac{1}", f"{FORMULA}.steps[0].latex", "not a formula (an argument is missing): S_j = \\frac{1}"),
        ("$E = 1 + h + h^2$", "¦$E = 1 + \\foo$", f"{PARTS}[0].text", "not a formula (unknown: \\foo): E = 1 + \\foo"),
        ("{{ speedup bonus=off }}", "¦{{ speedup bonuss=off }}", f"{PARTS}[0].text", "'bonuss' is no setting; did you mean 'bonus'?"),
    ],
)  # fmt: skip
def test_each_fault_is_placed_and_said_in_plain_words(old: str, new: str, path: str, message: str) -> None:
    assert_refused(changed((old, new)), (path, message))


# --- faults that show in two places, or in another than the one that was changed ----------


def test_a_misspelt_source_leaves_another_uncited() -> None:
    assert_refused(
        changed(("source: desk-maker", "source: ¦desk-makr"), ("- id: desk-maker", "- id: ¦desk-maker")),
        (f"{PARTS}[3].hardware.source", "'desk-makr' is no source; did you mean 'desk-maker'?"),
        ("sources[1].id", "'desk-maker' is cited nowhere"),
    )


def test_an_unread_part_may_hold_the_citation() -> None:
    """With a fault elsewhere in the same block, "cited nowhere" could be wrong, and is not said."""
    text = changed(("view: baseline-strip", "view: baseline"))
    assert [fault for fault in faults_of(text) if "cited nowhere" in fault] == []


def test_two_terms_with_one_id() -> None:
    """One fault for the id, and one for the term that is no more."""
    text = changed(("- id: editor", "- id: ¦clerk"), ("terms: [clerk, editor]", "terms: [clerk, ¦editor]"))
    assert_refused(
        text,
        ("terms[1].id", f"'clerk' is already used on line {line('- id: clerk')}"),
        (f"{PARTS}[1].terms[1]", "'editor' is no term; allowed: clerk"),
    )


def test_an_id_may_be_used_again_on_another_page() -> None:
    """Each is an address on its own page: index.html#why and method.html#why."""
    assert faults_of(changed(("- id: formulas", "- id: why"))) == []


def test_citations_need_the_page_that_they_link_to() -> None:
    message = "sources are cited, so a page 'method' needs a block 'sources' for the citations to link to"
    assert_refused(
        changed(
            ("- view: sources\n", "- view: prose\n            text: none\n"),
            ("pages:\n  - id", "pages:\n  ¦- id"),
        ),
        ("pages", message),
    )


def test_every_kind_of_number_has_a_word_and_a_help() -> None:
    text = changed(("  kinds:\n    assumed: assumed\n", "  kinds:\n"))
    text = text.replace("  kinds:\n    ", "  kinds:\n    ¦", 1)
    assert_refused(text, ("labels.kinds", "needs a text for every kind; missing: assumed"))


def test_published_numbers_have_a_source() -> None:
    text = changed(
        (
            "kind: published\n                text: As Smith had it.\n                source: smith-2020\n",
            "kind: ¦published\n                text: As Smith had it.\n",
        )
    )
    assert_refused(text, (f"{CALCULATOR}.presets[1].kind", "published numbers need a source"))
    text = changed(("kind: computed\n                open", "kind: ¦published\n                open"))
    assert_refused(text, (f"{QUIZ}[2].kind", "published numbers need a source"))


def test_a_card_proves_what_it_says() -> None:
    text = changed(
        ("- label: Quality", "- ¦label: Quality"), ("                evidence: The rule is exact.\n", "")
    )
    assert_refused(text, (f"{CARDS}.cards[1]", "a card needs a number or evidence"))
    text = changed(
        ("- label: Clerk's time", "- ¦label: Clerk's time"),
        ("                number_label: with a slow clerk\n", ""),
    )
    assert_refused(text, (f"{CARDS}.cards[0]", "the card's number needs a number_label"))


def test_a_chart_stands_once() -> None:
    start = TEXT.index("              - chart: speedup-over-acceptance")
    chart = TEXT[start : TEXT.index("            labels:", start)]
    text = changed((chart, chart + chart.replace("chart: s", "chart: ¦s")))
    assert_refused(text, (f"{CALCULATOR}.charts[1].chart", "'speedup-over-acceptance' is here twice"))


def test_a_slip_that_the_model_computes_is_no_right_answer() -> None:
    """With the bonus on by default, a slip "with the bonus" is the answer itself."""
    text = changed(
        (
            "- number:\n                      readout: expected_tokens\n                      at: {bonus: false}",
            "- number:\n                      ¦readout: expected_tokens\n                      at: {bonus: true}",
        )
    )
    message = "2.44 is within the tolerance of the right answer, 2.44"
    assert_refused(text, (f"{QUIZ}[2].slips[1].number", message))


def test_two_slips_do_not_explain_the_same_number() -> None:
    text = changed(
        ("value: 1.6\n", "value: 1.799\n"),
        ("- number:\n                      readout: exp", "- number:\n                      ¦readout: exp"),
    )
    assert_refused(text, (f"{QUIZ}[2].slips[1].number", "1.8 is within the tolerance, 0.01, of a slip above"))


def test_what_a_lesson_without_a_calculator_cannot_open() -> None:
    start, end = TEXT.index("          - view: calculator"), TEXT.index("      - id: results")
    text = TEXT[:start] + TEXT[end:]
    text = changed(("open:\n                  acceptance", "open:\n                  ¦acceptance"), text=text)
    assert_refused(text, (f"{QUIZ}[2].open", "there is no calculator in this lesson to open"))


def test_an_example_with_the_strips_hardware_needs_the_strip() -> None:
    start, end = TEXT.index("          - view: baseline-strip"), TEXT.index("          - view: step-diagram")
    text = TEXT[:start] + TEXT[end:]
    text = changed(
        ('pass_example: "', 'pass_example: ¦"'),
        ("sources: [smith-2020]", "sources: [smith-2020, desk-maker]"),
        text=text,
    )
    assert_refused(
        text, (f"{FORMULA}.pass_example", "needs a baseline-strip in the lesson, for its model and hardware")
    )


def test_a_question_is_checked_though_the_lesson_has_no_valid_parameters() -> None:
    """What needs the parameters waits; what does not, does not."""
    text = changed(("default: 0.8", "default: ¦8"), ("answer: 0", "answer: ¦9"))
    assert_refused(
        text,
        ("parameters.acceptance.default", "must be at most 1, not 8"),
        (f"{QUIZ}[0].answer", "9 is no option; there are 2, numbered 0 to 1"),
    )


def test_texts_of_a_block_with_a_fault_are_checked_too() -> None:
    text = changed(("title: Keep in mind", "titel: Keep in mind"), ("[the quiz](#quiz)", "[@nobody]"))
    assert any("'nobody' is no source" in fault for fault in faults_of(text))


def test_a_fault_in_a_paragraph_names_its_own_line() -> None:
    """Not the line on which the paragraph starts."""
    text = changed(("more in the", "more in ¦{{ sped }}, the"))
    assert_refused(text, (f"{PARTS}[0].text", "'sped' is no number; did you mean 'speedup'?"))


@pytest.mark.parametrize(
    "target",
    [
        "#why",
        "#quiz-q-signs",
        "#top",
        "method.html",
        "method.html#source-smith-2020",
        "method.html#term-clerk",
    ]
    + ["index.html#h=0.9&k=4&at=calculator", "#k=3", "https://example.org/a_(b)?c=d#e"],
)
def test_links_go_to_every_address_of_the_lesson(target: str) -> None:
    """Parts, blocks, questions, entries, a state of the calculator, and the web."""
    assert faults_of(changed(("(method.html#yield)", f"({target})"))) == []


def test_an_id_that_is_no_text_is_one_fault_and_trips_no_check() -> None:
    """Found by changing values at random: a number among the ids that a name was compared with."""
    text = changed(
        ("id: yield", "id: ¦0"), ("(method.html#yield)", "(method.html)"), ("tokens: yield", "tokens: ¦yield")
    )
    assert_refused(
        text,
        (f"{FORMULA}.id", "must be text, not the number 0: put it in quotes"),
        (f"{NUMBERS}.formulas.expected_tokens", "'yield' is no formula of this page; there is none"),
    )


def test_a_round_too_long_to_draw_is_a_fault() -> None:
    """The diagram draws its lanes to scale: with a draft a million times the target it would never end."""
    text = changed(("default: 60\n    min: 1\n", "default: 0.001\n    min: 0.001\n"))
    assert any("target passes long; the diagram draws 40 at most" in fault for fault in faults_of(text))


def test_a_page_has_one_step_diagram() -> None:
    """Two would share their step, their words and their flips in the address."""
    start = TEXT.index("          - view: step-diagram")
    block = TEXT[start : TEXT.index("          - view: ", start + 20)]
    faults = faults_of(TEXT.replace(block, block + block.replace("id: ", "id: other-", 1), 1))
    assert any("a lesson has one block 'step-diagram'" in fault for fault in faults)

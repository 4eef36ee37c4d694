"""The method page: formulas that are typeset, derived, and equal to what the model computes."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from build_scripts.build import render_lesson
from build_scripts.records.store import Records
from build_scripts.model.readings import latency_ratio
from build_scripts.model.roofline import arithmetic_ms, weight_read_ms
from build_scripts.model.sampling import acceptance_probability, output_law, residual
from build_scripts.model.speculation import Round, evaluate, expected_tokens, survival
from build_scripts.render.numbers import round_at
from build_scripts.spec import load_lesson, parse_lesson
from build_scripts.spec.schema import (
    AcceptanceTraces,
    BaselineStrip,
    Calculator,
    Formula,
    Lesson,
    Numbers,
    Numeric,
    PublishedBenchmark,
    PublishedResults,
    Quiz,
    Terms,
)
from build_scripts.views.acceptance_traces import predictions
from build_scripts.views.blocks import blocks_of
from build_scripts.views.formula import pass_example
from build_scripts.views.number_rows import Row, number_groups
from conftest import Pages

ROOT = Path(__file__).resolve().parent.parent
LESSON_FILE = ROOT / "lesson.yaml"
STYLESHEET = ROOT / "docs" / "assets" / "lesson" / "lesson.css"
MATHML = "{http://www.w3.org/1998/Math/MathML}"

Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(LESSON_FILE)


@pytest.fixture(scope="module")
def files(lesson: Lesson) -> dict[str, str]:
    """Every page as it is written, by name."""
    return render_lesson(lesson, STYLESHEET, Records({}))


@pytest.fixture(scope="module")
def method(files: dict[str, str]) -> str:
    return files["method.md"]


def edited(edit: Edit) -> Lesson:
    """The lesson after an author's edit of lesson.yaml."""
    data = yaml.safe_load(LESSON_FILE.read_text(encoding="utf-8"))
    edit(data)
    return parse_lesson(yaml.safe_dump(data, allow_unicode=True, sort_keys=False).encode())


def text_of(markup: str) -> str:
    """What a reader sees of some HTML, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def view(page: str, identity: str) -> str:
    """The HTML of one block: from the heading with its id to the next block."""
    start = page.index(f"{{: #{identity} }}")
    end = page.find("data-view=", page.find("data-view=", start) + 1)
    return page[start : end if end > 0 else len(page)]


def anchors(page: str) -> list[str]:
    """The ids of the blocks' headings, in Markdown, and of what is in the blocks, in HTML."""
    return [one or other for one, other in re.findall(r'\bid="([^"]+)"|\{: #(\S+) \}', page)]


# --- formulas ----------------------------------------------------------------------------


def latex_of(lesson: Lesson) -> Iterator[tuple[str, str]]:
    """Each displayed formula, the derivations' too, with the id of its block."""
    for block in blocks_of(lesson, Formula):
        yield block.id, block.latex
        for step in block.steps:
            if step.latex is not None:
                yield block.id, step.latex


def test_every_formula_is_typeset_as_mathml(lesson: Lesson, method: str) -> None:
    """Also the steps'. A command that the converter does not know would stand there as text."""
    displayed = [
        ElementTree.fromstring(math)
        for math in re.findall(r"<math\b.*?</math>", method, re.DOTALL)
        if 'display="block"' in math
    ]
    expected = [latex for _, latex in latex_of(lesson)]
    assert expected
    assert [math.get("alttext") for math in displayed] == expected
    for math in displayed:
        assert math.tag == f"{MATHML}math"
        assert "\\" not in "".join(math.itertext())
        assert list(math.iter(f"{MATHML}mi")), "no variable in it"


def test_a_formula_has_its_derivation_its_limits_and_its_sources(lesson: Lesson, method: str) -> None:
    for block in blocks_of(lesson, Formula):
        shown = view(method, block.id)
        assert shown.count("<li>") >= len(block.steps) + len(block.assumes)
        assert (lesson.labels.formula.steps in shown) == bool(block.steps)
        assert (lesson.labels.formula.fails in shown) == (block.fails is not None)
        for source in block.sources:
            assert f"#source-{source}" in shown, (block.id, source)
        assert block.steps and block.assumes, f"{block.id} is stated without a reason"


TOKEN = re.compile(r"\d+(?:\.\d+)?|[+×/()=]|\b(?:ms|s)\b|\S")
PART = re.compile(r"\d+(?:\.\d+)?|[+×/()]|ms|s")


def sums_in(text: str) -> list[tuple[str, str]]:
    """`2.31 / 1.137 = 2.03`: the written-out sums of a text, as (expression, result)."""
    tokens = TOKEN.findall(text)
    found = []
    for i in range(1, len(tokens) - 1):
        if tokens[i] != "=" or not tokens[i + 1][0].isdigit():
            continue
        start = i
        while start > 0 and PART.fullmatch(tokens[start - 1]):
            # A number right after a number, or after a closing bracket, belongs to the sentence.
            if start < i and tokens[start - 1][-1].isdigit() and tokens[start][0] in "0123456789(":
                break
            start -= 1
        parts = [token.replace("×", "*") for token in tokens[start:i] if token not in ("ms", "s")]
        if any(part in ("+", "*", "/") for part in parts):
            found.append(("".join(parts), tokens[i + 1]))
    return found


def test_every_written_out_sum_is_right(method: str) -> None:
    """A reader checks these first. One unit in the last digit is granted, since the inputs are rounded."""
    sums = sums_in(text_of(method))
    assert len(sums) >= 8, sums
    for expression, result in sums:
        last = Decimal(1).scaleb(Decimal(result).as_tuple().exponent)
        value = eval(expression, {"__builtins__": {}})  # digits, + * / and brackets only, by the pattern
        assert abs(Decimal(value) - Decimal(result)) <= last, f"{expression} = {value}, not {result}"


def test_the_sums_are_found_where_they_are() -> None:
    """A pattern that finds nothing would make the test above pass."""
    text = "so 45 ms + 3 × 3 ms = 54 ms. Then E = 1 + 5 × 0.333 = 2.67. With 0.9 × (0.5 / 0.9) = 0.5."
    assert [result for _, result in sums_in(text)] == ["54", "2.67", "0.5"]
    assert sums_in("2.31 / 1.137 = 2.03×") == [("2.31/1.137", "2.03")]
    assert sums_in("k = 3 and h = 0.75") == []


def test_the_examples_of_the_rule_are_computed() -> None:
    """0.6, (0, 0.4) scaled to (0, 1), (0.5, 0.5), and 0.7 for the wrong replacement."""
    p, q = (0.5, 0.5), (0.9, 0.1)
    assert acceptance_probability(p, q) == pytest.approx(0.6)
    assert residual(p, q) == pytest.approx((0, 1))
    assert output_law(p, q) == pytest.approx(p)
    assert 0.5 + (1 - acceptance_probability(p, q)) * p[0] == pytest.approx(0.7)


GRID = [
    Round(h, k, 45, d, bonus)
    for h in (0.0, 0.08, 0.3, 0.64, 0.75, 0.95)
    for k in (1, 2, 3, 5, 7, 12)
    for d in (0.0, 3.0, 11.0, 30.0)
    for bonus in (False, True)
]


@pytest.mark.parametrize("bonus", [False, True])
def test_the_formulas_of_a_round_are_the_models(bonus: bool) -> None:
    """The formulas as the page writes them, evaluated naively, against the code that computes."""
    for r in (r for r in GRID if r.bonus == bonus):
        h, k, t, d = float(r.acceptance), r.draft_tokens, r.target_ms, r.draft_ms
        c = d / t
        got = evaluate(r)
        terms = k if bonus else k - 1
        e = 1 + sum(h**j for j in range(1, terms + 1))
        assert got.expected_tokens == pytest.approx(e)
        if bonus:
            assert e == pytest.approx((1 - h ** (k + 1)) / (1 - h))
        assert got.round_ms == pytest.approx(t + k * d) == pytest.approx(t * (1 + k * c))
        assert got.tpot_ms == pytest.approx((t + k * d) / e)
        assert got.throughput_tps == pytest.approx(1000 * e / (t + k * d))
        assert got.speedup == pytest.approx(e / (1 + k * c))
        assert got.burst_gap_ms == pytest.approx(e * got.tpot_ms)
        assert got.operations_factor == pytest.approx((k * c + (k + 1 if bonus else k)) / e)


def test_the_break_even_solves_its_equation() -> None:
    for r in GRID:
        k, c = r.draft_tokens, r.draft_ms / r.target_ms
        least = evaluate(r).break_even_acceptance
        if least is None:
            assert 1 + k * c > (k + 1 if r.bonus else k)
        elif 0 < least < 1:
            assert expected_tokens(least, k, r.bonus) == pytest.approx(1 + k * c)
        if r.bonus and k == 1 and c <= 1:
            assert least == pytest.approx(c)


def test_the_next_draft_is_worth_it_while_its_survival_exceeds_its_cost_times_the_speedup() -> None:
    """The rule for the best k, with the bonus: S_{k+1} > c × speedup."""
    for r in (r for r in GRID if r.bonus and 0 < r.draft_ms and 0 < float(r.acceptance)):
        h, c = float(r.acceptance), r.draft_ms / r.target_ms
        k = 0
        while k < 32 and h ** (k + 1) > c * expected_tokens(h, k, bonus=True) / (1 + k * c):
            k += 1
        assert evaluate(r).best_draft_tokens == k


def test_some_k_helps_exactly_if_h_exceeds_c_with_the_bonus_only() -> None:
    for r in GRID:
        h, c = float(r.acceptance), r.draft_ms / r.target_ms
        helps = evaluate(r).best_draft_tokens > 0
        if r.bonus:
            assert helps == (h > c)
            if helps:
                best = Round(h, evaluate(r).best_draft_tokens, r.target_ms, r.draft_ms, True)
                assert evaluate(best).speedup >= (1 + h) / (1 + c) * (1 - 1e-12)
    without = Round(0.08, 3, 45, 3, bonus=False)
    assert 0.08 > 3 / 45 and evaluate(without).best_draft_tokens == 0


def test_without_the_bonus_k_drafts_yield_what_one_draft_fewer_yields_with_it() -> None:
    for k in range(1, 13):
        assert expected_tokens(0.75, k, bonus=False) == expected_tokens(0.75, k - 1, bonus=True)


def test_an_engines_rate_gives_the_yield_and_not_the_acceptance() -> None:
    """R = (S_1 + … + S_k) / k and E = 1 + k R, also where acceptance depends on the position."""
    by_position = (0.31, 0.90, 0.90, 0.95, 0.94)
    rate = sum(survival(by_position)) / 5
    assert 1 + 5 * rate == pytest.approx(expected_tokens(by_position, 5, bonus=True))
    assert expected_tokens(rate, 5, bonus=True) < 1.4 < 2.2 < 1 + 5 * rate


def test_the_parts_of_a_pass_are_those_of_the_baseline_strip(lesson: Lesson) -> None:
    strip = blocks_of(lesson, BaselineStrip)[0]
    weights, hardware = strip.weights, strip.hardware
    text = pass_example("{read_ms} {arithmetic_ms} {ratio} {rows} {batch}", lesson).split()
    read = weight_read_ms(
        weights.weights_billion, weights.bytes_per_weight, hardware.devices, hardware.bandwidth_tbps
    )
    arithmetic = arithmetic_ms(weights.weights_billion, hardware.devices, hardware.peak_tflops)
    ridge = weights.bytes_per_weight / 2 * hardware.peak_tflops / hardware.bandwidth_tbps
    rows = lesson.parameters.draft_tokens.default + 1
    assert read / arithmetic == pytest.approx(ridge)
    assert text == [f"{read:.1f}", f"{arithmetic:.3f}", f"{ridge:.0f}", f"{rows}", f"{ridge / rows:.0f}"]


def test_the_range_of_a_ratio_is_its_worst_case() -> None:
    """2.55 over 1.65, each ± 0.03: the example of the page, and the corners by hand."""
    ratio = latency_ratio(2.55, 1.65, 0.03)
    corners = [(2.55 + a) / (1.65 + b) for a in (-0.03, 0.03) for b in (-0.03, 0.03)]
    assert (ratio.low, ratio.high) == (pytest.approx(min(corners)), pytest.approx(max(corners)))
    assert [round(x, 2) for x in (ratio.low, ratio.value, ratio.high)] == [1.5, 1.55, 1.59]
    assert latency_ratio(3, 2, 0).low == latency_ratio(3, 2, 0).high == 1.5
    for wrong in [(0, 1, 0), (1, float("nan"), 0), (1, 0.02, 0.03)]:
        with pytest.raises(ValueError):
            latency_ratio(*wrong)


# --- the published traces ----------------------------------------------------------------


def test_the_traces_hold_together(lesson: Lesson) -> None:
    """The acceptances by position and the engine's rate are two readings of one run: they must
    give the same yield, up to their rounding to two and three digits."""
    traces = [trace for block in blocks_of(lesson, AcceptanceTraces) for trace in block.traces]
    assert traces
    for trace in traces:
        k = len(trace.acceptances)
        by_position = expected_tokens(tuple(trace.acceptances), k, bonus=True)
        assert predictions(trace).expected == pytest.approx(by_position, abs=0.03), trace.label


def test_the_traces_are_shown_with_their_three_yields(lesson: Lesson, method: str) -> None:
    for block in blocks_of(lesson, AcceptanceTraces):
        shown = text_of(view(method, block.id))
        for trace in block.traces:
            result = predictions(trace)
            assert f"{trace.engine_rate:.3f}" in shown
            for value in (result.from_first, result.from_rate):
                assert f"{value:.2f}" in shown


# --- terms, glossary, sources ------------------------------------------------------------


def test_every_term_and_every_source_has_its_anchor_once(lesson: Lesson, method: str) -> None:
    """Other pages link to them; an anchor that stands twice leads to the wrong one."""
    counts = Counter(anchors(method))
    for term in lesson.terms:
        assert counts[f"term-{term.id}"] == 1, term.id
    for source in lesson.sources:
        assert counts[f"source-{source.id}"] == 1, source.id
        assert f'href="{html.escape(source.url)}"' in method
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_source_reads_as_a_reference(lesson: Lesson, method: str) -> None:
    """Authors, year, title, with the spaces between them, whether or not there is an author or a year."""
    for source in lesson.sources:
        entry = re.search(rf'<li id="source-{source.id}">.*?</a>', method, re.DOTALL)
        assert entry is not None
        made_by = ", ".join(str(part) for part in (source.authors, source.year) if part)
        parts = [source.label, made_by + "." if made_by else "", source.title]
        assert text_of(entry[0]) == " ".join(part for part in parts if part)


def test_links_within_the_method_page_lead_somewhere(files: dict[str, str]) -> None:
    known = set(anchors(files["method.md"]))
    for name, page in files.items():
        prefix = "" if name == "method.md" else r"method\.(?:html|md)"
        for target in re.findall(rf'href="{prefix}#([^"]+)"', page):
            assert target in known, f"{name} links to #{target}"


def test_the_box_of_terms_is_closed_and_names_what_is_in_it(lesson: Lesson, files: dict[str, str]) -> None:
    """As in the seed: "Terms, if you need them · Draft model · Target model · Acceptance rate"."""
    index = files["index.md"]
    box = re.search(r"<details class=\"terms\">.*?</details>", index, re.DOTALL)
    assert box is not None
    summary = re.search(r"<summary>(.*?)</summary>", box[0], re.DOTALL)
    block = blocks_of(lesson, Terms)[0]
    by_id = {term.id: term for term in lesson.terms}
    names = [by_id[term].term for term in block.terms]
    assert summary is not None
    assert text_of(summary[1]) == " · ".join([block.summary, *names])
    assert names == ["Draft model", "Target model", "Acceptance rate"]
    assert box[0].count("<dt>") == box[0].count("<dd>") == len(names)


def test_the_acceptance_rate_is_told_apart_from_the_engines(lesson: Lesson) -> None:
    definition = next(term.definition for term in lesson.terms if term.id == "acceptance-rate")
    assert "engine" in definition and "over all drafted" in definition


# --- every number and its kind -----------------------------------------------------------


def rows_of(lesson: Lesson) -> list[Row]:
    block = blocks_of(lesson, Numbers)[0]
    return [row for group in number_groups(lesson, block, Records({})) for row in group.rows]


def kinds_of(lesson: Lesson) -> Counter[str]:
    return Counter(row.kind for row in rows_of(lesson))


def test_the_captions_count_what_the_tables_show(lesson: Lesson, method: str) -> None:
    """The page's own count of each kind, and that beside each group's title."""
    start = method.index('<p class="cap numbers-caption">')
    groups = re.findall(r'<details class="numbers-group".*?</details>', method[start:], re.DOTALL)
    total: Counter[str] = Counter()
    for group in groups:
        summary, table = group.split("</summary>")
        shown = Counter(re.findall(r'class="kind kind-(\w+)"', table))
        assert {kind: int(n) for kind, n in re.findall(r'kind-(\w+)">(\d+) ', summary)} == shown
        total += shown
    assert total == kinds_of(lesson)
    caption = text_of(method[start : method.index("</p>", start)])
    template = blocks_of(lesson, Numbers)[0].caption
    kinds = {kind: total[kind] for kind in ("assumed", "computed", "measured", "published")}
    assert caption == template.format(rows=total.total(), **kinds)


def test_the_table_lists_what_the_lesson_holds(lesson: Lesson) -> None:
    """Counted another way: from the blocks, not by the code that makes the rows."""
    rows = rows_of(lesson)
    readings = [
        r for benchmark in blocks_of(lesson, PublishedBenchmark) for p in benchmark.panels for r in p.readings
    ]
    headlines = [h for benchmark in blocks_of(lesson, PublishedBenchmark) for h in benchmark.headlines]
    results = [r for block in blocks_of(lesson, PublishedResults) for r in block.results]
    traces = [t for block in blocks_of(lesson, AcceptanceTraces) for t in block.traces]
    numeric = [q for quiz in blocks_of(lesson, Quiz) for q in quiz.questions if isinstance(q, Numeric)]
    strips = blocks_of(lesson, BaselineStrip)
    published_presets = [row for row in rows if row.kind == "published" and row.what.startswith(preset_names(lesson))]
    published = (
        2 * len(readings)
        + len(headlines)
        + len(results)
        + sum(len(trace.acceptances) + 1 for trace in traces)
        + 5 * len(strips)
        + len(published_presets)
    )
    assert kinds_of(lesson)["published"] == published
    assert sum(row.formula == "latency_ratio" for row in rows) == len(readings) >= 9
    assert sum(row.formula == "pass_parts" for row in rows) == 2 * len(strips)
    assert sum(row.formula == "engine_rate" for row in rows) == len(traces)
    labels = blocks_of(lesson, Numbers)[0].labels
    asked = tuple(labels.question.format(n=n, what="") for n in range(1, 100))
    assert sum(row.what.startswith(asked) for row in rows) == len(numeric) > 0


def preset_names(lesson: Lesson) -> tuple[str, ...]:
    return tuple(preset.label for block in blocks_of(lesson, Calculator) for preset in block.presets)


def test_every_number_says_where_it_comes_from(lesson: Lesson) -> None:
    """Published: a source of the lesson. Computed: a formula of this page. Assumed: the lesson itself."""
    block = blocks_of(lesson, Numbers)[0]
    formulas = {formula.id for formula in blocks_of(lesson, Formula)}
    sources = {source.id for source in lesson.sources}
    for row in rows_of(lesson):
        if row.kind == "published":
            assert row.source in sources, row
        elif row.kind == "computed":
            assert row.formula is not None and block.formulas[row.formula] in formulas, row


def test_no_number_is_listed_twice(lesson: Lesson) -> None:
    repeated = {what: count for what, count in Counter(row.what for row in rows_of(lesson)).items() if count > 1}
    # The results at the defaults stand twice: without the bonus, and with it.
    assert set(repeated.values()) <= {2}
    names = vars(blocks_of(lesson, Numbers)[0].labels.readouts).values()
    assert set(repeated) <= set(names)


def test_a_changed_default_changes_the_table(lesson: Lesson) -> None:
    """No value in it is typed: it follows the parameters."""

    def halve(data: dict[str, Any]) -> None:
        data["parameters"]["acceptance"]["default"] = 0.5

    name = blocks_of(lesson, Numbers)[0].labels.readouts.speedup
    before, after = lesson, edited(halve)
    assert [row.text for row in rows_of(before) if row.what == name] == ["1.93×", "2.28×"]
    expected = [
        f"{evaluate(round_at(after, {'bonus': bonus})).speedup:.2f}×" for bonus in (False, True)
    ]
    assert [row.text for row in rows_of(after) if row.what == name] == expected == ["1.46×", "1.56×"]


def test_a_changed_kind_and_an_added_reading_are_counted(lesson: Lesson) -> None:
    def measure(data: dict[str, Any]) -> None:
        data["parameters"]["target_ms"]["kind"] = "measured"

    def add(data: dict[str, Any]) -> None:
        for part in data["pages"][0]["parts"]:
            for block in part["blocks"]:
                if block["view"] == "published-benchmark":
                    reading = {**block["panels"][0]["readings"][0], "request_rate_qps": 16}
                    block["panels"][0]["readings"].append(reading)

    before = kinds_of(lesson)
    measured = kinds_of(edited(measure))
    assert measured["measured"] == before["measured"] + 1
    assert measured["assumed"] == before["assumed"] - 1
    added = kinds_of(edited(add))
    assert added["published"] == before["published"] + 2
    assert added["computed"] == before["computed"] + 1


def test_a_number_in_the_text_is_listed(lesson: Lesson) -> None:
    """An author who writes {{ speedup draft_ms=17.25 }} gets a row for it, and one only."""

    def write(data: dict[str, Any]) -> None:
        text = "{{ speedup draft_ms=17.25 }} and again {{ speedup draft_ms=17.25 bonus=off }}"
        data["pages"][-1]["parts"][0]["blocks"].insert(0, {"view": "prose", "text": text})

    new = [row for row in rows_of(edited(write)) if "17.25" in row.what]
    assert [row.text for row in new] == [f"{2.3125 / (1 + 3 * 17.25 / 45):.2f}×"]


# --- in a browser ------------------------------------------------------------------------


@pytest.mark.parametrize("width", [320, 768, 1280, 1920])
def test_the_page_never_scrolls_sideways(pages: Pages, file_url: str, width: int) -> None:
    """A formula that is too wide scrolls in its own box."""
    page = pages.new(width=width)
    page.goto(file_url + "method.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = """() => [...document.querySelectorAll(".math-box")]
        .filter(box => box.scrollWidth > box.clientWidth + 1 && box.tabIndex < 0).length === 0"""
    page.wait_for_function(cut)  # else some could not be scrolled with the keyboard


def test_a_formula_with_room_is_no_stop_for_the_tab_key(pages: Pages, file_url: str) -> None:
    """Fonts decide how wide it is, so they are made larger and smaller here. At first only the boxes
    at the head of each card, which say what they are, can be reached."""
    page = pages.new(width=1280)
    page.goto(file_url + "method.html")
    reached = "() => document.querySelectorAll('.formula-steps .math-box[tabindex]').length %s 0"
    steps = page.locator(".formula-steps .math-box")
    assert steps.count() > 0
    page.wait_for_function(reached % "===")
    page.add_style_tag(content=".formula-steps .math-box { width: 40px; }")
    page.wait_for_function(reached % ">")
    page.add_style_tag(content=".formula-steps .math-box { width: auto; }")
    page.wait_for_function(reached % "===")


def test_the_box_of_terms_opens_without_a_script(pages: Pages, file_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(file_url + "index.html")
    definition = page.locator(".terms dd").first
    assert not definition.is_visible()
    page.locator(".terms summary").click()
    assert definition.is_visible()


def test_a_citation_leads_to_its_source(pages: Pages, file_url: str) -> None:
    page = pages.new()
    page.goto(file_url + "method.html")
    citation = page.locator("a.cite").first
    target = citation.get_attribute("href")
    citation.click()
    assert target is not None
    assert page.locator(f"[id='{target.rsplit('#', 1)[1]}']").is_visible()


def test_the_four_kinds_are_explained_where_they_are_listed(lesson: Lesson, method: str) -> None:
    """A pill that says "computed" teaches nothing to who does not know what that promises."""
    for help_ in lesson.labels.kinds_help.values():
        assert help_ in html.unescape(method)

"""Rich text: what authors may write, what is refused, and that no text can break the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lesson_text import TEXT, lesson_from

from build_scripts.render.richtext import RichTextRenderer
from build_scripts.spec.latex import to_mathml
from build_scripts.spec.richtext import (
    Citation,
    Link,
    Math,
    NumberRef,
    RoleText,
    Text,
    every_piece,
    parse,
)
from build_scripts.spec.schema import Settings
from build_scripts.spec.templates import template_problems

RICH = RichTextRenderer(lesson_from(TEXT))


def problems(text: str) -> list[tuple[str, str]]:
    """(the part that is wrong, what is wrong) for each problem."""
    return [(text[problem.start : problem.end], problem.message) for problem in parse(text).problems]


# --- taken apart -------------------------------------------------------------------------


def test_every_addition_is_a_piece_and_the_rest_is_text() -> None:
    parsed = parse("A {{ speedup draft_ms=30 bonus=on }} of [@smith-2020], :draft[a *b*] and $h^2$.")
    assert not parsed.problems
    assert parsed.pieces == [
        Text("A "),
        NumberRef("speedup", Settings(draft_ms=30, bonus=True), 2, 36),
        Text(" of "),
        Citation("smith-2020", 40, 53),
        Text(", "),
        RoleText("draft", (Text("a *b*"),)),
        Text(" and "),
        Math("h^2"),
        Text("."),
    ]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("{{speedup}}", {}),
        ("{{  speedup\n  draft_ms=2.5 }}", {"draft_ms": 2.5}),
        ("{{ speedup acceptance=1e-3 draft_tokens=4 target_ms=45 draft_ms=0 }}", {"acceptance": 0.001, "draft_tokens": 4, "target_ms": 45, "draft_ms": 0}),
        ("{{ speedup bonus=off }}", {"bonus": False}),
        ("{{ speedup bonus=true }}", {"bonus": True}),
    ],
)  # fmt: skip
def test_a_number_carries_only_the_settings_that_the_text_gives(
    text: str, settings: dict[str, object]
) -> None:
    (piece,) = parse(text).pieces
    assert isinstance(piece, NumberRef)
    assert piece.settings.model_dump(exclude_none=True) == settings


def test_a_number_may_stand_in_a_role() -> None:
    pieces = parse(":target[one {{ target_ms }} pass]").pieces
    assert [type(piece) for piece in every_piece(pieces)] == [RoleText, Text, NumberRef, Text]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("costs \\$5 and \\$6", "costs $5 and $6"),
        ("\\{\\{ name \\}\\}", "\\{\\{ name \\}\\}"),
        ("\\[@nobody]", "\\[@nobody]"),
        ("\\:draft[x]", ":draft[x]"),
        ("`{{ x }} $ [@y] :z[`", "`{{ x }} $ [@y] :z[`"),
        ("``a ` $`` b", "``a ` $`` b"),
        ("one ` tick", "one ` tick"),
        ("[a](https://x.org/$1/{{b}})", "[a](https://x.org/$1/{{b}})"),
        ('[a](https://x.org/a_(b) "a $ title")', '[a](https://x.org/a_(b) "a $ title")'),
        ("<https://x.org/$1>", "<https://x.org/$1>"),
        ("3:draft[x] and a::draft[x]", "3:draft[x] and a::draft[x]"),
        ("a {b} c }{ d", "a {b} c }{ d"),
    ],
)
def test_what_is_escaped_or_code_or_an_address_is_text(text: str, kept: str) -> None:
    parsed = parse(text)
    assert not parsed.problems
    assert parsed.pieces == [Text(kept)]


def test_an_escaped_backslash_escapes_nothing() -> None:
    assert parse("\\\\$x$").pieces == [Text("\\\\"), Math("x")]


def test_links_are_found_for_the_checks() -> None:
    text = "[a](#b) :draft[[c](d.html)] <https://e.org> `[f](g)`"
    assert parse(text).links == [Link("#b", 2, 7), Link("d.html", 17, 26), Link("https://e.org", 29, 42)]


# --- refused -----------------------------------------------------------------------------

NAMES = (
    "expected_tokens, round_ms, tpot_ms, throughput_tps, speedup, verdict, best_draft_tokens, "
    "break_even_acceptance, operations_factor, burst_gap_ms, acceptance, draft_tokens, target_ms, draft_ms, bonus, "
    "slo_ttft_ms, slo_itl_ms, slo_throughput_tps"
)


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("a {{ sped }} b", "{{ sped }}", "'sped' is no number; did you mean 'speedup'?"),
        ("{{ xyz }}", "{{ xyz }}", f"'xyz' is no number; allowed: {NAMES}"),
        ("{{ }}", "{{ }}", f"'' is no number; allowed: {NAMES}"),
        ("{{ speedup, }}", "{{ speedup, }}", "'speedup,' is no number; did you mean 'speedup'?"),
        ("{{ speedup draft=3 }}", "{{ speedup draft=3 }}", "'draft' is no setting; did you mean 'draft_ms'?"),
        ("{{ speedup draft_ms }}", "{{ speedup draft_ms }}", "'draft_ms' is no setting, such as draft_ms=30"),
        ("{{ speedup draft_ms= 3 }}", "{{ speedup draft_ms= 3 }}", "'draft_ms=' is no setting, such as draft_ms=30"),
        ("{{ speedup draft_ms=1 draft_ms=2 }}", "{{ speedup draft_ms=1 draft_ms=2 }}", "draft_ms is set twice"),
        ("{{ speedup acceptance=2 }}", "{{ speedup acceptance=2 }}", "acceptance must be at most 1, not 2"),
        ("{{ speedup draft_ms=-1 }}", "{{ speedup draft_ms=-1 }}", "draft_ms must be at least 0, not -1"),
        ("{{ speedup target_ms=0 }}", "{{ speedup target_ms=0 }}", "target_ms must be above 0, not 0"),
        ("{{ speedup draft_tokens=3.5 }}", "{{ speedup draft_tokens=3.5 }}", "draft_tokens must be a whole number, not the number 3.5"),
        ("{{ speedup draft_tokens=33 }}", "{{ speedup draft_tokens=33 }}", "draft_tokens must be at most 32, not 33"),
        ("{{ speedup draft_ms=null }}", "{{ speedup draft_ms=null }}", "draft_ms must be a number, not the text 'null'"),
        ("{{ speedup bonus=1 }}", "{{ speedup bonus=1 }}", "bonus must be true or false, not the number 1"),
        ("{{ slo_itl_ms draft_ms=3 }}", "{{ slo_itl_ms draft_ms=3 }}", "slo_itl_ms does not depend on settings"),
        ("a {{ speedup b", "{{", "{{ has no }} after it; write \\{\\{ for braces"),
        ("a {{ b {{ speedup }}", "{{", "{{ has no }} after it; write \\{\\{ for braces"),
        ("a }} b", "}}", "}} has no {{ before it; write \\}\\} for braces"),
        ("[@]", "[@", "a citation is [@id], with one source's id in it"),
        ("[@a; @b]", "[@", "a citation is [@id], with one source's id in it"),
        (":drft[x]", ":drft[", "'drft' is no role; did you mean 'draft'?"),
        (":draft[x", ":draft[", ":draft[ has no ] after it"),
        (":draft[ ]", ":draft[ ]", ":draft[] has no text"),
        (":draft[a :target[b]]", ":target[", "a role stands inside of another"),
        ("$5 more", "$", "a $ that opens no $formula$; write \\$ for a dollar sign"),
        ("$ x$", "$", "a $ that opens no $formula$; write \\$ for a dollar sign"),
        ("$a\n\nb$", "$", "a $ that opens no $formula$; write \\$ for a dollar sign"),
        ("$$", "$", "a $ that opens no $formula$; write \\$ for a dollar sign"),
        ("$\\foo$", "$\\foo$", "not a formula (unknown: \\foo): \\foo"),
        ("$x^$", "$x^$", "not a formula (missing super script or subscript): x^"),
        ("$a^b^c$", "$a^b^c$", "not a formula (double superscripts): a^b^c"),
        ("$\\frac{1}$", "$\\frac{1}$", "not a formula (an argument is missing): \\frac{1}"),
        ("$\\frac{1}{2$", "$\\frac{1}{2$", "not a formula (its braces are not balanced): \\frac{1}{2"),
        ("$a & b$", "$a & b$", "not a formula (it does not become MathML): a & b"),
        ("$\\text{<b>x</b>}$", "$\\text{<b>x</b>}$", "not a formula (it makes a stray <b>): \\text{<b>x</b>}"),
        ("$\\href{javascript:x}{y}$", "$\\href{javascript:x}{y}$", "not a formula (it sets href): \\href{javascript:x}{y}"),
        ("$\\style{color:red}{y}$", "$\\style{color:red}{y}$", "not a formula (it sets style): \\style{color:red}{y}"),
        ("![a](b.png)", "![", "rich text takes no pictures; write \\!\\[ for the characters"),
        ("[a](b c)", "](", "a link is [text](address), with no spaces in the address"),
        ("[a](b", "](", "a link is [text](address), with no spaces in the address"),
        ("- " * 500 + "x", "- " * 9, "lists and quotations nested this deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_of_its_own_part(text: str, part: str, message: str) -> None:
    assert problems(text)[0] == (part, message)


def test_every_problem_of_a_text_comes_at_once() -> None:
    assert [part for part, _ in problems("{{ a }} :b[c] $\\d$ [@] }}")] == [
        "{{ a }}",
        ":b[",
        "$\\d$",
        "[@",
        "}}",
    ]


@settings(derandomize=True, database=None, deadline=None, max_examples=150)
@given(st.text(alphabet="{}[]()$@:\\`*_!<> \n=.ad1#-", max_size=40))
def test_any_text_is_rendered_or_refused(text: str) -> None:
    """Whatever the characters: no exception, and tags that close."""
    parsed = parse(text)
    known = all(not isinstance(piece, Citation) for piece in every_piece(parsed.pieces))
    if not parsed.problems and known:
        assert_balanced(str(RICH.block(text)))
        assert_balanced(str(RICH.inline(text)))


class Tags(HTMLParser):
    """The tags that are open, and whether each was closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag


def assert_balanced(html: str) -> set[str]:
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert not tags.open
    return tags.seen


# --- templates ---------------------------------------------------------------------------


@pytest.mark.parametrize("template", ["", "plain", "{ms} of {words}", "{{braces}} {ms}", "{{{ms}}}"])
def test_a_template_uses_the_names_of_its_view(template: str) -> None:
    """What is accepted can be filled in."""
    assert template_problems(template, ("ms", "words")) == []
    template.format(ms=1, words=2)


@pytest.mark.parametrize(
    ("template", "part", "message"),
    [
        ("{m}", "{m}", "'m' is no name of this template; did you mean 'ms'?"),
        ("{speed}", "{speed}", "'speed' is no name of this template; allowed: ms, words"),
        ("{}", "{}", "'' is no name of this template; allowed: ms, words"),
        ("{ms.real}", "{ms.real}", "'ms.real' is no name of this template; allowed: ms, words"),
        ("{ms!r}", "{ms!r}", "'ms!r' is no name of this template; did you mean 'ms'?"),
        ("{ms:>9}", "{ms:>9}", "'ms:>9' is no name of this template; allowed: ms, words"),
        ("a {ms", "{", "a { without its partner; write {{ for the brace itself"),
        ("a ms}", "}", "a } without its partner; write }} for the brace itself"),
        ("{{ms}", "}", "a } without its partner; write }} for the brace itself"),
    ],
)
def test_a_template_is_refused_for_what_cannot_be_filled_in(template: str, part: str, message: str) -> None:
    (problem,) = template_problems(template, ("ms", "words"))
    assert (template[problem.start : problem.end], problem.message) == (part, message)


def test_a_template_of_a_view_that_names_nothing_takes_any_name() -> None:
    assert template_problems("{any_name}", None) == []
    assert [problem.message for problem in template_problems("{a-b}", None)] == [
        "'{a-b}' is no name in braces"
    ]


# --- rendered ----------------------------------------------------------------------------


def test_a_number_says_what_it_is_and_holds_its_exact_value() -> None:
    assert RICH.inline("{{ speedup }}") == (
        '<data class="number" data-kind="computed" data-number="speedup" data-at="{}" '
        'value="2.0914285714285716">2.09×</data>'
    )
    assert RICH.inline("{{ draft_ms draft_ms=30 }}") == (
        '<data class="number" data-kind="assumed" data-number="draft_ms" data-at="{&#34;draft_ms&#34;:30}" '
        'value="30">30 ms</data>'
    )


def test_numbers_that_are_no_numbers() -> None:
    """A verdict is a word, a switch is on or off, and a break-even may not exist."""
    assert ' value="net win">net win<' in RICH.inline("{{ verdict }}")
    assert ' value="false">off<' in RICH.inline("{{ bonus bonus=off }}")
    assert ' value="">none<' in RICH.inline("{{ break_even_acceptance draft_ms=100 }}")


def test_citations_roles_and_formulas() -> None:
    assert (
        RICH.inline("[@smith-2020]") == '<a class="cite" href="method.html#source-smith-2020">Smith 2020</a>'
    )
    assert RICH.inline(":draft[a *b*]") == '<span class="role role-draft">a <em>b</em></span>'
    math = RICH.inline("$h^2 < 1$")
    assert math == to_mathml("h^2 < 1")
    assert assert_balanced(math) == {"math", "mrow", "msup", "mi", "mn", "mo"}
    assert 'alttext="h^2 &lt; 1"' in math


def test_additions_may_stand_in_markdown_and_markdown_in_them() -> None:
    assert re.fullmatch(r"<strong><data [^>]*>60 ms</data></strong>", RICH.inline("**{{ target_ms }}**"))
    assert re.fullmatch(
        r'<a href="https://x.org" rel="noopener"><data [^>]*>60 ms</data></a>',
        RICH.inline("[{{ target_ms }}](https://x.org)"),
    )
    assert re.fullmatch(r"<ul>\n<li><data [^>]*>60 ms</data></li>\n</ul>", RICH.block("- {{ target_ms }}"))


def test_a_block_has_paragraphs_and_lists_and_inline_has_neither() -> None:
    text = "One\n\n- two\n- three"
    assert RICH.block(text) == "<p>One</p>\n<ul>\n<li>two</li>\n<li>three</li>\n</ul>"
    assert RICH.inline(text) == "One - two\n- three"
    assert RICH.block("1. a\n2. b") == "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"


def test_no_text_becomes_a_heading_or_a_block_of_code() -> None:
    """Headings belong to the parts; an indented line is an accident of the YAML."""
    assert RICH.block("#1 of 3") == "<p>#1 of 3</p>"
    assert RICH.block("A\n===") == "<p>A\n===</p>"
    assert RICH.block("    indented") == "<p>indented</p>"


def test_html_is_shown_as_it_was_typed() -> None:
    html = RICH.block("<script>alert(1)</script>\n\n<div onclick='x'>a</div>\n\n<!-- b --> a<b & c")
    assert assert_balanced(html) == {"p"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "a&lt;b &amp; c" in html
    assert RICH.inline("<img src=x onerror=y>") == "&lt;img src=x onerror=y&gt;"
    assert RICH.inline(":draft[<i>]") == '<span class="role role-draft">&lt;i&gt;</span>'


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "//x.org", "vbscript:x"]
)
def test_a_link_goes_to_the_web_or_within_the_lesson_or_nowhere(target: str) -> None:
    assert RICH.inline(f"[a]({target})") == "<a>a</a>"


def test_links() -> None:
    assert (
        RICH.inline("[a](https://x.org/?a=1&b=2)")
        == '<a href="https://x.org/?a=1&amp;b=2" rel="noopener">a</a>'
    )
    assert RICH.inline("<https://x.org>") == '<a href="https://x.org" rel="noopener">https://x.org</a>'
    assert RICH.inline("[a](#quiz)") == '<a href="#quiz">a</a>'
    assert RICH.inline("[a](method.html#yield)") == '<a href="method.html#yield">a</a>'
    assert "<a" not in RICH.block("[a][b]\n\n[b]: https://x.org")


def test_an_attribute_holds_no_markup() -> None:
    """A stand-in that slipped into an address would put tags into it."""
    html = RICH.inline('[a](https://x.org/{{speedup}} "{{ speedup }}")')
    assert assert_balanced(html) == {"a"}
    assert "<data" not in html


def test_stand_ins_cannot_be_forged() -> None:
    assert RICH.inline("\x0e0\x0f {{ target_ms }}").count("<data") == 1


def test_text_that_check_refuses_is_not_rendered() -> None:
    with pytest.raises(ValueError, match="'sped' is no number"):
        RICH.block("{{ sped }}")


def test_every_text_of_the_small_lesson_is_rendered() -> None:
    lesson = lesson_from(TEXT)
    html = RICH.block(lesson.pages[0].parts[0].blocks[0].text)  # type: ignore[union-attr]
    assert assert_balanced(html) >= {"p", "data", "a", "math"}
    assert "$5" in html

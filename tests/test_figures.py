"""Figures as data: the palette, the base of every chart, and the calculator's three charts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from build_scripts.model.speculation import Round, expected_tokens, speedup
from build_scripts.render import figures
from build_scripts.render.labelling import Frame, Spot, around, best_spot
from build_scripts.render.palette import Palette, read_palette
from build_scripts.spec.schema import ChartWords
from build_scripts.views import curves

ROOT = Path(__file__).parents[1]
STYLESHEET = ROOT / "docs" / "assets" / "lesson" / "lesson.css"
SEED = Round(acceptance=0.75, draft_tokens=3, target_ms=45, draft_ms=3)
DRAFT_RANGE = (1, 12)

OVER_H = ChartWords(
    chart="speedup-over-acceptance",
    title="Worth",
    x_title="h",
    y_title="speedup",
    without_label="no bonus",
    with_label="with bonus",
    point_label="{speedup} at h = {acceptance}",
    reference_label="no gain",
    mark_label="even at h = {break_even}",
)
EXPECTED = OVER_H.model_copy(
    update={
        "chart": "expected-over-acceptance",
        "point_label": "{expected} at h = {acceptance}",
        "reference_label": None,
        "mark_label": None,
    }
)
OVER_K = OVER_H.model_copy(
    update={
        "chart": "speedup-over-draft-tokens",
        "point_label": "{speedup} at k = {k}",
        "mark_label": "best: k = {k}, {speedup}",
        "mark_beyond_label": "best: k = {k}, off this chart",
    }
)


@pytest.fixture(scope="module")
def palette() -> Palette:
    return read_palette(STYLESHEET)


def chart(words: ChartWords, palette: Palette, **changes: Any) -> figures.Figure:
    inputs = Round(**{**vars(SEED), **changes})
    return curves.figure(words, inputs, DRAFT_RANGE, palette, "none")


def label_texts(figure: figures.Figure) -> list[str]:
    return [label["text"] for label in figure["layout"]["annotations"] if label["visible"]]


def simple(palette: Palette, **layout: Any) -> figures.Figure:
    trace = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [1 / 3, 2.0], "line": {"color": palette["accent"]}}
    whole = {"height": 200, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "xaxis": {"range": [0, 1]}}
    return figures.build([trace], {**whole, "yaxis": {"range": [0, 2]}, **layout}, palette, "a line")


# --- the palette ---------------------------------------------------------------------------


def test_the_stylesheet_owns_the_colours(palette: Palette) -> None:
    """A colour that is copied into Python would stay behind when the stylesheet changes."""
    assert palette["accent"] == "#3f51b5"
    assert palette.dark["accent"] == "#9fa8ff"
    assert palette.variables()["#3f51b5"] == "--ls-accent"


def test_of_two_roles_with_one_colour_the_first_stands_for_it(palette: Palette) -> None:
    """--ls-bg and --ls-on-accent are both white by day, and differ by night."""
    assert palette["bg"] == palette["on-accent"]
    assert palette.variables()[palette["bg"]] == "--ls-bg"


def test_a_palette_is_read_from_within_media_rules_and_past_comments(tmp_path: Path) -> None:
    """The slate scheme may stand inside @media screen, so that paper stays light."""
    sheet = tmp_path / "s.css"
    sheet.write_text(
        "/* :root { --ls-ink: #000; } */ :root { --ls-ink: #AbC; --ls-shadow: none }\n"
        '@media screen { [data-md-color-scheme="slate"] { --ls-ink: #ffffff; } }'
    )
    assert read_palette(sheet) == Palette({"ink": "#aabbcc"}, {"ink": "#ffffff"})


@pytest.mark.parametrize(
    ("css", "says"),
    [
        ("a { color: red }", "no --ls-"),
        (':root { --ls-a: #111; --ls-b: #222 } [data-md-color-scheme="slate"] { --ls-a: #333 }', "no dark --ls-b"),
    ],
)
def test_a_palette_that_misses_a_colour_is_refused(tmp_path: Path, css: str, says: str) -> None:
    """A chart would otherwise keep a light colour on a dark page."""
    sheet = tmp_path / "s.css"
    sheet.write_text(css)
    with pytest.raises(ValueError, match=says):
        read_palette(sheet)


def test_an_unknown_role_is_refused(palette: Palette) -> None:
    with pytest.raises(ValueError, match="no --ls-mauve"):
        palette["mauve"]


# --- the base of every chart ---------------------------------------------------------------


def test_a_figure_is_plain_data_without_plotlys_template(palette: Palette) -> None:
    """The template would add 6 kB to each chart, and numpy arrays arrive as base64."""
    figure = simple(palette)
    assert json.loads(json.dumps(figure)) == figure
    assert "template" not in figure["layout"]


def test_a_figure_scrolls_fits_and_keeps_its_ranges(palette: Palette) -> None:
    """A drag must scroll a phone's page; fixed ranges make an update cheap."""
    layout = simple(palette)["layout"]
    assert layout["dragmode"] is False
    assert layout["xaxis"]["fixedrange"] and layout["yaxis"]["fixedrange"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == figures.TRANSPARENT


def test_numbers_keep_six_significant_digits(palette: Palette) -> None:
    """So that a figure does not depend on the last bit; whole numbers are written as in JavaScript."""
    assert simple(palette)["data"][0]["y"] == [0.333333, 2]
    assert json.dumps(figures.significant(2.0)) == "2"


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (1.984375, 1.98438),
        (1.015625, 1.01563),
        (-1.015625, -1.01563),
        (0.1 + 0.2, 0.3),
        (0.0, 0),
        (1234567.0, 1234570),
    ],
)
def test_halves_are_rounded_as_toprecision_rounds_them(value: float, rounded: float) -> None:
    """Python would round 1.015625 to even, JavaScript away from zero: the figures would differ."""
    assert figures.significant(value) == rounded


def test_an_attribute_that_plotly_does_not_know_is_refused(palette: Palette) -> None:
    """A misspelt attribute would be ignored in silence by the browser."""
    with pytest.raises(ValueError):
        simple(palette, hovermodus="closest")


def test_an_unknown_attribute_of_the_narrow_layout_is_refused_too(palette: Palette) -> None:
    layout = {"height": 1, "margin": {}, "xaxis": {"range": [0, 1]}, "yaxis": {"range": [0, 1]}}
    with pytest.raises(ValueError):
        figures.build([], layout, palette, "empty", {"xaxis.tickfahrt": 1})


def test_a_figure_carries_the_custom_properties_of_its_own_colours(palette: Palette) -> None:
    """The page redraws it in the dark with them; charts.js has no palette."""
    colours = simple(palette)["layout"]["meta"]["colours"]
    assert colours[palette["accent"]] == "--ls-accent"
    assert palette["rejected"] not in colours


def test_the_narrow_layout_replaces_what_it_names_and_nothing_else(palette: Palette) -> None:
    layout = {
        "height": 300,
        "margin": {"l": 40},
        "xaxis": {"range": [0, 1], "tickvals": [0, 0.5, 1]},
        "yaxis": {"range": [0, 1]},
    }
    figure = figures.build([], layout, palette, "empty", {"height": 200, "xaxis.tickvals": [0, 1]})
    wide = figures.at_width(figure, figures.WIDE)["layout"]
    narrow = figures.at_width(figure, figures.NARROW)["layout"]
    assert (wide["height"], wide["xaxis"]["tickvals"]) == (300, [0, 0.5, 1])
    assert (narrow["height"], narrow["xaxis"]["tickvals"]) == (200, [0, 1])
    assert narrow["xaxis"]["range"] == wide["xaxis"]["range"]


def test_words_are_no_markup(palette: Palette) -> None:
    """Plotly reads a little HTML, and an author may write E < 1 & more."""
    assert figures.label("E < 1 & <b>", palette, "ink")["text"] == "E &lt; 1 &amp; &lt;b&gt;"


@pytest.mark.parametrize(
    ("highest", "top", "step"), [(1.15, 1.5, 0.5), (2.48, 2.5, 0.5), (2.51, 3, 1), (4, 4, 1), (13, 15, 5), (33, 40, 10)]
)
def test_an_axis_ends_at_a_round_number(highest: float, top: float, step: float) -> None:
    assert figures.axis_top(highest) == (top, step)


# --- where labels stand --------------------------------------------------------------------

FRAME = Frame(200, 100, 0, 0, 0, 0, (0, 200), (0, 100))


def test_a_label_avoids_a_line_a_label_and_the_edge() -> None:
    spots = around(100, 50, "ne se sw nw", [0])
    size = (60.0, 20.0)
    assert best_spot(spots, size, [FRAME], [], [[]]) == spots[0]
    line = [(100, 60), (200, 60)]
    assert best_spot(spots, size, [FRAME], [line], [[]]) == spots[1]
    taken = [(100.0, 50.0, 200.0, 100.0)]
    assert best_spot(spots, size, [FRAME], [line], [taken]) == spots[2]
    at_edge = around(190, 50, "ne nw", [0])
    assert best_spot(at_edge, size, [FRAME], [], [[]]) == at_edge[1]


def test_a_spot_is_a_point_a_shift_and_an_anchor() -> None:
    """Up is positive in the shift, as in Plotly; pixels grow downwards."""
    assert Spot(100, 50, 5, 7, "left", "bottom").box(FRAME, 40, 16) == (105, 27, 145, 43)
    assert Spot(100, 50, 0, -7, "right", "top").box(FRAME, 40, 16) == (60, 57, 100, 73)


# --- the calculator's charts ---------------------------------------------------------------


@pytest.mark.parametrize("bonus", [False, True])
def test_the_lines_are_the_models(palette: Palette, bonus: bool) -> None:
    """The reader's own setting is the second trace, in the accent; the other one is muted."""
    other, own, *_ = chart(EXPECTED, palette, bonus=bonus)["data"]
    for trace, setting in ((own, bonus), (other, not bonus)):
        assert trace["y"] == pytest.approx([expected_tokens(h, 3, setting) for h in trace["x"]], rel=1e-5)
    assert own["line"]["color"] == palette["accent"]
    assert other["line"]["color"] == palette["muted"]
    assert own["x"][0] == 0 and own["x"][-1] == 1


def test_the_seeds_point_and_break_even_are_marked(palette: Palette) -> None:
    figure = chart(OVER_H, palette)
    _, _, mark, point = figure["data"]
    assert (point["x"], point["y"]) == ([0.75], [1.92708])
    assert (mark["x"], mark["y"]) == ([0.17082], [1])
    assert {"1.93× at h = 0.75", "even at h = 0.17", "no gain"} <= set(label_texts(figure))


def test_there_is_no_mark_where_nothing_breaks_even(palette: Palette) -> None:
    """k = 1 without the bonus yields one token a pass, whatever h is."""
    figure = chart(OVER_H, palette, draft_tokens=1)
    assert figure["data"][2]["x"] == []
    assert not figure["layout"]["shapes"][1]["visible"]
    assert not any("even" in text for text in label_texts(figure))


def test_the_best_k_is_marked(palette: Palette) -> None:
    figure = chart(OVER_K, palette)
    assert figure["data"][1]["x"] == list(range(1, 13))
    assert figure["data"][2]["x"] == [7]
    assert "best: k = 7, 2.36×" in label_texts(figure)


@pytest.mark.parametrize(("changes", "best"), [({"draft_ms": 0}, 32), ({"draft_ms": 60}, 0)])
def test_a_best_k_beyond_the_axis_is_said(palette: Palette, changes: dict[str, float], best: int) -> None:
    """The axis ends at 12, the search at 32; and where drafting never pays the best k is 0."""
    figure = chart(OVER_K, palette, **changes)
    assert figure["data"][2]["x"] == []
    assert f"best: k = {best}, off this chart" in label_texts(figure)


def test_the_best_k_and_the_readers_own_are_labelled_once(palette: Palette) -> None:
    assert "2.36× at k = 7" not in label_texts(chart(OVER_K, palette, draft_tokens=7))


@pytest.mark.parametrize("words", [OVER_H, EXPECTED, OVER_K], ids=lambda words: words.chart)
@pytest.mark.parametrize("k", [1, 3, 12])
@pytest.mark.parametrize("draft_ms", [0, 3, 60])
@pytest.mark.parametrize("target_ms", [1, 45, 200])
def test_the_axis_holds_every_value_and_the_line_at_one(
    palette: Palette, words: ChartWords, k: int, draft_ms: float, target_ms: float
) -> None:
    figure = chart(words, palette, draft_tokens=k, draft_ms=draft_ms, target_ms=target_ms)
    low, high = figure["layout"]["yaxis"]["range"]
    values = [y for trace in figure["data"] for y in trace["y"]]
    assert low == 0 <= min(values)
    assert max(1, *values) <= high
    assert len(figure["layout"]["yaxis"]["tickvals"]) <= 6


def test_the_chart_says_itself_in_words(palette: Palette) -> None:
    """Its accessible name has the point, the mark and what the other setting gives."""
    assert chart(OVER_H, palette)["layout"]["meta"]["alt"] == (
        "Worth. no bonus: 1.93× at h = 0.75; even at h = 0.17. with bonus: 2.28×."
    )


def test_two_figures_of_one_state_are_equal(palette: Palette) -> None:
    assert json.dumps(chart(OVER_K, palette)) == json.dumps(chart(OVER_K, palette))


def test_count_ticks_start_at_the_first_and_stay_few() -> None:
    assert curves.count_ticks((1, 12), 12) == list(range(1, 13))
    assert curves.count_ticks((1, 12), 6) == [1, 3, 6, 9, 12]
    assert curves.count_ticks((0, 4), 6) == [0, 1, 2, 3, 4]


def test_a_free_draft_and_certain_acceptance_are_drawn(palette: Palette) -> None:
    """The edges of the sliders: no NaN, no infinite range."""
    figure = chart(OVER_H, palette, acceptance=1, draft_ms=0, draft_tokens=12, bonus=True)
    assert figure["data"][3]["y"] == [13]
    assert speedup(Round(1, 12, 45, 0, True)) == 13
    assert math.isfinite(figure["layout"]["yaxis"]["range"][1])

"""The static pictures: well-formed, the same twice, readable at their size, and dark with the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page

from build_scripts.model.speculation import Round
from build_scripts.render import figures
from build_scripts.render.palette import Palette, read_palette
from build_scripts.render.svg import chart_html, to_svg
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Calculator, Lesson, PublishedBenchmark
from build_scripts.views import curves, published_benchmark
from build_scripts.views.blocks import blocks_of

ROOT = Path(__file__).parents[1]
STYLESHEET = ROOT / "docs" / "assets" / "lesson" / "lesson.css"
SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = (figures.WIDE, figures.NARROW)

STATES: list[dict[str, Any]] = [
    {},
    {"bonus": True},
    {"draft_tokens": 1},
    {"draft_tokens": 12, "bonus": True},
    {"draft_tokens": 12, "acceptance": 0.98},
    {"acceptance": 0.05},
    {"draft_ms": 30},
    {"draft_ms": 0, "draft_tokens": 8, "acceptance": 1, "bonus": True},
    {"acceptance": 0.9, "draft_ms": 0.5, "target_ms": 100},
    {"draft_tokens": 7},
]


@pytest.fixture(scope="module")
def palette() -> Palette:
    return read_palette(STYLESHEET)


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


@pytest.fixture(scope="module")
def all_figures(lesson: Lesson, palette: Palette) -> dict[str, figures.Figure]:
    """Every chart of the lesson; those of the calculator in several states."""
    found = {}
    span = (lesson.parameters.draft_tokens.min, lesson.parameters.draft_tokens.max)
    for words in blocks_of(lesson, Calculator)[0].charts:
        for state in STATES:
            at = Round(**{"acceptance": 0.75, "draft_tokens": 3, "target_ms": 45, "draft_ms": 3, **state})
            found[f"{words.chart} {state}"] = curves.figure(words, at, span, palette, "none")
    benchmark = blocks_of(lesson, PublishedBenchmark)[0]
    found[benchmark.id] = published_benchmark.figure(benchmark, palette)
    return found


def small(palette: Palette, traces: list[dict[str, Any]], **layout: Any) -> figures.Figure:
    whole = {
        "height": 200,
        "margin": {"l": 20, "r": 20, "t": 20, "b": 20},
        "xaxis": {"range": [0, 10]},
        "yaxis": {"range": [0, 10]},
    }
    return figures.build(traces, {**whole, **layout}, palette, "x < y & z")


def line(palette: Palette, **options: Any) -> dict[str, Any]:
    stroke = {"color": palette["accent"], "width": 2, **options}
    return {"type": "scatter", "mode": "lines", "x": [0, 10], "y": [1, 10], "line": stroke}


def drawn(figure: figures.Figure, width: int = figures.WIDE) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(figure, width))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_picture_is_well_formed_and_its_own_size(
    all_figures: dict[str, figures.Figure], width: int
) -> None:
    """Drawn at the size at which it is shown: scaled down, its text could not be read."""
    for figure in all_figures.values():
        root = drawn(figure, width)
        assert root.get("viewBox") == f"0 0 {width} {root.get('height')}"
        assert float(root.get("font-size")) == figures.FONT_SIZE
        sizes = {float(text.get("font-size")) for text in root.iter(f"{SVG}text")}
        assert min(sizes) >= 12


def test_a_picture_is_the_same_twice(all_figures: dict[str, figures.Figure]) -> None:
    for figure in all_figures.values():
        assert to_svg(figure, figures.WIDE) == to_svg(figure, figures.WIDE)


def test_a_picture_names_itself_and_has_no_ids(all_figures: dict[str, figures.Figure]) -> None:
    """Two pictures of one chart stand in a page: ids would be there twice."""
    for figure in all_figures.values():
        root = drawn(figure)
        assert root.get("role") == "img"
        assert root.get("aria-label") == figure["layout"]["meta"]["alt"]
        assert not [element for element in root.iter() if element.get("id")]


def test_every_colour_is_a_custom_property(all_figures: dict[str, figures.Figure]) -> None:
    """So that the picture is dark on a dark page; the light colour is for one that stands alone."""
    for figure in all_figures.values():
        colours = re.findall(r'(?:fill|stroke)="([^"]*)"', to_svg(figure, figures.WIDE))
        assert {colour for colour in colours if colour != "none"} <= {
            f"var({variable},{light})" for light, variable in figure["layout"]["meta"]["colours"].items()
        }


def test_words_are_escaped_once(palette: Palette) -> None:
    """The figure holds Plotly's entities, the picture XML's."""
    label = figures.label("a < b & c", palette, "ink", x=5, y=5)
    root = drawn(small(palette, [], annotations=[label]))
    assert root.get("aria-label") == "x < y & z"
    assert ["".join(text.itertext()) for text in root.iter(f"{SVG}text")] == ["a < b & c"]


def test_a_label_that_is_not_visible_is_not_drawn(palette: Palette) -> None:
    root = drawn(small(palette, [], annotations=[figures.label("", palette, "ink", x=5, y=5)]))
    assert not list(root.iter(f"{SVG}text"))


def test_a_line_goes_from_point_to_point_in_its_dash(palette: Palette) -> None:
    path = drawn(small(palette, [line(palette, dash="dot")])).find(f"{SVG}path")
    assert path.get("d") == "M20 164L700 20"
    assert path.get("stroke-dasharray") == "3 3"


def test_an_anchor_is_the_edge_that_it_names(palette: Palette) -> None:
    label = figures.label("right", palette, "ink", x=10, y=10, xanchor="right", yanchor="top", xshift=-4)
    text = drawn(small(palette, [], annotations=[label])).find(f"{SVG}text")
    assert text.get("text-anchor") == "end"
    assert text[0].get("x") == "696"
    assert 20 < float(text[0].get("y")) < 36


def test_lines_of_a_label_stand_one_below_the_other(palette: Palette) -> None:
    label = {**figures.label("up", palette, "ink", x=5, y=5), "text": "up<br>down"}
    spans = drawn(small(palette, [], annotations=[label])).find(f"{SVG}text")
    assert [span.text for span in spans] == ["up", "down"]
    assert float(spans[1].get("y")) > float(spans[0].get("y"))


def test_a_log_axis_places_powers_evenly(palette: Palette) -> None:
    dots = {"type": "scatter", "mode": "markers", "x": [1, 10, 100], "y": [5, 5, 5]}
    trace = {**dots, "marker": {"size": 6, "color": palette["ink"]}}
    root = drawn(small(palette, [trace], xaxis={"range": [0, 2], "type": "log"}))
    assert [circle.get("cx") for circle in root.iter(f"{SVG}circle")] == ["20", "360", "700"]


def test_a_bar_has_its_own_colour_and_its_uncertainty(palette: Palette) -> None:
    trace = {
        "type": "bar",
        "x": [2, 6],
        "y": [5, -5],
        "width": 2,
        "marker": {"color": [palette["accepted"], palette["rejected"]], "line": {"color": palette["ink"], "width": 1}},
        "error_y": {"type": "data", "array": [1, 1], "arrayminus": [2, 2], "color": "#1c2030", "thickness": 1, "width": 4},
    }
    root = drawn(small(palette, [trace], yaxis={"range": [-10, 10]}))
    up, down = root.findall(f"{SVG}rect")
    assert float(up.get("y")) + float(up.get("height")) == float(down.get("y")) == 100
    assert (up.get("fill"), down.get("fill")) == ("var(--ls-accepted,#176b3f)", "var(--ls-rejected,#a8231c)")
    assert "M156 76L156 52" in to_svg(small(palette, [trace], yaxis={"range": [-10, 10]}), figures.WIDE)


def test_a_trace_of_another_kind_is_refused(palette: Palette) -> None:
    """A chart without a picture would be an empty box for readers without JavaScript."""
    with pytest.raises(ValueError, match="no static picture is made of a heatmap"):
        to_svg(small(palette, [{"type": "heatmap", "z": [[1]]}]), figures.WIDE)


def test_an_axis_without_a_range_is_refused(palette: Palette) -> None:
    with pytest.raises(ValueError, match="yaxis has no range"):
        to_svg(small(palette, [], yaxis={"title": {"text": "y"}}), figures.WIDE)


def test_a_chart_stands_in_the_page_with_its_name_and_both_pictures(palette: Palette) -> None:
    """One picture for a wide box and one for a narrow one, under one title and one description."""
    root = ElementTree.fromstring(str(chart_html("c", small(palette, []), "T & t")))
    chart = root.find("div")
    assert root.find("figcaption").text == "T & t"
    assert (chart.get("role"), chart.get("aria-label")) == ("img", "x < y & z")
    assert [svg.get("width") for svg in chart] == [str(width) for width in WIDTHS]


# --- as a browser lays it out --------------------------------------------------------------


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    yield page
    page.close()


TEXT_BOXES = """() => [...document.querySelectorAll("text")].map((text) => {
    const box = text.getBoundingClientRect();
    return [text.textContent, box.left, box.top, box.right, box.bottom];
})"""


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_covers_another_or_leaves_the_picture(
    blank: Page, all_figures: dict[str, figures.Figure], width: int
) -> None:
    """Labels are placed by estimate; here they are measured, in every state and at both widths."""
    faults = []
    for name, figure in all_figures.items():
        blank.set_content(f'<!doctype html><body style="margin:0">{to_svg(figure, width)}')
        boxes = blank.evaluate(TEXT_BOXES)
        height = blank.evaluate("document.querySelector('svg').getBoundingClientRect().height")
        for text, left, top, right, bottom in boxes:
            if left < -1 or top < -1 or right > width + 1 or bottom > height + 1:
                faults.append(f"{name}: {text!r} leaves the picture")
        for (one, *a), (two, *b) in combinations(boxes, 2):
            # A line of text is taller than its letters.
            if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 4:
                faults.append(f"{name}: {one!r} and {two!r} overlap")
    assert not faults, "\n".join(faults)

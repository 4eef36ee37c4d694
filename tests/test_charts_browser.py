"""Live charts in a real browser: fetched late and once, dark with the page, printed, named.

A page of the tests' own holds them: four charts, with the real scripts, styles and Plotly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from build_scripts.bench.serving import served
from build_scripts.model.speculation import Round
from build_scripts.render.figures import NARROW_BELOW, Figure
from build_scripts.render.palette import Palette, read_palette
from build_scripts.render.svg import chart_html
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Calculator, ChartWords, Lesson, PublishedBenchmark
from build_scripts.views import curves, published_benchmark
from build_scripts.views.blocks import blocks_of
from conftest import Pages

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs" / "assets" / "lesson"
SCRIPTS = [
    "model.js",
    "format.js",
    "labelling.js",
    "charts.js",
    "views/curve_labels.js",
    "views/curves.js",
    "views/figures.js",
]
PLOTLY = "plotly-cartesian.min.js"
SPAN = (1, 12)
SEED: dict[str, Any] = {"acceptance": 0.75, "draft_tokens": 3, "target_ms": 45, "draft_ms": 3, "bonus": False}
LABELS = {"chart_loading": "Drawing now", "chart_failed": "No live chart", "none": "none"}

STATES = [
    SEED,
    {**SEED, "bonus": True},
    {**SEED, "draft_tokens": 1},
    {**SEED, "draft_tokens": 12, "acceptance": 0.98},
    {**SEED, "acceptance": 0, "bonus": True},
    {**SEED, "acceptance": 1, "draft_ms": 0, "draft_tokens": 8},
    {**SEED, "draft_ms": 60, "target_ms": 10},
    {**SEED, "acceptance": 0.9, "draft_ms": 0.5, "target_ms": 100},
    {**SEED, "draft_tokens": 7, "acceptance": 0.5, "bonus": True},
]


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


@pytest.fixture(scope="module")
def palette() -> Palette:
    return read_palette(ASSETS / "lesson.css")


@pytest.fixture(scope="module")
def words(lesson: Lesson) -> list[ChartWords]:
    return blocks_of(lesson, Calculator)[0].charts


@pytest.fixture(scope="module")
def charts(lesson: Lesson, words: list[ChartWords], palette: Palette) -> dict[str, Figure]:
    benchmark = blocks_of(lesson, PublishedBenchmark)[0]
    found = {entry.chart: curves.figure(entry, Round(**SEED), SPAN, palette, "none") for entry in words}
    return {**found, "bars": published_benchmark.figure(benchmark, palette)}


Opened = Callable[..., Page]


@pytest.fixture
def opened(
    tmp_path: Path, pages: Pages, charts: dict[str, Figure], words: list[ChartWords]
) -> Iterator[Opened]:
    """opened(width=320, hidden=True, …) -> a page with the charts attached.

    It is served, or read from disk with from_disk=True; Playwright's options go along.
    """
    (tmp_path / "assets").symlink_to(ROOT / "docs" / "assets")

    def open_page(width: int = 900, hidden: bool = False, from_disk: bool = False, **options: Any) -> Page:
        data = {
            "figures": {entry.chart: charts[entry.chart] for entry in words},
            "words": {entry.chart: entry.model_dump() for entry in words},
            "draft_tokens": SPAN,
            "inputs": SEED,
        }
        drawn = "".join(chart_html(name, figure) for name, figure in charts.items())
        scripts = "".join(f'<script src="assets/lesson/{script}" defer></script>' for script in SCRIPTS)
        harness = tmp_path / "harness.html"
        harness.write_text(
            f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>charts</title>
            <link rel="icon" href="data:,">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <link rel="stylesheet" href="assets/lesson/lesson.css">
            <body data-md-color-scheme="default" style="background: var(--ls-bg); color: var(--ls-ink)"><main><h1>Charts</h1>
            <div id="box" class="fig"{' style="display: none"' if hidden else ""}><button>a control</button>{drawn}</div>
            <p style="height: 1600px">further down</p></main>
            {scripts}<script defer src="data:text/javascript,start()"></script>
            <script>function start() {{
              const labels = {json.dumps(LABELS)}, data = {json.dumps(data)};
              window.curves = Lesson.curves.mount(document, data, {{labels}});
              const bars = document.querySelector("[data-chart=bars]");
              Lesson.views.figures({{querySelectorAll: () => [bars]}},
                {{figures: {{bars: {json.dumps(charts["bars"])}}}}}, {{labels}});
              window.inputs = data.inputs;
            }}</script>""",
            encoding="utf-8",
        )
        page = pages.new(width=width, **options)
        page.goto(harness.as_uri() if from_disk else url + "harness.html")
        page.wait_for_function("window.inputs")
        return page

    with served(tmp_path) as url:
        yield open_page


def change(page: Page, **values: Any) -> None:
    page.evaluate("values => window.curves.update(values)", {**SEED, **values})


def wait_drawn(page: Page, count: int = 4) -> None:
    """Until so many charts are live, and one frame more."""
    page.wait_for_function(
        "count => document.querySelectorAll('.chart-drawn .main-svg').length >= count", arg=count, timeout=20_000
    )
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def draw_all(page: Page) -> None:
    page.locator("#box").dispatch_event("pointerdown")
    wait_drawn(page)


def chart(page: Page, name: str = "speedup-over-acceptance") -> Any:
    return page.locator(f'[data-chart="{name}"]')


def fetched(pages: Pages) -> list[str]:
    return [address for address in pages.requests if address.endswith(PLOTLY)]


def live_width(page: Page, name: str = "speedup-over-acceptance") -> float:
    return chart(page, name).locator(".main-svg").first.evaluate("svg => svg.getBoundingClientRect().width")


def own_line_colour(page: Page) -> str:
    """The stroke of the reader's own line, as the browser computes it."""
    line = chart(page).locator(".scatterlayer .js-line").nth(1)
    return line.evaluate("path => getComputedStyle(path).stroke")


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


# --- the same figure in both languages -----------------------------------------------------


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_browsers_figure_is_pythons(
    opened: Opened, charts: dict[str, Figure], words: list[ChartWords], palette: Palette, state: dict[str, Any]
) -> None:
    """Curves, marks, labels, places, ranges and the description: two implementations, one figure."""
    page = opened()
    for entry in words:
        wanted = curves.figure(entry, Round(**state), SPAN, palette, "none")
        got = page.evaluate(
            "([base, inputs, words, labels, span]) => Lesson.curves.figure(base, inputs, words, labels, span)",
            [charts[entry.chart], state, entry.model_dump(), LABELS, SPAN],
        )
        for mine, its in zip(wanted["data"], got["data"], strict=True):
            assert its["x"] == pytest.approx(mine["x"], rel=1e-9)
            assert its["y"] == pytest.approx(mine["y"], rel=1e-9)
        assert got == json.loads(json.dumps(wanted))


def test_inputs_beside_the_models_do_not_disturb(opened: Opened) -> None:
    """The state holds the objectives too; a change of those redraws nothing."""
    page = opened()
    change(page, slo_ttft_ms=100)
    page.wait_for_timeout(200)
    assert page.locator(".chart-drawn").count() == 0


# --- when Plotly is fetched ----------------------------------------------------------------


def test_nothing_is_fetched_before_somebody_turns_to_a_figure(opened: Opened, pages: Pages) -> None:
    """1.5 MB of script would delay the first view of every reader."""
    page = opened()
    page.wait_for_timeout(300)
    assert not fetched(pages)
    assert page.locator(".chart-static:visible").count() == 4


def test_plotly_is_found_from_disk_too(opened: Opened, pages: Pages) -> None:
    page = opened(from_disk=True)
    change(page, acceptance=0.5)
    wait_drawn(page, 3)
    assert fetched(pages)[0].startswith("file:")


@pytest.mark.parametrize("turn", ["hover", "focus", "change"])
def test_plotly_is_fetched_once_for_all_charts(opened: Opened, pages: Pages, turn: str) -> None:
    page = opened()
    if turn == "hover":
        chart(page).hover()
    elif turn == "focus":
        page.get_by_role("button", name="a control").focus()
    else:
        change(page, acceptance=0.5)
    wait_drawn(page, 3)
    change(page, acceptance=0.6)
    chart(page, "bars").hover()
    wait_drawn(page)
    assert len(fetched(pages)) == 1
    assert page.locator(".chart-static:visible").count() == 0


def test_the_defaults_need_no_live_chart(opened: Opened, pages: Pages) -> None:
    """A view that draws its first state tells the charts too; they show it already."""
    page = opened()
    change(page)
    page.wait_for_timeout(200)
    assert not fetched(pages)


def test_a_finger_that_passes_by_fetches_nothing(opened: Opened, pages: Pages) -> None:
    page = opened(width=375, has_touch=True, is_mobile=True)
    for kind in ("pointerenter", "pointerdown"):
        page.locator("#box").dispatch_event(kind, {"pointerType": "touch"})
    page.wait_for_timeout(200)
    assert not fetched(pages)
    chart(page).tap()
    wait_drawn(page)


def test_a_stale_picture_is_dimmed_while_plotly_is_on_its_way(opened: Opened) -> None:
    page = opened()
    held: list[Route] = []
    page.route(f"**/{PLOTLY}", lambda route: held.append(route))  # answered at the end
    change(page, acceptance=0.5)
    expect(chart(page)).to_have_class(re.compile("chart-stale"))
    expect(page.get_by_text(LABELS["chart_loading"]).first).to_be_visible()
    assert float(chart(page).locator(".chart-wide").evaluate("svg => getComputedStyle(svg).opacity")) < 1
    held[0].continue_()
    wait_drawn(page, 3)


def test_without_plotly_the_picture_stays_and_it_is_said(opened: Opened, pages: Pages) -> None:
    page = opened()
    page.route(f"**/{PLOTLY}", lambda route: route.abort())
    change(page, acceptance=0.5)
    status = page.get_by_text(LABELS["chart_failed"]).first
    expect(status).to_be_visible()
    expect(status).to_have_attribute("role", "status")
    expect(chart(page).locator(".chart-wide")).to_be_visible()
    expect(chart(page)).not_to_have_class(re.compile("chart-stale|chart-drawn"))
    change(page, acceptance=0.6)
    expect(status).to_be_visible()
    pages.expect_error("ERR_FAILED")


# --- what it shows -------------------------------------------------------------------------


def test_the_live_chart_shows_the_state_and_says_it(opened: Opened) -> None:
    page = opened()
    change(page, acceptance=0.5)
    wait_drawn(page, 3)
    expect(chart(page).locator(".annotation-text", has_text="1.46× at h = 0.50")).to_be_visible()
    expect(chart(page)).to_have_attribute("aria-label", re.compile("1.46× at h = 0.50"))
    expect(page.get_by_role("img", name=re.compile("1.46× at h = 0.50"))).to_be_visible()


def test_many_changes_in_one_frame_are_drawn_once(opened: Opened) -> None:
    """A slider fires at every pixel; only the last state of a frame is drawn."""
    page = opened()
    draw_all(page)
    drawn = page.evaluate(
        """async (seed) => {
          const react = Plotly.react;
          let count = 0;
          Plotly.react = (...all) => { count += 1; return react(...all); };
          for (let h = 0; h < 20; h++) window.curves.update({...seed, acceptance: h / 20});
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
          return count;
        }""",
        SEED,
    )
    assert drawn == 3
    expect(chart(page).locator(".annotation-text", has_text="at h = 0.95")).to_be_visible()


def test_a_mouse_reads_a_value_off_a_line(opened: Opened) -> None:
    page = opened()
    draw_all(page)
    line = chart(page).locator(".scatterlayer .js-line").nth(1)
    x, y = line.evaluate(
        """path => {
          const middle = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
          return [middle.x, middle.y];
        }"""
    )
    page.mouse.move(x, y - 30)
    page.mouse.move(x, y, steps=3)
    expect(chart(page).locator(".hoverlayer .hovertext")).to_contain_text("speedup: 1.4")


def test_a_narrow_box_gets_the_narrow_layout(opened: Opened) -> None:
    """Fewer ticks, drawn at the width of the device: nothing is scaled down."""
    page = opened(width=320)
    expect(chart(page).locator(".chart-narrow")).to_be_visible()
    expect(chart(page).locator(".chart-wide")).to_be_hidden()
    draw_all(page)
    assert live_width(page) == pytest.approx(chart(page).evaluate("box => box.clientWidth"), abs=1)
    assert chart(page).locator(".xtick").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_chart_follows_the_width_of_its_box(opened: Opened) -> None:
    page = opened(width=1000)
    draw_all(page)
    assert chart(page).locator(".xtick").count() == 5
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(f"document.querySelector('.chart .main-svg').getBoundingClientRect().width < {NARROW_BELOW}")
    expect(chart(page).locator(".xtick")).to_have_count(3)
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(chart(page).locator(".xtick")).to_have_count(5)


def test_the_live_chart_takes_the_place_of_the_picture(opened: Opened) -> None:
    """Where its height differed, the page would jump under the reader's eyes."""
    for width in (1000, 375, 320):
        page = opened(width=width)
        before = chart(page).evaluate("box => box.getBoundingClientRect().height")
        draw_all(page)
        assert chart(page).evaluate("box => box.getBoundingClientRect().height") == pytest.approx(before, abs=2)


def test_a_hidden_chart_is_drawn_at_the_right_width_when_it_is_shown(opened: Opened) -> None:
    """Plotly draws 700 pixels into a box that is not displayed (plotly.js 2769)."""
    page = opened(width=500, hidden=True)
    change(page, acceptance=0.5)
    page.wait_for_function("window.Plotly")
    page.wait_for_timeout(100)
    assert page.locator(".chart-drawn").count() == 0
    page.evaluate("document.getElementById('box').style.display = ''")
    wait_drawn(page, 3)
    assert live_width(page) == pytest.approx(chart(page).evaluate("box => box.clientWidth"), abs=1)


def test_a_chart_follows_the_dark_toggle_both_ways(opened: Opened, palette: Palette) -> None:
    """plotly.py 5413. The picture's colours are custom properties, the live chart's are redrawn."""
    page = opened()
    picture = chart(page).locator(".chart-wide path").last
    scheme = "scheme => document.body.setAttribute('data-md-color-scheme', scheme)"
    seen = []
    for colours, name in ((palette.light, "default"), (palette.dark, "slate"), (palette.light, "default")):
        page.evaluate(scheme, name)
        assert picture.evaluate("path => getComputedStyle(path).stroke") == rgb(colours["accent"])
    draw_all(page)
    for colours, name in ((palette.dark, "slate"), (palette.light, "default")):
        page.evaluate(scheme, name)
        page.wait_for_function(
            "wanted => getComputedStyle(document.querySelectorAll('.chart .js-line')[1]).stroke === wanted",
            arg=rgb(colours["accent"]),
        )
        seen.append(own_line_colour(page))
    assert seen == [rgb(palette.dark["accent"]), rgb(palette.light["accent"])]


@pytest.mark.parametrize("live", [False, True])
def test_a_swipe_over_a_chart_scrolls_the_page(opened: Opened, live: bool) -> None:
    """plotly.js 2844 and 6902."""
    page = opened(width=375, has_touch=True, is_mobile=True)
    if live:
        draw_all(page)
    box = chart(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(kind: str, *points: dict[str, float]) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    finger = page.context.new_cdp_session(page)
    touch("touchStart", {"x": x, "y": y})
    for moved in range(0, 200, 10):
        touch("touchMove", {"x": x, "y": y - moved})
    touch("touchEnd")
    page.wait_for_function("window.scrollY > 100")


# --- print ---------------------------------------------------------------------------------


def test_print_is_light_fits_and_shows_the_readers_state(opened: Opened, palette: Palette) -> None:
    """plotly.js 7403; in the dark the axes would be pale on paper."""
    page = opened(width=1000)
    page.evaluate("document.body.setAttribute('data-md-color-scheme', 'slate')")
    change(page, acceptance=0.5)
    wait_drawn(page, 3)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert own_line_colour(page) == rgb(palette.light["accent"])
    assert live_width(page) <= 560
    expect(chart(page).locator(".annotation-text", has_text="1.46× at h = 0.50")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("document.querySelector('.chart .main-svg').getBoundingClientRect().width > 700")
    assert own_line_colour(page) == rgb(palette.dark["accent"])


def test_printing_does_set_off_the_redrawing(opened: Opened) -> None:
    """The browser's own print tells the page in time."""
    page = opened(width=1000)
    draw_all(page)
    page.evaluate(
        """() => {
          const react = Plotly.react;
          window.widths = [];
          Plotly.react = (at, data, layout, config) => {
            window.widths.push(layout.width);
            return react(at, data, layout, config);
          };
        }"""
    )
    page.pdf()
    page.wait_for_function("window.widths.length >= 4")
    assert max(page.evaluate("window.widths.slice(0, 4)")) <= 560


# --- access --------------------------------------------------------------------------------


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_axe_finds_no_fault(opened: Opened, live: bool, scheme: str) -> None:
    """plotly.js 6920: a name for every chart, and nothing inside it that could take the focus."""
    page = opened()
    page.evaluate("scheme => document.body.setAttribute('data-md-color-scheme', scheme)", scheme)
    if live:
        draw_all(page)
    found = Axe().run(page, context="main")
    assert not found.response["violations"], found.generate_report()
    focusable = "a[href], button, input, [tabindex]:not([tabindex='-1'])"
    assert page.locator(".chart").locator(focusable).count() == 0
    assert page.get_by_role("img").count() >= 4


def test_a_chart_is_attached_once_and_can_be_taken_away(opened: Opened) -> None:
    """plotly charts after a client-side navigation: one set of listeners, nothing left behind."""
    page = opened()
    same = page.evaluate(
        """() => {
          const element = document.querySelector("[data-chart=bars]");
          return Lesson.charts.attach(element, {}, {}) === Lesson.charts.attach(element, {}, {});
        }"""
    )
    assert same
    draw_all(page)
    page.evaluate("window.curves.destroy()")
    assert page.locator(".chart-live").count() == 1
    expect(chart(page).locator(".chart-wide")).to_be_visible()


def test_the_script_of_the_charts_knows_no_lesson() -> None:
    """A second lesson of the course is built from the same code."""
    for script in ("charts.js", "labelling.js"):
        source = (ASSETS / script).read_text(encoding="utf-8")
        assert not re.search(r"acceptance|draft|speedup|bonus|token", source)

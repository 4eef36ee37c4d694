"""The Measured page and the measured presets as a reader meets them, with records made up for tests."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Pages
from playwright.sync_api import Page, expect
from records import write_synthetic

from build_scripts.bench.project import build_site, copy_project
from build_scripts.bench.serving import served


@pytest.fixture(scope="module")
def measured_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site with records of a CPU and of a GPU, and none that is committed; ends in a slash."""
    folder = tmp_path_factory.mktemp("measured")
    project = copy_project(folder / "project")
    shutil.rmtree(project / "docs" / "measurements", ignore_errors=True)
    for device in ("cpu", "cuda"):
        write_synthetic(project / "docs" / "measurements", device)
    result = build_site(project, folder / "site")
    assert result.status == 0, result.output
    with served(folder / "site") as url:
        yield url


def opened(pages: Pages, address: str, **options: object) -> Page:
    page = pages.new(**options)
    page.goto(address)
    page.wait_for_selector("html[data-lesson-ready]")
    return page


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('.md-content details').forEach((each) => { each.open = true; })")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_does_not_scroll_sideways(pages: Pages, measured_url: str, width: int) -> None:
    """Its tables are wider than a phone: they scroll, and nothing else does."""
    page = opened(pages, measured_url + "measured.html", width=width)
    open_everything(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll('.md-content .fig, .md-content p, .md-content .chart, .measured-table')]
        .filter((e) => e.getClientRects().length && e.getBoundingClientRect().right > width + 1)
        .map((e) => e.outerHTML.slice(0, 120))""",
        width,
    )
    assert not wide


def test_a_wide_table_is_reached_and_scrolled_by_keyboard(pages: Pages, measured_url: str) -> None:
    page = opened(pages, measured_url + "measured.html", width=390)
    more = page.locator(".view-measured-cost details.measured-more").first
    more.locator("summary").press("Enter")
    page.keyboard.press("Tab")
    table = more.locator(".measured-table")
    expect(table).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.scrollLeft > 0")
    first, last = table.locator("tbody tr").first.locator("th, td").first, table.locator("tbody tr").first.locator("td").last
    page.evaluate("document.activeElement.scrollLeft = 1e6")
    left = table.bounding_box()
    head, cell = first.bounding_box(), last.bounding_box()
    assert left and head and cell
    assert abs(head["x"] - left["x"]) <= 1, "the row's name stays"
    assert cell["x"] >= head["x"] + head["width"] - 1, "and does not cover the last value"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(pages: Pages, measured_url: str, scheme: str) -> None:
    page = opened(pages, measured_url + "measured.html", color_scheme=scheme)
    open_everything(page)
    found = Axe().run(page).response["violations"]
    assert not found, [(fault["id"], [node["html"][:120] for node in fault["nodes"]][:3]) for fault in found]


@pytest.mark.parametrize("width", [390, 1280])
def test_no_words_of_a_figure_lie_on_each_other(pages: Pages, measured_url: str, width: int) -> None:
    page = opened(pages, measured_url + "measured.html", width=width)
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('.chart-static')].filter((e) => e.getClientRects().length).flatMap((svg) => {
          const boxes = [...svg.querySelectorAll('text')].map((e) => [e.textContent, e.getBoundingClientRect()])
            .filter(([words, box]) => words.trim() && box.width);
          const found = [];
          for (let i = 0; i < boxes.length; i += 1) for (let j = i + 1; j < boxes.length; j += 1) {
            const [one, a] = boxes[i], [other, b] = boxes[j];
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 2 && down > 4) found.push(`${svg.closest('.chart').dataset.chart}: ${one} | ${other}`);
          }
          return found;
        })"""
    )
    assert not overlaps
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.chart-static')].filter((e) => e.getClientRects().length).flatMap((svg) => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('text')].filter((e) => e.textContent.trim())
            .filter((e) => { const b = e.getBoundingClientRect(); return b.left < frame.left - 1 || b.right > frame.right + 1; })
            .map((e) => `${svg.closest('.chart').dataset.chart}: ${e.textContent}`);
        })"""
    )
    assert not outside


def test_a_figure_comes_alive_and_keeps_its_name(pages: Pages, measured_url: str) -> None:
    page = opened(pages, measured_url + "measured.html")
    chart = page.locator("[data-chart='prediction-chart']")
    chart.scroll_into_view_if_needed()
    chart.hover()
    expect(chart.locator(".main-svg").first).to_be_visible(timeout=10_000)
    assert len(chart.get_attribute("aria-label") or "") > 100


@pytest.mark.parametrize("drafter", ["context-ngram", "ngram-table", "int8-copy", "eagle-head"])
def test_a_measured_preset_sets_the_calculator_to_what_was_measured(
    pages: Pages, measured_url: str, drafter: str
) -> None:
    page = opened(pages, measured_url + "index.html")
    page.locator(f"[data-preset='measured-{drafter}']").click()
    text = page.locator(f"[data-preset-text='measured-{drafter}']")
    expect(text).to_be_visible()
    words = (text.inner_text()).replace("\u00a0", " ")
    k, says = re.search(r"with k = (\d+)", words), re.search(r"It then says ([\d.]+×)", words)
    assert k and says
    expect(page.locator("[data-readout=speedup]")).to_have_text(says[1])
    assert page.locator("[data-parameter=draft_tokens] input[type=number]").first.input_value() == k[1]
    page.wait_for_url(re.compile(rf"[#&]k={k[1]}&"))
    page.reload()
    page.wait_for_selector("html[data-lesson-ready]")
    expect(page.locator(f"[data-preset='measured-{drafter}']")).to_have_attribute("aria-pressed", "true")


def test_without_scripts_the_figures_and_the_tables_stand(pages: Pages, measured_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(measured_url + "measured.html")
    assert page.locator(".chart svg:visible").count() >= 12
    page.locator("details.measured-more summary").first.click()
    expect(page.locator("details.measured-more .measured-table").first).to_be_visible()


def test_a_record_can_be_downloaded(pages: Pages, measured_url: str) -> None:
    page = opened(pages, measured_url + "measured.html")
    link = page.locator(".measured-record a[download]").first
    answer = page.request.get(measured_url + str(link.get_attribute("href")))
    assert answer.ok and answer.json()["schema_version"] == 1

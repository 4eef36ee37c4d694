"""The Measured page and the measured presets in a real browser, with records of a CPU and of a GPU.

The records are made up: nothing here depends on what was really measured.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Pages
from playwright.sync_api import Page
from records import write_synthetic

from build_scripts.bench.project import build_site, copy_project
from build_scripts.bench.serving import served
from build_scripts.model.speculation import Round, speedup
from build_scripts.records.schema import SpeedupRecord
from build_scripts.records.store import load_records
from build_scripts.records.summaries import speedup_of
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Calculator
from build_scripts.views.blocks import blocks_of
from build_scripts.views.measured import frame
from build_scripts.views.measured.presets import MeasuredPreset, measured_presets, preset_text

ROOT = Path(__file__).parents[1]

LABELS = """() => [...document.querySelectorAll('.measured-chart svg')].filter((svg) => svg.getClientRects().length)
.map((svg) => [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim()).map((text) => {
  const box = text.getBoundingClientRect(), sheet = svg.getBoundingClientRect();
  return [text.textContent, box.left - sheet.left, box.top - sheet.top, box.right - sheet.left, box.bottom - sheet.top, sheet.width];
}))"""
"""The words of every picture that is shown: [words, left, top, right, bottom, width of the picture]."""

TOUCH = 2.5
"""Pixels by which two boxes may meet: they are a little larger than their letters."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("measured") / "project")
    shutil.rmtree(folder / "docs" / "measurements", ignore_errors=True)
    for device in ("cpu", "cuda"):
        write_synthetic(folder / "docs" / "measurements", device)
    return folder


@pytest.fixture(scope="module")
def url(project: Path) -> Iterator[str]:
    result = build_site(project, project.parent / "site")
    assert result.status == 0, result.output
    with served(project.parent / "site") as address:
        yield address


def opened(pages: Pages, address: str, **options: object) -> Page:
    page = pages.new(**options)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return page


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('.md-content details').forEach((details) => { details.open = true; })")


def presets(project: Path) -> list[tuple[MeasuredPreset, str]]:
    lesson = load_lesson(project / "lesson.yaml")
    records = load_records(project / "docs" / "measurements")
    [block] = blocks_of(lesson, Calculator)
    return [(preset, preset_text(preset, block, lesson)) for preset in measured_presets(block, lesson, records)]


def test_a_measured_preset_sets_the_calculator_and_says_what_was_measured(pages: Pages, url: str, project: Path) -> None:
    """The calculator cannot draw a dearer check: with its settings it must come near what was
    measured all the same, and its text says both numbers and what the check took."""
    every = presets(project)
    assert len(every) == 4, "one for each drafter"
    page = opened(pages, url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    for preset, text in every:
        page.locator(f"[data-preset='{preset.id}']").click()
        computed, measured = speedup(Round(**preset.settings)), speedup_of(preset.cell).value
        assert page.locator("[data-readout=speedup]").text_content() == frame.times(computed)
        shown = page.locator(f"[data-preset-text='{preset.id}']")
        assert shown.is_visible()
        assert text in " ".join(shown.inner_text().split(" ")), "the text of this preset, and no other"
        assert frame.times(computed) in text and frame.times(measured) in text
        assert re.search(r"v\s=\s\d", text), "what the check took"
        assert computed == pytest.approx(measured, rel=0.12)
        assert page.locator("[data-preset-text]:visible").count() == 1
        assert page.locator("[data-preset][aria-pressed=true]").count() == 1


def test_a_measured_preset_is_that_of_the_first_device(project: Path) -> None:
    """The lesson speaks of one device; the others are on the Measured page."""
    records = load_records(project / "docs" / "measurements")
    assert {preset.record.device for preset, _ in presets(project)} == {records.of(SpeedupRecord)[0].device}


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("name", ["measured.html", "index.html"])
def test_no_page_scrolls_sideways(pages: Pages, url: str, name: str, width: int) -> None:
    """Also with every table open: a wide one scrolls by itself."""
    page = opened(pages, url + name, width=width)
    open_everything(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_no_words_of_a_picture_cover_others_or_leave_it(pages: Pages, url: str, width: int) -> None:
    page = opened(pages, url + "measured.html", width=width)
    pictures = page.evaluate(LABELS)
    assert len(pictures) > 12
    faults = []
    for words in pictures:
        for text, left, _, right, _, sheet in words:
            if left < -TOUCH or right > sheet + TOUCH:
                faults.append(f"{text!r} leaves its picture")
        for a, b in combinations(words, 2):
            across = min(a[3], b[3]) - max(a[1], b[1])
            along = min(a[4], b[4]) - max(a[2], b[2])
            if across > TOUCH and along > TOUCH:
                faults.append(f"{a[0]!r} and {b[0]!r} in a picture of {a[5]:.0f} px")
    assert not faults


def test_wide_tables_can_be_scrolled_by_keyboard(pages: Pages, url: str) -> None:
    page = opened(pages, url + "measured.html", width=390)
    open_everything(page)
    tables = page.locator(".measured-table")
    unnamed = [table for table in tables.all() if not table.get_attribute("aria-label")]
    assert tables.count() > 8 and not unnamed
    wide = page.locator(".measured-table").filter(has=page.locator("table")).first
    wide.scroll_into_view_if_needed()
    wide.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    here = "document.activeElement"
    assert page.evaluate(f"{here}.className") == "measured-table", "Tab reaches it"
    assert page.evaluate(f"getComputedStyle({here}).outlineStyle") != "none", "and it can be seen that it did"
    assert page.evaluate(f"{here}.scrollWidth > {here}.clientWidth"), "this one is wider than a phone"
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{here}.scrollLeft > 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(pages: Pages, url: str, scheme: str) -> None:
    page = opened(pages, url + "measured.html", color_scheme=scheme)
    open_everything(page)
    found = Axe().run(page).response["violations"]
    assert not found, [(fault["id"], [node["html"][:120] for node in fault["nodes"]][:3]) for fault in found]

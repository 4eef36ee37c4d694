"""For everybody: no faults that axe finds, no page that scrolls sideways, all of it on paper."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Pages
from playwright.sync_api import Page

PAGES = ("index.html", "method.html")
WIDTHS = (320, 390, 768, 1280, 1920)


def open_page(pages: Pages, address: str, **options: object) -> Page:
    page = pages.new(**options)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(pages: Pages, site_url: str, name: str, scheme: str) -> None:
    page = open_page(pages, site_url + name, color_scheme=scheme)
    # What is fetched when the reader comes near it is fetched first: it changes what there is to open.
    for view in page.locator('[data-wakes="near"]').all():
        view.scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    page.evaluate(
        """for (const opener of document.querySelectorAll('details:not([open]) > summary'))
             if (opener.checkVisibility()) opener.click();"""
    )
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    found = Axe().run(page).response["violations"]
    assert not found, [(fault["id"], [node["html"][:120] for node in fault["nodes"]][:3]) for fault in found]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(pages: Pages, site_url: str, name: str, width: int) -> None:
    page = open_page(pages, site_url + name, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll('.md-content .fig, .md-content .cell, .md-content p, .md-content button')]
        .filter((e) => e.getClientRects().length && !e.closest('.sr-only') && e.getBoundingClientRect().right > width + 1)
        .map((e) => e.outerHTML.slice(0, 120))""",
        width,
    )
    assert not wide


@pytest.mark.parametrize("width", [320, 1280])
def test_no_text_is_smaller_than_can_be_read(pages: Pages, site_url: str, width: int) -> None:
    """A picture scaled down to a phone has text of 5 px; ours is drawn at the device's width."""
    page = open_page(pages, site_url + "index.html", width=width)
    small = page.evaluate(
        """() => [...document.querySelectorAll('.md-content *')].filter((e) => {
          const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
          if (!own || !e.getClientRects().length || e.closest('.sr-only, script, annotation, math')) return false;
          let size = parseFloat(getComputedStyle(e).fontSize);
          const svg = e.closest('svg');
          if (svg && svg.viewBox.baseVal.width) size *= svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
          return size < 11;
        }).map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert not small


def test_every_control_can_be_reached_and_named_by_keyboard(pages: Pages, site_url: str) -> None:
    """Tab from the first control of the diagram to the last of the quiz; nothing traps, all are seen."""
    page = open_page(pages, site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    page.locator(".step-rail button").first.focus()
    seen = []
    for _ in range(260):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => { const e = document.activeElement; const s = getComputedStyle(e);
            return [e.tagName, e.className, s.outlineStyle !== 'none' || s.boxShadow !== 'none',
                    Boolean(e.closest('.view-quiz')), e === document.body]; }"""
        )
        if here[4]:
            break
        seen.append(here)
    assert any("stage" in str(entry[1]) for entry in seen), "the diagram takes the focus"
    assert any(entry[3] for entry in seen), "the quiz is reached"
    unseen = [entry for entry in seen if not entry[2]]
    assert not unseen, f"focus cannot be seen on {unseen[:5]}"


def test_touch_targets_are_large_enough(pages: Pages, site_url: str) -> None:
    """24 px at least (WCAG 2.2, 2.5.8), but for links in a line of text."""
    page = open_page(pages, site_url + "index.html", width=390, has_touch=True)
    page.wait_for_selector("html[data-lesson-ready]")
    small = page.evaluate(
        """() => [...document.querySelectorAll('.md-content :is(button, input, summary, label:has(input))')]
        .filter((e) => e.getClientRects().length && !(e.matches('input') && e.closest('label')))
        .map((e) => [e, e.getBoundingClientRect()])
        .filter(([e, box]) => box.height < 24 || box.width < 24)
        .map(([e, box]) => e.outerHTML.slice(0, 90) + ' ' + box.width + 'x' + box.height)"""
    )
    assert not small


@pytest.mark.parametrize("javascript", [True, False])
def test_on_paper_everything_fits_and_every_step_is_there(pages: Pages, site_url: str, javascript: bool) -> None:
    page = open_page(pages, site_url + "index.html", width=720, java_script_enabled=javascript)
    page.emulate_media(media="print")
    if javascript:
        assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator("[data-step-text]:visible").count() == 4
    assert page.locator(".md-content button:visible").count() == 0
    assert len(page.pdf(format="A4")) > 50_000


def test_without_javascript_the_whole_lesson_is_there(pages: Pages, file_url: str) -> None:
    """From disk and without a script: all parts, all numbers, all answers."""
    page = pages.new(java_script_enabled=False)
    page.goto(file_url + "index.html")
    # What opens a page, such as the race, is there only where runs are recorded.
    headings = page.locator("h2:not(.opening)").all_inner_texts()
    assert [heading.replace("¶", "").strip() for heading in headings] == [
        "Why this lesson comes next",
        "Current setup & bottleneck",
        "Improvement visualization",
        "How the numbers usually move",
        "Actual benchmark",
        "Quiz",
        "What we can now explain",
    ]
    assert page.locator(".script-only:visible").count() == 0
    assert page.locator("svg[role=img]:visible, [role=img] svg:visible").count() >= 4
    assert page.locator(".no-script").is_visible()

"""The calculator as a reader works it. The figures are those of the issue and the papers."""

from __future__ import annotations

import pytest
from conftest import Pages
from playwright.sync_api import Page, expect


@pytest.fixture
def lesson(page: Page, site_url: str) -> Page:
    page.goto(site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    return page


def readout(page: Page, name: str) -> str:
    return page.locator(f"[data-readout='{name}']").text_content() or ""


def set_number(page: Page, name: str, value: str) -> None:
    page.locator(f".calculator [data-parameter='{name}'] input[type=number]").fill(value)


def slide(page: Page, name: str, value: str) -> None:
    page.locator(f".calculator [data-parameter='{name}'] input[type=range]").fill(value)


DEFAULTS = {
    "expected_tokens": "2.31",
    "round_ms": "54 ms",
    "tpot_ms": "23.4 ms",
    "throughput_tps": "42.8 tok/s",
    "speedup": "1.93×",
    "verdict": "net win",
    "best_draft_tokens": "7",
    "break_even_acceptance": "0.17",
    "burst_gap_ms": "54 ms",
}


def test_it_opens_with_the_lessons_numbers(lesson: Page) -> None:
    assert {name: readout(lesson, name) for name in DEFAULTS} == DEFAULTS
    assert "45 + 3 × 3 = 54 ms" in lesson.locator("[data-round-sum]").inner_text()
    assert "E = 1 + h + h² = 1 + 0.75 + 0.5625 = 2.31" in lesson.locator("[data-polynomial]").inner_text()


def test_the_static_page_shows_the_same_numbers(pages: Pages, site_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(site_url + "index.html")
    assert {name: readout(page, name) for name in DEFAULTS} == DEFAULTS


def test_the_bonus_switch(lesson: Page) -> None:
    """Off as in the seed, while the line beside it tells what the other setting gives."""
    switch = lesson.locator(".control-switch input")
    assert not switch.is_checked()
    assert "2.28×" in lesson.locator(".other-bonus[data-other=off]").inner_text()
    switch.check()
    assert readout(lesson, "expected_tokens") == "2.73"
    assert readout(lesson, "tpot_ms") == "19.7 ms"
    assert readout(lesson, "throughput_tps") == "50.6 tok/s"
    assert readout(lesson, "speedup") == "2.28×"
    assert readout(lesson, "best_draft_tokens") == "6"
    assert "1.93×" in lesson.locator(".other-bonus[data-other=on]").inner_text()
    assert "Without the bonus token it would give 1.93×" in lesson.locator(".cap [data-other=on]").inner_text()
    assert lesson.locator(".cap [data-other=off]").is_hidden(), "a caption that sets a number against itself"
    assert lesson.locator(".diagram-bonus").is_checked(), "one bonus on the page, not two"


def test_sliders_and_fields_say_the_same(lesson: Page) -> None:
    slide(lesson, "acceptance", "0.5")
    assert lesson.locator("[data-parameter=acceptance] input[type=number]").input_value() == "0.5"
    assert readout(lesson, "expected_tokens") == "1.75"
    set_number(lesson, "draft_tokens", "5")
    assert lesson.locator("[data-parameter=draft_tokens] input[type=range]").input_value() == "5"


def test_a_costly_draft_loses_in_word_and_number(lesson: Page) -> None:
    set_number(lesson, "draft_ms", "30")
    assert readout(lesson, "speedup") == "0.77×"
    assert readout(lesson, "verdict") == "net loss"
    assert lesson.locator("[data-objective=itl]").get_attribute("class") == "objective is-fail"
    expect(lesson.locator("[data-summary]")).to_contain_text("net loss", timeout=3000)


def test_a_free_draft_and_certain_acceptance_are_numbers(lesson: Page) -> None:
    set_number(lesson, "draft_ms", "0")
    set_number(lesson, "acceptance", "1")
    assert readout(lesson, "speedup") == "3.00×"
    assert readout(lesson, "break_even_acceptance") == "0.00"
    set_number(lesson, "acceptance", "0")
    assert readout(lesson, "speedup") == "1.00×"
    assert readout(lesson, "verdict") == "break-even"


def test_where_nothing_breaks_even_the_page_says_so(lesson: Page) -> None:
    lesson.locator("[data-preset='one-guess']").click()
    assert readout(lesson, "break_even_acceptance") == "none"
    expect(lesson.locator("[data-caption=never]")).to_be_visible()
    expect(lesson.locator("[data-caption=some]")).to_be_hidden()
    assert readout(lesson, "speedup") == "0.94×"


@pytest.mark.parametrize("nonsense", ["", "-", "1e999", "abc"])
def test_what_is_no_number_changes_nothing(lesson: Page, nonsense: str) -> None:
    field = lesson.locator("[data-parameter=target_ms] input[type=number]")
    field.focus()
    field.press("Control+a")
    field.press_sequentially(nonsense) if nonsense else field.press("Delete")
    assert "NaN" not in lesson.locator(".calculator").inner_text()
    field.blur()
    assert field.input_value() in ("45", "1", "200"), "what was typed is taken back or clamped"


def test_values_beyond_the_range_are_clamped(lesson: Page) -> None:
    set_number(lesson, "acceptance", "7")
    lesson.locator("[data-parameter=acceptance] input[type=number]").blur()
    assert lesson.locator("[data-parameter=acceptance] input[type=number]").input_value() == "1"


def test_objectives_pass_or_fail_by_how_much(lesson: Page) -> None:
    texts = [row.inner_text() for row in lesson.locator(".objective-says").all()]
    assert "180 ms" in texts[0] and "pass" in texts[0] and "70 ms" in texts[0]
    assert "23.4 ms" in texts[1] and "pass" in texts[1] and "1.6 ms" in texts[1]
    assert "42.8 tok/s" in texts[2] and "pass" in texts[2] and "2.8 tok/s" in texts[2]
    set_number(lesson, "slo_itl_ms", "20")
    assert "fail" in lesson.locator("[data-objective=itl] .objective-says").inner_text()
    assert "54 ms" in lesson.locator("[data-itl-note]").inner_text()


def test_presets_set_and_are_marked_as_set(lesson: Page) -> None:
    eagle = lesson.locator("[data-preset='eagle-8b']")
    eagle.click()
    assert eagle.get_attribute("aria-pressed") == "true"
    assert readout(lesson, "expected_tokens") == "2.31"
    assert "published" in lesson.locator("[data-preset-text='eagle-8b']").inner_text()
    slide(lesson, "acceptance", "0.3")
    assert eagle.get_attribute("aria-pressed") == "false"


def test_the_address_holds_the_state_and_restores_it(lesson: Page, pages: Pages, site_url: str) -> None:
    set_number(lesson, "acceptance", "0.6")
    lesson.locator(".control-switch input").check()
    lesson.wait_for_function("location.hash.includes('h=0.6') && location.hash.includes('bonus=1')")
    for key in ("h=0.6", "k=3", "target=45", "draft=3", "bonus=1", "ttft=250", "itl=25", "tps=40"):
        assert key in lesson.url.split("#")[1].split("&"), key
    other = pages.new()
    other.goto(lesson.url)
    other.wait_for_selector("html[data-lesson-ready]")
    assert readout(other, "speedup") == readout(lesson, "speedup")


@pytest.mark.parametrize("address", ["#h=abc&k=99&target=-5&draft=&bonus=maybe", "#h=0.5;k=2", "#=&&&=", "#h=%E0%A4%A"])
def test_a_broken_address_never_breaks_the_page(pages: Pages, site_url: str, address: str) -> None:
    page = pages.new()
    page.goto(site_url + "index.html" + address)
    page.wait_for_selector("html[data-lesson-ready]")
    assert "NaN" not in page.locator(".calculator").inner_text()


def test_a_link_from_elsewhere_on_the_page_moves_and_shows_the_calculator(lesson: Page) -> None:
    lesson.evaluate("location.hash = '#h=0.5&k=2&target=45&draft=3&bonus=1&at=acceptance'")
    lesson.wait_for_function("document.activeElement.id === 'acceptance'")
    assert readout(lesson, "expected_tokens") == "1.75"
    assert lesson.locator("#acceptance").bounding_box()["y"] < 200


def test_copy_link_gives_a_link_that_restores_the_state(pages: Pages, site_url: str) -> None:
    page = pages.new(permissions=["clipboard-read", "clipboard-write"])
    page.goto(site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    set_number(page, "draft_ms", "6")
    page.locator(".calculator [data-act=link]").click()
    expect(page.locator(".copy-says")).to_contain_text("copied")
    assert "draft=6" in page.evaluate("navigator.clipboard.readText()")


def test_without_a_clipboard_the_link_is_shown(lesson: Page) -> None:
    lesson.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    lesson.locator(".calculator [data-act=link]").click()
    expect(lesson.locator(".copy-field")).to_be_visible()
    assert "h=0.75" in lesson.locator(".copy-field").input_value()


def test_reset_restores_the_lessons_numbers(lesson: Page) -> None:
    set_number(lesson, "draft_ms", "30")
    set_number(lesson, "slo_itl_ms", "99")
    lesson.locator(".calculator [data-act=reset]").click()
    assert {name: readout(lesson, name) for name in DEFAULTS} == DEFAULTS
    assert lesson.locator("[data-parameter=slo_itl_ms] input[type=number]").input_value() == "25"


def test_numbers_in_the_caption_follow_the_sliders(lesson: Page) -> None:
    """A caption that contradicts its chart is worse than none."""
    caption = lesson.locator("[data-caption=some]")
    assert "0.17" in caption.inner_text() and "1.93×" in caption.inner_text()
    set_number(lesson, "draft_ms", "6")
    assert readout(lesson, "break_even_acceptance") in caption.inner_text()
    assert readout(lesson, "speedup") in caption.inner_text()


def test_a_slider_moves_by_arrow_keys(lesson: Page) -> None:
    slider = lesson.locator("[data-parameter=acceptance] input[type=range]")
    slider.focus()
    slider.press("ArrowRight")
    assert slider.input_value() == "0.76"
    assert slider.get_attribute("aria-valuetext") == "0.76"


def test_on_a_phone_the_readouts_stay_in_sight(pages: Pages, site_url: str) -> None:
    page = pages.new(width=390, height=844)
    page.goto(site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    page.locator("[data-parameter=draft_ms] input[type=range]").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('[data-parameter=draft_ms]').scrollIntoView({block: 'center'})")
    box = page.locator("[data-readout=speedup]").bounding_box()
    assert box and 0 <= box["y"] < 844


def test_the_best_k_is_put_in_words(lesson: Page) -> None:
    """32 is where the search ends, and 0 means that plain decoding is best: a bare number misleads."""
    best = lesson.locator("[data-best-k]")
    assert "7" in best.inner_text() and "2.36×" in best.inner_text()
    set_number(lesson, "draft_ms", "60")
    assert "do not speculate" in best.inner_text()
    set_number(lesson, "draft_ms", "0")
    assert "32 or more" in best.inner_text()


def test_the_tables_follow_the_sliders(lesson: Page) -> None:
    """The curves' numbers for who cannot see curves: the row of the reader's h says what the readout says."""
    lesson.locator(".curve-tables summary").click()
    set_number(lesson, "acceptance", "0.5")
    set_number(lesson, "draft_ms", "6")
    rows = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in lesson.locator(".curve-tables tbody tr").all()}
    assert readout(lesson, "expected_tokens") in rows["0.50"]
    assert readout(lesson, "speedup") in rows["0.50"] and readout(lesson, "speedup") in rows["3"]
    assert len(rows) == 11 + 12


def test_the_same_link_works_again_and_back_undoes_it(lesson: Page) -> None:
    """The quiz sends a reader to the calculator as often as it likes; Back brings the own state back."""
    set_number(lesson, "acceptance", "0.6")
    link = lesson.locator("a[href*='at=acceptance']").first
    for _ in range(2):
        link.evaluate("link => link.click()")
        lesson.wait_for_function("document.activeElement.id === 'acceptance'")
        assert lesson.locator("[data-parameter=acceptance] input[type=number]").input_value() != "0.6"
        lesson.evaluate("window.scrollTo(0, 0); document.activeElement.blur()")
    lesson.go_back()
    lesson.go_back()
    lesson.wait_for_function("document.querySelector('[data-parameter=acceptance] input[type=number]').value === '0.6'")


def test_arrow_keys_in_a_number_field_go_by_the_parameters_step(lesson: Page) -> None:
    field = lesson.locator("[data-parameter=acceptance] input[type=number]")
    field.focus()
    field.press("ArrowUp")
    assert field.input_value() == "0.76"


def test_a_swipe_that_began_on_a_slider_sets_nothing(pages: Pages, site_url: str) -> None:
    """A thumb that scrolls the page passes over sliders; the browser then cancels the touch."""
    page = pages.new(width=390, height=844, has_touch=True)
    page.goto(site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    slider = page.locator("[data-parameter=acceptance] input[type=range]")
    slider.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    slider.fill("0.2")
    assert readout(page, "expected_tokens") == "1.24"
    slider.dispatch_event("pointercancel", {"pointerType": "touch", "bubbles": True})
    assert readout(page, "expected_tokens") == "2.31"


def test_what_has_the_focus_is_not_under_the_readouts(pages: Pages, site_url: str) -> None:
    """At 400 % zoom a window is 320 by 256 px: what sticks to its top must leave room for the field."""
    for width, height in ((320, 256), (390, 844)):
        page = pages.new(width=width, height=height)
        page.goto(site_url + "index.html")
        page.wait_for_selector("html[data-lesson-ready]")
        page.locator("[data-parameter=acceptance] input[type=range]").focus()
        for _ in range(8):
            page.keyboard.press("Tab")
            covered = page.evaluate(
                """() => { const e = document.activeElement, b = e.getBoundingClientRect();
                const top = document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2);
                return e !== top && !e.contains(top) && !(top && top.contains(e)) ? e.outerHTML.slice(0, 80) : ''; }"""
            )
            assert not covered

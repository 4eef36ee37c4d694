"""The live diagram as a reader works it: by mouse, by keyboard, by ear, and by address."""

from __future__ import annotations

import pytest
from conftest import Pages
from playwright.sync_api import Page, expect


@pytest.fixture
def lesson(page: Page, site_url: str) -> Page:
    page.goto(site_url + "index.html")
    page.locator(".diagram .stage").scroll_into_view_if_needed()
    # Its script is fetched as the reader comes near; until then the last step stands there.
    expect(page.locator(".diagram .step-count")).to_have_text("1 / 4")
    return page


def words(page: Page, row: str) -> list[str]:
    return page.locator(f".row-{row} .chip:visible .chip-word").all_inner_texts()


def says(page: Page) -> str:
    return page.locator(".diagram-says [role=status]").inner_text()


def go(page: Page, step: int) -> None:
    page.locator(f".step-rail [data-go='{step}']").click()


def test_it_opens_with_the_draft_waiting_for_the_target(lesson: Page) -> None:
    expect(lesson.locator(".step-count")).to_have_text("1 / 4")
    assert words(lesson, "draft") == ["jumps", "over", "a"]
    assert words(lesson, "target") == []
    expect(lesson.locator(".row-target .row-empty")).to_be_visible()


def test_before_anything_is_drafted_there_is_only_the_prompt(lesson: Page) -> None:
    lesson.locator(".diagram [data-act=back]").click()
    expect(lesson.locator(".step-count")).to_have_text("0 / 4")
    assert words(lesson, "context") == ["A", "quick", "brown", "fox"]
    assert words(lesson, "draft") == []
    expect(lesson.locator(".row-draft .row-empty")).to_be_visible()


def test_four_steps_end_in_three_words_for_one_pass(lesson: Page) -> None:
    heard = []
    for count in ("2 / 4", "3 / 4", "4 / 4"):
        lesson.locator(".diagram [data-act=next]").click()
        expect(lesson.locator(".step-count")).to_have_text(count)
        heard.append(says(lesson))
    assert words(lesson, "commit") == ["jumps", "over", "the"]
    assert words(lesson, "context")[4:] == ["jumps", "over", "the"]
    assert "2 of 3" in heard[1] and "“a” is rejected" in heard[1] and "“the”" in heard[1]
    row = lesson.locator(".counters [data-lane=speculative]")
    assert row.locator("td").all_inner_texts() == ["1", "3", "54"]
    assert lesson.locator(".counters [data-lane=plain] td").all_inner_texts() == ["1", "1", "54"]
    line = lesson.locator(".round-says").inner_text()
    assert "2.50×" in line and "2.31" in line and "1.93×" in line and "lucky" in line


def test_each_step_is_told_once_in_words(lesson: Page) -> None:
    """A screen reader hears the status; its text must differ from step to step."""
    heard = set()
    for step in range(1, 5):
        go(lesson, step)
        heard.add(says(lesson))
    assert len(heard) == 4


@pytest.mark.parametrize(("drafts", "rows"), [(1, 1), (2, 2), (3, 3)])
def test_the_triangle_has_a_row_for_each_position_that_is_scored(lesson: Page, drafts: int, rows: int) -> None:
    lesson.locator(f".diagram .choice input[value='{drafts}']").check()
    go(lesson, 2)
    assert lesson.locator(".triangle tbody tr:visible").count() == rows
    lesson.locator(".diagram-bonus").check()
    assert lesson.locator(".triangle tbody tr:visible").count() == rows + 1
    for i, row in enumerate(lesson.locator(".triangle tbody tr:visible").all()):
        assert row.locator("td.sees:visible").count() == 4 + i, "a row sees the prompt and the drafts before it"


def test_flipping_the_miss_accepts_everything_and_the_bonus_decides_the_rest(lesson: Page) -> None:
    lesson.locator("[data-flip='2']").click()
    expect(lesson.locator(".step-count")).to_have_text("4 / 4")
    assert words(lesson, "commit") == ["jumps", "over", "a"]
    lesson.locator(".diagram-bonus").check()
    assert words(lesson, "commit") == ["jumps", "over", "a", "lazy"]
    assert lesson.locator(".commit-chips .chip-target").count() == 1


def test_flipping_the_first_word_throws_the_rest_away(lesson: Page) -> None:
    lesson.locator("[data-flip='0']").click()
    assert words(lesson, "commit") == ["leaps"]
    assert lesson.locator(".row-draft [data-outcome=unexamined]").count() == 2
    assert "unlucky" in lesson.locator(".round-says").inner_text()
    assert "0.83×" in lesson.locator(".round-says").inner_text()


def test_two_drafts_with_the_bonus_use_the_targets_word_at_that_place(lesson: Page) -> None:
    lesson.locator(".diagram .choice input[value='2']").check()
    lesson.locator(".diagram-bonus").check()
    go(lesson, 4)
    assert words(lesson, "commit") == ["jumps", "over", "the"]


def test_arrow_keys_step_only_where_the_diagram_has_the_focus(lesson: Page) -> None:
    lesson.locator(".stage").focus()
    lesson.keyboard.press("ArrowRight")
    expect(lesson.locator(".step-count")).to_have_text("2 / 4")
    lesson.keyboard.press("End")
    expect(lesson.locator(".step-count")).to_have_text("4 / 4")
    lesson.keyboard.press("ArrowLeft")
    expect(lesson.locator(".step-count")).to_have_text("3 / 4")
    lesson.keyboard.press("Home")
    expect(lesson.locator(".step-count")).to_have_text("0 / 4")
    lesson.locator(".diagram .choice input[value='3']").focus()
    lesson.keyboard.press("ArrowLeft")
    expect(lesson.locator(".step-count")).to_have_text("0 / 4")
    assert lesson.locator(".diagram .choice input[value='2']").is_checked(), "the keys belong to the radios here"


def test_play_runs_to_the_end_and_pause_holds_it(lesson: Page) -> None:
    lesson.clock.install()
    lesson.reload()
    lesson.wait_for_selector("html[data-lesson-ready]")
    play = lesson.locator(".diagram [data-act=play]")
    play.click()
    lesson.clock.run_for(2300)
    expect(lesson.locator(".step-count")).to_have_text("2 / 4")
    play.click()
    lesson.clock.run_for(10_000)
    expect(lesson.locator(".step-count")).to_have_text("2 / 4")
    play.click()
    lesson.clock.run_for(10_000)
    expect(lesson.locator(".step-count")).to_have_text("4 / 4")
    expect(play).to_contain_text("Play")


def test_reset_takes_back_every_choice_of_the_diagram(lesson: Page) -> None:
    lesson.locator("[data-flip='0']").click()
    lesson.locator(".diagram .choice input[value='2']").check()
    lesson.locator(".diagram [data-act=reset]").click()
    expect(lesson.locator(".step-count")).to_have_text("1 / 4")
    assert words(lesson, "draft") == ["jumps", "over", "a"]
    assert lesson.locator("[data-flip][aria-pressed=true]").count() == 0


def test_the_address_restores_the_diagram(pages: Pages, site_url: str) -> None:
    page = pages.new()
    page.goto(site_url + "index.html#step=4&words=2&flips=010")
    page.wait_for_selector("html[data-lesson-ready]")
    expect(page.locator(".row-commit .chip:visible .chip-word")).to_have_text(["jumps", "across"])
    expect(page.locator(".step-count")).to_have_text("4 / 4")


def test_reduced_motion_has_no_animation(pages: Pages, site_url: str) -> None:
    page = pages.new(reduced_motion="reduce")
    page.goto(site_url + "index.html")
    page.wait_for_selector("html[data-lesson-ready]")
    page.locator(".diagram [data-act=next]").click()
    moving = page.evaluate("document.getAnimations().filter((a) => document.querySelector('.diagram').contains(a.effect.target)).length")
    assert moving == 0


def test_a_step_never_moves_what_is_below(lesson: Page) -> None:
    """The reader looks at one place while stepping; it must stay where it is."""
    heights = set()
    for step in range(1, 5):
        go(lesson, step)
        heights.add(round(lesson.locator(".diagram .stage").bounding_box()["height"]))
    assert len(heights) == 1


def test_without_javascript_every_step_is_in_the_page(pages: Pages, site_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(site_url + "index.html")
    assert page.locator("[data-step-text]:visible").count() == 4
    assert words(page, "commit") == ["jumps", "over", "the"]
    assert page.locator(".diagram button:visible").count() == 0


def test_where_its_script_cannot_be_had_it_says_so_until_it_can(pages: Pages, site_url: str) -> None:
    page = pages.new()
    page.route("**/step_diagram.js", lambda route: route.abort())
    page.goto(site_url + "index.html")
    notice = page.locator(".diagram .view-failed")
    assert not notice.is_visible()
    page.locator(".diagram .stage").scroll_into_view_if_needed()
    expect(notice).to_be_visible()
    pages.expect_error("ERR_FAILED")
    page.unroute_all()
    page.locator(".diagram [data-act=next]").click()
    expect(page.locator(".diagram .step-count")).to_have_text("2 / 4")
    expect(notice).to_be_hidden()

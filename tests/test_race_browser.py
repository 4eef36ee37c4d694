"""The race as a reader runs it: by mouse, by keys, by ear, from disk, and when something is broken.

The runs are small and made by hand (some_traces.py): nobody measured them, so none is in docs/.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Pages
from playwright.sync_api import Page, Route, expect
from some_traces import a_trace, site_with

from build_scripts.bench.project import build_site, copy_project
from build_scripts.bench.serving import served
from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed
from build_scripts.views.race import short


def a_run(name: str, factor: float, temperature: float = 0.0, **fields: Any) -> Trace:
    """The hand-made trace, its rounds timed so that speculation is `factor` as fast."""
    data = a_trace(temperature) | {"id": name, **fields}
    slower = Trace.model_validate_json(json.dumps(data)).factor / factor
    run = data["speculative"]
    run["reset_ms"] *= slower
    for entry in run["rounds"]:
        entry["ms"] = {phase: ms * slower for phase, ms in entry["ms"].items()}
    return Trace.model_validate_json(json.dumps(data))


WIN = a_run("quoting-model-k2", 2.4, kind="quoting", prompt="Repeat this. " + "A long line of words. " * 12)
LOSS = a_run("chat-model-k2", 0.5)
TIE = a_run("code-model-k2", 1.01, kind="code")
DRAWN = a_run("chat-model-k2-t1", 0.8, temperature=1.0)
RUNS = [LOSS, WIN, TIE, DRAWN]


@pytest.fixture(scope="session")
def race_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_with(RUNS, tmp_path_factory.mktemp("race"))


@pytest.fixture(scope="session")
def race_url(race_site: Path) -> Iterator[str]:
    with served(race_site) as url:
        yield url + "index.html"


def opened(page: Page, url: str) -> Page:
    page.goto(url)
    page.wait_for_selector("html[data-lesson-ready]")
    return page


@pytest.fixture
def lesson(page: Page, race_url: str) -> Page:
    return opened(page, race_url)


def choose(page: Page, trace: Trace) -> None:
    radio = page.locator(f"[name=race-run][value='{trace.id}']")
    if page.locator(".race-more:not([open])", has=radio).count():
        page.locator(".race-more summary").click()
    radio.locator("xpath=..").click()
    expect(radio).to_be_checked()


def at_speed(page: Page, speed: str) -> None:
    """The first press fetches the script, and is then done again: the radio is not set at once."""
    page.locator(f"[name=race-speed][value='{speed}']").click()
    expect(page.locator(f"[name=race-speed][value='{speed}']")).to_be_checked()


def start(page: Page) -> None:
    page.locator(".race [data-act=play]").click()


def says(page: Page) -> str:
    return page.locator(".race-says").inner_text()


def end(page: Page) -> None:
    expect(page.locator(".race [data-act=play]")).to_contain_text("again", timeout=8000)


def written(page: Page, lane: int) -> str:
    """The text that is there to be seen."""
    return page.locator(".race-text").nth(lane).evaluate(
        "lane => [...lane.querySelectorAll('.is-there')].map((piece) => piece.textContent).join('')"
    )


# --- before anything is fetched --------------------------------------------------------------------


def test_nothing_is_fetched_before_the_reader_asks(lesson: Page, pages: Pages) -> None:
    """The lesson's first view must not pay for a race that nobody starts, nor one run for the others."""
    lesson.wait_for_timeout(300)
    assert not [address for address in pages.requests if "traces" in address or "race.js" in address]
    choose(lesson, LOSS)
    assert not [address for address in pages.requests if "/traces/" in address], "choosing is not racing"
    start(lesson)
    end(lesson)
    assert [address.rsplit("/", 1)[1] for address in pages.requests if "/traces/" in address] == [f"{LOSS.id}.js"]


@pytest.mark.parametrize("trace", RUNS, ids=lambda trace: trace.id)
def test_a_run_says_its_own_ratio_before_it_is_raced_and_after(lesson: Page, trace: Trace) -> None:
    choose(lesson, TIE)
    choose(lesson, trace)
    factor = f"{fixed(trace.factor, 2)}×"
    before = says(lesson)
    assert factor in before
    assert f"{fixed(trace.plain.decode_ms, 1 if trace.plain.decode_ms < 100 else 0)} ms" in before
    at_speed(lesson, "2")
    start(lesson)
    end(lesson)
    assert says(lesson) == before, "the sentence of the fetched run is that of the page's own data"


def test_a_losing_run_says_so_in_words_and_is_as_easy_to_find(lesson: Page) -> None:
    """Its chip stands in the same table, and no colour is needed to read it."""
    chip = lesson.locator(f".runs label:has([value='{LOSS.id}'])")
    expect(chip).to_be_visible()
    assert "loses" in chip.inner_text() and "0.50×" in chip.inner_text()
    choose(lesson, LOSS)
    assert "a loss" in says(lesson) and says(lesson).startswith("Plain decoding finished first")
    expect(lesson.locator(".race-plain .race-first")).to_be_visible()
    expect(lesson.locator(".race-speculative .race-first")).to_be_hidden()


def test_without_javascript_the_fastest_run_stands_with_a_table_of_all(pages: Pages, race_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(race_url)
    assert "2.40×" in says(page)
    assert page.locator(".race-bar:visible").count() == 2
    assert page.locator(".runs td:has-text('×')").count() == 3
    assert page.locator(".race :is(button, input):visible").count() == 0, "no control that would do nothing"


def test_without_recorded_runs_nothing_stands_in_its_place(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    for path in [*(project / "docs").glob("measurements/traces*/*"), *(project / "docs").glob("measurements/traces*.json")]:
        path.unlink()
    assert build_site(project, tmp_path / "site").status == 0
    html = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert 'id="top"' in html and 'id="race"' not in html and "race.css" not in html


# --- the race ----------------------------------------------------------------------------------------


def test_both_lanes_end_with_their_exact_texts_and_the_page_says_that_it_checked(lesson: Page) -> None:
    choose(lesson, LOSS)
    start(lesson)
    end(lesson)
    expected = "".join(LOSS.pieces(LOSS.plain.tokens))
    assert written(lesson, 0) == written(lesson, 1) == expected and "ö" in expected
    assert "has just compared all 7 tokens" in lesson.locator(".race-check").inner_text()
    choose(lesson, DRAWN)
    expect(lesson.locator(".race-check")).to_contain_text("drawn at random")


def test_a_tampered_run_is_found_out(lesson: Page, race_site: Path) -> None:
    """The sentence is the outcome of a comparison, not a promise."""
    script = (race_site / "traces" / f"{LOSS.id}.js").read_text("utf-8")
    tokens = json.dumps(LOSS.plain.tokens, separators=(",", ":"))
    assert tokens in script
    bad = script.replace(tokens, json.dumps([*LOSS.plain.tokens[:3], 0, *LOSS.plain.tokens[4:]]))
    lesson.route(f"**/{LOSS.id}.js", lambda route: route.fulfill(body=bad, content_type="text/javascript"))
    choose(lesson, LOSS)
    start(lesson)
    expect(lesson.locator(".race-check")).to_contain_text("differ from token 4 on")


def test_tokens_come_one_by_one_on_the_left_and_in_bursts_on_the_right(lesson: Page) -> None:
    """What the reader may see at each moment is what the trace had written by then."""
    lesson.locator(".race [data-act=step]").click()
    expect(lesson.locator(".race-stage")).to_be_visible()
    counts = []
    for _ in range(10):  # seven tokens on the left, three bursts on the right
        counts.append([lesson.locator(f".race-column:nth-child({n}) .is-there").count() for n in (1, 2)])
        lesson.locator(".race [data-act=step]").click()
    plain, bursts = [count[0] for count in counts], [count[1] for count in counts]
    assert plain[0] == bursts[0] == 1 and plain[-1] == 7 and bursts[-1] == 1 + len(WIN.speculative.rounds)
    assert all(later - now <= 1 for now, later in zip(plain, plain[1:]))
    assert lesson.locator(".race-column:nth-child(2) .token-accepted").count() == 3
    assert lesson.locator(".race-column:nth-child(2) .token-target").count() == 3


def test_the_race_can_be_paused_scrubbed_and_slowed(lesson: Page) -> None:
    at_speed(lesson, "0.0625")
    start(lesson)
    button = lesson.locator(".race [data-act=play]")
    expect(button).to_contain_text("Pause")
    button.click()
    expect(button).to_contain_text("Play")
    scrub = lesson.locator(".race-scrub")
    held = scrub.input_value()
    assert 0 < float(held) < WIN.plain.decode_ms
    lesson.wait_for_timeout(200)
    assert scrub.input_value() == held, "paused is paused"
    scrub.evaluate("slider => { slider.value = slider.max; slider.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert "2.40×" in says(lesson)
    scrub.evaluate("slider => { slider.value = 0; slider.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert lesson.locator(".race-text .is-there").count() == 2
    assert "0 ms" in (scrub.get_attribute("aria-valuetext") or "") or "0.0 ms" in (scrub.get_attribute("aria-valuetext") or "")


def test_keys_step_hold_and_jump_where_the_texts_have_the_focus(lesson: Page) -> None:
    lesson.locator(".race [data-act=step]").click()
    texts = lesson.locator(".race-texts")
    texts.focus()
    there = lesson.locator(".race-text .is-there")
    lesson.keyboard.press("ArrowRight")
    expect(there).to_have_count(3)
    lesson.keyboard.press("ArrowLeft")
    expect(there).to_have_count(2)
    lesson.keyboard.press("End")
    assert "2.40×" in says(lesson)
    lesson.keyboard.press("Home")
    expect(there).to_have_count(2)
    at_speed(lesson, "0.0625")
    texts.focus()
    lesson.keyboard.press("Space")
    expect(lesson.locator(".race [data-act=play]")).to_contain_text("Pause")
    lesson.keyboard.press("Space")
    expect(lesson.locator(".race [data-act=play]")).to_contain_text("Play")


def test_less_motion_starts_paused_and_steps(pages: Pages, race_url: str) -> None:
    page = opened(pages.new(reduced_motion="reduce"), race_url)
    start(page)
    expect(page.locator(".race-stage")).to_be_visible()
    assert "paused" in says(page)
    page.wait_for_timeout(250)
    assert page.locator(".race-text .is-there").count() == 2, "nothing moves by itself"
    page.locator(".race [data-act=step]").click()
    assert page.locator(".race-text .is-there").count() == 3


def test_a_screen_reader_hears_the_start_the_leader_and_the_end(lesson: Page) -> None:
    lesson.evaluate(
        """() => {
        window.heard = [];
        const status = document.querySelector(".race-says");
        new MutationObserver(() => window.heard.push(status.textContent.trim()))
            .observe(status, {childList: true, characterData: true, subtree: true});
    }"""
    )
    start(lesson)
    end(lesson)
    heard = lesson.evaluate("heard.filter((text, i) => text !== heard[i - 1])")
    started = next(n for n, text in enumerate(heard) if text.startswith("Started"))
    rest = heard[started + 1 :]
    assert len(heard) <= 5 and "done after" in rest[0] and "2.40×" in rest[-1], heard


# --- the address, the disk, and what is broken ---------------------------------------------------


def test_the_address_restores_the_run_and_the_speed(lesson: Page, race_url: str) -> None:
    choose(lesson, DRAWN)
    at_speed(lesson, "0.25")
    lesson.wait_for_function(f"location.hash.includes('trace={DRAWN.id}') && location.hash.includes('speed=0.25')")
    lesson.goto("about:blank")
    opened(lesson, f"{race_url}#trace={DRAWN.id}&speed=0.25")
    expect(lesson.locator(f"[value='{DRAWN.id}']")).to_be_checked()
    expect(lesson.locator("[name=race-speed][value='0.25']")).to_be_checked()
    assert "0.80×" in says(lesson)


def test_it_races_from_disk(page: Page, race_site: Path) -> None:
    """A page from file:// may fetch no JSON; a run is a script for that reason."""
    opened(page, race_site.as_uri() + "/index.html")
    start(page)
    end(page)
    assert written(page, 0) == "".join(WIN.pieces(WIN.plain.tokens))


def test_a_long_prompt_is_short_until_it_is_opened(lesson: Page) -> None:
    expect(lesson.locator(".race-prompt q")).to_have_text(short(WIN.prompt))
    start(lesson)
    end(lesson)
    lesson.locator(".race-prompt-all summary").click()
    expect(lesson.locator(".race-prompt-text")).to_have_text(WIN.prompt)


@pytest.mark.parametrize(
    "body",
    [None, "Lesson.traces.register('elsewhere', {});", f"Lesson.traces.register('{WIN.id}', {{version: 99}});"],
    ids=["missing", "foreign", "of another version"],
)
def test_a_broken_run_gives_a_sentence_and_leaves_the_others(lesson: Page, pages: Pages, body: str | None) -> None:
    def answer(route: Route) -> None:
        route.abort() if body is None else route.fulfill(body=body, content_type="text/javascript")

    lesson.route(f"**/{WIN.id}.js", answer)
    start(lesson)
    expect(lesson.locator(".race-says")).to_contain_text("could not be read")
    if body is None:
        pages.expect_error("ERR_FAILED")
    choose(lesson, LOSS)
    start(lesson)
    end(lesson)
    assert "0.50×" in says(lesson)


def test_without_its_script_the_race_says_so_and_keeps_its_result(lesson: Page, pages: Pages) -> None:
    lesson.route("**/views/race.js", lambda route: route.abort())
    start(lesson)
    expect(lesson.locator(".view-race .view-failed")).to_be_visible()
    assert "2.40×" in says(lesson)
    pages.expect_error("ERR_FAILED")

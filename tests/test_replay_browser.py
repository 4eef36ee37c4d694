"""The replay as a reader works it: by mouse, by keys, by ear, by address, and when a run is broken.

The runs are small and made by hand (some_traces.py): three rounds, of which the first accepts all
drafts, the second has none, and the third rejects one. Nobody measured them, so none is in docs/.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Pages
from playwright.sync_api import Page, Route, expect
from some_traces import a_trace, site_with

from build_scripts.bench.project import build_site, copy_project
from build_scripts.bench.serving import served
from build_scripts.model.speculation import expected_tokens
from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed

GREEDY, DRAWN = (Trace.model_validate_json(json.dumps(a_trace(temperature))) for temperature in (0.0, 1.0))
ENDS = [37.0, 66.0, 101.0]
"""The milliseconds at which the rounds are complete: 2 of reading the prompt, then 35, 29 and 35."""


@pytest.fixture(scope="module")
def replay_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_with([GREEDY, DRAWN], tmp_path_factory.mktemp("replay"))


@pytest.fixture(scope="module")
def replay_url(replay_site: Path) -> Iterator[str]:
    with served(replay_site) as url:
        yield url + "measured.html"


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".replay-run").wait_for()
    return page


@pytest.fixture
def drawn(page: Page, replay_url: str) -> Page:
    """The run at T = 1, its first round complete."""
    return opened(page, replay_url + f"#at=replay&trace={DRAWN.id}")


def press(page: Page, act: str) -> None:
    page.locator(f".replay [data-act={act}]").click()


def count(page: Page) -> str:
    return page.locator(".replay .step-count").inner_text()


def says(page: Page) -> str:
    return page.locator(".replay-says").inner_text()


def card(page: Page, place: int) -> str:
    return " ".join(page.locator(f".replay [data-place='{place}']").inner_text().split())


def why(page: Page) -> str:
    return page.locator(".laws-why").inner_text()


def committed(page: Page) -> list[str]:
    return page.locator(".replay .commit-chips .chip-word").all_inner_texts()


def clock(page: Page) -> float:
    return float(page.locator(".replay-scrub").input_value())


def scrub_to(page: Page, ms: float) -> None:
    page.locator(".replay-scrub").evaluate(
        "(slider, ms) => { slider.value = ms; slider.dispatchEvent(new Event('input', {bubbles: true})); }", ms
    )


# --- what decided each token -----------------------------------------------------------------------


def test_each_draft_shows_the_numbers_of_the_rule_and_the_reason_in_words(drawn: Page) -> None:
    """p = 0.5 over q = 0.25 is kept whatever the draw; 0.6 over 0.9 needs a draw below 0.67, and has 0.5."""
    assert "q 0.25 p 0.50 min(1,p/q) 1 draw 0.90" in card(drawn, 0) and "accepted" in card(drawn, 0)
    assert "whatever the draw" in why(drawn) and "p = 0.50" in why(drawn)
    drawn.locator("[data-place='1']").click()
    assert "draw 0.50" in card(drawn, 1) and "min(1,p/q) 0.67" in card(drawn, 1)
    assert "the draw 0.50 stays below p/q = 0.60 / 0.90 = 0.67" in why(drawn)
    widths = drawn.locator("[data-place='1'] .odds").evaluate("bar => [...bar.children].map((part) => part.style.cssText)")
    assert widths[0].startswith("width: 66.66") and widths[1] == "left: 50%;", "the bar shows the same: the tick is in it"


def test_a_rejection_shows_what_was_left_and_where_the_token_in_its_place_came_from(drawn: Page) -> None:
    press(drawn, "reject")
    assert count(drawn) == "Round 3 of 3"
    assert "the draw 0.50 is not below p/q = 0.10 / 0.90 = 0.11" in why(drawn) and "max(0, p − q)" in why(drawn)
    left = drawn.locator(".laws .law").nth(2).locator("li")
    assert [" ".join(text.split()) for text in left.all_inner_texts()] == ["<|end|> 0.75", "␣sn 0.25", "all others 0"]
    expect(left.nth(0)).to_have_class("is-marked")
    assert drawn.locator(".replay [data-act=reject]").get_attribute("aria-disabled") == "true", "it was the last one"


def test_both_models_show_their_likeliest_and_the_mass_of_the_rest(drawn: Page) -> None:
    lists = [" ".join(text.split()) for text in drawn.locator(".laws .law").all_inner_texts()]
    assert len(lists) == 2
    assert lists[0].endswith("␣sn 0.25 all others 0.75") and lists[1].endswith("␣sn 0.50 C3 0.20 all others 0.30")


def test_a_greedy_run_says_what_the_target_would_have_written(page: Page, replay_url: str) -> None:
    opened(page, f"{replay_url}#trace={GREEDY.id}&round=3")
    assert "“dog” is rejected: the target would have written “<|end|>”" in why(page)
    assert "draw none" in card(page, 1)
    assert "what it proposes counts as q = 1" in page.locator(".laws").inner_text(), "it has no law of its own"


def test_blanks_and_broken_characters_can_be_seen(drawn: Page) -> None:
    """The letter ö has come in two tokens; neither is a character."""
    assert committed(drawn) == ["␣sn", "C3", "B6"]
    press(drawn, "next")
    assert drawn.locator(".row-context .chip-word").all_inner_texts() == ["A", "␣sn", "C3", "B6"]
    assert drawn.locator(".replay-answer .is-there").first.inner_text().strip() == "snö", "the text has the letter"


def test_a_round_without_drafts_is_a_plain_pass(drawn: Page) -> None:
    press(drawn, "next")
    assert "nothing drafted" in says(drawn)
    expect(drawn.locator(".row-draft .row-empty")).to_contain_text("Nothing drafted")
    assert committed(drawn) == ["␣dog"]
    assert drawn.locator(".positions li:visible").count() == 1


def test_e_over_the_run_stands_beside_what_its_own_acceptance_predicts(drawn: Page) -> None:
    """3 of 4 examined drafts stood; rounds of 2, 0 and 2 drafts. 6 tokens in 3 rounds."""
    predicted = (2 * expected_tokens(0.75, 2, True) + 1) / 3
    assert drawn.locator("strong[data-yield=measured]").inner_text() == "2.00"
    assert drawn.locator("strong[data-yield=predicted]").inner_text() == fixed(predicted, 2)
    assert "3 of 4" in drawn.locator("[data-yield=predicted_text]").inner_text()


def test_the_page_compares_the_texts_of_a_greedy_run_itself(page: Page, replay_url: str, replay_site: Path) -> None:
    script = (replay_site / "traces" / f"{GREEDY.id}.js").read_text("utf-8")
    tokens = json.dumps(GREEDY.plain.tokens, separators=(",", ":"))
    bad = script.replace(tokens, json.dumps([*GREEDY.plain.tokens[:-1], 0]))
    assert bad != script
    opened(page, f"{replay_url}#trace={GREEDY.id}")
    assert "has just compared" in page.locator(".replay-check").inner_text()
    page.route(f"**/{GREEDY.id}.js", lambda route: route.fulfill(body=bad, content_type="text/javascript"))
    page.reload()
    expect(page.locator(".replay-check")).to_contain_text("wrote other tokens")


# --- moving along the run -----------------------------------------------------------------------------


def test_steps_go_from_the_prompt_to_the_end_and_back(drawn: Page) -> None:
    press(drawn, "back")
    assert count(drawn) == "Round 0 of 3" and "pass over the prompt gave “A”" in says(drawn)
    for n, ms in enumerate(ENDS, start=1):
        press(drawn, "next")
        assert (count(drawn), round(clock(drawn), 3)) == (f"Round {n} of 3", ms)
    drawn.locator(".replay [data-act=next]").click(force=True)
    assert count(drawn) == "Round 3 of 3", "there is none after the last"
    press(drawn, "back")
    assert count(drawn) == "Round 2 of 3"


def test_the_clock_shows_each_moment_as_it_was(drawn: Page) -> None:
    """In round 1 drafting takes 4 ms, the pass 30; round 2 drafts until 37.5, its verdict is there at 65.5."""
    scrub_to(drawn, 20)
    assert drawn.locator(".positions [data-outcome=waiting]").count() == 2
    assert committed(drawn) == []
    scrub_to(drawn, 36.5)
    assert drawn.locator(".positions [data-outcome=accepted]").count() == 2 and committed(drawn) == []
    scrub_to(drawn, 37.2)
    assert committed(drawn) == ["␣sn", "C3", "B6"], "while the next round drafts, the last one stands"
    cells = drawn.locator(".replay .counters [data-lane=speculative] td").all_inner_texts()
    assert cells[:3] == ["1", "4", "37.2"]
    assert drawn.locator(".replay .counters [data-lane=plain] td").all_inner_texts()[:2] == ["1", "2"]


def test_the_strip_has_a_tile_for_each_token_and_leads_to_its_round(drawn: Page) -> None:
    rounds = drawn.locator(".round-strip button")
    assert [rounds.nth(i).locator(".tile").count() for i in range(3)] == [3, 1, 2]
    assert rounds.nth(0).get_attribute("aria-label") == "Round 1: 3 tokens"
    rounds.nth(2).click()
    assert count(drawn) == "Round 3 of 3"
    drawn.keyboard.press("ArrowLeft")
    assert count(drawn) == "Round 2 of 3"
    expect(rounds.nth(1)).to_be_focused()
    assert drawn.locator(".round-strip [tabindex='0']").count() == 1, "the strip is one stop for the Tab key"


def test_keys_work_where_the_stage_has_the_focus(drawn: Page) -> None:
    drawn.locator("[name=replay-speed][value='0.0625']").check()
    drawn.locator(".replay .stage").focus()
    for key, expected in (("End", 3), ("ArrowLeft", 2), ("Home", 0), ("ArrowRight", 1), ("PageDown", 3)):
        drawn.keyboard.press(key)
        assert count(drawn) == f"Round {expected} of 3", key
    drawn.keyboard.press("Space")
    expect(drawn.locator(".replay [data-act=play]")).to_contain_text("Pause")


def test_it_plays_at_the_chosen_speed_and_can_be_held(drawn: Page) -> None:
    """At a sixteenth the run of 101 ms lasts 1.6 s; it waits for the reader to start it."""
    drawn.wait_for_timeout(100)
    assert clock(drawn) == pytest.approx(ENDS[0]), "nothing moves by itself"
    drawn.locator("[name=replay-speed][value='0.0625']").check()
    press(drawn, "back")
    press(drawn, "play")
    drawn.wait_for_timeout(300)
    press(drawn, "play")
    held = clock(drawn)
    assert 0 < held < 60
    drawn.wait_for_timeout(100)
    assert clock(drawn) == held
    drawn.locator("[name=replay-speed][value='2']").check()
    press(drawn, "play")
    expect(drawn.locator(".replay [data-act=play]")).to_contain_text("Play")
    assert count(drawn) == "Round 3 of 3"


def test_a_screen_reader_hears_a_round_as_one_sentence_and_nothing_while_many_pass(drawn: Page) -> None:
    live = drawn.locator(".replay-says")
    heard = [says(drawn)]
    for _ in range(2):
        press(drawn, "next")
        heard.append(says(drawn))
    assert heard[0].startswith("Round 1: all 2 drafts kept") and "3 tokens in 35.0 ms" in heard[0]
    assert heard[2].startswith("Round 3: 1 of 2 drafts kept; “dog” is rejected and “<|end|>” stands in its place")
    assert live.get_attribute("aria-live") == "polite"
    drawn.locator("[name=replay-speed][value='0.0625']").check()
    press(drawn, "play")
    drawn.wait_for_function("document.querySelector('.replay-says').getAttribute('aria-live') === 'off'")


def test_reduced_motion_moves_nothing_between_two_phases(pages: Pages, replay_url: str) -> None:
    page = opened(pages.new(reduced_motion="reduce"), replay_url + f"#at=replay&trace={DRAWN.id}&round=0&speed=0.0625")
    press(page, "play")
    seen = page.evaluate(
        """() => new Promise((done) => {
        const values = new Set();
        const end = performance.now() + 700;
        const look = () => {
          values.add(document.querySelector(".replay .cursor").style.left);
          performance.now() < end ? requestAnimationFrame(look) : done([...values]);
        };
        look();
    })"""
    )
    assert len(seen) <= 6, "700 ms are 44 of the run: two drafts, a verdict, a commit; gliding would give 40"
    assert page.evaluate("document.getAnimations().length") == 0


def test_stepping_never_moves_what_is_below(drawn: Page) -> None:
    """A reader looks at one place while stepping; it must stay where it is."""
    places = set()
    for step in ("back", "next", "next", "next"):
        press(drawn, step)
        places.add(tuple(round(drawn.locator(f".replay {part}").bounding_box()["y"]) for part in (".diagram-says", ".laws")))
    assert len(places) == 1


# --- the address, the disk, and what is broken ---------------------------------------------------


def test_the_address_restores_run_round_and_speed(drawn: Page, replay_url: str) -> None:
    drawn.locator(f"label:has([value='{GREEDY.id}'])").click()
    expect(drawn.locator(".replay-check")).to_contain_text("compared")
    press(drawn, "next")
    drawn.locator("[name=replay-speed][value='0.25']").check()
    drawn.wait_for_function(f"/trace={GREEDY.id}.*speed=0.25.*round=2/.test(location.hash)")
    address = drawn.url
    drawn.goto("about:blank")
    opened(drawn, address)
    expect(drawn.locator(f"[value='{GREEDY.id}']")).to_be_checked()
    expect(drawn.locator("[name=replay-speed][value='0.25']")).to_be_checked()
    assert count(drawn) == "Round 2 of 3"


def fetched(pages: Pages) -> list[str]:
    return [address.rsplit("/", 1)[1] for address in pages.requests if "/traces/" in address]


def test_nothing_of_it_is_fetched_before_the_reader_asks(pages: Pages, replay_url: str) -> None:
    page = pages.new()
    for address in ("index.html", "measured.html", "measured.html#at=replay"):
        page.goto(replay_url.replace("measured.html", address), wait_until="networkidle")
        assert not [name for name in pages.requests if name.endswith(("replay.js", "replay_round.js"))]
        assert not fetched(pages)
    page.locator(".replay-result").scroll_into_view_if_needed()
    expect(page.locator(".replay-result")).to_contain_text("T\u00a0=\u00a01")
    assert not page.locator(".replay-table tbody").is_visible(), "the table is folded away where there is a script"
    press(page, "open")
    page.locator(".replay-run").wait_for()
    assert fetched(pages) == [f"{DRAWN.id}.js"]
    assert count(page) == "Round 1 of 3"
    expect(page.locator(".replay [data-act=next]")).to_be_focused()
    assert not page.locator(".replay-start").is_visible()


@pytest.mark.parametrize("chosen", [GREEDY, DRAWN], ids=["another run", "the run that is marked"])
def test_a_run_that_is_chosen_at_once_is_the_only_one_that_is_fetched(
    pages: Pages, replay_url: str, chosen: Trace
) -> None:
    page = pages.new()
    page.goto(replay_url)
    page.locator(f"label:has([value='{chosen.id}'])").click()
    page.locator(".replay-run").wait_for()
    assert fetched(pages) == [f"{chosen.id}.js"]
    expect(page.locator(f"[value='{chosen.id}']")).to_be_checked()


def test_it_replays_from_disk(page: Page, replay_site: Path) -> None:
    """A page from file:// may fetch no JSON; a run is a script for that reason."""
    page.goto((replay_site / "measured.html").as_uri() + "#at=replay")
    press(page, "open")
    page.locator(".replay-run").wait_for()
    press(page, "next")
    assert count(page) == "Round 2 of 3"


@pytest.mark.parametrize(
    "body",
    [
        None,
        "Lesson.traces.register('elsewhere', {});",
        f"Lesson.traces.register('{DRAWN.id}', {{version: 1, id: '{DRAWN.id}'}});",
    ],
    ids=["missing", "foreign", "broken"],
)
def test_a_broken_run_gives_a_sentence_and_leaves_the_others(
    pages: Pages, replay_url: str, body: str | None
) -> None:
    page = pages.new()

    def answer(route: Route) -> None:
        route.abort() if body is None else route.fulfill(body=body, content_type="text/javascript")

    page.route(f"**/{DRAWN.id}.js", answer)
    page.goto(replay_url + "#at=replay")
    press(page, "open")
    expect(page.locator(".replay-result")).to_contain_text("could not be read")
    if body is None:
        pages.expect_error("ERR_FAILED")
    page.locator(f"label:has([value='{GREEDY.id}'])").click()
    expect(page.locator(".replay-check")).to_contain_text("compared")
    press(page, "next")
    assert count(page) == "Round 2 of 3"
    page.unroute_all()
    page.locator(f"label:has([value='{DRAWN.id}'])").click()
    expect(page.locator(".replay-check")).to_contain_text("drawn")


def test_without_javascript_a_table_of_the_rounds_stands_in_its_place(pages: Pages, replay_url: str) -> None:
    page = pages.new(java_script_enabled=False)
    page.goto(replay_url)
    rows = page.locator(".replay-table tbody tr:visible")
    assert [" ".join(text.split()) for text in rows.all_inner_texts()] == [
        "1 ␣sn C3 2 / 2 B6 3 35.0",
        "2 – 0 / 0 ␣dog 1 29.0",
        "3 ␣cat ␣dog 1 / 2 <|end|> 2 35.0",
    ]
    assert page.locator(".replay :is(button, input):visible").count() == 0, "no control that would do nothing"
    assert "T\u00a0=\u00a01" in page.locator(".replay-result").inner_text()


def test_the_table_without_javascript_is_the_one_that_the_script_makes(drawn: Page, pages: Pages, replay_url: str) -> None:
    """Both sides name tokens and round times; they must not drift apart."""
    plain = pages.new(java_script_enabled=False)
    plain.goto(replay_url)
    drawn.locator(".replay-table summary").click()
    for part in (".replay-table tbody", ".replay-yields", ".replay-result"):
        assert drawn.locator(part).inner_text() == plain.locator(part).inner_text(), part


def test_without_recorded_runs_a_sentence_says_how_to_record_them(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    shutil.rmtree(project / "docs" / "measurements", ignore_errors=True)
    assert build_site(project, tmp_path / "site").status == 0
    html = (tmp_path / "site" / "measured.html").read_text("utf-8")
    assert "python -m build_scripts measure traces" in html and "replay.js" not in html


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_nothing_is_cut_off(pages: Pages, replay_url: str, width: int) -> None:
    page = opened(pages.new(width=width, height=800), replay_url + f"#at=replay&trace={DRAWN.id}&round=3")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    for part in (".round-strip", ".positions", ".laws-lists", ".runs table"):
        box = page.locator(f".replay {part}").first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, part


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_it(pages: Pages, replay_url: str, scheme: str) -> None:
    page = opened(pages.new(color_scheme=scheme), replay_url + f"#at=replay&trace={DRAWN.id}&round=3")
    found = Axe().run(page, context=".replay").response["violations"]
    assert not found, [(fault["id"], [node["html"][:120] for node in fault["nodes"]][:3]) for fault in found]

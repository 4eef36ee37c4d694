"""The stepped diagram's rule, against every verdict that a reader can set."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from build_scripts.model.teaching_round import play_round

DRAFTED = ["jumps", "over", "a"]
TARGET = ["jumps", "over", "the", "lazy"]
OTHERS = ["leaps", "across", "a"]
SCRIPTS = Path(__file__).parents[1] / "docs" / "assets" / "lesson"


def test_the_lessons_own_round() -> None:
    """Two words accepted, the third replaced by the target's: three words for one pass."""
    played = play_round(DRAFTED, TARGET, bonus=False)
    assert played.outcomes == ("accepted", "accepted", "rejected")
    assert played.committed == (("jumps", "accepted"), ("over", "accepted"), ("the", "recovered"))


def test_what_follows_a_miss_is_dropped_even_where_it_matches() -> None:
    """The bug of keeping every match: only the prefix before the first miss counts."""
    played = play_round(["x", "over", "a"], ["jumps", "over", "a", "lazy"], bonus=True)
    assert played.outcomes == ("rejected", "unexamined", "unexamined")
    assert played.committed == (("jumps", "recovered"),)


def test_all_accepted_commits_the_bonus_only_where_it_is_on() -> None:
    agreeing = ["jumps", "over", "a", "lazy"]
    assert play_round(DRAFTED, agreeing, bonus=False).committed[-1] == ("a", "accepted")
    assert play_round(DRAFTED, agreeing, bonus=True).committed[-1] == ("lazy", "bonus")


def test_a_round_always_commits_something() -> None:
    for k, bonus in itertools.product((1, 2, 3), (False, True)):
        for target in verdicts(k):
            assert 1 <= len(play_round(DRAFTED[:k], target, bonus).committed) <= k + bonus


def test_too_few_target_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 drafts need 4 target words, not 3"):
        play_round(DRAFTED, TARGET[:3], bonus=False)


def test_the_browser_plays_the_same_rounds(browser: Browser) -> None:
    """Page and build must not tell two stories: all 28 cases, played by both."""
    page = browser.new_page()
    for name in ("format.js", "views/step_diagram.js"):
        page.add_script_tag(path=SCRIPTS / name)
    cases = 0
    for k, bonus in itertools.product((1, 2, 3), (False, True)):
        for target in verdicts(k):
            played = play_round(DRAFTED[:k], target, bonus)
            theirs = page.evaluate("([d, t, b]) => Lesson.diagram.play(d, t, b)", [DRAFTED[:k], target, bonus])
            assert theirs["outcomes"] == list(played.outcomes)
            assert theirs["committed"] == [list(pair) for pair in played.committed]
            assert theirs["accepted"] == played.accepted
            cases += 1
    page.close()
    assert cases == 28


def verdicts(k: int) -> list[list[str]]:
    """Every mix of the target's own word and its alternative over k positions."""
    return [
        [OTHERS[i] if flipped else TARGET[i] for i, flipped in enumerate(flips)] + TARGET[k:]
        for flips in itertools.product((False, True), repeat=k)
    ]

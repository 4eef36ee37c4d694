"""The analytic model against the lesson's figures, the papers' tables, and an exact oracle."""

from __future__ import annotations

import math
import random
from dataclasses import astuple, replace
from fractions import Fraction
from itertools import product

import pytest

from build_scripts.model.roofline import arithmetic_ms, weight_read_ms
from build_scripts.model.speculation import (
    Round,
    best_draft_tokens,
    break_even_acceptance,
    evaluate,
    expected_tokens,
    operations_factor,
    speedup,
    survival,
    verdict,
)

LESSON = Round(acceptance=0.75, draft_tokens=3, target_ms=45, draft_ms=3)
LESSON_BONUS = replace(LESSON, bonus=True)
BONUS = pytest.mark.parametrize("bonus", [False, True], ids=["no bonus", "bonus"])


# --- the lesson's figures ----------------------------------------------------------------


def test_the_lessons_round_without_the_bonus() -> None:
    """The figures that the page shows before anybody touches it."""
    outcome = evaluate(LESSON)
    assert outcome.expected_tokens == 2.3125
    assert outcome.round_ms == 54
    assert outcome.burst_gap_ms == 54
    assert outcome.tpot_ms == pytest.approx(23.35, abs=0.005)
    assert outcome.throughput_tps == pytest.approx(42.8, abs=0.05)
    assert outcome.speedup == pytest.approx(1.927, abs=0.0005)
    assert outcome.verdict == "net win"


def test_the_lessons_round_with_the_bonus() -> None:
    outcome = evaluate(LESSON_BONUS)
    assert outcome.expected_tokens == pytest.approx(2.734, abs=0.0005)
    assert outcome.round_ms == 54
    assert outcome.tpot_ms == pytest.approx(19.75, abs=0.005)
    assert outcome.throughput_tps == pytest.approx(50.6, abs=0.05)
    assert outcome.speedup == pytest.approx(2.278, abs=0.001)
    assert outcome.verdict == "net win"


@pytest.mark.parametrize(("lesson", "k", "factor"), [(LESSON, 7, 2.363), (LESSON_BONUS, 6, 2.476)])
def test_the_best_k_at_the_lessons_costs(lesson: Round, k: int, factor: float) -> None:
    assert best_draft_tokens(lesson) == k
    assert speedup(replace(lesson, draft_tokens=k)) == pytest.approx(factor, abs=0.0005)


@pytest.mark.parametrize(("lesson", "h"), [(LESSON, 0.1708), (LESSON_BONUS, 0.1673)])
def test_the_break_even_acceptance_at_the_lessons_costs(lesson: Round, h: float) -> None:
    assert break_even_acceptance(lesson) == pytest.approx(h, abs=0.00005)


def test_one_draft_without_the_bonus_is_a_slowdown() -> None:
    """The token of a hit replaces the target's own: one word either way, and the draft to pay."""
    outcome = evaluate(replace(LESSON, draft_tokens=1))
    assert outcome.speedup == 0.9375
    assert outcome.verdict == "net loss"
    assert outcome.break_even_acceptance is None


def test_the_operations_at_the_lessons_costs() -> None:
    """3 draft steps of 1/15 of a target pass and 3 or 4 scored positions, over E: by hand."""
    assert evaluate(LESSON).operations_factor == pytest.approx((3 * 3 / 45 + 3) / 2.3125, rel=1e-15)
    assert evaluate(LESSON_BONUS).operations_factor == pytest.approx((3 * 3 / 45 + 4) / 2.734375, rel=1e-15)


# --- the paper: Leviathan et al., arXiv 2211.17192 -----------------------------------------


@pytest.mark.parametrize(
    ("alpha", "gamma", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_table_1(alpha: float, gamma: int, operations: float, speed: float) -> None:
    """Both columns of the paper's Table 1 (a free draft), to the two decimals that it prints."""
    outcome = evaluate(Round(alpha, gamma, 45, 0, bonus=True))
    assert round(outcome.operations_factor, 2) == operations
    assert round(outcome.speedup, 2) == speed


def test_corollary_3_9() -> None:
    """If alpha > c some k helps, by at least (1 + alpha) / (1 + c); if not, none does."""
    for h, c in product([0.05, 0.1, 0.3, 0.5, 0.7, 0.95], [0.01, 0.04, 0.2, 0.4, 0.6, 0.9, 1.5]):
        round_ = Round(h, 1, 100, 100 * c, bonus=True)
        best = best_draft_tokens(round_)
        if h > c:
            assert best >= 1
            assert speedup(replace(round_, draft_tokens=best)) >= (1 + h) / (1 + c) - 1e-12
        else:
            assert best == 0


def test_corollary_3_9_needs_the_bonus() -> None:
    """h = 0.1 is above c = 0.08, and yet without the bonus nothing beats plain decoding."""
    assert best_draft_tokens(Round(0.1, 1, 100, 8, bonus=True)) == 1
    assert best_draft_tokens(Round(0.1, 1, 100, 8, bonus=False)) == 0


def test_operations_ratio_overrides_the_ratio_of_the_times() -> None:
    """Thm 3.11: (k·c-hat + k + 1) / E; a draft bound by memory costs more time than arithmetic."""
    assert operations_factor(replace(LESSON_BONUS, operations_ratio=0)) == 4 / 2.734375
    assert operations_factor(replace(LESSON_BONUS, operations_ratio=0.5)) == 5.5 / 2.734375
    assert speedup(replace(LESSON_BONUS, operations_ratio=0.5)) == speedup(LESSON_BONUS)


# --- an independent oracle ------------------------------------------------------------------


def enumerated_tokens(acceptances: list[Fraction], bonus: bool) -> Fraction:
    """E by going through every pattern of accepted and rejected drafts, in exact fractions."""
    if not acceptances:
        return Fraction(1)
    total = Fraction(0)
    for accepted in product([True, False], repeat=len(acceptances)):
        probability = Fraction(1)
        for hit, a in zip(accepted, acceptances, strict=True):
            probability *= a if hit else 1 - a
        if all(accepted):
            committed = len(accepted) + (1 if bonus else 0)
        else:
            committed = accepted.index(False) + 1  # the drafts before the miss, and the target's own token
        total += probability * committed
    return total


PER_POSITION = [
    (),
    (0.3,),
    (0.9, 0.2),
    (0.67, 0.65, 0.64, 0.66, 0.63),
    (0.31, 0.9, 0.9, 0.95, 0.94),
    (0.92, 0.68, 0.38),
    (1.0, 0.0, 1.0, 0.5),
    (0.0, 1.0, 1.0),
    (1.0, 1.0, 1.0, 1.0),
    (0.999, 0.001, 0.5, 0.25, 0.125, 0.0625, 0.75, 0.9),
]


@BONUS
@pytest.mark.parametrize("acceptances", PER_POSITION, ids=str)
def test_expected_tokens_are_those_of_every_outcome(acceptances: tuple[float, ...], bonus: bool) -> None:
    """The oracle knows the rule, not the formula."""
    exact = enumerated_tokens([Fraction(a) for a in acceptances], bonus)
    assert expected_tokens(acceptances, len(acceptances), bonus) == pytest.approx(float(exact), rel=1e-15)


@BONUS
@pytest.mark.parametrize("h", [0.0, 0.2, 0.75, 1.0])
def test_one_h_is_the_same_probability_at_every_position(h: float, bonus: bool) -> None:
    for k in range(8):
        exact = enumerated_tokens([Fraction(h)] * k, bonus)
        assert expected_tokens(h, k, bonus) == pytest.approx(float(exact), rel=1e-15)
        assert expected_tokens((h,) * k, k, bonus) == expected_tokens(h, k, bonus)


def test_survival_is_the_probability_of_at_least_j_accepted() -> None:
    acceptances = (0.75, 0.5, 0.25)
    assert survival(acceptances) == (0.75, 0.375, 0.09375)
    assert expected_tokens(acceptances, 3, True) == 1 + 0.75 + 0.375 + 0.09375
    assert expected_tokens(acceptances, 3, False) == 1 + 0.75 + 0.375
    assert survival([]) == ()


def test_positions_after_the_last_draft_play_no_part() -> None:
    assert expected_tokens((0.75, 0.5, 0.9), 2, True) == expected_tokens((0.75, 0.5), 2, True)


def exact_speedup(round_: Round, k: int) -> Fraction:
    h, target, draft = Fraction(round_.acceptance), Fraction(round_.target_ms), Fraction(round_.draft_ms)
    terms = k + 1 if round_.bonus else max(k, 1)
    return sum(h**j for j in range(terms)) * target / (target + k * draft)


@BONUS
def test_the_best_k_is_that_of_an_exhaustive_search_in_fractions(bonus: bool) -> None:
    rng = random.Random(1)
    for _ in range(60):
        round_ = Round(rng.random(), 3, 45, round(rng.random() * 20, 1), bonus)
        exact = [exact_speedup(round_, k) for k in range(33)]
        assert best_draft_tokens(round_) == exact.index(max(exact))


@BONUS
def test_the_break_even_acceptance_is_where_the_exact_speedup_passes_1(bonus: bool) -> None:
    rng = random.Random(2)
    for _ in range(60):
        round_ = Round(0.5, rng.randint(1, 8), 45, round(rng.random() * 50, 1) + 0.1, bonus)
        h = break_even_acceptance(round_)
        if h is None:
            assert exact_speedup(replace(round_, acceptance=1), round_.draft_tokens) < 1
        else:
            assert exact_speedup(replace(round_, acceptance=h * (1 - 1e-14)), round_.draft_tokens) < 1
            assert exact_speedup(replace(round_, acceptance=min(1, h * (1 + 1e-14))), round_.draft_tokens) >= 1


def test_a_small_break_even_acceptance_keeps_its_digits() -> None:
    """With one draft and the bonus h = c; 1 + h alone would lose what is below 1e-16."""
    for c in (0.1, 1e-3, 1e-12, 1e-18):
        assert break_even_acceptance(Round(0.5, 1, 1, c, bonus=True)) == pytest.approx(c, rel=1e-15)


# --- edges -------------------------------------------------------------------------------


@BONUS
@pytest.mark.parametrize("h", [0.0, 0.5, 1.0])
def test_k_0_is_plain_decoding(h: float, bonus: bool) -> None:
    """One token a pass and no draft time, whatever the acceptance, with or without the bonus."""
    outcome = evaluate(Round(h, 0, 45, 3, bonus))
    assert outcome.expected_tokens == 1
    assert outcome.round_ms == outcome.tpot_ms == outcome.burst_gap_ms == 45
    assert outcome.throughput_tps == 1000 / 45
    assert outcome.speedup == 1
    assert outcome.verdict == "break-even"
    assert outcome.break_even_acceptance is None
    assert outcome.operations_factor == 1


@BONUS
@pytest.mark.parametrize("k", [1, 3, 32, 1000])
def test_h_0_commits_the_targets_own_token_only(k: int, bonus: bool) -> None:
    outcome = evaluate(Round(0, k, 45, 3, bonus))
    assert outcome.expected_tokens == 1
    assert outcome.tpot_ms == 45 + 3 * k
    assert outcome.best_draft_tokens == 0


@pytest.mark.parametrize("k", [1, 3, 32, 1000])
def test_h_1_commits_every_draft(k: int) -> None:
    """The closed form is 0 / 0 here."""
    assert expected_tokens(1, k, bonus=True) == k + 1
    assert expected_tokens(1, k, bonus=False) == k


def test_an_acceptance_just_below_1_keeps_its_digits() -> None:
    """(1 - h^n) / (1 - h) loses half of its digits at h = 1 - 1e-9."""
    h = 1 - 1e-9
    for k in (1, 12, 1000):
        exact = sum(Fraction(h) ** j for j in range(k + 1))
        assert expected_tokens(h, k, bonus=True) == pytest.approx(float(exact), rel=1e-14)


@BONUS
def test_a_free_draft_makes_the_speedup_e(bonus: bool) -> None:
    for h, k in product([0.0, 0.1, 0.75, 1.0], [1, 3, 12, 1000]):
        outcome = evaluate(Round(h, k, 44.7, 0, bonus))
        assert outcome.speedup == outcome.expected_tokens
        assert outcome.break_even_acceptance == 0
        assert outcome.verdict == ("net win" if outcome.expected_tokens > 1.02 else "break-even")


@BONUS
def test_with_a_free_draft_longer_is_better_up_to_the_end_of_the_search(bonus: bool) -> None:
    """Every draft adds h^k > 0, also where that is too little to show in E; at h = 0 nothing is added."""
    for h in (0.01, 0.1, 0.75, 1.0):
        assert best_draft_tokens(Round(h, 3, 45, 0, bonus)) == 32
    assert best_draft_tokens(Round(0, 3, 45, 0, bonus)) == 0


@pytest.mark.parametrize(("target_ms", "h", "draft_ms"), [(30, 0.13, 3.9), (45, 0.14, 6.3), (33, 0.05, 1.65)])
def test_of_equally_good_k_the_smallest_is_the_best(target_ms: float, h: float, draft_ms: float) -> None:
    """With h = c and the bonus, k = 1 is worth as much as k = 0, on paper; in binary 0.14 * 45 > 6.3."""
    assert best_draft_tokens(Round(h, 1, target_ms, draft_ms, bonus=True)) == 0


def test_the_best_k_of_per_position_acceptances_is_among_their_positions() -> None:
    assert best_draft_tokens(Round((0.9, 0.9, 0.9), 1, 45, 3, bonus=True)) == 3
    assert best_draft_tokens(Round((0.9, 0.01, 0.9), 1, 45, 3, bonus=True)) == 1
    assert best_draft_tokens(Round((), 0, 45, 3)) == 0


def test_there_is_no_break_even_where_even_perfect_drafts_lose() -> None:
    assert break_even_acceptance(Round(0.5, 3, 45, 45.1, bonus=True)) is None
    assert break_even_acceptance(Round(0.5, 3, 45, 45, bonus=True)) == 1
    assert break_even_acceptance(Round(0.5, 3, 45, 30, bonus=False)) == 1
    assert break_even_acceptance(Round(0.5, 3, 45, 30.1, bonus=False)) is None


@pytest.mark.parametrize(("target_ms", "draft_ms"), [(0.3, 0.2), (0.9, 0.6), (10.2, 6.8), (45.3, 30.2)])
def test_a_break_even_at_1_is_not_lost_to_rounding(target_ms: float, draft_ms: float) -> None:
    """3 drafts at two thirds of a pass, no bonus: h = 1 breaks even on paper; 3 * 0.2 > 2 * 0.3 in binary."""
    assert break_even_acceptance(Round(0.5, 3, target_ms, draft_ms, False)) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize(
    ("factor", "word"),
    [
        (1.02, "net win"),
        (math.nextafter(1.02, 2), "net win"),
        (1.02 - 1e-9, "break-even"),
        (1.0, "break-even"),
        (0.98 + 1e-9, "break-even"),
        (0.98, "net loss"),
        (math.nextafter(0.98, 0), "net loss"),
        (0.0, "net loss"),
        (1000.0, "net win"),
    ],
)
def test_the_verdict_turns_at_102_and_98_hundredths(factor: float, word: str) -> None:
    assert verdict(factor) == word


@pytest.mark.parametrize(
    ("round_", "factor", "word"),
    [
        (Round(1, 3, 45.9, 44.7, bonus=True), 1.02, "net win"),
        (Round(1, 2, 49, 50.5, bonus=True), 0.98, "net loss"),
        (Round(1, 3, 44.1, 30.3, bonus=False), 0.98, "net loss"),
    ],
)
def test_a_speedup_on_the_line_on_paper_is_on_the_line(round_: Round, factor: float, word: str) -> None:
    """4 * 45.9 / (45.9 + 3 * 44.7) is 1.02, but 1.0199999999999998 in binary."""
    assert speedup(round_) != factor
    assert exact_speedup(round_, round_.draft_tokens) == pytest.approx(factor, rel=1e-15)
    assert evaluate(round_).verdict == word


# --- order -------------------------------------------------------------------------------


@BONUS
def test_more_acceptance_never_hurts(bonus: bool) -> None:
    for k in (1, 2, 3, 12, 100):
        rounds = [evaluate(Round(i / 50, k, 45, 3, bonus)) for i in range(51)]
        for lower, higher in zip(rounds, rounds[1:]):
            assert higher.expected_tokens >= lower.expected_tokens
            assert higher.speedup >= lower.speedup
            assert higher.tpot_ms <= lower.tpot_ms
            assert higher.operations_factor <= lower.operations_factor
        assert (rounds[-1].speedup > rounds[0].speedup) == (bonus or k > 1)


@pytest.mark.parametrize("h", [0.0, 0.3, 0.75, 1.0])
def test_k_without_the_bonus_commits_what_k_minus_1_commits_with_it(h: float) -> None:
    """Why engines commit the bonus: the same tokens for one draft step less."""
    for k in range(1, 13):
        assert expected_tokens(h, k, bonus=False) == expected_tokens(h, k - 1, bonus=True)
        assert 1 <= expected_tokens(h, k, bonus=False) <= expected_tokens(h, k, bonus=True) <= k + 1


@BONUS
def test_e_saturates_as_k_grows_and_so_the_best_k_is_finite(bonus: bool) -> None:
    assert expected_tokens(0.75, 1000, bonus) == pytest.approx(4, rel=1e-15)
    assert speedup(Round(0.75, 1000, 45, 3, bonus)) < 0.06


@BONUS
def test_a_slower_draft_moves_the_break_even_up(bonus: bool) -> None:
    points = [break_even_acceptance(Round(0.5, 4, 45, draft_ms, bonus)) for draft_ms in (0, 1, 3, 9, 20)]
    assert points == sorted(set(points))


# --- what is refused, and what never comes out ------------------------------------------------


GOOD = {"acceptance": 0.75, "draft_tokens": 3, "target_ms": 45, "draft_ms": 3, "bonus": False}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(["acceptance"], [-0.01, 1.01, math.nan, math.inf, "0.5", None, True]),
        *product(["acceptance"], [(0.5, 0.5), (0.5, 0.5, 1.5), (0.5, math.nan, 0.5), ("0.5",) * 3]),
        *product(["draft_tokens"], [-1, 1001, 3.0, math.nan, "3", None, True]),
        *product(["target_ms"], [0, -45, math.nan, math.inf, 1e10, 1e-300, "45", None, True]),
        *product(["draft_ms"], [-1, -5e-324, math.nan, math.inf, 1e10, "3", None, False]),
        *product(["bonus"], [0, 1, "yes", None]),
        *product(["operations_ratio"], [-1, math.nan, math.inf, "1", True]),
    ],
)
def test_a_bad_input_is_named_in_one_line(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        Round(**GOOD | {name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [(1.5, 3, False), (0.5, -1, False), (0.5, 3, "no"), ((0.5,), 3, False)])
def test_expected_tokens_refuses_the_same(bad: tuple) -> None:
    with pytest.raises(ValueError):
        expected_tokens(*bad)
    with pytest.raises(ValueError):
        survival([0.5, math.nan])


@BONUS
def test_every_result_is_finite_at_the_ends_of_every_range(bonus: bool) -> None:
    for h, k, target_ms, draft_ms, ratio in product(
        [0, 5e-324, 1 - 2**-53, 1], [0, 1, 2, 1000], [1e-6, 1e9], [0, 1e-300, 1e9], [None, 1e15]
    ):
        outcome = evaluate(Round(h, k, target_ms, draft_ms, bonus, ratio))
        for value in astuple(outcome):
            assert value is None or isinstance(value, str) or math.isfinite(value)
        assert outcome.round_ms > 0 and outcome.tpot_ms > 0 and outcome.throughput_tps > 0


# --- one pass of the target --------------------------------------------------------------------


def test_reading_the_weights_takes_300_times_as_long_as_the_arithmetic() -> None:
    """On 4 H100: 139e9 bytes over 13.4e12 bytes a second; 139e9 operations over 3.958e15 a second."""
    read = weight_read_ms(weights_billion=69.5, bytes_per_weight=2, devices=4, bandwidth_tbps=3.35)
    arithmetic = arithmetic_ms(weights_billion=69.5, devices=4, peak_tflops=989.5)
    assert read == pytest.approx(139e9 / 13.4e12 * 1000, rel=1e-12)
    assert read == pytest.approx(10.37, abs=0.005)
    assert arithmetic == pytest.approx(139e9 / 3.958e15 * 1000, rel=1e-12)
    assert arithmetic == pytest.approx(0.0351, abs=0.00005)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "2", True])
def test_hardware_must_be_positive_numbers(bad: object) -> None:
    for name in ("weights_billion", "bytes_per_weight", "devices", "bandwidth_tbps"):
        good = {"weights_billion": 69.5, "bytes_per_weight": 2, "devices": 4, "bandwidth_tbps": 3.35}
        with pytest.raises(ValueError, match=name):
            weight_read_ms(**good | {name: bad})
    for name in ("weights_billion", "devices", "peak_tflops"):
        good = {"weights_billion": 69.5, "devices": 4, "peak_tflops": 989.5}
        with pytest.raises(ValueError, match=name):
            arithmetic_ms(**good | {name: bad})

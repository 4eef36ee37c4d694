"""The two predictions against values worked out by hand, and what they refuse to guess."""

from __future__ import annotations

import pytest

from build_scripts.measure.predicting import (
    Costs,
    Unpredictable,
    full,
    pooled,
    textbook,
    widest_shares,
    width_shares,
)
from build_scripts.records.schema import RoundCounts


def counts(histogram: list[int], offered: list[int], examined: list[int], empty: int = 0) -> RoundCounts:
    """Of rounds in which all drafts that were offered stood, or one was missed."""
    k = len(histogram) - 1
    accepted = [sum(histogram[place + 1 :]) for place in range(k)]
    missed = sum(whole - part for whole, part in zip(examined, accepted))
    return RoundCounts(
        histogram=histogram, offered=offered, examined=examined, accepted=accepted, recovered=missed,
        bonus=sum(histogram) - missed, empty=empty, first=1, discarded=0,
    )  # fmt: skip


ALWAYS = counts([4, 6], offered=[10], examined=[10])
"""k = 1, a draft in each of ten rounds, six of them accepted."""
SOMETIMES = counts([2, 0, 3], offered=[5, 5], examined=[5, 3], empty=5)
"""k = 2: five rounds drafted two, of which both stood three times; five drafted nothing."""


def test_the_textbook_takes_a_verifying_pass_for_a_plain_one() -> None:
    """h = 0.6 and c = 0.1: 1.6 tokens for 1.1 passes."""
    found = textbook(ALWAYS, 1, plain_ms=20.0, draft_ms=2.0)
    assert (found.acceptance, found.cost_ratio) == (0.6, 0.1)
    assert found.expected_tokens == pytest.approx(1.6) and found.speedup == pytest.approx(1.6 / 1.1)


def test_the_textbook_has_one_h_and_drafts_in_every_round() -> None:
    """6 of 8 examined drafts stood: 1 + h + h² tokens, whatever the rounds without drafts did."""
    found = textbook(SOMETIMES, 2, plain_ms=20.0, draft_ms=0.0)
    assert found.speedup == pytest.approx(1 + 0.75 + 0.75**2)


def test_the_full_prediction_pays_for_the_verifying_pass() -> None:
    """1.6 tokens for c + v = 0.1 + 1.2 passes."""
    found = full(ALWAYS, 1, {1: 20.0, 2: 24.0}.__getitem__, draft_ms=2.0)
    assert (found.draft_cost, found.verify_cost) == pytest.approx((0.1, 1.2))
    assert found.speedup == pytest.approx(1.6 / 1.3)


def test_a_round_without_drafts_costs_a_plain_pass() -> None:
    """Half of the rounds are plain: (16 tokens in 10 rounds) over a mean of 1 and 1.5 passes."""
    found = full(SOMETIMES, 1, {1: 20.0, 3: 30.0}.__getitem__, draft_ms=0.0)
    assert found.expected_tokens == 1.6 and found.verify_cost == 1.25
    assert found.speedup == pytest.approx(1.6 / 1.25)


def test_a_pass_is_as_wide_as_its_widest_row() -> None:
    """Half of a row's rounds are plain; of two rows both are in a quarter of the passes."""
    shares = width_shares(SOMETIMES)
    assert shares == [0.5, 0.0, 0.5]
    assert widest_shares(shares, 1) == pytest.approx(shares)
    assert widest_shares(shares, 2) == pytest.approx([0.25, 0.0, 0.75])
    assert sum(widest_shares(shares, 7)) == pytest.approx(1)


def test_prompts_are_pooled_by_adding_counts() -> None:
    """A mean of ratios would weigh a prompt of one round like one of fifty."""
    both = pooled([ALWAYS, counts([0, 1], [1], [1])])
    assert both.histogram == [4, 7] and both.pooled_acceptance == 7 / 11
    with pytest.raises(ValueError, match="counts of one k"):
        pooled([ALWAYS, SOMETIMES])
    with pytest.raises(ValueError, match="at least one"):
        pooled([])


COSTS = Costs(
    passes={(1, 1): [(128.0, 10.0), (512.0, 14.0)], (1, 5): [(128.0, 12.0), (512.0, 16.0)]},
    drafts={("int8_copy", 1, 3): 6.0, ("int8_copy", 8, 3): 13.0},
)


@pytest.mark.parametrize(
    ("m", "context", "ms"),
    [(1, 128, 10.0), (1, 320, 12.0), (1, 40, 10.0), (1, 900, 14.0), (3, 128, 11.0), (3, 320, 13.0)],
)
def test_between_what_was_measured_costs_are_linear(m: int, context: float, ms: float) -> None:
    """And beyond the contexts measured that of the nearest."""
    assert COSTS.pass_ms(1, m, context) == pytest.approx(ms)
    assert COSTS.draft_ms("int8_copy", 2, 3) == pytest.approx(7.0)


@pytest.mark.parametrize(("batch", "m"), [(1, 6), (2, 1), (8, 1)])
def test_outside_of_what_was_measured_no_pass_is_guessed(batch: int, m: int) -> None:
    with pytest.raises(Unpredictable, match=f"no pass of {batch} rows and {m} tokens"):
        COSTS.pass_ms(batch, m, 128)


@pytest.mark.parametrize(("drafter", "batch", "k"), [("int8_copy", 16, 3), ("int8_copy", 1, 2), ("other", 1, 3)])
def test_nor_is_any_drafting(drafter: str, batch: int, k: int) -> None:
    with pytest.raises(Unpredictable, match=f"no drafting by {drafter} of {batch} rows and k = {k}"):
        COSTS.draft_ms(drafter, batch, k)

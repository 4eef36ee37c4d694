"""The claim of the method page: whatever the draft, what comes out follows the target.

Everything is enumerated in exact fractions; there is no randomness in the result and no
tolerance to hide behind.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from build_scripts.model.sampling import accept_with, acceptance_probability, output_law, residual
from build_scripts.model.speculation import expected_tokens, survival

Law = tuple[Fraction, ...]
Context = tuple[int, ...]
Model = Callable[[Context], Law]


def law(*shares: int) -> Law:
    return tuple(Fraction(share, sum(shares)) for share in shares)


def random_law(dice: random.Random, size: int) -> Law:
    """Some zeros among the shares, as top-k and top-p leave them."""
    shares = [dice.choice([0, 1, 2, 3, 5, 8]) for _ in range(size)]
    return law(*shares) if any(shares) else random_law(dice, size)


def pairs() -> list[tuple[str, Law, Law]]:
    dice = random.Random(2211_17192)
    cases = [
        ("equal", law(2, 3, 5), law(2, 3, 5)),
        ("disjoint", law(1, 2, 0, 0), law(0, 0, 3, 1)),
        ("one-hot draft", law(3, 4, 5), law(0, 1, 0)),
        ("one-hot draft outside of the target", law(3, 0, 5), law(0, 1, 0)),
        ("greedy target", law(0, 0, 1), law(1, 2, 3)),
        ("both one-hot, agreeing", law(0, 1, 0), law(0, 1, 0)),
        ("both one-hot, differing", law(0, 1, 0), law(1, 0, 0)),
    ]
    for size in (3, 4, 5):
        cases += [(f"random, {size} tokens", random_law(dice, size), random_law(dice, size)) for _ in range(40)]
    return cases


@pytest.mark.parametrize(("name", "p", "q"), pairs())
def test_the_output_follows_the_target(name: str, p: Law, q: Law) -> None:
    """The losslessness formula, exactly: the law of the output is p, token by token."""
    assert output_law(p, q) == p


@pytest.mark.parametrize(("name", "p", "q"), pairs())
def test_what_is_accepted_and_what_is_replaced_add_up(name: str, p: Law, q: Law) -> None:
    """The steps of the derivation, each by itself."""
    beta = acceptance_probability(p, q)
    assert beta == sum(q[x] * accept_with(p, q, x) for x in range(len(q)) if q[x])
    assert beta == 1 - sum(abs(a - b) for a, b in zip(p, q)) / 2
    if beta < 1:
        left = residual(p, q)
        assert sum(left) == 1
        assert all(min(a, b) + (1 - beta) * r == a for a, b, r in zip(p, q, left))
    else:
        assert p == q


def test_a_certain_draft_is_accepted_with_the_targets_probability() -> None:
    """A one-hot q, an n-gram lookup for instance; 0 or 1 where the target is greedy."""
    assert acceptance_probability(law(3, 4, 5), law(0, 1, 0)) == Fraction(4, 12)
    assert residual(law(3, 4, 5), law(0, 1, 0)) == law(3, 0, 5)
    assert acceptance_probability(law(0, 1, 0), law(0, 1, 0)) == 1
    assert residual(law(0, 1, 0), law(1, 0, 0)) == law(0, 1, 0)


def test_the_wrong_replacement_is_caught() -> None:
    """Drawing the replacement from p, a common slip, favours what the draft likes: 0.7, not 0.5.

    Without this the proofs above could pass because they look at nothing.
    """
    p, q = law(1, 1), law(9, 1)
    rejected = 1 - acceptance_probability(p, q)
    wrong = tuple(min(a, b) + rejected * a for a, b in zip(p, q))
    assert wrong == (Fraction(7, 10), Fraction(3, 10))
    assert wrong != output_law(p, q) == p


def test_floats_agree_to_twelve_digits() -> None:
    for _, p, q in pairs():
        p_float, q_float = [float(a) for a in p], [float(b) for b in q]
        assert output_law(p_float, q_float) == pytest.approx(p_float, abs=1e-12)


# --- a whole round -----------------------------------------------------------------------


def model(dice: random.Random, size: int, depth: int) -> Model:
    """A made-up model: another law for every context."""
    laws = {
        context: random_law(dice, size)
        for length in range(depth + 1)
        for context in product(range(size), repeat=length)
    }
    return lambda context: laws[context]


def round_laws(target: Model, draft: Model, k: int, bonus: bool, size: int) -> dict[Context, Fraction]:
    """The law of what one round commits, by walking through every draft and every verdict."""
    committed: dict[Context, Fraction] = defaultdict(Fraction)

    def walk(context: Context, drafted: int, chance: Fraction) -> None:
        if chance == 0:
            return
        p = target(context)
        if drafted == k:
            if bonus or k == 0:
                for token, share in enumerate(p):
                    committed[(*context, token)] += chance * share
            else:
                committed[context] += chance
            return
        q = draft(context)
        rejected = Fraction(0)
        for token, proposed in enumerate(q):
            if proposed:
                accepted = accept_with(p, q, token)
                walk((*context, token), drafted + 1, chance * proposed * accepted)
                rejected += proposed * (1 - accepted)
        if rejected:
            for token, share in enumerate(residual(p, q)):
                committed[(*context, token)] += chance * rejected * share

    walk((), 0, Fraction(1))
    return dict(committed)


@pytest.mark.parametrize("bonus", [False, True], ids=["no bonus", "bonus"])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [3, 4])
def test_a_whole_round_follows_the_target(size: int, k: int, bonus: bool) -> None:
    """Position after position, with laws that depend on the context: what a round commits,
    continued plainly up to the same length, is what the target alone would write."""
    dice = random.Random(size * 100 + k)
    length = k + 1
    target, draft = model(dice, size, length), model(dice, size, length)
    joint: dict[Context, Fraction] = defaultdict(Fraction)

    def continue_plainly(context: Context, chance: Fraction) -> None:
        if len(context) == length or chance == 0:
            joint[context] += chance
            return
        for token, share in enumerate(target(context)):
            continue_plainly((*context, token), chance * share)

    for committed, chance in round_laws(target, draft, k, bonus, size).items():
        continue_plainly(committed, chance)

    alone: dict[Context, Fraction] = {}
    for text in product(range(size), repeat=length):
        chance = Fraction(1)
        for position, token in enumerate(text):
            chance *= target(text[:position])[token]
        alone[text] = chance
    assert all(joint[text] == chance for text, chance in alone.items())


@pytest.mark.parametrize("bonus", [False, True], ids=["no bonus", "bonus"])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_the_mean_length_of_a_round_is_the_models_e(k: int, bonus: bool) -> None:
    """E = 1 + S_1 + … : the enumeration knows neither survival nor geometric series."""
    p, q = law(2, 3, 5), law(5, 4, 1)
    beta = acceptance_probability(p, q)
    laws = round_laws(lambda _: p, lambda _: q, k, bonus, 3)
    mean = sum(len(committed) * chance for committed, chance in laws.items())
    assert float(mean) == pytest.approx(expected_tokens(float(beta), k, bonus), rel=1e-15)


def test_the_survival_of_a_position_is_the_product_of_the_acceptances() -> None:
    """S_j also where acceptance depends on the position."""
    p = law(1, 1, 2)
    drafts = [law(1, 1, 2), law(4, 0, 0), law(0, 1, 1)]
    betas = [acceptance_probability(p, q) for q in drafts]
    laws = round_laws(lambda _: p, lambda context: drafts[len(context)], 3, True, 3)
    at_least = [sum(chance for committed, chance in laws.items() if len(committed) > j) for j in (1, 2, 3)]
    assert [float(s) for s in at_least] == pytest.approx(survival([float(b) for b in betas]))


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ((0.5, 0.5), (1.0,), "p has 2 tokens and q has 1"),
        ((0.5, 0.6), (0.5, 0.5), "p does not sum to 1"),
        ((0.5, 0.5), (1.5, -0.5), "q has a probability outside [0, 1]"),
        ((float("nan"), 1.0), (0.5, 0.5), "p has a probability outside [0, 1]"),
        ((), (), "p does not sum to 1"),
    ],
)
def test_what_is_no_distribution_is_refused(p: tuple[float, ...], q: tuple[float, ...], message: str) -> None:
    for formula in (acceptance_probability, residual, output_law):
        with pytest.raises(ValueError) as refused:
            formula(p, q)
        assert str(refused.value) == message


def test_equal_laws_leave_nothing_to_draw_from() -> None:
    with pytest.raises(ValueError, match="nothing is ever rejected"):
        residual(law(1, 2), law(1, 2))


@pytest.mark.parametrize("token", [1, 2, -1])
def test_a_token_that_is_never_drafted_has_no_verdict(token: int) -> None:
    with pytest.raises(ValueError, match="never proposes"):
        accept_with(law(1, 1), law(1, 0), token)

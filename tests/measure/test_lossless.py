"""Greedy speculative decoding writes plain decoding's text, and its cache is a fresh prefill's.

In double precision, so that equality is exact: token by token, for every drafter and every k.
"""

from __future__ import annotations

from functools import cache

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import drafters  # noqa: E402
from build_scripts.measure.decoding import Round, decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.sampling import Sampling  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from tests.measure.tiny import (  # noqa: E402
    DRAFTERS,
    ModelDrafter,
    answers,
    make_drafter,
    some_prompts,
    tiny_target,
)

TOKENS = 30
LIMITS = Limits(TOKENS)
TARGET = tiny_target()
PROMPTS = some_prompts(40)

EVERY_DRAFTER = pytest.mark.parametrize("drafter", DRAFTERS)
EVERY_K = pytest.mark.parametrize("k", range(1, 9))


@cache
def plain() -> list[list[int]]:
    """Each prompt by itself, so that the batch is not its own witness."""
    return [answers(decode_plain(TARGET, [prompt], LIMITS))[0] for prompt in PROMPTS]


def test_every_drafter_is_tested() -> None:
    """A new file in drafters/ fails here until the proofs below cover it."""
    assert drafters.names() == DRAFTERS


def test_an_unknown_drafter_is_named() -> None:
    with pytest.raises(ValueError, match="no drafter is called psychic; there are adversary, context_ngram,"):
        drafters.create("psychic")


def test_the_plain_texts_are_worth_comparing() -> None:
    """Not all the same word: equal texts must mean something."""
    assert len({tuple(text) for text in plain()}) > 30
    assert sum(len(set(text)) for text in plain()) / len(PROMPTS) > 5


def test_a_plain_batch_is_its_rows() -> None:
    assert answers(decode_plain(TARGET, PROMPTS, LIMITS)) == plain()


@EVERY_K
@EVERY_DRAFTER
def test_greedy_equals_plain_in_a_ragged_batch(drafter: str, k: int) -> None:
    """40 prompts of 1 to 24 tokens at once; rows fall out of step from the first round on."""
    made = make_drafter(drafter, TARGET, PROMPTS, TOKENS, k)
    assert answers(decode_speculative(TARGET, made, PROMPTS, k, LIMITS)) == plain()


@EVERY_K
@EVERY_DRAFTER
def test_greedy_equals_plain_alone(drafter: str, k: int) -> None:
    made = make_drafter(drafter, TARGET, PROMPTS, TOKENS, k)
    for prompt, expected in list(zip(PROMPTS, plain()))[:8]:
        assert answers(decode_speculative(TARGET, made, [prompt], k, LIMITS)) == [expected]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_greedy_equals_plain_with_a_draft_model(k: int) -> None:
    """The seam carries a neural drafter with a cache of its own: another model, rarely right."""
    made = ModelDrafter(tiny_target(seed=2))
    assert answers(decode_speculative(TARGET, made, PROMPTS, k, LIMITS)) == plain()


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_a_draft_model_never_falls_behind(k: int) -> None:
    """Bug 1: the draft's cache must catch up after a round without a miss.

    The draft is the target itself, so that every draft is right as long as its cache is; one
    token missing in it and acceptance collapses for k > 1.
    """
    made = ModelDrafter(TARGET)
    decoded = decode_speculative(TARGET, made, PROMPTS, k, LIMITS)
    assert answers(decoded) == plain()
    for answer in decoded.answers:
        assert answer.counts.histogram[:-1] == [0] * k


@pytest.mark.parametrize("k", [1, 3, 8])
def test_features_arrive_with_the_tokens_that_they_predicted(k: int) -> None:
    """What a trained head will read: checked at the reset and in every round, through misses and
    while rows end at different times, some of them before the first round."""
    made = ModelDrafter(tiny_target(seed=2), target=TARGET)
    ends = frozenset({plain()[3][0], plain()[10][8]})
    decoded = decode_speculative(TARGET, made, PROMPTS, k, Limits(TOKENS, ends=ends))
    assert made.checked > 3 * len(PROMPTS)
    lengths = {len(answer.tokens) for answer in decoded.answers}
    assert 1 in lengths and len(lengths) > 5


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0, top_k=8)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("k", [1, 4, 8])
@EVERY_DRAFTER
def test_the_cache_after_every_round_is_a_fresh_prefill(drafter: str, k: int, sampling: Sampling) -> None:
    """Bug 2, in the loop: after each rollback the same keys, values and lengths."""
    prompts = PROMPTS[:6]
    compared = 0

    def compare(round_: Round) -> None:
        nonlocal compared
        for row, request in enumerate(round_.requests):
            if request.reason is not None:
                continue
            text = request.text
            assert round_.cache.lengths[row] == len(text) - 1
            fresh = TARGET.new_cache(1, len(text))
            TARGET.features(torch.tensor([text[:-1]]), fresh)
            for held, expected in ((round_.cache.keys, fresh.keys), (round_.cache.values, fresh.values)):
                torch.testing.assert_close(
                    held[:, row, : len(text) - 1], expected[:, 0, :-1], rtol=0, atol=1e-10
                )
            compared += 1

    made = make_drafter(drafter, TARGET, prompts, 16, k)
    decode_speculative(TARGET, made, prompts, k, Limits(16), sampling, watch=compare)
    assert compared >= len(prompts)


# --- sampled ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4])
def test_a_seed_is_an_answer_whoever_shares_the_batch(k: int) -> None:
    """Request r draws from seed + r: alone with that seed it gets the same answer."""
    sampling = Sampling(0.8, top_k=12, top_p=0.95)
    prompts = PROMPTS[:8]
    together = answers(
        decode_speculative(TARGET, ModelDrafter(tiny_target(2)), prompts, k, LIMITS, sampling, seed=5)
    )
    for index, prompt in enumerate(prompts):
        drafter = ModelDrafter(tiny_target(2))
        alone = decode_speculative(TARGET, drafter, [prompt], k, LIMITS, sampling, seed=5 + index)
        assert answers(alone) == [together[index]]
    other = decode_speculative(TARGET, ModelDrafter(tiny_target(2)), prompts, k, LIMITS, sampling, seed=6)
    assert answers(other) != together


def test_a_plain_seed_is_an_answer_too() -> None:
    sampling = Sampling(0.8)
    together = answers(decode_plain(TARGET, PROMPTS[:5], LIMITS, sampling, seed=3))
    alone = [
        answers(decode_plain(TARGET, [p], LIMITS, sampling, seed=3 + i))[0] for i, p in enumerate(PROMPTS[:5])
    ]
    assert together == alone
    assert answers(decode_plain(TARGET, PROMPTS[:5], LIMITS, sampling, seed=4)) != together


def test_a_draft_that_is_the_target_is_always_accepted() -> None:
    """min(1, p / q) = 1 where q = p, sampled too: filters and temperature reach both sides."""
    sampling = Sampling(0.7, top_k=10, top_p=0.9)
    decoded = decode_speculative(TARGET, ModelDrafter(TARGET), PROMPTS, 4, LIMITS, sampling)
    for answer in decoded.answers:
        assert answer.counts.histogram[:-1] == [0] * 4


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompts", "k", "message"),
    [
        ([[1], []], 2, "a prompt must not be empty"),
        ([[1, 24]], 2, "a prompt has a token outside the vocabulary of 24"),
        ([[-1]], 2, "a prompt has a token outside the vocabulary of 24"),
        ([], 2, "there must be a prompt"),
        ([[1]], 0, "k must be 1 or more, not 0"),
        ([[1] * 230], 2, "the model reaches 256 positions, and 262 are asked for"),
    ],
)
def test_what_cannot_be_decoded_is_refused(prompts: list[list[int]], k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_speculative(TARGET, drafters.create("context_ngram"), prompts, k, LIMITS)

"""What is counted: by hand, by identities that every run must meet, and by the two extremes."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.counts import Counts  # noqa: E402
from build_scripts.measure.decoding import Round, decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.sampling import GREEDY, Sampling  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from tests.measure.tiny import DRAFTERS, make_drafter, some_prompts, tiny_target  # noqa: E402

TARGET = tiny_target()
PROMPTS = some_prompts(24)
TOKENS = 30


def counted(k: int, *rounds: tuple[int, int]) -> Counts:
    counts = Counts.zero(k)
    for drafted, accepted in rounds:
        counts.add_round(drafted, accepted)
    return counts


def test_rounds_by_hand() -> None:
    """A full round, a miss at the second, a short proposal that all stood, a miss at once, none."""
    counts = counted(3, (3, 3), (3, 1), (2, 2), (1, 0), (0, 0))
    assert counts.histogram == [1, 1, 1, 1]
    assert counts.offered == [4, 3, 2]
    assert counts.examined == [4, 3, 1]
    assert counts.accepted == [3, 2, 1]
    assert (counts.recovered, counts.bonus, counts.empty) == (2, 2, 1)
    assert (counts.proposing, counts.rounds, counts.committed) == (4, 5, 4 + 2 + 3 + 1 + 1)
    assert counts.proposing_share() == 0.8
    assert counts.tokens_per_round() == 11 / 5
    assert counts.survival() == [3 / 4, 2 / 4, 1 / 4]
    assert counts.acceptance() == [3 / 4, 2 / 3, 1]


def test_pooling_adds_counts_before_it_divides() -> None:
    """Bug 19: the mean of two ratios would say 0.5; nine tenths of the rounds say otherwise."""
    pooled = counted(1, *[(1, 1)] * 9) + counted(1, (1, 0))
    assert pooled.survival() == [0.9]
    assert pooled.tokens_per_round() == 1.9
    with pytest.raises(ValueError, match="counts of different k cannot be pooled"):
        counted(1) + counted(2)


def test_the_bonus_is_no_accepted_draft() -> None:
    """Bug 19: one draft, accepted: two tokens, of which one was drafted."""
    counts = counted(1, (1, 1))
    assert (sum(counts.accepted), counts.bonus, counts.committed) == (1, 1, 2)


def test_nothing_counted_has_no_ratio() -> None:
    counts = Counts.zero(2)
    ratios = [counts.proposing_share(), counts.tokens_per_round(), *counts.survival(), *counts.acceptance()]
    assert all(map(math.isnan, ratios))


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(1.0)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_every_token_is_accounted_for(drafter: str, k: int, sampling: Sampling) -> None:
    """The sum of (j + 1)·hist[j], plus the passes without drafts, is what was committed."""
    made = make_drafter(drafter, TARGET, PROMPTS, TOKENS, k)
    limits = Limits(TOKENS, ends=frozenset({3}))
    for answer in decode_speculative(TARGET, made, PROMPTS, k, limits, sampling).answers:
        counts = answer.counts
        assert len(answer.tokens) == counts.tokens == 1 + counts.committed - counts.discarded
        assert counts.committed == sum((j + 1) * n for j, n in enumerate(counts.histogram)) + counts.empty
        assert counts.committed == sum(counts.accepted) + counts.recovered + counts.bonus + counts.empty
        assert sum(counts.accepted) == sum(j * n for j, n in enumerate(counts.histogram))
        assert counts.recovered + counts.bonus == counts.proposing == counts.offered[0]
        assert (
            counts.examined[1:] == [min(pair) for pair in zip(counts.accepted, counts.examined[1:])]
            and counts.examined[0] == counts.offered[0]
        )
        assert counts.discarded <= k


@pytest.mark.parametrize("k", range(1, 9))
def test_the_oracle_commits_k_plus_1_a_round(k: int) -> None:
    """And the rounds are as few as can be."""
    oracle = make_drafter("oracle", TARGET, PROMPTS, TOKENS, k)
    decoded = decode_speculative(TARGET, oracle, PROMPTS, k, Limits(TOKENS))
    rounds = math.ceil((TOKENS - 1) / (k + 1))
    assert decoded.passes == rounds
    for answer in decoded.answers:
        counts = answer.counts
        assert counts.histogram == [0] * k + [rounds]
        assert counts.tokens_per_round() == k + 1
        assert (counts.bonus, counts.recovered, counts.empty) == (rounds, 0, 0)
        assert counts.survival() == counts.acceptance() == [1] * k


@pytest.mark.parametrize("k", range(1, 9))
def test_the_adversary_commits_1_a_round(k: int) -> None:
    adversary = make_drafter("adversary", TARGET, PROMPTS, TOKENS, k)
    decoded = decode_speculative(TARGET, adversary, PROMPTS, k, Limits(TOKENS))
    assert decoded.passes == TOKENS - 1
    for answer in decoded.answers:
        assert answer.counts.histogram == [TOKENS - 1] + [0] * k
        assert answer.counts.tokens_per_round() == 1
        assert (answer.counts.recovered, answer.counts.bonus) == (TOKENS - 1, 0)


def test_a_round_without_drafts_is_counted_apart() -> None:
    """Neither a miss nor a bonus, and not in the survival: the drafter was silent, not wrong."""
    silent = make_drafter("oracle", TARGET, [[0]], 1, 1)
    silent.known = []  # type: ignore[attr-defined]
    decoded = decode_speculative(TARGET, silent, PROMPTS[:3], 4, Limits(10))
    assert decoded.passes == 9
    for answer in decoded.answers:
        counts = answer.counts
        assert (counts.empty, counts.proposing, counts.rounds) == (9, 0, 9)
        assert (counts.recovered, counts.bonus) == (0, 0)
        assert counts.proposing_share() == 0 and counts.tokens_per_round() == 1


def test_plain_decoding_counts_too() -> None:
    decoded = decode_plain(TARGET, PROMPTS[:3], Limits(10))
    assert decoded.passes == 9
    for answer in decoded.answers:
        assert (answer.counts.rounds, answer.counts.tokens, answer.counts.first) == (9, 10, 1)


def test_rows_that_ended_cost_no_more_passes() -> None:
    """The batch shrinks: a real ragged batch computes nothing for answers that are complete."""
    limits = Limits(TOKENS, ends=frozenset({3, 4, 5}))
    sizes = []
    made = make_drafter("context_ngram", TARGET, PROMPTS, TOKENS, 2)

    def note(round_: Round) -> None:
        sizes.append(len(round_.requests))
        assert round_.cache.rows == len(round_.requests) == len(round_.proposal.counts)

    decoded = decode_speculative(TARGET, made, PROMPTS, 2, limits, watch=note)
    assert sum(sizes) == sum(answer.counts.rounds for answer in decoded.answers)
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0]


def test_every_moment_belongs_to_a_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug 21: a slow part must show. On a clock that counts how often it is read, each lap is one
    tick, so no time is lost between the laps, and none is counted twice."""
    made = make_drafter("context_ngram", TARGET, PROMPTS[:4], 10, 3)
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("build_scripts.measure.stopwatch.time", clock)
    decoded = decode_speculative(TARGET, made, PROMPTS[:4], 3, Limits(10))
    passes = decoded.passes
    assert decoded.seconds == {
        "prefill": 1,
        "reset": 1,
        "draft": 2 * passes,  # to propose, and to learn what became of it
        "verify": passes,
        "overhead": passes,
    }


def test_who_watches_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watcher that reads the clock a hundred times costs what one that does nothing costs."""
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("build_scripts.measure.stopwatch.time", clock)
    spent = []
    for ticks_of_watching in (0, 100):
        made = make_drafter("context_ngram", TARGET, PROMPTS[:4], 10, 3)

        def watch(round_: Round) -> None:
            for _ in range(ticks_of_watching):
                clock.perf_counter()

        spent.append(decode_speculative(TARGET, made, PROMPTS[:4], 3, Limits(10), watch=watch).seconds)
    assert spent[0] == spent[1]


def test_the_phases_of_plain_decoding() -> None:
    assert list(decode_plain(TARGET, PROMPTS[:2], Limits(5)).seconds) == ["prefill", "decode", "overhead"]

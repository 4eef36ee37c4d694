"""Traces of a tiny model: what was recorded is what was decided, and nothing else.

The model's laws are known here by a pass of their own over the text, so that every number of a
trace has a second source.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.counts import Counts  # noqa: E402
from build_scripts.measure.drafting import Drafter  # noqa: E402
from build_scripts.measure.sampling import GREEDY, Sampling  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.measure.tracing import (  # noqa: E402
    SeenRound,
    Timed,
    Words,
    median_run,
    plain_run,
    round_times,
    rounded,
    short,
    speculative_run,
    timed_plain,
    timed_speculative,
    token_times,
    watched,
)
from tests.measure.tiny import VOCABULARY, ModelDrafter, law_after, make_drafter, some_prompts, tiny_target  # noqa: E402

TARGET = tiny_target()
PROMPT = some_prompts(1)[0]
LIMITS = Limits(24)
WARM = Sampling(temperature=1.0)
K = 3


def drafter(name: str) -> Drafter:
    if name == "model":
        return ModelDrafter(tiny_target(seed=2))
    return make_drafter(name, TARGET, [PROMPT], 24, K)


def seen(name: str, sampling: Sampling, seed: int = 0) -> list[SeenRound]:
    return watched(TARGET, drafter(name), PROMPT, K, LIMITS, sampling, seed)


def texts_before(rounds: list[SeenRound], first: int) -> list[list[int]]:
    """The text that each round began with."""
    text = [*PROMPT, first]
    texts = []
    for entry in rounds:
        texts.append(list(text))
        text += [draft.token for draft in entry.drafts[: entry.accepted]] + [entry.token]
    return texts


@pytest.mark.parametrize("name", ["model", "context_ngram", "ngram_table"])
@pytest.mark.parametrize("sampling", [WARM, Sampling(0.7, top_k=9)], ids=["T=1", "T=0.7, top-k"])
def test_p_q_and_the_draw_are_those_that_decided(name: str, sampling: Sampling) -> None:
    """The rule, applied to the recorded numbers, gives the recorded verdict; p is the target's law
    by a pass of its own over the same text."""
    drafting = drafter(name)
    first = timed_plain(TARGET, PROMPT, LIMITS, sampling, 0).tokens[0]
    rounds = watched(TARGET, drafting, PROMPT, K, LIMITS, sampling, 0)
    own = drafting.model if isinstance(drafting, ModelDrafter) else None
    examined = 0
    for text, entry in zip(texts_before(rounds, first), rounds):
        for place, draft in enumerate(entry.drafts):
            law = law_after(TARGET, text, sampling)
            assert draft.p == pytest.approx(float(law[draft.token]), abs=1e-12)
            q = 1.0 if own is None else float(law_after(own, text, sampling)[draft.token])
            assert draft.q == pytest.approx(q, abs=1e-12)
            if draft.accepted is not None:
                assert draft.accepted == (draft.u * draft.q < draft.p)
                examined += 1
            assert draft.accepted == (None if place > entry.accepted else place < entry.accepted)
            text = [*text, draft.token]
    assert examined > 5


def test_the_residual_is_what_p_has_beyond_q() -> None:
    """max(0, p - q), scaled: by hand, from the two models' laws, over the whole vocabulary."""
    drafting = drafter("model")
    first = timed_plain(TARGET, PROMPT, LIMITS, WARM, 0).tokens[0]
    rounds = watched(TARGET, drafting, PROMPT, K, LIMITS, WARM, 0)
    checked = 0
    for text, entry in zip(texts_before(rounds, first), rounds):
        if entry.residual is None:
            assert entry.rest == 0
            continue
        text = text + [draft.token for draft in entry.drafts[: entry.accepted]]
        left = (law_after(TARGET, text, WARM) - law_after(drafting.model, text, WARM)).clamp(min=0)
        left = left / left.sum()
        for token, share in entry.residual:
            assert share == pytest.approx(float(left[token]), abs=1e-9)
        assert [token for token, _ in entry.residual] == left.topk(5).indices.tolist()
        assert entry.rest == pytest.approx(1 - sum(share for _, share in entry.residual), abs=1e-9)
        assert left[entry.token] > 0, "the recovered token was drawn from it"
        checked += 1
    assert checked >= 3


def test_a_drafter_without_a_law_leaves_all_but_its_draft() -> None:
    """q is one-hot: the residual is p without the rejected token."""
    rounds = [entry for entry in seen("context_ngram", WARM) if entry.residual is not None]
    assert rounds
    for entry in rounds:
        rejected = entry.drafts[entry.accepted]
        assert rejected.token not in dict(entry.residual)
        for token, share in entry.residual:
            listed = dict(entry.target[entry.accepted]).get(token)
            if listed is not None:
                assert share == pytest.approx(listed / (1 - rejected.p), abs=1e-9)


@pytest.mark.parametrize("name", ["model", "context_ngram"])
def test_greedy_laws_are_one_hot_and_the_models_own_are_shown(name: str) -> None:
    """The rule compares 0 and 1, whatever the drafter reports; what is listed are the laws at T = 1."""
    first = timed_plain(TARGET, PROMPT, LIMITS, GREEDY, 0).tokens[0]
    rounds = seen(name, GREEDY)
    for text, entry in zip(texts_before(rounds, first), rounds):
        assert entry.u is None and len(entry.target) == len(entry.drafts) + 1
        for draft in entry.drafts:
            assert (draft.q, draft.u) == (1.0, None)
            assert draft.p in (0.0, 1.0)
        law = law_after(TARGET, text, WARM)
        assert entry.target[0] == [
            (token, pytest.approx(float(law[token]), abs=1e-12)) for token in law.topk(5).indices.tolist()
        ]
        if entry.residual is not None:
            assert entry.residual == [(entry.token, 1.0)] and entry.rest == 0


def test_a_filtered_law_lists_no_token_that_cannot_come() -> None:
    """With top-k = 2 there are two likeliest tokens, not five."""
    for entry in seen("model", Sampling(1.0, top_k=2)):
        assert all(len(law) <= 2 for law in [*entry.target, *entry.draft])


def test_watching_changes_nothing() -> None:
    """The same tokens, the same rounds, the same draws as without it."""
    quiet = timed_speculative(TARGET, drafter("model"), PROMPT, K, LIMITS, WARM, 5)
    rounds = seen("model", WARM, seed=5)
    assert quiet.rounds == [(len(entry.drafts), entry.accepted) for entry in rounds]
    words = Words(str)
    run = speculative_run(quiet, rounds, words)
    assert [words.vocabulary().ids[place] for place in run.tokens] == quiet.tokens


def test_runs_that_differ_make_no_trace() -> None:
    quiet = timed_speculative(TARGET, drafter("model"), PROMPT, K, LIMITS, WARM, 5)
    with pytest.raises(ValueError, match="other rounds"):
        speculative_run(quiet, seen("model", WARM, seed=6), Words(str))
    with pytest.raises(ValueError, match="different texts"):
        other = timed_speculative(TARGET, drafter("model"), PROMPT, K, LIMITS, WARM, 6)
        median_run([quiet, quiet, other])


def test_times_are_those_of_the_laps() -> None:
    """Of a run with known laps, by hand: each round drafts twice; reading the prompt is no round."""
    laps = [("prefill", 1.0), ("reset", 0.5)]
    laps += [("draft", 0.001), ("verify", 0.030), ("overhead", 0.002), ("draft", 0.004)]
    laps += [("draft", 0.003), ("verify", 0.031), ("overhead", 0.001), ("overhead", 0.001), ("draft", 0.0)]
    one, two = round_times(laps)
    assert (one.draft, one.verify, one.overhead) == (5.0, 30.0, 2.0)
    assert (two.draft, two.verify, two.overhead) == (3.0, 31.0, 2.0)
    plain = [("prefill", 1.0), ("decode", 0.030), ("overhead", 0.001), ("decode", 0.029), ("overhead", 0.0)]
    assert token_times(plain) == [31.0, 29.0]


def test_every_millisecond_of_a_run_is_in_its_rounds() -> None:
    quiet = timed_speculative(TARGET, drafter("model"), PROMPT, K, LIMITS, GREEDY, 0)
    run = speculative_run(quiet, seen("model", GREEDY), Words(str))
    assert run.decode_ms == pytest.approx(quiet.decode_ms, abs=0.0005 * (3 * len(run.rounds) + 1))
    plain = timed_plain(TARGET, PROMPT, LIMITS, GREEDY, 0)
    assert plain_run(plain, Words(str)).decode_ms == pytest.approx(plain.decode_ms, abs=0.0005 * 24)


def test_the_run_in_the_trace_is_the_median_one() -> None:
    run = Timed([1, 2], "cap", Counts.zero(0), [("prefill", 9.0), ("decode", 0.03)], [])
    slow, fast = (replace(run, laps=[("prefill", 1.0), ("decode", s)]) for s in (0.05, 0.01))
    assert median_run([slow, run, fast]) is run


def test_a_round_without_drafts_is_a_plain_pass() -> None:
    """The n-gram drafter is often silent: such a round has one law and no residual."""
    rounds = watched(TARGET, drafter("context_ngram"), PROMPT, K, LIMITS, WARM, 1)
    silent = [entry for entry in rounds if not entry.drafts]
    assert silent, "the prompt of this test must leave the drafter without an idea once"
    for entry in silent:
        assert len(entry.target) == 1 and entry.residual is None and entry.draft is None


def test_rounding_never_turns_a_decision() -> None:
    """A draw that missed its edge by as little as doubles allow is still written so that the rule
    gives the same verdict."""
    checked = 0
    for draft in (draft for seed in range(20) for entry in seen("model", WARM, seed) for draft in entry.drafts):
        edge = draft.p / draft.q
        if draft.accepted is None or not 0 < edge < 1:
            continue
        close = replace(draft, u=math.nextafter(edge, 0.0 if draft.accepted else 1.0))
        if (close.u * close.q < close.p) != close.accepted:
            continue  # the product was rounded: such a draw would have had the other verdict
        written = rounded(close, Words(str))
        assert (written.u * written.q < written.p) == written.accepted == close.accepted
        checked += 1
    assert checked > 50


def test_small_probabilities_keep_two_digits() -> None:
    assert [short(0.123456), short(0.0001234), short(1.0000001), short(0.0)] == [0.1235, 0.00012, 1.0, 0.0]


def test_the_vocabulary_names_each_token_once() -> None:
    words = Words(lambda token: f"<{token}>")
    assert [words.place(token) for token in (7, 3, 7)] == [0, 1, 0]
    assert words.vocabulary().ids == [7, 3] and words.vocabulary().texts == ["<7>", "<3>"]
    assert VOCABULARY > 7

"""Where answers end: at every offset of a block, for the same reason as in plain decoding."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.decoding import Answer, decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.stopping import Limits, Reason, cut  # noqa: E402
from tests.measure.tiny import VOCABULARY, make_drafter, some_prompts, tiny_target  # noqa: E402

TARGET = tiny_target()
PROMPTS = some_prompts(6)
TOKENS, K = 20, 4


@pytest.mark.parametrize(
    ("answer", "new", "limits", "kept", "reason"),
    [
        ([], [1, 2, 3], Limits(9), [1, 2, 3], None),
        ([], [1, 2, 3], Limits(9, ends=frozenset({2})), [1, 2], "end"),
        ([2], [1, 3], Limits(9, ends=frozenset({2})), [1, 3], None),
        ([5, 6], [7, 8, 9], Limits(9, stops=((6, 7),)), [7], "stop"),
        ([5, 6], [7, 8, 9], Limits(9, stops=((5, 6, 7, 8),)), [7, 8], "stop"),
        ([5], [7, 8, 9], Limits(9, stops=((8, 9), (7,))), [7], "stop"),
        ([1], [2, 3, 4], Limits(3), [2, 3], "cap"),
        ([1], [2, 3, 4], Limits(3, stops=((2,),)), [2], "stop"),
        ([1], [2, 3, 4], Limits(3, stops=((2, 3),)), [2, 3], "stop"),
        ([1], [2, 3, 4], Limits(3, ends=frozenset({3}), stops=((3,),)), [2, 3], "end"),
        ([1], [2, 3, 4], Limits(3, ends=frozenset({4}), stops=((3, 4),)), [2, 3], "cap"),
    ],
)
def test_what_comes_first_in_the_text_decides(
    answer: list[int], new: list[int], limits: Limits, kept: list[int], reason: Reason | None
) -> None:
    """Bugs 12 and 13: the rest of a block is dropped; the cap hides no earlier stop."""
    assert cut(answer, new, limits) == (kept, reason)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens must be 1 or more, not 0"):
        Limits(0)
    with pytest.raises(ValueError, match="a stop sequence must not be empty"):
        Limits(1, stops=((),))


def limits_at(answer: list[int], place: int, reason: str) -> Limits:
    """Limits that end this answer at `place`, or before if the same tokens came before."""
    if reason == "cap":
        return Limits(place + 1)
    if reason == "end":
        return Limits(TOKENS, ends=frozenset({answer[place]}))
    return Limits(TOKENS, stops=(tuple(answer[max(0, place - 1) : place + 1]),))


@pytest.mark.parametrize("drafter", ["oracle", "context_ngram", "ngram_table"])
@pytest.mark.parametrize("reason", ["end", "stop", "cap"])
def test_an_answer_ends_where_plain_decoding_would(drafter: str, reason: str) -> None:
    """Every place of every answer, and with the oracle every offset of a block."""
    made = make_drafter(drafter, TARGET, PROMPTS, TOKENS, K)
    offsets = set()
    for prompt in PROMPTS:
        whole = decode_plain(TARGET, [prompt], Limits(TOKENS)).answers[0].tokens
        for place in range(TOKENS):
            limits = limits_at(whole, place, reason)
            expected = decode_plain(TARGET, [prompt], limits).answers[0]
            answer = decode_speculative(TARGET, made, [prompt], K, limits).answers[0]
            assert outcome(answer) == outcome(expected)
            assert len(answer.tokens) <= limits.max_tokens
            offsets.add(answer.counts.discarded)
    if drafter == "oracle":
        assert offsets == set(range(K + 1))


@pytest.mark.parametrize("reason", ["end", "stop", "cap"])
def test_rows_of_a_batch_end_each_on_their_own(reason: str) -> None:
    """A row that leaves takes nothing of its neighbours along."""
    made = make_drafter("oracle", TARGET, PROMPTS, TOKENS, K)
    whole = decode_plain(TARGET, PROMPTS, Limits(TOKENS)).answers[0].tokens
    for place in range(TOKENS):
        limits = limits_at(whole, place, reason)
        expected = [decode_plain(TARGET, [prompt], limits).answers[0] for prompt in PROMPTS]
        decoded = decode_speculative(TARGET, made, PROMPTS, K, limits)
        assert [outcome(answer) for answer in decoded.answers] == [outcome(answer) for answer in expected]


def test_an_answer_may_end_with_its_first_token() -> None:
    """Before any round: no drafter is asked, no pass is made."""
    everything = Limits(TOKENS, ends=frozenset(range(VOCABULARY)))
    made = make_drafter("oracle", TARGET, PROMPTS, TOKENS, K)
    decoded = decode_speculative(TARGET, made, PROMPTS, K, everything)
    assert decoded.passes == 0
    assert [(len(answer.tokens), answer.reason) for answer in decoded.answers] == [(1, "end")] * len(PROMPTS)


def outcome(answer: Answer) -> tuple[list[int], Reason]:
    return answer.tokens, answer.reason

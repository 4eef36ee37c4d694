"""Replayed drafting counts what decoding would have counted, for every drafter, and never runs short."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.decoding import decode_speculative  # noqa: E402
from build_scripts.measure.drafting import Drafter  # noqa: E402
from build_scripts.measure.replaying import read, replay, write  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from tests.measure.tiny import DRAFTERS, ModelDrafter, make_drafter, some_prompts, tiny_target  # noqa: E402

TARGET = tiny_target()
PROMPTS = some_prompts(8)
TOKENS, MOST = 20, 5


def drafter(name: str, k: int) -> Drafter:
    if name == "model":
        # It fails where the features that it is given are not those of the tokens beside them.
        return ModelDrafter(tiny_target(seed=2), TARGET)
    return make_drafter(name, TARGET, PROMPTS, TOKENS, k)


@pytest.mark.parametrize("k", [1, 3, MOST])
@pytest.mark.parametrize("name", [*DRAFTERS, "model"])
def test_the_counts_are_those_of_decoding(name: str, k: int) -> None:
    """Row by row and count by count, also where an answer ends inside a round, or with its first token."""
    answers = write(TARGET, PROMPTS, TOKENS + MOST)
    ends = frozenset({answers[0][0], answers[1][7], answers[2][11]})
    for limits in (Limits(TOKENS), Limits(TOKENS, ends)):
        decoded = decode_speculative(TARGET, drafter(name, k), PROMPTS, k, limits).answers
        replayed = replay(drafter(name, k), read(TARGET, PROMPTS, answers), k, limits)
        assert replayed == [answer.counts for answer in decoded]


def test_other_answers_give_other_counts() -> None:
    """The comparison above can fail: one token changed in what is known is a miss."""
    answers = write(TARGET, PROMPTS, TOKENS + MOST)
    before = replay(drafter("oracle", 3), read(TARGET, PROMPTS, answers), 3, Limits(TOKENS))
    answers[0][6] = (answers[0][6] + 1) % 24
    after = replay(drafter("oracle", 3), read(TARGET, PROMPTS, answers), 3, Limits(TOKENS))
    assert before[0] != after[0] and before[1:] == after[1:]


def test_an_answer_that_is_known_too_short_is_refused() -> None:
    """A round that ran out of known tokens would count fewer drafts than were made."""
    known = read(TARGET, PROMPTS, write(TARGET, PROMPTS, TOKENS))
    with pytest.raises(ValueError, match="answers must be known for 23 tokens"):
        replay(drafter("context_ngram", 3), known, 3, Limits(TOKENS))

"""What each drafter proposes, on texts that one can read."""

from __future__ import annotations

import random
from collections import Counter

import pytest

np = pytest.importorskip("numpy", reason="measuring needs numpy: install the extra [measure]")
torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import drafters  # noqa: E402
from build_scripts.measure.drafters.context_ngram import ContextNgram, copy_on  # noqa: E402
from build_scripts.measure.drafters.ngram_table import Table, count_table  # noqa: E402
from build_scripts.measure.drafting import Drafter  # noqa: E402
from build_scripts.measure.sampling import GREEDY  # noqa: E402

NO_FEATURES = torch.zeros(0)


def proposed(drafter: Drafter, k: int) -> list[list[int]]:
    proposal = drafter.propose(k, GREEDY, None)
    assert proposal.probabilities is None, "it does not draw, so it must not report a law"
    return [row[:count] for row, count in zip(proposal.tokens.tolist(), proposal.counts.tolist())]


def started(*texts: list[int], **options: int) -> ContextNgram:
    drafter = drafters.create("context_ngram", **options)
    drafter.reset(texts, NO_FEATURES, room=99)
    return drafter


def test_the_context_is_copied_from() -> None:
    assert proposed(started([1, 2, 3, 4, 5, 9, 1, 2]), 3) == [[3, 4, 5]]


def test_a_longer_match_goes_before_a_later_one() -> None:
    text = [7, 1, 2, 3, 0, 2, 5, 0, 1, 2]
    assert proposed(started(text), 1) == [[3]]
    assert proposed(started(text, longest=1), 1) == [[5]]


def test_of_equal_matches_the_latest_is_copied() -> None:
    assert proposed(started([1, 2, 3, 1, 2, 4, 1, 2]), 1) == [[4]]


def test_nothing_is_proposed_where_nothing_matches() -> None:
    drafter = started([1, 2, 3], [4, 4], [5])
    proposal = drafter.propose(2, GREEDY, None)
    assert proposal.counts.tolist() == [0, 2, 0]
    assert tuple(started([1], [2]).propose(4, GREEDY, None).tokens.shape) == (2, 0)
    assert proposed(started([1, 2, 1], shortest=2), 2) == [[]]


def test_a_short_period_is_repeated() -> None:
    """The copy may run past the text's end into itself."""
    assert copy_on([5, 1, 2], 1, 5) == [1, 2, 1, 2, 1]
    assert proposed(started([3, 3]), 4) == [[3, 3, 3, 3]]


def test_the_index_grows_with_the_text() -> None:
    """Updated step by step it proposes what a fresh one would, whichever rows are left."""
    dice = random.Random(3)
    texts = [[dice.randrange(4) for _ in range(5)] for _ in range(3)]
    drafter = started(*texts)
    for step in range(30):
        new = [[dice.randrange(4) for _ in range(dice.randint(1, 4))] for _ in texts]
        drafter.update(new, NO_FEATURES)
        texts = [text + more for text, more in zip(texts, new)]
        if step == 15:
            drafter.keep_rows([1, 2])
            texts = texts[1:]
        assert proposed(drafter, 5) == proposed(started(*texts), 5)


def test_sizes_that_make_no_sense_are_refused() -> None:
    for longest, shortest in ((0, 0), (1, 2)):
        with pytest.raises(ValueError, match="make no sense"):
            ContextNgram(longest, shortest)


# --- the table -------------------------------------------------------------------------------


def test_the_most_frequent_follower_is_proposed() -> None:
    """After 1 comes 2 twice and 3 once; after (0, 1) always 3; of equals the smallest."""
    table = count_table([[5, 1, 2], [6, 1, 2], [0, 1, 3], [4, 9], [4, 8]], vocabulary=10)
    assert table.next([7, 1]) == 2
    assert table.next([0, 1]) == 3
    assert table.next([1]) == 2
    assert table.next([4]) == 8
    assert table.next([7]) is None
    assert table.next([]) is None


def test_contexts_do_not_reach_across_texts() -> None:
    table = count_table([[1, 2], [3, 4]], vocabulary=10)
    assert table.next([2]) is None
    assert count_table([], vocabulary=10).next([1]) is None


def test_rare_pairs_can_be_left_out() -> None:
    table = count_table([[1, 2], [1, 2], [3, 4]], vocabulary=10, least=2)
    assert table.next([1]) == 2
    assert table.next([3]) is None


def slow_next(texts: list[list[int]], order: int, text: list[int]) -> int | None:
    for size in range(min(order, len(text)), 0, -1):
        found = Counter(
            known[place + size]
            for known in texts
            for place in range(len(known) - size)
            if known[place : place + size] == text[-size:]
        )
        if found:
            return min(found, key=lambda token: (-found[token], token))
    return None


def test_the_table_is_a_dictionary_of_counters() -> None:
    dice = random.Random(1)
    texts = [[dice.randrange(7) for _ in range(dice.randint(0, 30))] for _ in range(30)]
    table = count_table(texts, vocabulary=7, order=3)
    for _ in range(300):
        text = [dice.randrange(7) for _ in range(dice.randint(1, 5))]
        assert table.next(text) == slow_next(texts, 3, text)


def test_drafts_are_the_context_of_the_next() -> None:
    table = count_table([[1, 2, 3, 4], [9, 2, 7]], vocabulary=10)
    drafter = drafters.create("ngram_table", table=table)
    drafter.reset([[1], [9], [8]], NO_FEATURES, room=99)
    assert proposed(drafter, 5) == [[2, 3, 4], [2, 7], []]


def test_a_large_vocabulary_fits_three_tokens_of_context() -> None:
    """The target's 49,152 ids, as numbers of 64 bits without a wrong digit."""
    last = 49_151
    table = count_table([[last, last, last, last - 1], [last, last, last - 1, 0]], vocabulary=49_152, order=3)
    assert table.next([last, last, last]) == last - 1
    assert table.next([last, last, last - 1]) == 0
    for order in (0, 4):
        with pytest.raises(ValueError, match="does not fit a vocabulary of 49152"):
            count_table([], vocabulary=49_152, order=order)


def test_the_table_is_plain_arrays() -> None:
    """So that it can be shipped as one file."""
    table = count_table([[1, 2, 3]], vocabulary=10)
    assert isinstance(table, Table) and table.order == 2
    assert {array.dtype for array in (*table.contexts, *table.following)} == {np.dtype(np.int64)}

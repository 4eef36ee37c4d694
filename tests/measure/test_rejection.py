"""The verdict, exactly: its law is enumerated over the uniforms that the real code is given.

The code is piecewise constant in its uniforms. So one uniform from inside each piece, weighted
with the piece's length, gives the exact law of what it commits; nothing is left to chance.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.drafting import Proposal  # noqa: E402
from build_scripts.measure.rejection import judge, judge_greedy, judge_sampled, residual  # noqa: E402
from build_scripts.measure.sampling import GREEDY, Sampling, probabilities  # noqa: E402
from build_scripts.model import sampling as exact  # noqa: E402

Law = list[float]
Laws = dict[tuple[int, ...], Law]
"""The law of the next token after each prefix."""


def random_law(dice: random.Random, size: int) -> Law:
    """Some zeros among the shares, as top-k and top-p leave them."""
    shares = [dice.choice([0, 0, 1, 2, 3, 5, 8]) for _ in range(size)]
    return [share / sum(shares) for share in shares] if any(shares) else random_law(dice, size)


def one_hot(dice: random.Random, size: int) -> Law:
    hot = dice.randrange(size)
    return [float(token == hot) for token in range(size)]


def every_prefix(size: int, length: int) -> list[tuple[int, ...]]:
    return [prefix for n in range(length + 1) for prefix in product(range(size), repeat=n)]


def cases() -> list[tuple[str, int, int, Laws, Laws]]:
    """(name, vocabulary, drafts, target laws, draft laws)."""
    dice = random.Random(2302_01318)
    made = []

    def add(name: str, size: int, drafts: int, p: object, q: object) -> None:
        prefixes = every_prefix(size, drafts)
        targets = {prefix: p(dice, size) for prefix in prefixes}
        draft = {prefix: q(dice, size) if q else targets[prefix] for prefix in prefixes}
        made.append((name, size, drafts, targets, draft))

    def low_half(dice: random.Random, size: int) -> Law:
        return random_law(dice, size // 2) + [0.0] * (size - size // 2)

    def high_half(dice: random.Random, size: int) -> Law:
        return [0.0] * (size // 2) + random_law(dice, size - size // 2)

    for size, drafts in ((3, 1), (3, 2), (4, 2), (5, 1), (3, 3)):
        add("random", size, drafts, random_law, random_law)
        add("random again", size, drafts, random_law, random_law)
        add("equal", size, drafts, random_law, None)
        add("disjoint", size, drafts, low_half, high_half)
        add("one-hot draft", size, drafts, random_law, one_hot)
        add("one-hot target", size, drafts, one_hot, random_law)
        add("both one-hot", size, drafts, one_hot, one_hot)
    return made


def pieces(edges: set[float]) -> list[tuple[float, float]]:
    """A point inside each piece of [0, 1) between the edges, and the piece's length."""
    inner = sorted({0.0, 1.0} | {edge for edge in edges if 0 < edge < 1})
    return [((low + high) / 2, high - low) for low, high in zip(inner, inner[1:]) if high - low > 1e-14]


def cumulated(law: Law) -> set[float]:
    return {sum(law[: index + 1]) for index in range(len(law))}


def committed_law(size: int, drafts: int, p: Laws, q: Laws, point_mass: bool) -> dict[tuple[int, ...], float]:
    """The joint law of the next drafts + 1 tokens, by the code under test.

    What a round leaves open (it committed fewer) is filled in with the target's own law.
    """
    rows, weights = [], []
    for drafted in product(range(size), repeat=drafts):
        chance = 1.0
        for j in range(drafts):
            chance *= q[drafted[:j]][drafted[j]]
        if chance == 0:
            continue
        decisions, ends = [], set()
        for j in range(drafts):
            target, draft = p[drafted[:j]], q[drafted[:j]]
            decisions.append(pieces({target[drafted[j]] / draft[drafted[j]]}))
            ends |= cumulated(target)
            if target != draft:
                ends |= cumulated(list(exact.residual(target, draft)))
        ends |= cumulated(p[drafted])
        for uniforms in product(*decisions, pieces(ends)):
            rows.append((drafted, [point for point, _ in uniforms]))
            share = chance
            for _, length in uniforms:
                share *= length
            weights.append(share)
    double = torch.float64
    proposal = Proposal(
        tokens=torch.tensor([drafted for drafted, _ in rows]),
        counts=torch.full((len(rows),), drafts),
        probabilities=None
        if point_mass
        else torch.tensor([[q[d[:j]] for j in range(drafts)] for d, _ in rows], dtype=double),
    )
    targets = torch.tensor([[p[d[:j]] for j in range(drafts + 1)] for d, _ in rows], dtype=double)
    verdict = judge_sampled(targets, proposal, torch.tensor([u for _, u in rows], dtype=double))

    law: dict[tuple[int, ...], float] = defaultdict(float)
    for (drafted, _), accepted, token, weight in zip(
        rows, verdict.accepted.tolist(), verdict.token.tolist(), weights
    ):
        begun = (*drafted[:accepted], token)
        for rest in product(range(size), repeat=drafts + 1 - len(begun)):
            share = weight
            for j in range(len(rest)):
                share *= p[begun + rest[:j]][rest[j]]
            law[begun + rest] += share
    return law


@pytest.mark.parametrize(("name", "size", "drafts", "p", "q"), cases())
def test_the_law_of_what_is_committed_is_the_targets(
    name: str, size: int, drafts: int, p: Laws, q: Laws
) -> None:
    """Losslessness of the code that runs, over whole blocks, within 1e-12."""
    law = committed_law(size, drafts, p, q, point_mass=False)
    for text in product(range(size), repeat=drafts + 1):
        expected = 1.0
        for j, token in enumerate(text):
            expected *= p[text[:j]][token]
        assert law.get(text, 0.0) == pytest.approx(expected, abs=1e-12), text


@pytest.mark.parametrize(
    ("name", "size", "drafts", "p", "q"),
    [case for case in cases() if case[0] in ("one-hot draft", "both one-hot")],
)
def test_a_drafter_that_does_not_draw(name: str, size: int, drafts: int, p: Laws, q: Laws) -> None:
    """Without a law each draft counts as certain: the same as reporting the one-hot law."""
    assert committed_law(size, drafts, p, q, point_mass=True) == pytest.approx(
        committed_law(size, drafts, p, q, point_mass=False), abs=1e-12
    )


def test_a_wrong_residual_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the enumeration: replacing from p instead of p - q is not lossless."""
    monkeypatch.setattr("build_scripts.measure.rejection.residual", lambda p, q: p)
    p, q = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.5, 0.5]}, {(): [0.2, 0.8]}
    law = committed_law(2, 1, p, q, point_mass=False)
    # 0 comes from 0.2 accepted and, of the 0.4 rejected, a share of 0.6 instead of all.
    assert law[0, 0] + law[0, 1] == pytest.approx(0.2 + 0.4 * 0.6)


def test_rows_with_fewer_drafts() -> None:
    """Padding is never accepted, not even where it is the target's choice; it is never missed."""
    p = torch.tensor([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]] * 4, dtype=torch.float64)
    tokens = torch.tensor([[1, 2], [1, 2], [1, 2], [1, 0]])
    proposal = Proposal(tokens, counts=torch.tensor([0, 1, 2, 2]))
    for verdict in (
        judge_greedy(p.argmax(-1), proposal),
        judge_sampled(p, proposal, torch.full((4, 3), 0.5, dtype=torch.float64)),
    ):
        assert verdict.accepted.tolist() == [0, 1, 2, 1]
        assert verdict.token.tolist() == [1, 2, 0, 2]


def test_padding_does_not_bend_the_law() -> None:
    """A row whose drafts all stood draws from p, though beside it another row missed and its own
    padding looks like a rejected token."""
    p = torch.tensor([[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]], dtype=torch.float64)
    for law in (None, torch.tensor([[[1.0, 0.0]]] * 2, dtype=torch.float64)):
        proposal = Proposal(torch.tensor([[0], [0]]), torch.tensor([0, 1]), law)
        verdict = judge_sampled(p, proposal, torch.full((2, 2), 0.25, dtype=torch.float64))
        assert (verdict.accepted.tolist(), verdict.token.tolist()) == ([0, 0], [0, 1])


def test_no_row_has_a_draft() -> None:
    proposal = Proposal(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    logits = torch.tensor([[[0.0, 9.0]], [[9.0, 0.0]]])
    for sampling, uniforms in ((GREEDY, None), (Sampling(0.1), torch.rand(2, 4, dtype=torch.float64))):
        verdict = judge(logits, proposal, sampling, uniforms)
        assert verdict.accepted.tolist() == [0, 0]
        assert verdict.token.tolist() == [1, 0]


def test_a_draft_after_a_miss_is_dropped_even_if_it_agrees() -> None:
    """It was conditioned on a word that is no longer there."""
    proposal = Proposal(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    verdict = judge_greedy(torch.tensor([[5, 9, 7, 8]]), proposal)
    assert (verdict.accepted.tolist(), verdict.token.tolist()) == ([1], [9])


def test_greedy_is_the_rule_with_one_hot_laws() -> None:
    """Bug 5: greedy means one-hot on both sides, whatever law the drafter has in mind."""
    generator = torch.Generator().manual_seed(4)
    logits = torch.randn(200, 4, 3, generator=generator, dtype=torch.float64)
    tokens = torch.randint(3, (200, 3), generator=generator)
    counts = torch.randint(4, (200,), generator=generator)
    soft = torch.rand(200, 3, 3, generator=generator).softmax(-1)
    uniforms = torch.rand(200, 4, generator=generator, dtype=torch.float64)
    greedy = judge(logits, Proposal(tokens, counts, soft), GREEDY, None)
    sampled = judge_sampled(probabilities(logits, GREEDY), Proposal(tokens, counts), uniforms)
    assert torch.equal(greedy.accepted, sampled.accepted)
    assert torch.equal(greedy.token, sampled.token)
    assert set(greedy.accepted.tolist()) == {0, 1, 2, 3}


def test_the_target_law_is_that_of_the_request() -> None:
    """Bug 8: temperature, top-k and top-p apply to p. Token 0 is unlikely, so top-k refuses it."""
    logits = torch.tensor([[[1.0, 3.0, 2.0], [0.0, 0.0, 9.0]]], dtype=torch.float64)
    proposal = Proposal(torch.tensor([[0]]), torch.tensor([1]))
    uniforms = torch.tensor([[1e-9, 0.999]], dtype=torch.float64)
    assert judge(logits, proposal, Sampling(1.0), uniforms).accepted.tolist() == [1]
    for narrow in (Sampling(1.0, top_k=2), Sampling(1.0, top_p=0.8), Sampling(0.05)):
        verdict = judge(logits, proposal, narrow, uniforms)
        assert verdict.accepted.tolist() == [0]
        assert verdict.token.tolist() in ([1], [2])


def test_a_token_that_the_target_never_says_is_never_accepted() -> None:
    """Not even with a uniform of exactly 0."""
    p = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]], dtype=torch.float64)
    for law in (None, torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)):
        proposal = Proposal(torch.tensor([[0]]), torch.tensor([1]), law)
        verdict = judge_sampled(p, proposal, torch.zeros(1, 2, dtype=torch.float64))
        assert (verdict.accepted.tolist(), verdict.token.tolist()) == ([0], [1])


def test_an_empty_residual_falls_back_to_the_target() -> None:
    """Reached by rounding only: then p and q are the same to the last digits."""
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    q = torch.tensor([[0.25, 0.75], [0.25, 0.75]])
    assert residual(p, q).tolist() == [[0.25, 0.75], [0.25, 0.0]]

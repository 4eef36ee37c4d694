"""A law small enough to know exactly: what sampled decoding must draw from, text by text.

A tiny model writes three tokens of a vocabulary of six. The probability of each of the 216
texts is the product of the model's laws, context by context; the decoding loop writes thousands
of answers; chi-square says whether they could come from that law. A test that cannot fail
proves nothing, so wrong rules are to be put through the same test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from build_scripts.measure.counts import Counts
from build_scripts.measure.decoding import decode_plain, decode_speculative
from build_scripts.measure.drafting import Drafter, Proposal, TextDrafter
from build_scripts.measure.sampling import Sampling, draw, probabilities
from build_scripts.measure.stopping import Limits
from build_scripts.measure.target import Shapes, Target, random_model

SIZE, LENGTH, BATCH, K = 6, 3, 2_000, 2
PROMPT = [4, 1]


def toy_target() -> Target:
    return random_model(Shapes(1, 16, 16, 2, 1, SIZE, tied=False), 5, torch.float64, positions=16)


def law_after(target: Target, text: Sequence[int], sampling: Sampling) -> Tensor:
    """[V], what the target says follows `text`, by a pass over all of it."""
    cache = target.new_cache(1, len(text))
    logits = target.logits(target.features(torch.tensor([list(text)]), cache)[:, -1])
    return probabilities(logits, sampling)[0]


def exact_law(target: Target, sampling: Sampling) -> Tensor:
    """The target's law over LENGTH tokens after PROMPT, [SIZE^LENGTH]."""
    shares = []
    for text in product(range(SIZE), repeat=LENGTH):
        share = 1.0
        for place, token in enumerate(text):
            share *= float(law_after(target, [*PROMPT, *text[:place]], sampling)[token])
        shares.append(share)
    return torch.tensor(shares, dtype=torch.float64)


def drawn(
    target: Target, sampling: Sampling, drafter: Drafter | None, answers: int, seed: int = 0
) -> tuple[Tensor, Counts]:
    """How often each text came in `answers` answers, and the pooled counts; plainly without a drafter."""
    texts, counts = torch.zeros(SIZE**LENGTH), Counts.zero(K if drafter else 0)
    for first in range(0, answers, BATCH):
        prompts, limits = [PROMPT] * min(BATCH, answers - first), Limits(LENGTH)
        if drafter is None:
            decoded = decode_plain(target, prompts, limits, sampling, seed + first)
        else:
            decoded = decode_speculative(target, drafter, prompts, K, limits, sampling, seed + first)
        numbers = [(a * SIZE + b) * SIZE + c for a, b, c in (answer.tokens for answer in decoded.answers)]
        texts += torch.bincount(torch.tensor(numbers), minlength=SIZE**LENGTH)
        for answer in decoded.answers:
            counts += answer.counts
    return texts, counts


@dataclass(frozen=True)
class Fit:
    """Chi-square of observed counts against a law."""

    statistic: float
    degrees: int

    @property
    def z(self) -> float:
        """In standard deviations from what the law itself gives on average."""
        return (self.statistic - self.degrees) / math.sqrt(2 * self.degrees)


def chi_square(observed: Tensor, law: Tensor) -> Fit:
    """Cells that expect below 5 are merged. Infinite where something came that cannot come."""
    expected = law * float(observed.sum())
    small = expected < 5
    cells = torch.cat([observed[~small], observed[small].sum()[None]])
    means = torch.cat([expected[~small], expected[small].sum()[None]])
    if float(means[-1]) == 0:
        if float(cells[-1]) > 0:
            return Fit(math.inf, len(cells))
        cells, means = cells[:-1], means[:-1]
    return Fit(float(((cells - means) ** 2 / means).sum()), len(cells) - 1)


class Bigram(TextDrafter):
    """Draws each draft from a fixed law given the token before, or, wrongly, takes the likeliest
    and reports that law all the same. Tokens 2 and 5 it cannot propose, as a head with a smaller
    vocabulary."""

    def __init__(self, greedily: bool = False) -> None:
        super().__init__()
        noise = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
        noise[:, [2, 5]] = float("-inf")
        self.law = noise.softmax(-1)
        self.greedily = greedily

    def continuation(self, row: int, k: int) -> list[int]:
        raise NotImplementedError("it draws for all rows at once")

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        assert uniforms is not None, "it has no idea of greedy drafting"
        token = torch.tensor([text[-1] for text in self.texts])
        tokens, laws = [], []
        for step in range(k):
            law = self.law[token]
            token = law.argmax(-1) if self.greedily else draw(law, uniforms[:, step])
            tokens.append(token)
            laws.append(law)
        return Proposal(torch.stack(tokens, 1), torch.full((len(self.texts),), k), torch.stack(laws, 1))

"""The seam behind which every drafter sits: reset, propose, update, and rows that leave.

A drafter serves a batch of rows. Once: `reset`. Then, round after round: `propose`, and, after
the target's verdict, `update` with what was really committed. When requests end, `keep_rows`
comes before `update`. The last committed token is known to the drafter (it drafts what follows
it) though not yet in the target's cache.

What the target thought comes along as features: entry i of a row is the state from which the
target predicted committed token i, which is what an EAGLE-style head reads. A drafter with a
cache of its own rolls it back in `update`, where it learns which of its drafts stood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from build_scripts.measure.sampling import Sampling


@dataclass(frozen=True)
class Proposal:
    """What was drafted, and the law it was drawn from.

    tokens: [B, w] with w <= k, of which the first counts[b] of row b are drafts and the rest
    padding (any token); counts: [B]. probabilities: [B, w, V] over the target's vocabulary, 0
    for tokens that the drafter cannot propose; None when the drafter does not draw, so that
    each drafted token had probability 1.
    """

    tokens: Tensor
    counts: Tensor
    probabilities: Tensor | None = None


class Drafter(ABC):
    """One drafter, serving one batch at a time."""

    @abstractmethod
    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        """Begin with these rows.

        texts: the prompt and the first committed token of each row; features: [B, m, d], where
        features[b, i] is what the target predicted texts[b][i + 1] from, padded at the end;
        room: how many tokens a row may still grow by, drafts included.
        """

    @abstractmethod
    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        """Up to k tokens for each row; none for a row where the drafter has no idea.

        uniforms: [B, k], the randomness for drafters that draw, with `sampling.draw`; None when
        decoding is greedy. The law reported must be the law drawn from.
        """

    @abstractmethod
    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        """Learn what was committed since `propose`: accepted drafts and the target's own token.

        features: [B, m, d], where features[b, i] is what the target predicted committed[b][i]
        from; beyond len(committed[b]) they belong to rejected drafts or padding.
        """

    @abstractmethod
    def keep_rows(self, rows: Sequence[int]) -> None:
        """Forget all rows but these, in ascending order, which become rows 0, 1, …"""


class TextDrafter(Drafter):
    """A drafter that reads nothing but the text: subclasses say how they continue one row."""

    def __init__(self) -> None:
        self.texts: list[list[int]] = []
        self.device = torch.device("cpu")

    @abstractmethod
    def continuation(self, row: int, k: int) -> list[int]:
        """Up to k tokens to follow `self.texts[row]`."""

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        self.texts = [list(text) for text in texts]
        self.device = features.device

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        drafts = [self.continuation(row, k) for row in range(len(self.texts))]
        width = max(map(len, drafts))
        padded = [draft + [0] * (width - len(draft)) for draft in drafts]
        return Proposal(
            # Given its size: a round without a draft has width 0.
            tokens=torch.tensor(padded, dtype=torch.long, device=self.device).view(len(drafts), width),
            counts=torch.tensor([len(draft) for draft in drafts], device=self.device),
        )

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        for text, new in zip(self.texts, committed):
            text.extend(new)

    def keep_rows(self, rows: Sequence[int]) -> None:
        self.texts = [self.texts[row] for row in rows]

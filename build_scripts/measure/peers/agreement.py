"""Whether engines that compute alike say alike: the same logits, and the same greedy answers.

Two engines add the same numbers in another order, so their logits differ in the last digits.
LIMIT is what two of them may differ by; where each of the two largest logits is off by that
much, their order may turn: a difference of answers is rounding only below twice the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from build_scripts.measure.target import Target

LIMIT = 1e-3
MARGIN = 2 * LIMIT


class Disagreement(RuntimeError):
    """Two engines differ by more than rounding; the message is one line."""


@dataclass(frozen=True)
class Agreement:
    """Over `positions` positions of `texts` texts: the largest difference of any logit, and at how
    many positions the likeliest token differs."""

    texts: int
    positions: int
    largest: float
    flips: int

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.texts + other.texts,
            self.positions + other.positions,
            max(self.largest, other.largest),
            self.flips + other.flips,
        )


@torch.inference_mode()
def all_logits(target: Target, tokens: Sequence[int]) -> Tensor:
    """[len(tokens), V]: what follows each token of a text, by one pass of ours."""
    cache = target.new_cache(1, len(tokens))
    return target.logits(target.features(torch.tensor([list(tokens)], device=target.device), cache))[0]


def compare(ours: Tensor, theirs: Tensor) -> Agreement:
    """Of one text, both [m, V]."""
    largest = (ours - theirs).abs().max().item()
    flips = (ours.argmax(-1) != theirs.argmax(-1)).sum().item()
    return Agreement(1, len(ours), largest, int(flips))


def compare_logits(
    target: Target, theirs: Callable[[Sequence[int]], Tensor], texts: Sequence[Sequence[int]]
) -> Agreement:
    """Over these texts. Disagreement beyond the limit, or where the likeliest token differs."""
    found = Agreement(0, 0, 0.0, 0)
    for text in texts:
        found += compare(all_logits(target, text), theirs(text))
    if found.largest > LIMIT or found.flips:
        raise Disagreement(
            f"over {found.positions} positions the logits differ by up to {found.largest:.2g} "
            f"(allowed: {LIMIT:g}), and the likeliest token at {found.flips}"
        )
    return found


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """The position from which two answers differ, also by being longer; None if they do not."""
    for position, (mine, other) in enumerate(zip(ours, theirs)):
        if mine != other:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def margin_after(target: Target, text: Sequence[int]) -> float:
    """By how much the likeliest token to follow a text leads the second."""
    first, second = all_logits(target, text)[-1].topk(2).values.tolist()
    return first - second

"""From logits to a token: temperature, top-k, top-p, and a draw whose randomness is an argument.

Every draw takes its uniform number from the caller. So a function here is a function: it can
be enumerated over the uniforms, and a request's text depends on its seed alone, not on which
other requests share its batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """What a request asks for. ValueError, in one line, for what is out of range.

    temperature: 0 is greedy, and then the filters change nothing; top_k: keep the k likeliest
    tokens, 0 keeps all; top_p: then keep the likeliest whose probabilities reach p together,
    1 keeps all.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise ValueError(f"temperature must be 0 or more, not {self.temperature!r}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be 0 or more, not {self.top_k!r}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p!r}")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


GREEDY = Sampling()


def probabilities(logits: Tensor, sampling: Sampling) -> Tensor:
    """The law that tokens are drawn from, [..., V], in at least single precision.

    Greedy is the one-hot law of the likeliest token, of equals the first. Both sides of
    speculative decoding use this function, each on its own logits: the rule is only lossless
    for the laws that tokens are really drawn from.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if sampling.greedy:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    # Shifted first: a tiny temperature would carry the logits beyond the largest number.
    logits = (logits - logits.amax(-1, keepdim=True)) / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        least = logits.topk(sampling.top_k, dim=-1).values[..., -1:]
        # Equals of the last one stay, so that the law depends on the values alone.
        logits = logits.masked_fill(logits < least, float("-inf"))
    law = logits.softmax(-1)
    return _nucleus(law, sampling.top_p) if sampling.top_p < 1 else law


def _nucleus(law: Tensor, mass: float) -> Tensor:
    """The fewest of the likeliest tokens that reach `mass`, scaled to sum to 1."""
    ordered, tokens = law.sort(dim=-1, descending=True, stable=True)
    # A token stays if those before it do not reach the mass; so the first always stays.
    ordered = ordered * (ordered.cumsum(-1) - ordered < mass)
    kept = torch.zeros_like(law).scatter_(-1, tokens, ordered)
    return kept / kept.sum(-1, keepdim=True)


def draw(weights: Tensor, uniforms: Tensor) -> Tensor:
    """One token for each row of `weights` [B, V], by inverting its cumulated sums; [B].

    uniforms [B], double precision, in [0, 1). The weights need not sum to 1. A token of weight
    0 is never drawn.
    """
    cumulated = weights.to(torch.float64).cumsum(-1)
    # Strictly below the last sum, also after rounding: a uniform below 1 is at most 1 - 2^-53,
    # which takes half a unit in the last place, or more, off any sum.
    wanted = uniforms[:, None] * cumulated[:, -1:]
    return torch.searchsorted(cumulated, wanted, right=True)[:, 0]

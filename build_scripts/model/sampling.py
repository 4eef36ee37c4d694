"""The rule that keeps the target's distribution: accept, or replace from what is left.

For one position, with p the target's and q the draft's distribution over the vocabulary, both
after temperature, top-k and top-p, since that is what tokens are drawn from:

    the draft proposes x with probability q(x);
    x is accepted with probability min(1, p(x) / q(x));
    otherwise the token is drawn from max(0, p - q), scaled to sum to 1.

What comes out follows p (Leviathan et al., arXiv 2211.17192, appendix A.1; Chen et al.,
arXiv 2302.01318, with the letters p and q the other way round). A distribution is a sequence
of probabilities, one a token, the same order in p and q. With `fractions.Fraction` every
result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

Probability = TypeVar("Probability", float, Fraction)

_SUM_TOLERANCE = 1e-9


def acceptance_probability(p: Sequence[Probability], q: Sequence[Probability]) -> Probability:
    """The chance that the drafted token is accepted: the sum of min(p(x), q(x)), in [0, 1].

    It is 1 minus the total variation distance of p and q (the paper's beta; the lesson's h
    is its mean over the positions that a run meets). ValueError for what is no distribution.
    """
    _check(p, q)
    return sum((min(a, b) for a, b in zip(p, q)), start=p[0] * 0)


def accept_with(p: Sequence[Probability], q: Sequence[Probability], token: int) -> Probability:
    """The chance that `token`, once drafted, is accepted: min(1, p / q).

    ValueError for what is no distribution, or for a token that the draft never proposes.
    """
    _check(p, q)
    if not 0 <= token < len(q) or q[token] == 0:
        raise ValueError(f"the draft never proposes token {token}")
    return min(p[token] / q[token], q[token] / q[token])


def residual(p: Sequence[Probability], q: Sequence[Probability]) -> tuple[Probability, ...]:
    """What a rejected token is replaced from: max(0, p - q), scaled to sum to 1.

    ValueError for what is no distribution, and where p = q: then nothing is ever rejected,
    and there is nothing left to draw from.
    """
    _check(p, q)
    left = [max(a - b, a * 0) for a, b in zip(p, q)]
    total = sum(left, start=p[0] * 0)
    if total == 0:
        raise ValueError("p and q are the same: nothing is ever rejected")
    return tuple(share / total for share in left)


def output_law(p: Sequence[Probability], q: Sequence[Probability]) -> tuple[Probability, ...]:
    """The distribution of the token that comes out, by walking through every way it can.

    Each token is drafted with q, then accepted or replaced. That the result is p is a theorem;
    nothing here uses it. ValueError for what is no distribution.
    """
    _check(p, q)
    law = [a * 0 for a in p]
    rejected = p[0] * 0
    for token, proposed in enumerate(q):
        if proposed == 0:
            continue
        accepted = accept_with(p, q, token)
        law[token] += proposed * accepted
        rejected += proposed * (1 - accepted)
    if any(a > b for a, b in zip(p, q)):
        law = [share + rejected * replacement for share, replacement in zip(law, residual(p, q))]
    return tuple(law)


def _check(p: Sequence[Probability], q: Sequence[Probability]) -> None:
    if len(p) != len(q):
        raise ValueError(f"p has {len(p)} tokens and q has {len(q)}")
    for name, distribution in (("p", p), ("q", q)):
        # NaN fails both comparisons.
        if not all(0 <= share <= 1 for share in distribution):
            raise ValueError(f"{name} has a probability outside [0, 1]")
        if not abs(sum(distribution) - 1) <= _SUM_TOLERANCE:
            raise ValueError(f"{name} does not sum to 1")

"""The verdict on a block of drafts, row by row: what is accepted, and the target's own token.

In the vocabulary of vLLM's rejection sampler:

    accepted   a draft that the target lets stand
    recovered  the target's replacement for the first draft that it rejects
    bonus      the target's extra token when every draft of the round was accepted

A draft x with target law p and draft law q, both as really drawn from, is accepted with
probability min(1, p(x) / q(x)); the first rejected one is replaced by a draw from
max(0, p - q), scaled. What is committed then follows p exactly, whatever q is (Leviathan et
al., arXiv 2211.17192, appendix A.1). Drafts after the first rejected one were conditioned on
it, and are dropped unseen, even if they happen to agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.drafting import Proposal
from build_scripts.measure.sampling import Sampling, draw, probabilities


@dataclass(frozen=True)
class Verdict:
    """accepted: [B], how many leading drafts of each row stand; token: [B], the target's own
    token after them: recovered where accepted < drafted, else bonus."""

    accepted: Tensor
    token: Tensor


def judge(logits: Tensor, proposal: Proposal, sampling: Sampling, uniforms: Tensor | None) -> Verdict:
    """The verdict on `proposal` by the target's logits [B, w + 1, V].

    logits[:, j] follow the text and the first j drafts; uniforms: [B, k + 1] with k >= w, in
    double precision, unused and None when decoding is greedy.
    """
    if sampling.greedy:
        return judge_greedy(logits.argmax(-1), proposal)
    assert uniforms is not None, "sampling needs uniforms"
    return judge_sampled(probabilities(logits, sampling), proposal, uniforms)


def judge_greedy(choices: Tensor, proposal: Proposal) -> Verdict:
    """The rule where both laws are one-hot: a draft stands if it is the target's choice.

    choices: [B, w + 1], the target's likeliest tokens.
    """
    agrees = proposal.tokens == choices[:, :-1]
    accepted = leading(agrees & is_draft(proposal))
    return Verdict(accepted, choices.gather(1, accepted[:, None])[:, 0])


def judge_sampled(p: Tensor, proposal: Proposal, uniforms: Tensor) -> Verdict:
    """The rule above, for target laws p [B, w + 1, V].

    uniforms[:, j] decides on draft j, uniforms[:, -1] draws the target's own token.
    """
    width, vocabulary = proposal.tokens.shape[1], p.shape[-1]
    p_of_draft = p[:, :width].gather(2, proposal.tokens[:, :, None])[:, :, 0].to(torch.float64)
    if proposal.probabilities is None:
        q_of_draft = torch.ones_like(p_of_draft)
    else:
        q_of_draft = proposal.probabilities.gather(2, proposal.tokens[:, :, None])[:, :, 0].to(torch.float64)
    # u < p / q, without the division; strictly, so that p = 0 is never accepted.
    stands = uniforms[:, :width] * q_of_draft < p_of_draft
    accepted = leading(stands & is_draft(proposal))

    rows = torch.arange(len(p), device=p.device)
    p_last = p[rows, accepted]
    missed = accepted < proposal.counts
    if not bool(missed.any()):
        return Verdict(accepted, draw(p_last, uniforms[:, -1]))
    # Rows without a miss read some law here and do not use it.
    at = accepted.clamp(max=width - 1)
    if proposal.probabilities is None:
        q_last = F.one_hot(proposal.tokens[rows, at], vocabulary).to(p.dtype)
    else:
        q_last = proposal.probabilities[rows, at].to(p.dtype)
    weights = torch.where(missed[:, None], residual(p_last, q_last), p_last)
    return Verdict(accepted, draw(weights, uniforms[:, -1]))


def residual(p: Tensor, q: Tensor) -> Tensor:
    """What a rejected draft is replaced from, [B, V], not scaled: max(0, p - q).

    Where nothing is left p itself: that is possible by rounding only, since p = q is never
    rejected.
    """
    left = (p - q).clamp(min=0)
    return torch.where(left.sum(-1, keepdim=True) > 0, left, p)


def is_draft(proposal: Proposal) -> Tensor:
    """[B, w]: true for drafts, false for padding."""
    places = torch.arange(proposal.tokens.shape[1], device=proposal.tokens.device)
    return places < proposal.counts[:, None]


def leading(stands: Tensor) -> Tensor:
    """[B]: how many of [B, w] are true before the first that is not."""
    return stands.long().cumprod(dim=1).sum(dim=1)

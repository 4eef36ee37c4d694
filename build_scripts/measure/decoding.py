"""The two decoding loops: plain, and speculative. They share everything but the round.

Both keep one invariant: the cache holds a row's text without its last token. That token is the
first of the next pass, whose logits then say what follows it.

A batch is ragged: each row has its own length, commits its own number of tokens in a round, and
leaves when its answer ends. Request r draws from a generator seeded with seed + r, so its
answer does not depend on what else is in the batch.

Phases: "prefill", the pass over the prompts; "reset", the drafter reading them; "draft";
"decode" or "verify", the target's passes; "overhead", all else (the rule, bookkeeping, rows
that leave).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from build_scripts.measure.cache import Cache
from build_scripts.measure.counts import Counts
from build_scripts.measure.drafting import Drafter, Proposal
from build_scripts.measure.rejection import Verdict, judge
from build_scripts.measure.sampling import GREEDY, Sampling, draw, probabilities
from build_scripts.measure.stopping import Limits, Reason, cut
from build_scripts.measure.stopwatch import Stopwatch
from build_scripts.measure.target import Target


@dataclass
class Request:
    """One prompt on its way to an answer; `reason` says why it ended, None while it goes on."""

    prompt: list[int]
    generator: torch.Generator
    counts: Counts
    answer: list[int] = field(default_factory=list)
    reason: Reason | None = None

    @property
    def text(self) -> list[int]:
        return self.prompt + self.answer

    def commit(self, new: Sequence[int], limits: Limits) -> None:
        """Append what the limits let through of `new`."""
        kept, self.reason = cut(self.answer, new, limits)
        self.answer += kept
        self.counts.discarded += len(new) - len(kept)


@dataclass(frozen=True)
class Round:
    """What one round did, for who watches; row b belongs to requests[b], text committed. Look at
    it at once: the cache goes on changing. logits and uniforms are those that `judge` was given:
    [B, w + 1, V], and [B, k + 1] or None."""

    requests: list[Request]
    proposal: Proposal
    logits: Tensor
    uniforms: Tensor | None
    verdict: Verdict
    cache: Cache


@dataclass(frozen=True)
class Answer:
    """The tokens of one request, why it ended, and how its rounds went."""

    tokens: list[int]
    reason: Reason
    counts: Counts


@dataclass(frozen=True)
class Decoded:
    """answers: in the order of the prompts; seconds: of the whole batch, by phase; passes: over
    the batch, after the one over the prompts; laps: each phase with its seconds, in order, which
    is the rhythm in which the text came."""

    answers: list[Answer]
    seconds: dict[str, float]
    passes: int
    laps: list[tuple[str, float]]


@torch.inference_mode()
def decode_plain(
    target: Target,
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    sampling: Sampling = GREEDY,
    seed: int = 0,
) -> Decoded:
    """One token for each row and pass.

    ValueError, in one line, for a prompt that is empty or has an unknown token, and when the
    longest prompt and its answer exceed the positions of the model.
    """
    clock = Stopwatch(target.device)
    requests = [_open(target, prompt, seed + index, 0) for index, prompt in enumerate(prompts)]
    cache = target.new_cache(len(requests), _longest(requests) + limits.max_tokens)
    _prefill(target, cache, requests, limits, sampling)
    active = _drop_ended(requests, cache)[0]
    clock.lap("prefill")

    passes = 0
    while active:
        last = torch.tensor([[request.answer[-1]] for request in active], device=target.device)
        logits = target.logits(target.features(last, cache)[:, -1])
        passes += 1
        clock.lap("decode")

        for request, token in zip(active, _choose(logits, active, sampling)):
            request.counts.add_round(drafted=0, accepted=0)
            request.commit([token], limits)
        active = _drop_ended(active, cache)[0]
        clock.lap("overhead")
    return _close(requests, clock, passes)


@torch.inference_mode()
def decode_speculative(
    target: Target,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    k: int,
    limits: Limits,
    sampling: Sampling = GREEDY,
    seed: int = 0,
    watch: Callable[[Round], None] | None = None,
) -> Decoded:
    """Up to k drafts, one target pass, and 1 to k + 1 tokens for each row and round.

    Drafts are not cut short near the cap: what they yield beyond it is discarded, so that the
    last round counts like any other. watch: called after every round's commit; its time is in no
    phase. ValueError as above, with k more tokens of room, and for a k below 1.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k!r}")
    clock = Stopwatch(target.device)
    requests = [_open(target, prompt, seed + index, k) for index, prompt in enumerate(prompts)]
    room = limits.max_tokens + k
    cache = target.new_cache(len(requests), _longest(requests) + room)
    features = _prefill(target, cache, requests, limits, sampling)
    active, rows = _drop_ended(requests, cache)
    clock.lap("prefill")
    if active:
        drafter.reset([request.text for request in active], features[rows], room)
    clock.lap("reset")

    passes = 0
    while active:
        # Draft. The uniforms of a round: k to draft with, k + 1 for the verdict.
        uniforms = None if sampling.greedy else _uniforms(active, 2 * k + 1, target.device)
        proposal = drafter.propose(k, sampling, None if uniforms is None else uniforms[:, :k])
        clock.lap("draft")

        # Verify: one pass over the last token and the drafts.
        last = torch.tensor([[request.answer[-1]] for request in active], device=target.device)
        features = target.features(torch.cat([last, proposal.tokens], dim=1), cache)
        logits = target.logits(features)
        passes += 1
        clock.lap("verify")

        # Commit: the accepted drafts and the target's own token, which the cache does not hold.
        judged_by = None if uniforms is None else uniforms[:, k:]
        verdict = judge(logits, proposal, sampling, judged_by)
        committed = _committed(proposal, verdict)
        held = [length - logits.shape[1] for length in cache.lengths]
        cache.roll_back([before + len(new) for before, new in zip(held, committed)])
        for request, new, drafted in zip(active, committed, proposal.counts.tolist()):
            request.counts.add_round(drafted, accepted=len(new) - 1)
            request.commit(new, limits)
        if watch is not None:
            clock.lap("overhead")
            watch(Round(active, proposal, logits, judged_by, verdict, cache))
            clock.skip()
        active, rows = _drop_ended(active, cache)
        clock.lap("overhead")

        if active:
            drafter.keep_rows(rows)
            drafter.update([committed[row] for row in rows], features[rows])
        clock.lap("draft")
    return _close(requests, clock, passes)


# --- what the loops share --------------------------------------------------------------------


def _open(target: Target, prompt: Sequence[int], seed: int, k: int) -> Request:
    if not prompt:
        raise ValueError("a prompt must not be empty")
    if not all(0 <= token < target.shapes.vocabulary for token in prompt):
        raise ValueError(f"a prompt has a token outside the vocabulary of {target.shapes.vocabulary}")
    return Request(list(prompt), torch.Generator().manual_seed(seed), Counts.zero(k))


def _longest(requests: Sequence[Request]) -> int:
    if not requests:
        raise ValueError("there must be a prompt")
    return max(len(request.prompt) for request in requests)


def _prefill(
    target: Target, cache: Cache, requests: list[Request], limits: Limits, sampling: Sampling
) -> Tensor:
    """Read the prompts, padded at the end, and commit the first token of each answer.

    Returns the features [B, longest prompt, d].
    """
    width = _longest(requests)
    padded = [request.prompt + [0] * (width - len(request.prompt)) for request in requests]
    features = target.features(torch.tensor(padded, device=target.device), cache)
    lengths = [len(request.prompt) for request in requests]
    cache.roll_back(lengths)
    ends = torch.tensor(lengths, device=target.device) - 1
    logits = target.logits(features[torch.arange(len(requests), device=target.device), ends])
    for request, token in zip(requests, _choose(logits, requests, sampling)):
        request.counts.first = 1
        request.commit([token], limits)
    return features


def _choose(logits: Tensor, requests: Sequence[Request], sampling: Sampling) -> list[int]:
    """One token for each row of logits [B, V]."""
    if sampling.greedy:
        return logits.argmax(-1).tolist()
    uniforms = _uniforms(requests, 1, logits.device)
    return draw(probabilities(logits, sampling), uniforms[:, 0]).tolist()


def _uniforms(requests: Sequence[Request], count: int, device: torch.device) -> Tensor:
    """[B, count] in [0, 1), each row from its request's own generator."""
    drawn = [torch.rand(count, generator=request.generator, dtype=torch.float64) for request in requests]
    return torch.stack(drawn).to(device)


def _committed(proposal: Proposal, verdict: Verdict) -> list[list[int]]:
    """For each row its accepted drafts, then the target's own token."""
    rows = zip(proposal.tokens.tolist(), verdict.accepted.tolist(), verdict.token.tolist())
    return [[*drafts[:accepted], token] for drafts, accepted, token in rows]


def _drop_ended(active: list[Request], cache: Cache) -> tuple[list[Request], list[int]]:
    """The requests that go on and the rows they had; the others leave the cache."""
    rows = [row for row, request in enumerate(active) if request.reason is None]
    cache.keep_rows(rows)
    return [active[row] for row in rows], rows


def _close(requests: Sequence[Request], clock: Stopwatch, passes: int) -> Decoded:
    answers = []
    for request in requests:
        assert request.reason is not None, "a request that goes on has no answer"
        answers.append(Answer(request.answer, request.reason, request.counts))
    return Decoded(answers, clock.seconds, passes, clock.laps)

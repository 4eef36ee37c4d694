"""From decoding runs to a trace: what each round saw, what it took, and the words of it.

A trace needs two runs of the same prompt. One is watched: `Tracer` keeps the numbers that
decided each token. The other is only timed: looking at 50,000 probabilities a position would
cool the caches that the next pass needs, and so become part of the rhythm. Both must do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from build_scripts.measure.counts import Counts
from build_scripts.measure.decoding import Decoded, Round, decode_plain, decode_speculative
from build_scripts.measure.drafting import Drafter
from build_scripts.measure.rejection import residual
from build_scripts.measure.sampling import Sampling, probabilities
from build_scripts.measure.stopping import Limits, Reason
from build_scripts.measure.target import Target
from build_scripts.records.trace import (
    LIKELIEST,
    Control,
    Draft,
    Likely,
    Milliseconds,
    PlainRun,
    Residual,
    SpeculativeRun,
    TraceRound,
    Vocabulary,
)

Seen = list[tuple[int, float]]
"""The likeliest tokens, by id, with their probabilities."""

TokenText = Callable[[int], "str | list[int] | Control"]


@dataclass(frozen=True)
class SeenDraft:
    token: int
    p: float
    q: float
    u: float | None
    accepted: bool | None


@dataclass(frozen=True)
class SeenRound:
    """`TraceRound`, with ids for places and without times."""

    drafts: list[SeenDraft]
    token: int
    u: float | None
    target: list[Seen]
    draft: list[Seen] | None
    residual: Seen | None
    rest: float

    @property
    def accepted(self) -> int:
        return sum(draft.accepted is True for draft in self.drafts)


def watched(
    target: Target, drafter: Drafter, prompt: Sequence[int], k: int, limits: Limits, sampling: Sampling, seed: int
) -> list[SeenRound]:
    """Decode one prompt and say of each round what decided it."""
    rounds: list[SeenRound] = []
    decode_speculative(
        target, drafter, [prompt], k, limits, sampling, seed, watch=lambda seen: rounds.append(look(seen, sampling))
    )
    return rounds


def look(round_: Round, sampling: Sampling) -> SeenRound:
    """What decided a round of one row, by the functions that decided it.

    Greedy decoding compares one-hot laws, and so do p and q here; the laws listed are then the
    models' at temperature 1, since a one-hot law tells nothing.
    """
    proposal, width = round_.proposal, int(round_.proposal.counts[0])
    tokens = proposal.tokens[0, :width]
    accepted, token = int(round_.verdict.accepted[0]), int(round_.verdict.token[0])
    logits = round_.logits[0, : width + 1]
    p = probabilities(logits, sampling)
    # Greedy: the drafter's choice is its law too, whatever it reports.
    q = None if proposal.probabilities is None or sampling.greedy else proposal.probabilities[0, :width]
    uniforms = None if round_.uniforms is None else round_.uniforms[0].tolist()

    drafts = []
    for place, drafted in enumerate(tokens.tolist()):
        u = None if uniforms is None else uniforms[place]
        verdict = None if place > accepted else place < accepted
        drafts.append(
            SeenDraft(drafted, _share(p, place, drafted), 1.0 if q is None else _share(q, place, drafted), u, verdict)
        )

    left, rest = None, 0.0
    if accepted < width:
        q_there = p.new_zeros(p.shape[-1]) if q is None else q[accepted].to(p.dtype)
        if q is None:
            q_there[tokens[accepted]] = 1.0
        weights = residual(p[accepted][None], q_there[None])[0]
        left = likeliest(weights / weights.sum())
        rest = max(0.0, 1.0 - sum(share for _, share in left))
    shown = probabilities(logits, replace(sampling, temperature=1.0)) if sampling.greedy else p
    return SeenRound(
        drafts=drafts,
        token=token,
        u=None if uniforms is None else uniforms[-1],
        target=[likeliest(law) for law in shown],
        draft=None if q is None else [likeliest(law) for law in q],
        residual=left,
        rest=rest,
    )


def _share(laws: Tensor, place: int, token: int) -> float:
    return min(1.0, float(laws[place, token]))  # rounding may leave a hair more


def lighter(seen: SeenRound) -> SeenRound:
    """Without what the rule never looked at: beyond the first miss only the likeliest token of each
    law stays."""

    def cut(laws: list[Seen]) -> list[Seen]:
        return [law if place <= seen.accepted else law[:1] for place, law in enumerate(laws)]

    return replace(seen, target=cut(seen.target), draft=None if seen.draft is None else cut(seen.draft))


def likeliest(law: Tensor) -> Seen:
    """The tokens of largest probability, those of probability 0 left out; law: [V]."""
    shares, tokens = law.topk(min(LIKELIEST, len(law)))
    return [(token, share) for token, share in zip(tokens.tolist(), shares.tolist()) if share > 0]


# --- times -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timed:
    """A run that was only timed. counts, laps: as the decoding gave them; rounds: how many drafts
    each had, and how many of them stood; none where decoding was plain."""

    tokens: list[int]
    reason: Reason
    counts: Counts
    laps: list[tuple[str, float]]
    rounds: list[tuple[int, int]]

    @property
    def seconds(self) -> dict[str, float]:
        """By phase."""
        seconds: dict[str, float] = {}
        for phase, lap in self.laps:
            seconds[phase] = seconds.get(phase, 0.0) + lap
        return seconds

    @property
    def decode_ms(self) -> float:
        """What came after the pass over the prompt."""
        return 1000 * sum(seconds for phase, seconds in self.laps if phase != "prefill")


def timed_plain(target: Target, prompt: Sequence[int], limits: Limits, sampling: Sampling, seed: int) -> Timed:
    return _timed(decode_plain(target, [prompt], limits, sampling, seed), [])


def timed_speculative(
    target: Target, drafter: Drafter, prompt: Sequence[int], k: int, limits: Limits, sampling: Sampling, seed: int
) -> Timed:
    rounds: list[tuple[int, int]] = []

    def count(round_: Round) -> None:
        rounds.append((int(round_.proposal.counts[0]), int(round_.verdict.accepted[0])))

    return _timed(decode_speculative(target, drafter, [prompt], k, limits, sampling, seed, watch=count), rounds)


def _timed(decoded: Decoded, rounds: list[tuple[int, int]]) -> Timed:
    answer = decoded.answers[0]
    return Timed(answer.tokens, answer.reason, answer.counts, decoded.laps, rounds)


def median_run(runs: Sequence[Timed]) -> Timed:
    """The one with the median time, of an odd number of runs that did the same. ValueError where
    they did not."""
    assert len(runs) % 2, "the median of an even number of runs is none of them"
    if any((run.tokens, run.rounds) != (runs[0].tokens, runs[0].rounds) for run in runs):
        raise ValueError("repeats of one run wrote different texts")
    return sorted(runs, key=lambda run: run.decode_ms)[len(runs) // 2]


def round_times(laps: Iterable[tuple[str, float]]) -> list[Milliseconds]:
    """The laps of `decode_speculative`, round by round: each drafts twice, at its start and, when
    the drafter learns what was committed, at its end."""
    times: list[Milliseconds] = []
    current = {"draft": 0.0, "verify": 0.0, "overhead": 0.0}
    halves = 0
    for phase, seconds in laps:
        if phase not in current:
            continue
        current[phase] += 1000 * seconds
        halves += phase == "draft"
        if halves == 2:
            times.append(Milliseconds(**{name: round(ms, 3) for name, ms in current.items()}))
            current, halves = dict.fromkeys(current, 0.0), 0
    return times


def token_times(laps: Iterable[tuple[str, float]]) -> list[float]:
    """The laps of `decode_plain`: milliseconds of each token after the first."""
    times: list[float] = []
    for phase, seconds in laps:
        if phase == "decode":
            times.append(0.0)
        if phase in ("decode", "overhead") and times:
            times[-1] += 1000 * seconds
    return [round(ms, 3) for ms in times]


# --- putting it together -----------------------------------------------------------------------


class Words:
    """Gives tokens their places in a trace's vocabulary, in the order in which they come."""

    def __init__(self, text: TokenText) -> None:
        self._text = text
        self._places: dict[int, int] = {}

    def place(self, token: int) -> int:
        return self._places.setdefault(token, len(self._places))

    def law(self, seen: Seen) -> list[Likely]:
        return [(self.place(token), short(share)) for token, share in seen]

    def vocabulary(self) -> Vocabulary:
        return Vocabulary(ids=list(self._places), texts=[self._text(token) for token in self._places])


def plain_run(timed: Timed, words: Words) -> PlainRun:
    return PlainRun(
        prefill_ms=round(1000 * timed.seconds["prefill"], 3),
        tokens=[words.place(token) for token in timed.tokens],
        ms=token_times(timed.laps),
        end=timed.reason,
    )


def speculative_run(timed: Timed, seen: Sequence[SeenRound], words: Words) -> SpeculativeRun:
    """The rounds that were seen, at the times that were timed. ValueError where the two runs did not
    do the same."""
    times = round_times(timed.laps)
    if timed.rounds != [(len(entry.drafts), entry.accepted) for entry in seen]:
        raise ValueError("the watched run went through other rounds than the timed one")
    run = SpeculativeRun(
        prefill_ms=round(1000 * timed.seconds["prefill"], 3),
        reset_ms=round(1000 * timed.seconds["reset"], 3),
        first=words.place(timed.tokens[0]),
        rounds=[_round(entry, ms, words) for entry, ms in zip(seen, times, strict=True)],
        discarded=timed.counts.discarded,
        end=timed.reason,
    )
    if run.tokens != [words.place(token) for token in timed.tokens]:
        raise ValueError("the watched run wrote another text than the timed one")
    return run


def _round(seen: SeenRound, ms: Milliseconds, words: Words) -> TraceRound:
    missed = seen.residual is not None
    return TraceRound(
        drafts=[rounded(entry, words) for entry in seen.drafts],
        token=words.place(seen.token),
        kind="plain" if not seen.drafts else "recovered" if missed else "bonus",
        u=None if seen.u is None else short(seen.u),
        target=[words.law(law) for law in seen.target],
        draft=None if seen.draft is None else [words.law(law) for law in seen.draft],
        residual=Residual(likeliest=words.law(seen.residual), rest=short(seen.rest)) if seen.residual else None,
        ms=ms,
    )


def rounded(seen: SeenDraft, words: Words) -> Draft:
    """With as many digits as the decision needs."""
    place = words.place(seen.token)
    if seen.u is None:
        return Draft(token=place, p=seen.p, q=seen.q, u=None, accepted=seen.accepted)
    for digits in (4, 6, 9, 17):
        p, q, u = (float(f"{value:.{digits}g}") for value in (seen.p, seen.q, seen.u))
        if seen.accepted is None or (u * q < p) == seen.accepted:
            break
    return Draft(token=place, p=p, q=q, u=u, accepted=seen.accepted)


def short(share: float) -> float:
    """A probability with four decimals, or with two digits where it is small."""
    share = min(1.0, share)
    return round(share, 4) if share >= 0.001 else float(f"{share:.2g}")

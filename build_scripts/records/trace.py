"""The format of a trace: one recorded run of a prompt, token by token, to be raced and replayed.

A trace is one JSON file, docs/measurements/traces/ID.json. It holds what the rule decided from
(p, q and the random draws), what came of it, and what it took. Loading one checks that the
decisions follow from the numbers beside them, and that the rounds give the text. Numbers are
rounded; a draw and the probabilities it met keep as many digits as their decision needs.

Tokens stand as places in the trace's own `vocabulary`. Milliseconds are those of one real run:
of several repeats the one with the median time.
"""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, Union

from pydantic import Field, StringConstraints, ValidationError, model_validator

from build_scripts.records.faults import RecordError, fault_lines
from build_scripts.records.schema import (
    Commit,
    Count,
    Device,
    Dtype,
    Hash,
    Kind,
    Moment,
    Name,
    NonNegative,
    RoundCounts,
    Share,
    Strict,
    TraceId,
)
from build_scripts.write import write_if_changed

LIKELIEST = 5
"""How many tokens of a law a trace lists."""

TRACE_BYTES = 12_000
"""What a trace may weigh on its way to a reader, after gzip."""

MOST_TOKENS = 1_000_000
"""Of a prompt, or of a round's drafts: more than any model reads."""

ROUNDING = 2e-3
"""How far sums of rounded probabilities may be from what they should be."""

Byte = Annotated[int, Field(ge=0, le=255)]
Place = Annotated[int, Field(ge=0)]
Likely = tuple[Place, Share]
Law = Annotated[list[Likely], Field(max_length=LIKELIEST)]
"""The likeliest tokens with their probabilities, the likeliest first."""
End = Literal["end", "stop", "cap"]


class Control(Strict):
    """A token that stands for no text, such as <|im_end|>."""

    control: Name


class Vocabulary(Strict):
    """The tokens that the trace names: the model's ids, and what each stands for. A token that is
    only part of a character has its bytes."""

    ids: list[Annotated[int, Field(ge=0)]]
    texts: list[Union[str, list[Byte], Control]]

    @model_validator(mode="after")
    def _fits(self) -> Vocabulary:
        if len(self.ids) != len(self.texts):
            raise ValueError(f"there are {len(self.ids)} ids and {len(self.texts)} texts")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("an id is here twice")
        return self


class Draft(Strict):
    """A drafted token. p, q: the probabilities that the rule compared, one-hot when greedy; u: the
    random draw, None when greedy; accepted: None where the rule did not look any more."""

    token: Place
    p: Share
    q: Share
    u: Share | None
    accepted: bool | None

    @model_validator(mode="after")
    def _decided(self) -> Draft:
        if self.u is None and (self.q != 1 or self.p not in (0, 1)):
            raise ValueError(f"greedy probabilities are one-hot, not p = {self.p} and q = {self.q}")
        stands = self.p == 1 if self.u is None else self.u * self.q < self.p
        if self.accepted not in (None, stands):
            raise ValueError(
                f"accepted is {self.accepted} where p = {self.p}, q = {self.q} and u = {self.u} decide otherwise"
            )
        return self


class Residual(Strict):
    """The likeliest tokens of max(0, p - q), scaled to sum to 1, and the mass of all others."""

    likeliest: Law
    rest: Share

    @model_validator(mode="after")
    def _whole(self) -> Residual:
        total = sum(share for _, share in self.likeliest) + self.rest
        if abs(total - 1) > ROUNDING:
            raise ValueError(f"the likeliest and the rest sum to {total:.4f}, not to 1")
        return self


class Milliseconds(Strict):
    """Of one round. draft: to propose, and to learn what became of it; overhead: the rule, and
    bookkeeping."""

    draft: NonNegative
    verify: NonNegative
    overhead: NonNegative

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.overhead


class TraceRound(Strict):
    """target: the target's law at each drafted position and at the one after; draft: the drafter's
    at each drafted position, None for a drafter without one, whose drafts had probability 1. Both
    are those that tokens are drawn from; when greedy, those of the models at temperature 1. A law
    beyond the first miss, at which the rule never looked, may be cut to its likeliest token.
    token: the target's own, after the accepted drafts; u: the draw it came by, None when greedy.
    """

    drafts: list[Draft]
    token: Place
    kind: Literal["recovered", "bonus", "plain"]
    u: Share | None
    target: list[Law]
    draft: list[Law] | None
    residual: Residual | None
    ms: Milliseconds

    @model_validator(mode="after")
    def _agrees(self) -> TraceRound:
        verdicts = [draft.accepted for draft in self.drafts]
        accepted = self.accepted
        missed = accepted < len(verdicts)
        rest: list[bool | None] = [False, *[None] * (len(verdicts) - accepted - 1)] if missed else []
        if verdicts[accepted:] != rest:
            raise ValueError("drafts after the first rejected one were looked at, or one before it was not")
        kind = "plain" if not verdicts else "recovered" if missed else "bonus"
        if self.kind != kind:
            raise ValueError(f"the token is {kind}, not {self.kind}")
        if (self.residual is None) == missed:
            raise ValueError("there is a residual where, and only where, a draft was rejected")
        if len(self.target) != len(verdicts) + 1:
            raise ValueError(f"{len(verdicts)} drafts need {len(verdicts) + 1} laws of the target")
        if self.draft is not None and len(self.draft) != len(verdicts):
            raise ValueError(f"{len(verdicts)} drafts need as many laws of the drafter")
        if any((draft.u is None) != (self.u is None) for draft in self.drafts):
            raise ValueError("some draws are there and others are not")
        for law in [*self.target, *(self.draft or [])]:
            shares = [share for _, share in law]
            if not shares or shares != sorted(shares, reverse=True) or sum(shares) > 1 + ROUNDING:
                raise ValueError(f"{shares} are not the likeliest of a law")
        return self

    @property
    def accepted(self) -> int:
        """How many leading drafts stand."""
        verdicts = [draft.accepted for draft in self.drafts]
        return next((place for place, verdict in enumerate(verdicts) if not verdict), len(verdicts))

    @property
    def committed(self) -> list[int]:
        return [draft.token for draft in self.drafts[: self.accepted]] + [self.token]


class PlainRun(Strict):
    """tokens: the answer; prefill_ms: until the first of them; ms: of each of the others."""

    prefill_ms: NonNegative
    tokens: list[Place] = Field(min_length=1)
    ms: list[NonNegative]
    end: End

    @model_validator(mode="after")
    def _fits(self) -> PlainRun:
        if len(self.ms) != len(self.tokens) - 1:
            raise ValueError(f"{len(self.tokens)} tokens need {len(self.tokens) - 1} times after the first")
        return self

    @property
    def decode_ms(self) -> float:
        """What all tokens after the first took."""
        return sum(self.ms)


class SpeculativeRun(Strict):
    """first: the token that the pass over the prompt gave; reset_ms: the drafter reading the prompt;
    discarded: committed tokens beyond the answer's end."""

    prefill_ms: NonNegative
    reset_ms: NonNegative
    first: Place
    rounds: list[TraceRound]
    discarded: Count
    end: End

    @property
    def tokens(self) -> list[int]:
        """The answer."""
        committed = [self.first, *chain.from_iterable(entry.committed for entry in self.rounds)]
        return committed[: len(committed) - self.discarded]

    @property
    def decode_ms(self) -> float:
        """What all tokens after the first took, the drafter's reading of the prompt included."""
        return self.reset_ms + sum(entry.ms.total for entry in self.rounds)


class Trace(Strict):
    """commit: of the code that ran; clean: whether the files were those of the commit; drafter_sha256:
    of the weights that the drafter read, None where it reads none; prompt_tokens: of the whole
    prompt, chat template included; same_tokens: whether speculation gave the tokens of plain
    decoding, which it must when greedy; None when drawn at random."""

    schema_version: Literal[1]
    id: TraceId
    quick: bool
    device: Device
    versions: dict[Name, Name]
    kernel: Name
    dtype: Dtype
    threads: int = Field(ge=1)
    commit: Commit
    clean: bool
    date: Moment
    command: Name
    weights_sha256: Hash
    drafter_sha256: Hash | None
    target: Name
    drafter: Name
    k: int = Field(ge=1, le=MOST_TOKENS)
    temperature: NonNegative
    seed: int
    kind: Kind
    prompt_id: Name
    prompt: Annotated[str, StringConstraints(min_length=1)]
    prompt_tokens: int = Field(ge=1, le=MOST_TOKENS)
    vocabulary: Vocabulary
    plain: PlainRun
    speculative: SpeculativeRun
    same_tokens: bool | None

    @model_validator(mode="after")
    def _adds_up(self) -> Trace:
        rounds = self.speculative.rounds
        known = len(self.vocabulary.ids)
        if any(place >= known for place in self._named):
            raise ValueError(f"a token is not among the {known} of the vocabulary")
        greedy = self.temperature == 0
        for number, entry in enumerate(rounds):
            if len(entry.drafts) > self.k:
                raise ValueError(f"round {number} has {len(entry.drafts)} drafts where k = {self.k}")
            if (entry.u is None) != greedy:
                raise ValueError(f"round {number} has {'a draw' if greedy else 'no draw'} at T = {self.temperature}")
            if not greedy:
                self._check_laws(number, entry)
        if rounds and self.speculative.discarded >= len(rounds[-1].committed):
            raise ValueError("the last round gave nothing to the answer")
        same = self.speculative.tokens == self.plain.tokens if greedy else None
        if self.same_tokens != same:
            raise ValueError(f"same_tokens is {self.same_tokens}, and the tokens say {same}")
        return self

    def _check_laws(self, number: int, entry: TraceRound) -> None:
        """Where a drafted token is among the likeliest, its probability is the one listed."""
        for place, draft in enumerate(entry.drafts):
            for name, laws in (("p", entry.target), ("q", entry.draft)):
                listed = dict(laws[place]).get(draft.token) if laws is not None else None
                if listed is not None and abs(listed - getattr(draft, name)) > ROUNDING:
                    raise ValueError(f"round {number}, draft {place}: {name} is not the {listed} of the law")

    @property
    def _named(self) -> Iterable[int]:
        yield from self.plain.tokens
        yield self.speculative.first
        for entry in self.speculative.rounds:
            yield entry.token
            yield from (draft.token for draft in entry.drafts)
            for law in [*entry.target, *(entry.draft or [])]:
                yield from (place for place, _ in law)
            if entry.residual is not None:
                yield from (place for place, _ in entry.residual.likeliest)

    @cached_property
    def counts(self) -> RoundCounts:
        """The rounds, counted as `measure.counts.Counts` counts them."""
        k, rounds = self.k, self.speculative.rounds
        proposing = [entry for entry in rounds if entry.drafts]
        return RoundCounts(
            histogram=[sum(entry.accepted == j for entry in proposing) for j in range(k + 1)],
            offered=[sum(len(entry.drafts) > j for entry in rounds) for j in range(k)],
            examined=[sum(entry.accepted >= j and len(entry.drafts) > j for entry in rounds) for j in range(k)],
            accepted=[sum(entry.accepted > j for entry in rounds) for j in range(k)],
            recovered=sum(entry.kind == "recovered" for entry in rounds),
            bonus=sum(entry.kind == "bonus" for entry in rounds),
            empty=sum(entry.kind == "plain" for entry in rounds),
            first=1,
            discarded=self.speculative.discarded,
        )

    @property
    def sent_bytes(self) -> int:
        """What it weighs on its way to a reader."""
        return len(gzip.compress(self.model_dump_json().encode(), 6))

    @property
    def factor(self) -> float:
        """Times the tokens a second of plain decoding, both without reading the prompt. Where both
        wrote as many tokens it is how much earlier speculation was done."""
        plain, speculative = self.plain, self.speculative
        plain_ms = plain.decode_ms / max(1, len(plain.tokens) - 1)
        return plain_ms / (speculative.decode_ms / max(1, len(speculative.tokens) - 1))

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """What each token adds to the text; nothing for the first bytes of a character, which comes
        with its last. Together they are the exact text."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces = []
        for number, place in enumerate(tokens, start=1):
            text = self.vocabulary.texts[place]
            part = b"" if isinstance(text, Control) else text.encode() if isinstance(text, str) else bytes(text)
            pieces.append(decoder.decode(part, final=number == len(tokens)))
        return pieces


# --- files -------------------------------------------------------------------------------------


def write_trace(trace: Trace, folder: Path) -> Path:
    """Write it aside and rename it; the path. It is read back first, so that what was written can
    be read."""
    text = trace.model_dump_json() + "\n"
    Trace.model_validate_json(text)
    path = folder / f"{trace.id}.json"
    write_if_changed(path, text)
    return path


def read_trace(path: Path) -> Trace:
    """RecordError, with the file and the field, for what is not a trace of this version."""
    try:
        trace = _parsed(path.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: this is not JSON: {error}") from None
    except ValidationError as error:
        raise RecordError(fault_lines(path, error, "the trace")) from None
    if path.name != f"{trace.id}.json":
        raise RecordError(f"{path}: id: {trace.id} does not belong in a file of this name")
    return trace


@lru_cache(maxsize=256)
def _parsed(text: str) -> Trace:
    """Once for each text: while a site is served, a save changes the lesson and no trace."""
    return Trace.model_validate_json(json.dumps(json.loads(text)))


def load_traces(folder: Path) -> dict[str, Trace]:
    """Every trace in `folder` by its id; none where there is no such folder. RecordError with
    every fault."""
    traces: dict[str, Trace] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            trace = read_trace(path)
            traces[trace.id] = trace
        except RecordError as error:
            faults.append(str(error))
    if faults:
        raise RecordError("\n".join(faults))
    return traces

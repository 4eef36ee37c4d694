"""What is measured where the trained weights are not at hand: a target of the same shapes with random
weights, and drafts that stand where they stood in recorded runs.

What a pass and a draft cost follows from shapes, not from what the weights say. Which drafts the
target accepts does not: so each greedy run is a script of how many tokens a round drafted and how
many of them stood. The drafter works as ever, for its time; what it proposes is replaced by what
the random target is going to write, as far as the script has it accepted, and by other tokens
after that. Records made of this say `replayed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from build_scripts.measure.decoding import decode_plain
from build_scripts.measure.drafting import Drafter, Proposal
from build_scripts.measure.experiments import batch, speedup
from build_scripts.measure.experiments.recorded import Recorded, Script
from build_scripts.measure.experiments.subject import Subject, Text, drafter_hashes, drafters_for
from build_scripts.measure.head.features import fingerprint
from build_scripts.measure.kernels import choose
from build_scripts.measure.sampling import Sampling
from build_scripts.measure.stopping import Limits
from build_scripts.measure.target import Shapes, random_model
from build_scripts.records.schema import Device
from build_scripts.records.store import file_name_of, read_record
from build_scripts.records.trace import Trace, load_traces

SHAPES = Shapes(30, 576, 1536, 9, 3, 49152)
"""SmolLM2-135M's, which a machine without the weights cannot look up."""
MOST_PROMPT = 1024
"""Tokens; a model with random weights has twice as many positions."""
TOKENS = 64
"""The cap on answers: recorded runs are a little longer."""
ROOM = 32
"""How far beyond the cap a last round may reach."""


class NotReplayable(RuntimeError):
    """There is nothing to replay, or it would replace what was measured; one line."""


def recorded_in(folder: Path) -> Recorded:
    """The traces of a folder, those of one device: a CPU's first, full runs where there are any.
    NotReplayable without a greedy one, RecordError for broken ones."""
    traces = sorted(load_traces(folder).values(), key=lambda trace: (trace.quick, trace.device.kind != "cpu", trace.device.name))
    found = [trace for trace in traces if (trace.quick, trace.device) == (traces[0].quick, traces[0].device)]
    if not Recorded(found).greedy:
        raise NotReplayable(f"{folder} has no greedy run to replay: measure traces records some")
    for trace in found:
        if max(trace.vocabulary.ids) >= SHAPES.vocabulary or trace.prompt_tokens > MOST_PROMPT:
            raise NotReplayable(f"{folder / trace.id}.json is no run of a model of {SHAPES.vocabulary} tokens and prompts up to {MOST_PROMPT}")
    return Recorded(found)


def spare_measured(out: Path, device: Device, quick: bool, experiments: Sequence[str]) -> None:
    """NotReplayable where a record of the model's own weights is in the place of one to be written.
    Only where prompts were read were there weights to read them with."""
    for name in experiments:
        path = out / file_name_of(name, device, quick)
        if path.is_file() and read_record(path).prompts_sha256 is not None:
            raise NotReplayable(f"{path} was measured with the model's own weights, and is not replaced: name another folder with --out")


@dataclass
class _Row:
    """A text on its way. answer: all that will be written; written: how much of it is; round: which of
    the script is next. The rows of a batch begin at different rounds, so that they do not all have
    as many drafts accepted."""

    kind: str
    answer: Sequence[int]
    round: int
    written: int = 1

    def drafts(self, script: Script, vocabulary: int) -> list[int]:
        """ValueError where the answer is not known that far."""
        drafted, accepted = script[self.round % len(script)]
        following = list(self.answer[self.written : self.written + drafted])
        if len(following) < drafted:
            raise ValueError(f"the answer is known for {len(self.answer)} tokens only")
        return following[:accepted] + [(token + 1) % vocabulary for token in following[accepted:]]


class ScriptedDrafter(Drafter):
    """Drafts what a script has accepted. Other texts than the recorded ones `inner` drafts alone.

    inner: the drafter whose time it takes; scripts: by kind and k; answers: the kind of each
    prompt, and what the target writes after it.
    """

    def __init__(
        self, inner: Drafter, scripts: Mapping[tuple[str, int], Script],
        answers: Mapping[tuple[int, ...], tuple[str, Sequence[int]]], vocabulary: int,
    ) -> None:  # fmt: skip
        self.inner, self.scripts, self.answers, self.vocabulary = inner, scripts, answers, vocabulary
        self._rows: list[_Row] = []

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        self.inner.reset(texts, features, room)
        # The last token is the first of the answer.
        found = [self.answers.get(tuple(text[:-1])) for text in texts]
        self._rows = [_Row(*entry, place) for place, entry in enumerate(found) if entry is not None]
        if self._rows and len(self._rows) != len(texts):
            raise ValueError("only some of the texts of this batch were recorded")

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        own = self.inner.propose(k, sampling, uniforms)
        if not self._rows:
            return own
        if not sampling.greedy:
            raise ValueError("only greedy runs can be replayed")
        self._own = own
        drafts = [row.drafts(self.scripts[row.kind, k], self.vocabulary) for row in self._rows]
        width = max(map(len, drafts))
        padded = [draft + [0] * (width - len(draft)) for draft in drafts]
        device = own.tokens.device
        return Proposal(
            tokens=torch.tensor(padded, dtype=torch.long, device=device).view(len(drafts), width),
            counts=torch.tensor([len(draft) for draft in drafts], device=device),
        )

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        if not self._rows:
            return self.inner.update(committed, features)
        told = []
        own = zip(self._own.tokens.tolist(), self._own.counts.tolist())
        for row, new, (tokens, count) in zip(self._rows, committed, own):
            row.written += len(new)
            row.round += 1
            # Its own drafts, as many as stood in the recorded run: what it keeps and what it takes
            # back costs as much as there.
            told.append([*tokens[: min(count, len(new) - 1)], new[-1]])
        self.inner.update(told, features)

    def keep_rows(self, rows: Sequence[int]) -> None:
        self.inner.keep_rows(rows)
        if self._rows:
            self._rows = [self._rows[row] for row in rows]
            self._own = Proposal(self._own.tokens[rows], self._own.counts[rows])


def replayed_subject(device: str, recorded: Recorded, seed: int, shapes: Shapes = SHAPES) -> Subject:
    """The recorded target without its weights."""
    plain = random_model(shapes, seed, torch.bfloat16 if device == "cuda" else torch.float32, device)
    target, kernel = choose(plain, device)
    texts = texts_of(recorded)
    written = decode_plain(target, [text.tokens for text in texts], Limits(TOKENS + ROOM)).answers
    answers = {text.tokens: (text.kind, answer.tokens) for text, answer in zip(texts, written)}

    def scripted(name: str, make: Callable[[], Drafter]) -> Drafter:
        return ScriptedDrafter(make(), recorded.scripts(name), answers, shapes.vocabulary)

    known = {trace.drafter for trace in recorded.greedy}
    return Subject(
        name=recorded.greedy[0].target,
        trained=False,
        target=target,
        kernel=kernel,
        plain=plain,
        chat=None,
        ends=frozenset(),
        texts=texts,
        prompts_sha256=None,
        weights_sha256=fingerprint(plain),
        drafter_sha256=drafter_hashes(),
        makers={
            name: partial(scripted, name, make) for name, make in drafters_for(target).items() if name in known
        },
        recorded=recorded,
    )


def texts_of(recorded: Recorded) -> list[Text]:
    """One prompt of each kind, as long as the recorded one. It consists of the recorded answer, over
    and over, so that drafters that search a text find something."""

    def text(trace: Trace) -> Text:
        answer = [trace.vocabulary.ids[place] for place in trace.plain.tokens]
        tokens = tuple(islice(cycle(answer), trace.prompt_tokens))
        return Text(trace.prompt_id, trace.kind, "speedup", "", tokens)

    first = {trace.kind: trace for trace in reversed(recorded.greedy)}
    return [text(first[kind]) for kind in recorded.kinds]


def replayed_settings(subject: Subject, device: str, quick: bool) -> dict[str, Any]:
    """Of the experiments that decode: what was recorded, in place of their own choice."""
    recorded = subject.recorded
    assert recorded is not None
    names = tuple(subject.makers)
    usual = batch.settings(device, quick, names)

    def every_k(name: str) -> tuple[int, ...]:
        return tuple(sorted({k for kind in recorded.kinds for k in recorded.ks(name, kind)}))

    def pairs(kind: str) -> tuple[tuple[str, int], ...]:
        return tuple((name, recorded.ks(name, kind)[0]) for name in names if recorded.ks(name, kind))

    return {
        "speedup": speedup.Settings(
            kinds=recorded.kinds,
            drafters={name: every_k(name) for name in names},
            prompts=1,
            tokens=TOKENS,
            repeats=3 if quick else 9,
        ),
        # The kinds that differ most: one that quotes, which comes last, and one that does not.
        "batch": batch.Settings(
            pairs=tuple((kind, pairs(kind)) for kind in dict.fromkeys((recorded.kinds[-1], recorded.kinds[0]))),
            batches=usual.batches,
            tokens=usual.tokens,
            repeats=usual.repeats,
            prompts=1,
            large=usual.large,
        ),
    }

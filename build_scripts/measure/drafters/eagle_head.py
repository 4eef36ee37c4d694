"""An EAGLE-style head: one layer that foresees the target's features, and so its tokens.

Position i of the head reads feature i, which the target computed anyway, and the token that was
chosen after it, x_{i+1}; it puts out what it takes feature i + 1 to be, from which the target's own
head, cut down to its frequent tokens, draws x_{i+2}. From the second draft of a round on it reads
its own features: `head.model` trains it for both.

Its cache has an entry for each position. Those made of the target's features stay; those made of
its own are rolled back when the round is over, also where the draft stood, and made again of what
the target thought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.cache import Cache
from build_scripts.measure.drafting import Drafter, Proposal
from build_scripts.measure.head.quantised import SHIPPED, Trained, read_head
from build_scripts.measure.kernels import fastest, plain_head
from build_scripts.measure.sampling import Sampling, draw, probabilities
from build_scripts.measure.target import Layer, Target, Weights

WEIGHTS = SHIPPED


class EagleHead(Drafter):
    """kernel: what multiplies the head's matrices, for a record."""

    def __init__(self, target: Target, trained: Trained) -> None:
        """ValueError, in one line, for a head that was trained for a target of other shapes."""
        _check(target, trained)
        self.model, self.kernel = fastest(_as_model(target, trained))
        self.vocabulary = target.shapes.vocabulary
        self.tokens = trained.tokens.to(target.device)
        self._fc = self.model.prepare(trained.parameters["fc"].to(target.device, target.dtype))
        gain = target.weights.final_norm.to(target.dtype)
        # Of both inputs of fc, so that they arrive in the sizes that it was trained for.
        self._scale = torch.cat([1 / gain, torch.full_like(gain, trained.embedding_scale)])

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        longest = max(len(text) for text in texts)
        self.cache: Cache = self.model.new_cache(len(texts), longest - 1 + room)
        self._held = [0] * len(texts)  # how many entries are made of the target's features
        self._learn([text[1:] for text in texts], features)

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        foreseen, tokens, laws = self._foreseen, [], []
        for step in range(k):
            if step:
                foreseen = self._read(foreseen[:, None], tokens[-1][:, None])[:, 0]
            logits = self.model.logits(foreseen)
            if uniforms is None:
                place = logits.argmax(-1)
            else:
                laws.append(probabilities(logits, sampling))
                place = draw(laws[-1], uniforms[:, step])
            tokens.append(self.tokens[place])
        return Proposal(
            tokens=torch.stack(tokens, dim=1),
            counts=torch.full((len(foreseen),), k, device=foreseen.device),
            probabilities=self._over_all(torch.stack(laws, dim=1)) if laws else None,
        )

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        self.cache.roll_back(self._held)
        self._learn(committed, features)

    def keep_rows(self, rows: Sequence[int]) -> None:
        self.cache.keep_rows(rows)
        self._held = [self._held[row] for row in rows]

    def _learn(self, following: Sequence[Sequence[int]], features: Tensor) -> None:
        """Read the target's features and the tokens that followed; what comes of the last of them is
        what the next round begins with."""
        counts = [len(new) for new in following]
        width = max(counts)
        padded = [[*new, *[0] * (width - len(new))] for new in following]
        device = features.device
        made = self._read(features[:, :width], torch.tensor(padded, device=device))
        self._held = [held + count for held, count in zip(self._held, counts)]
        self.cache.roll_back(self._held)
        last = torch.tensor(counts, device=device) - 1
        self._foreseen = made[torch.arange(len(counts), device=device), last]

    def _read(self, features: Tensor, following: Tensor) -> Tensor:
        """The head's features [B, m, d] after those given [B, m, d] and the tokens [B, m] chosen
        after each."""
        embedded = F.embedding(following, self.model.weights.embedding)
        both = torch.cat([features, embedded], dim=-1) * self._scale
        x = self.model.multiply(both.flatten(0, 1), self._fc).view_as(embedded)
        return self.model.pass_over(x, self.cache)

    def _over_all(self, laws: Tensor) -> Tensor:
        """Laws over the head's tokens [B, k, R] as laws over all [B, k, V]."""
        whole = laws.new_zeros(*laws.shape[:2], self.vocabulary)
        whole[:, :, self.tokens] = laws
        return whole


def _as_model(target: Target, trained: Trained) -> Target:
    """The head as a model of one layer, which has its target's embedding, and its target's head as
    far as it proposes."""
    parameters = {
        name: value.to(target.device, target.dtype) for name, value in trained.parameters.items() if name != "fc"
    }
    final_norm = parameters.pop("final_norm")
    head = plain_head(target)[:, trained.tokens.to(target.device)].contiguous()
    weights = Weights(target.weights.embedding, (Layer(**parameters),), final_norm, head)
    return Target(replace(target.shapes, layers=1, tied=False), weights, target.positions)


def _check(target: Target, trained: Trained) -> None:
    shapes = target.shapes
    expected = {
        "fc": (2 * shapes.width, shapes.width),
        "qkv": (shapes.width, shapes.width + 2 * shapes.kv_heads * shapes.head_width),
        "gate_up": (shapes.width, 2 * shapes.ffn_width),
    }
    for name, size in expected.items():
        found = tuple(trained.parameters[name].shape)
        if found != size:
            raise ValueError(f"this head is not for this target: its {name} is {found}, and must be {size}")
    if int(trained.tokens.max()) >= shapes.vocabulary:
        raise ValueError(f"this head is not for this target: it proposes the token {int(trained.tokens.max())}")


def for_target(target: Target) -> EagleHead:
    return create(target)


def create(target: Target, trained: Trained | None = None) -> EagleHead:
    """trained: the shipped head where none is given."""
    return EagleHead(target, read_head() if trained is None else trained)

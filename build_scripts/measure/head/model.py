"""The head as a network to train: from what the target thought to what it will think next.

EAGLE (arXiv 2401.15077): to predict feature i + 1, read feature i and the embedding of the token
that was really chosen after it, x_{i+1}, which the feature cannot know. One linear layer joins
the two, one block of the target's own shape and begun from its last block does the rest, and the
target's own head, cut down to its frequent tokens, turns the result into a law of x_{i+2}.

When it drafts, the head reads its own features from the second draft on. So it is trained that
way too (arXiv 2408.15766, 2503.01840): step 0 reads the target's features at every position, step j
reads what step j - 1 put out one position before; an earlier position is attended to as it was
when the draft passed over it.

Letters as in `target`: B rows, m tokens, d width, H and N heads, D head width; R reduced
vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.head.features import HIDDEN, attend_all, causal_mask
from build_scripts.measure.target import Target, rms_norm, rotary_table, rotate

MATRICES = ("fc", "qkv", "out", "gate_up", "down")
GAINS = ("attention_norm", "ffn_norm", "final_norm")


@dataclass(frozen=True)
class Frozen:
    """What the head takes from its target as it is: nothing of it is trained or shipped.

    tokens [R]: the ids that it can propose, ascending; head [d, R]: the target's columns for them;
    feature_gain [d]: the gain that the target's features carry, divided out; embedding_scale:
    brings embeddings to the size of features.
    """

    tokens: Tensor
    head: Tensor
    embedding: Tensor
    feature_gain: Tensor
    embedding_scale: float

    @classmethod
    def of(cls, target: Target, tokens: Tensor, dtype: torch.dtype) -> Frozen:
        weights = target.weights
        return cls(
            tokens=tokens,
            head=weights.head[:, tokens].to(dtype).contiguous(),
            embedding=weights.embedding.to(dtype),
            feature_gain=weights.final_norm.to(dtype),
            embedding_scale=1 / float(weights.embedding.float().std()),
        )


def frequent_tokens(texts: Tensor, vocabulary: int, count: int) -> Tensor:
    """The `count` likeliest ids of these texts, ascending; of equals the smaller."""
    occurrences = torch.bincount(texts.flatten(), minlength=vocabulary)
    return occurrences.sort(descending=True, stable=True).indices[:count].sort().values


def new_parameters(target: Target, seed: int) -> dict[str, Tensor]:
    """Where training begins: the target's last block, and a feature passed on almost as it is."""
    width, last = target.shapes.width, target.weights.layers[-1]
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(width, width, generator=generator) * 0.02
    parameters = {name: getattr(last, name) for name in (*MATRICES[1:], *GAINS[:2])}
    parameters["fc"] = torch.cat([torch.eye(width) * 0.5, drawn])
    parameters["final_norm"] = target.weights.final_norm
    return {name: value.detach().float().clone().cpu() for name, value in sorted(parameters.items())}


class Head:
    """The network for whole rows: `unroll` is what training and its evaluation see of it."""

    def __init__(self, target: Target, frozen: Frozen, length: int) -> None:
        self.shapes = target.shapes
        self.frozen = frozen
        dtype, device = frozen.head.dtype, frozen.head.device
        cosine, sine = rotary_table(self.shapes, length, dtype, device)
        self._cosine, self._sine = cosine[None, :, None], sine[None, :, None]

    def unroll(
        self, parameters: Mapping[str, Tensor], features: Tensor, following: Tensor, steps: int
    ) -> list[Tensor]:
        """What each step makes of `features` [B, m, d] and the tokens `following` them [B, m].

        Entry j holds step j's features [B, m, d]; entry i of it stands for feature i + 1 of the
        target, foreseen j + 1 tokens ahead. It means nothing where i < j.
        """
        width = self.shapes.head_width
        rows, m = following.shape
        groups = self.shapes.heads // self.shapes.kv_heads
        embedded = F.embedding(following, self.frozen.embedding) * self.frozen.embedding_scale
        current, keys, values, made = features, [], [], []
        for step in range(steps):
            x = torch.cat([current / self.frozen.feature_gain, embedded], dim=-1) @ parameters["fc"]
            normed = rms_norm(x, parameters["attention_norm"], self.shapes.norm_epsilon)
            heads = (normed @ parameters["qkv"]).view(rows, m, -1, width)
            q, k, v = heads.split([self.shapes.heads, self.shapes.kv_heads, self.shapes.kv_heads], dim=2)
            q, k = rotate(q, self._cosine[:, :m], self._sine[:, :m]), rotate(
                k, self._cosine[:, :m], self._sine[:, :m]
            )
            keys.append(k)
            values.append(v)
            if step == 0:
                attended = attend_all(q, k, v, causal_mask(m, q.dtype, q.device))
            else:
                attended = attend_unrolled(q, keys, values, groups)
            x = x + attended @ parameters["out"]
            normed = rms_norm(x, parameters["ffn_norm"], self.shapes.norm_epsilon)
            gate, up = (normed @ parameters["gate_up"]).chunk(2, dim=-1)
            x = x + (F.silu(gate) * up) @ parameters["down"]
            foreseen = rms_norm(x, parameters["final_norm"], self.shapes.norm_epsilon)
            made.append(foreseen)
            current = torch.cat([features[:, :1], foreseen[:, :-1]], dim=1)
        return made


def attend_unrolled(q: Tensor, keys: list[Tensor], values: list[Tensor], groups: int) -> Tensor:
    """Attention of step j = len(keys) - 1: q [B, m, H, D], each step's keys, values [B, m, N, D].

    A draft's query at position i sees what the target's features made of the positions up to
    i - j, and what steps 1 … j made of the j positions after those: step t of position i - j + t.
    """
    step = len(keys) - 1
    rows, m, heads, width = q.shape
    kv_heads = heads // groups
    by_head = (rows * kv_heads, m, width)

    def flat(tensor: Tensor) -> Tensor:
        return tensor.transpose(1, 2).reshape(by_head)

    queries = q.transpose(1, 2).reshape(rows * kv_heads, groups, m, width)
    scale = width**-0.5
    mask = torch.full((m, m), HIDDEN, dtype=q.dtype, device=q.device).triu(1 - step)
    first_values = flat(values[0])
    scores = torch.baddbmm(
        mask.repeat(groups, 1), queries.reshape(-1, groups * m, width), flat(keys[0]).transpose(1, 2), alpha=scale
    ).view(-1, groups, m, m)
    # The hidden scores just right of what is seen make room for those of the later steps.
    for made in range(1, step + 1):
        back = step - made
        own = (queries[:, :, back:] * flat(keys[made])[:, None, : m - back]).sum(-1) * scale
        scores.diagonal(-back, -2, -1).copy_(own)
    weights = scores.softmax(-1)
    mixed = (weights.view(-1, groups * m, m) @ first_values).view(-1, groups, m, width)
    for made in range(1, step + 1):
        back = step - made
        gained = (flat(values[made]) - first_values)[:, None, : m - back]
        share = weights.diagonal(-back, -2, -1)[..., None]
        mixed = mixed + F.pad(share * gained, (0, 0, back, 0))
    return mixed.view(rows, heads, m, width).transpose(1, 2).reshape(rows, m, heads * width)

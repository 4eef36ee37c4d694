"""A Llama-shaped causal language model in plain torch.

Pre-norm blocks: RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864, in the layout
that rotates the two halves of a head), grouped-query attention (arXiv 2305.13245), SwiGLU
(arXiv 2002.05202). A pass reads m tokens of every row at once, each row from its own
position on; m = 1 is plain decoding, m = k + 1 verifies k drafts.

Letters in the shapes below: B rows, m tokens a row, d width, H query heads, N key-value heads,
G = H / N, D head width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.cache import Cache

Multiply = Callable[[Tensor, Tensor], Tensor]
"""[rows, in] times a weight stored [in, out]: the kernel of every linear layer."""


@dataclass(frozen=True)
class Shapes:
    """Everything about a model but its weights. ValueError for heads that do not divide."""

    layers: int
    width: int
    ffn_width: int
    heads: int
    kv_heads: int
    vocabulary: int
    tied: bool = True
    rope_base: float = 1e5
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if self.width % self.heads or self.heads % self.kv_heads or self.head_width % 2:
            raise ValueError(
                f"a width of {self.width}, {self.heads} heads and {self.kv_heads} key-value heads do not fit"
            )

    @property
    def head_width(self) -> int:
        return self.width // self.heads


@dataclass(frozen=True)
class Layer:
    """The weights of one block. Matrices are stored [in, out], so that a pass computes x @ W:
    with one to a few rows, that order is the flatter in m on CPUs."""

    attention_norm: Tensor  # [d]
    qkv: Tensor  # [d, (H + 2N)·D]: queries, keys, values
    out: Tensor  # [H·D, d]
    ffn_norm: Tensor  # [d]
    gate_up: Tensor  # [d, 2·ffn]: gate, up
    down: Tensor  # [ffn, d]


@dataclass(frozen=True)
class Weights:
    """`head` may have more precision than the rest: the argmax of near-ties depends on it."""

    embedding: Tensor  # [V, d]
    layers: tuple[Layer, ...]
    final_norm: Tensor  # [d]
    head: Tensor  # [d, V]


class Target:
    """The model: its weights, and two functions of them. It keeps no state between passes."""

    def __init__(
        self, shapes: Shapes, weights: Weights, positions: int, multiply: Multiply = torch.matmul
    ) -> None:
        """positions: the longest text that a pass may reach, in tokens."""
        self.shapes = shapes
        self.weights = weights
        self.positions = positions
        self.multiply = multiply
        self._cosine, self._sine = rotary_table(shapes, positions, self.dtype, self.device)

    @property
    def dtype(self) -> torch.dtype:
        return self.weights.embedding.dtype

    @property
    def device(self) -> torch.device:
        return self.weights.embedding.device

    def new_cache(self, rows: int, capacity: int) -> Cache:
        """An empty cache; ValueError for a capacity beyond the model's positions."""
        if capacity > self.positions:
            raise ValueError(f"the model reaches {self.positions} positions, and {capacity} are asked for")
        shapes = self.shapes
        return Cache(
            shapes.layers, rows, capacity, shapes.kv_heads, shapes.head_width, self.dtype, self.device
        )

    def features(self, tokens: Tensor, cache: Cache) -> Tensor:
        """One pass: read `tokens` [B, m] after what the cache holds, and append them to it.

        Returns [B, m, d], what the head reads: entry i predicts the token after tokens[:, i].
        Every row advances by m; roll the cache back where some of them were padding.
        ValueError when the cache is too short.
        """
        return self.pass_over(F.embedding(tokens, self.weights.embedding), cache)

    def pass_over(self, x: Tensor, cache: Cache) -> Tensor:
        """The same with what the first layer reads, x [B, m, d], instead of tokens. x may be
        overwritten."""
        aligned = len(set(cache.lengths)) == 1
        positions = cache.advance(x.shape[1])
        extent = max(cache.lengths)
        # One token at the end of rows of one length sees everything: no mask needed.
        masked = x.shape[1] > 1 or not aligned
        return self._pass_over(x, positions, cache.keys, cache.values, extent, masked)

    def _pass_over(
        self, x: Tensor, positions: Tensor, all_keys: Tensor, all_values: Tensor, extent: int, masked: bool
    ) -> Tensor:
        """The pass itself: inputs [B, m, d] and their positions [B, m], keys and values as the cache
        has them, of which `extent` positions are looked at. It is made of work for the device alone."""
        shapes, weights = self.shapes, self.weights
        rows, capacity = all_keys.shape[1:3]
        visible = attention_mask(positions, extent, shapes, self.dtype) if masked else None
        cosine, sine = self._cosine[positions][:, :, None], self._sine[positions][:, :, None]
        slots = (torch.arange(rows, device=self.device)[:, None] * capacity + positions).flatten()

        for layer, keys, values in zip(weights.layers, all_keys, all_values):
            normed = rms_norm(x, layer.attention_norm, shapes.norm_epsilon)
            q, k, v = self._split_heads(self._linear(normed, layer.qkv))
            q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
            store(keys, slots, k)
            store(values, slots, v)
            attended = attend(q, keys[:, :extent], values[:, :extent], visible)
            x = x + self._linear(attended, layer.out)

            normed = rms_norm(x, layer.ffn_norm, shapes.norm_epsilon)
            gate, up = self._linear(normed, layer.gate_up).chunk(2, dim=-1)
            x = x + self._linear(F.silu(gate) * up, layer.down)
        return rms_norm(x, weights.final_norm, shapes.norm_epsilon)

    def logits(self, features: Tensor) -> Tensor:
        """[…, d] to [..., V], in the precision of the head."""
        return self._linear(features.to(self.weights.head.dtype), self.weights.head)

    def prepare(self, matrix: Tensor) -> Tensor:
        """A matrix [in, out] in the form that `multiply` takes."""
        return matrix

    def _linear(self, x: Tensor, weight: Tensor) -> Tensor:
        return self.multiply(x.reshape(-1, x.shape[-1]), weight).view(*x.shape[:-1], -1)

    def _split_heads(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[B, m, (H + 2N)·D] to [B, m, H, D] and twice [B, m, N, D]."""
        shapes = self.shapes
        heads = qkv.view(*qkv.shape[:2], -1, shapes.head_width)
        return heads.split([shapes.heads, shapes.kv_heads, shapes.kv_heads], dim=2)


# --- the parts of a pass -------------------------------------------------------------------


def rms_norm(x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
    """x / sqrt(mean(x²) + epsilon) · gain over the last dimension."""
    return F.rms_norm(x, (x.shape[-1],), gain, epsilon)


def rotary_table(
    shapes: Shapes, positions: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Cosine and sine of position · base^(-2i / D), each [positions, D], the halves alike."""
    # In double precision first: single loses digits of the angle at far positions.
    steps = torch.arange(0, shapes.head_width, 2, dtype=torch.float64) / shapes.head_width
    angles = torch.outer(torch.arange(positions, dtype=torch.float64), shapes.rope_base**-steps)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos().to(device, dtype), angles.sin().to(device, dtype)


def rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn each pair (i, i + D/2) of [B, m, heads, D] by its angle; cosine, sine [B, m, 1, D]."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cosine + torch.cat([-second, first], dim=-1) * sine


def store(cached: Tensor, slots: Tensor, new: Tensor) -> None:
    """Write [B, m, N, D] into one layer's [B, capacity, N, D]; slots [B·m] count through all rows."""
    flat = cached.view(-1, *cached.shape[2:])
    flat.index_copy_(0, slots, new.reshape(-1, *new.shape[2:]))


def attention_mask(positions: Tensor, extent: int, shapes: Shapes, dtype: torch.dtype) -> Tensor:
    """What is added to the scores, [B, 1, G·m, extent]: 0 up to a token's own position, else -inf.

    This hides the future, and also what lies beyond a shorter row's length.
    """
    rows, m = positions.shape
    seen = torch.arange(extent, device=positions.device) <= positions[:, :, None]
    mask = torch.zeros(rows, m, extent, dtype=dtype, device=positions.device)
    mask = mask.masked_fill_(~seen, float("-inf"))
    groups = shapes.heads // shapes.kv_heads
    return mask[:, None, None].expand(-1, 1, groups, -1, -1).reshape(rows, 1, groups * m, extent)


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Grouped-query attention of q [B, m, H, D] over keys and values [B, S, N, D]; [B, m, H·D].

    The G query heads of a key-value head become G·m queries: its keys are not copied.
    """
    rows, m, heads, width = q.shape
    kv_heads = keys.shape[2]
    grouped = q.transpose(1, 2).reshape(rows, kv_heads, -1, width)
    mixed = F.scaled_dot_product_attention(
        grouped, keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask
    )
    return mixed.reshape(rows, heads, m, width).transpose(1, 2).reshape(rows, m, heads * width)


# --- random weights ------------------------------------------------------------------------


def random_model(
    shapes: Shapes,
    seed: int,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    positions: int = 2048,
    multiply: Multiply = torch.matmul,
) -> Target:
    """A model of these shapes that was never trained: for tests, and for what passes cost.

    The same seed gives the same weights on the same kind of device.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def matrix(rows: int, columns: int, fan_in: int) -> Tensor:
        drawn = torch.randn(rows, columns, generator=generator, dtype=dtype, device=device)
        return drawn.mul_(fan_in**-0.5)

    def ones() -> Tensor:
        return torch.ones(shapes.width, dtype=dtype, device=device)

    width, ffn = shapes.width, shapes.ffn_width
    layers = tuple(
        Layer(
            attention_norm=ones(),
            qkv=matrix(width, width + 2 * shapes.kv_heads * shapes.head_width, width),
            out=matrix(width, width, width),
            ffn_norm=ones(),
            gate_up=matrix(width, 2 * ffn, width),
            down=matrix(ffn, width, ffn),
        )
        for _ in range(shapes.layers)
    )
    embedding = matrix(shapes.vocabulary, width, width)
    head = embedding.t().contiguous() if shapes.tied else matrix(width, shapes.vocabulary, width)
    return Target(shapes, Weights(embedding, layers, ones(), head), positions, multiply)


def map_weights(weights: Weights, change: Callable[[Tensor], Tensor]) -> Weights:
    """The weights with every tensor changed, the tied head's embedding included."""
    layers = tuple(
        Layer(**{part.name: change(getattr(layer, part.name)) for part in fields(layer)})
        for layer in weights.layers
    )
    return Weights(change(weights.embedding), layers, change(weights.final_norm), change(weights.head))


def to_device(target: Target, device: str | torch.device) -> Target:
    """The same model there; itself if it is there already."""
    wanted = torch.device(device)
    if wanted.type == target.device.type and wanted.index in (None, target.device.index):
        return target
    weights = map_weights(target.weights, lambda tensor: tensor.to(wanted))
    return Target(target.shapes, weights, target.positions, target.multiply)


def matrix_bytes(weights: Weights) -> int:
    """Bytes of the weights that every pass reads: all matrices but the embedding, of which it
    reads a few rows."""
    tensors = [getattr(layer, part.name) for layer in weights.layers for part in fields(layer)]
    return sum(tensor.nbytes for tensor in [*tensors, weights.final_norm, weights.head])

"""What the target thinks while it reads the corpus, kept on disk so that it is computed once.

A feature costs a pass of the whole target, some ten times what the head takes to learn from it. So
the features of all rows are computed first, by teacher forcing, and every epoch reads them
from a file: [rows, length, d] in bfloat16, mapped into memory. Beside it stands how far it is;
an interrupted run goes on from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.files import write_json
from build_scripts.measure.target import Target, rms_norm, rotate, rotary_table

BATCH = 8
"""Rows that the target reads at once: enough for full speed, little enough for its cache."""

Progress = Callable[[float, str], None]
"""Told how much is done, 0 to 1, and what is being done."""

HIDDEN = -60.0
"""Added to the scores of what must not be seen: e^-60 beside 1 is nothing, while with an infinity
the softmax takes three times as long here."""


def reading(target: Target, tokens: Tensor) -> Tensor:
    """`target.features` for whole rows of one length and no cache, [B, m, d]: much faster in bulk."""
    shapes, weights = target.shapes, target.weights
    rows, m = tokens.shape
    cosine, sine = rotary_table(shapes, m, target.dtype, target.device)
    cosine, sine = cosine[None, :, None], sine[None, :, None]
    mask = causal_mask(m, target.dtype, target.device)
    x = F.embedding(tokens, weights.embedding)
    for layer in weights.layers:
        heads = rms_norm(x, layer.attention_norm, shapes.norm_epsilon) @ layer.qkv
        q, k, v = heads.view(rows, m, -1, shapes.head_width).split(
            [shapes.heads, shapes.kv_heads, shapes.kv_heads], dim=2
        )
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        x = x + attend_all(q, k, v, mask) @ layer.out
        gate, up = (rms_norm(x, layer.ffn_norm, shapes.norm_epsilon) @ layer.gate_up).chunk(2, dim=-1)
        x = x + (F.silu(gate) * up) @ layer.down
    return rms_norm(x, weights.final_norm, shapes.norm_epsilon)


def causal_mask(m: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """[m, m], added to scores: HIDDEN where a column is later than the row."""
    return torch.full((m, m), HIDDEN, dtype=dtype, device=device).triu(1)


def attend_all(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention of q [B, m, H, D] over k, v [B, m, N, D] of the same tokens; [B, m, H·D]."""
    rows, m, heads, width = q.shape
    kv_heads = k.shape[2]
    groups = heads // kv_heads
    queries = q.transpose(1, 2).reshape(rows * kv_heads, groups * m, width)
    keys = k.transpose(1, 2).reshape(rows * kv_heads, m, width)
    values = v.transpose(1, 2).reshape(rows * kv_heads, m, width)
    scores = torch.baddbmm(mask.repeat(groups, 1), queries, keys.transpose(1, 2), alpha=width**-0.5)
    mixed = scores.softmax(-1) @ values
    return mixed.view(rows, heads, m, width).transpose(1, 2).reshape(rows, m, heads * width)


@torch.inference_mode()
def cached_features(
    target: Target, tokens: Tensor, wanted: int, folder: Path, identity: str, progress: Progress
) -> Tensor:
    """The features of `tokens` [rows, length], [rows, length, d] in bfloat16, mapped from `folder`.

    wanted: how many rows, from the first on, must be there; identity: says what text and what target
    these are features of; a folder that holds those of others is begun anew. Interrupted at any
    time, at most one batch is lost.
    """
    rows, length = tokens.shape
    size = (rows, length, target.shapes.width)
    folder.mkdir(parents=True, exist_ok=True)
    data, state = folder / "features.bf16", folder / "features.json"
    done = _done(state, identity, data, 2 * rows * length * target.shapes.width)
    mapped = torch.from_file(str(data), shared=True, size=rows * length * size[2], dtype=torch.bfloat16)
    mapped = mapped.view(size)
    while done < wanted:
        batch = tokens[done : min(done + BATCH, wanted)].to(target.device)
        mapped[done : done + len(batch)] = reading(target, batch).to("cpu", torch.bfloat16)
        done += len(batch)
        write_json(state, {"identity": identity, "rows": done})
        progress(done / wanted, f"features of {done} of {wanted} rows")
    return mapped


def fingerprint(target: Target) -> str:
    """A hash that tells targets apart: of some of its weights, and their precision."""
    weights = target.weights
    parts = [weights.embedding[:16], weights.final_norm, weights.layers[-1].down[:16]]
    digest = hashlib.sha256(str(target.dtype).encode())
    for part in parts:
        digest.update(part.double().cpu().numpy().tobytes())
    return digest.hexdigest()


def _done(state: Path, identity: str, data: Path, size: int) -> int:
    """How many rows of the file are there already."""
    try:
        held = json.loads(state.read_text(encoding="utf-8"))
        same = held["identity"] == identity and data.stat().st_size == size
        return int(held["rows"]) if same else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0

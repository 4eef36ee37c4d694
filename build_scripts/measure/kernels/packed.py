"""Weights packed for the single-precision kernel (packed.hpp): x @ W for few rows.

The result of a row is the same to the last bit, whatever other rows come with it: plain
decoding, which reads one token a pass, and verification, which reads k + 1, see the same logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.kernels.compiling import library, vectors


def panel_columns() -> int:
    """PANEL of packed.hpp: three vectors. Unavailable where there are no kernels."""
    return {"AVX-512": 48, "AVX2": 24}[vectors()]


@dataclass(frozen=True)
class Packed:
    """A matrix [in, out] as panels [ceil(out / P), in, P] of P columns, the last filled up with zeros."""

    panels: Tensor
    out: int

    dtype = torch.float32  # of what it is multiplied with

    @property
    def nbytes(self) -> int:
        return self.panels.nbytes


def pack(matrix: Tensor) -> Packed:
    """Any [in, out] on the CPU, in single precision afterwards."""
    rows, columns = matrix.shape
    panel = panel_columns()
    padded = F.pad(matrix.float(), (0, -columns % panel))
    panels = padded.view(rows, -1, panel).transpose(0, 1).contiguous()
    return Packed(panels, columns)


def unpack(packed: Packed) -> Tensor:
    """[in, out] again."""
    _, rows, _ = packed.panels.shape
    return packed.panels.transpose(0, 1).reshape(rows, -1)[:, : packed.out]


def multiply(x: Tensor, weight: Packed) -> Tensor:
    """[rows, in] times a packed [in, out], in single precision: [rows, out]."""
    return call("multiply_packed", x, weight.panels, weight.panels.shape[1], weight.out)


def call(function: str, x: Tensor, panels: Tensor, rows_in: int, out: int) -> Tensor:
    """The kernel of that name. ValueError for shapes that do not fit: it would read elsewhere."""
    if x.dim() != 2 or x.shape[1] != rows_in or x.dtype != torch.float32:
        raise ValueError(f"the kernel takes float32 rows of {rows_in}, not {x.dtype} {list(x.shape)}")
    x = x.contiguous()
    y = x.new_empty(len(x), out)
    kernel = getattr(library(), function)
    kernel(x.data_ptr(), len(x), panels.data_ptr(), rows_in, out, y.data_ptr(), torch.get_num_threads())
    return y

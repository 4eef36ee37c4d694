"""Weights in 8-bit integers (int8.hpp): a quarter of the memory to read, and a model that says
nearly the same.

Every 64 entries of a column share a scale, their largest magnitude over 127; what a matrix is
multiplied with is rounded in the same way, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.kernels.packed import call, panel_columns

GROUP = 64
"""Entries of a column that share a scale, as in int8.hpp."""


@dataclass(frozen=True)
class Int8:
    """A matrix [in, out] as bytes [panels, groups, P scales and 64 · P entries]: see int8.hpp."""

    panels: Tensor
    rows: int
    out: int

    dtype = torch.float32  # of what it is multiplied with

    @property
    def nbytes(self) -> int:
        return self.panels.nbytes


def round_matrix(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """[in, out] as whole numbers [groups, 64, out] from -127 to 127, and scales [groups, 1, out].

    Rows that fill up the last group are 0.
    """
    rows, columns = matrix.shape
    grouped = F.pad(matrix.float(), (0, 0, 0, -rows % GROUP)).view(-1, GROUP, columns)
    scales = grouped.abs().amax(dim=1, keepdim=True) / 127
    # Where all entries are 0 any scale will do.
    return (grouped / scales.where(scales > 0, 1.0)).round(), scales


def rounded(matrix: Tensor) -> Tensor:
    """The matrix [in, out] that the integers stand for, in single precision."""
    whole, scales = round_matrix(matrix)
    return (whole * scales).view(-1, matrix.shape[1])[: len(matrix)]


def pack_int8(matrix: Tensor) -> Int8:
    """Any [in, out] on the CPU, rounded and packed."""
    rows, columns = matrix.shape
    panel = panel_columns()
    whole, scales = round_matrix(F.pad(matrix, (0, -columns % panel)))
    groups, panels = len(whole), whole.shape[2] // panel
    entries = (whole + 128).to(torch.uint8).view(groups, GROUP // 4, 4, panels, panel)
    entries = entries.permute(3, 0, 1, 4, 2).reshape(panels, groups, GROUP * panel)
    by_panel = scales.view(groups, panels, panel).transpose(0, 1).contiguous()
    return Int8(torch.cat([by_panel.view(torch.uint8), entries], dim=2).contiguous(), rows, columns)


def multiply_int8(x: Tensor, weight: Int8) -> Tensor:
    """[rows, in], rounded too, times an integer [in, out]: [rows, out] in single precision."""
    return call("multiply_int8", x, weight.panels, weight.rows, weight.out)

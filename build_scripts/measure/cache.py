"""The target's keys and values: one static block of memory, a length for each row.

Rolling back is setting a length. What lies beyond it stays in memory, is never read, and is
overwritten by the next pass. That is exact for full attention; a sliding window would have
overwritten what a rollback needs, so there is none here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Cache:
    """Keys and values of a batch whose rows may differ in length.

    keys, values: [layers, rows, capacity, kv_heads, head_width]; lengths[b]: the number of
    positions of row b that count, 0 at first.
    """

    def __init__(
        self,
        layers: int,
        rows: int,
        capacity: int,
        kv_heads: int,
        head_width: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        size = (layers, rows, capacity, kv_heads, head_width)
        self.keys = torch.zeros(size, dtype=dtype, device=device)
        self.values = torch.zeros(size, dtype=dtype, device=device)
        self.lengths = [0] * rows

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @property
    def capacity(self) -> int:
        return self.keys.shape[2]

    def advance(self, count: int) -> Tensor:
        """Make room for `count` more positions in each row; return them, [rows, count].

        The pass that asks must write all of them. ValueError where a row would be longer than
        the capacity.
        """
        longest = max(self.lengths) + count
        if longest > self.capacity:
            raise ValueError(f"the cache holds {self.capacity} positions a row, and {longest} are needed")
        starts = torch.tensor(self.lengths, device=self.keys.device)
        self.lengths = [length + count for length in self.lengths]
        return starts[:, None] + torch.arange(count, device=self.keys.device)

    def roll_back(self, lengths: Sequence[int]) -> None:
        """Forget the positions of each row from `lengths[b]` on. ValueError for more than there are."""
        if len(lengths) != self.rows:
            raise ValueError(f"the cache has {self.rows} rows, not {len(lengths)}")
        for row, (wanted, held) in enumerate(zip(lengths, self.lengths)):
            if not 0 <= wanted <= held:
                raise ValueError(f"row {row} holds {held} positions and cannot be rolled back to {wanted}")
        self.lengths = list(lengths)

    def keep_rows(self, rows: Sequence[int]) -> None:
        """Drop all rows but these, given in ascending order; they become rows 0, 1, …

        They move within the memory that there is, so that a large cache needs no second one.
        ValueError for rows that there are not, or in another order.
        """
        if list(rows) != sorted(set(rows) & set(range(self.rows))):
            raise ValueError(f"of {self.rows} rows, {list(rows)} cannot be kept")
        for place, row in enumerate(rows):
            if place < row:  # never onto a row that has yet to move
                length = self.lengths[row]
                self.keys[:, place, :length] = self.keys[:, row, :length]
                self.values[:, place, :length] = self.values[:, row, :length]
        self.keys, self.values = self.keys[:, : len(rows)], self.values[:, : len(rows)]
        self.lengths = [self.lengths[row] for row in rows]

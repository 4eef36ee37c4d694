"""The seam behind which every engine sits: tokens of a prompt in, tokens of an answer out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Decode = Callable[[Sequence[int], int], list[int]]
"""Greedy decoding of one prompt, from nothing: the tokens of the answer, up to so many, the
token that ends it among them. What an earlier call left in memory must not make it faster."""


@dataclass(frozen=True)
class Engine:
    """One way of decoding in one engine.

    mode: "plain", a drafter's name, "prompt lookup" or "assisted"; k: drafts a round where that
    is fixed; exact: it computes with the same weights in the same precision as ours, so that its
    answers must be ours; note: what a reader of its row must know.
    """

    name: str
    version: str
    mode: str
    k: int | None
    exact: bool
    note: str | None
    decode: Decode

    @property
    def label(self) -> str:
        return f"{self.name} {self.mode}" + (f", k = {self.k}" if self.k is not None else "")



"""Where an answer ends: at an end token, a stop sequence or the cap, anywhere inside a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Reason = Literal["end", "stop", "cap"]


@dataclass(frozen=True)
class Limits:
    """max_tokens: the cap on an answer, at least 1; ends: tokens that end it; stops: sequences
    of tokens that end it. Both are part of the answer. ValueError for a cap below 1 or an empty
    stop sequence."""

    max_tokens: int
    ends: frozenset[int] = frozenset()
    stops: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be 1 or more, not {self.max_tokens!r}")
        if not all(self.stops):
            raise ValueError("a stop sequence must not be empty")


def cut(answer: Sequence[int], new: Sequence[int], limits: Limits) -> tuple[list[int], Reason | None]:
    """What is kept of `new` after `answer`, and why the answer ends there; None if it does not.

    Whatever comes first in the text decides; at one token an end goes before a stop, and a stop
    before the cap. A stop sequence may have begun in `answer`.
    """
    text = list(answer)
    for count, token in enumerate(new, start=1):
        text.append(token)
        if token in limits.ends:
            return list(new[:count]), "end"
        if any(tuple(text[-len(stop) :]) == stop for stop in limits.stops):
            return list(new[:count]), "stop"
        if len(text) >= limits.max_tokens:
            return list(new[:count]), "cap"
    return list(new), None

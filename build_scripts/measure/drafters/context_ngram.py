"""Prompt lookup: find the text's last few tokens earlier in the text, and copy what came next.

No model and no training. It is strong where an answer repeats its prompt (quoting, editing,
summarising) and silent elsewhere: whoever reports it must say in how many rounds it proposed.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from build_scripts.measure.drafting import TextDrafter
from build_scripts.measure.target import Target


class ContextNgram(TextDrafter):
    """Matches the longest of the last `longest` to `shortest` tokens; of equals the latest."""

    def __init__(self, longest: int = 3, shortest: int = 1) -> None:
        """ValueError unless 1 <= shortest <= longest."""
        if not 1 <= shortest <= longest:
            raise ValueError(f"n-grams from {shortest} to {longest} tokens make no sense")
        super().__init__()
        self.sizes = range(longest, shortest - 1, -1)
        # For each row: where the text goes on after an n-gram seen before.
        self._followed_at: list[dict[tuple[int, ...], int]] = []

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        super().reset(texts, features, room)
        self._followed_at = [{} for _ in texts]
        for row in range(len(texts)):
            self._index(row, start=0)

    def continuation(self, row: int, k: int) -> list[int]:
        text, followed_at = self.texts[row], self._followed_at[row]
        for size in self.sizes:
            start = followed_at.get(tuple(text[-size:])) if len(text) >= size else None
            if start is not None:
                return copy_on(text, start, k)
        return []

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        known = [len(text) for text in self.texts]
        super().update(committed, features)
        for row, start in enumerate(known):
            self._index(row, start)

    def keep_rows(self, rows: Sequence[int]) -> None:
        super().keep_rows(rows)
        self._followed_at = [self._followed_at[row] for row in rows]

    def _index(self, row: int, start: int) -> None:
        """Note the n-grams that the tokens from `start` on follow. The text's last n-gram is not
        among them: nothing follows it yet."""
        text, followed_at = self.texts[row], self._followed_at[row]
        for place in range(start, len(text)):
            for size in self.sizes:
                if size <= place:
                    followed_at[tuple(text[place - size : place])] = place


def copy_on(text: Sequence[int], start: int, count: int) -> list[int]:
    """`count` tokens copied from `start` on; past the text's end from the copy itself, so that a
    short period is repeated as often as it takes."""
    copied: list[int] = []
    for place in range(start, start + count):
        copied.append(text[place] if place < len(text) else copied[place - len(text)])
    return copied


def for_target(target: Target) -> ContextNgram:
    return create()


def create(longest: int = 3, shortest: int = 1) -> ContextNgram:
    return ContextNgram(longest, shortest)

"""For tests and lower bounds: knows the answers, and drafts something else, so that no draft is
ever accepted (1 token a round)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from build_scripts.measure.drafters.oracle import Oracle


class Adversary(Oracle):
    """Each draft is the token after the right one in the vocabulary."""

    def __init__(self, known: Iterable[Sequence[int]], vocabulary: int) -> None:
        super().__init__(known)
        self.vocabulary = vocabulary

    def continuation(self, row: int, k: int) -> list[int]:
        return [(token + 1) % self.vocabulary for token in super().continuation(row, k)]


def create(known: Iterable[Sequence[int]], vocabulary: int) -> Adversary:
    return Adversary(known, vocabulary)

"""For tests and upper bounds: knows the answers, so that every draft is accepted (k + 1 tokens
a round). It knows each answer k tokens beyond where decoding stops, or proposes less there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from build_scripts.measure.drafting import TextDrafter


class Oracle(TextDrafter):
    """Reads on in the known text that begins like the row's."""

    def __init__(self, known: Iterable[Sequence[int]]) -> None:
        """known: prompts with their answers."""
        super().__init__()
        self.known = [list(text) for text in known]

    def continuation(self, row: int, k: int) -> list[int]:
        text = self.texts[row]
        for known in self.known:
            if known[: len(text)] == text:
                return known[len(text) : len(text) + k]
        return []


def create(known: Iterable[Sequence[int]]) -> Oracle:
    return Oracle(known)

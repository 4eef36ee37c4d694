"""A drafter that is itself a language model, with a cache of its own.

It drafts token by token: a small pass for each. What it has read it keeps, and rolls back where
drafts were rejected. After a round in which all k drafts stood its cache lacks the last of them,
which it proposed and never read; so a round first reads whatever is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from build_scripts.measure.drafting import Drafter, Proposal
from build_scripts.measure.sampling import Sampling, draw, probabilities
from build_scripts.measure.target import Target


class DraftModel(Drafter):
    """Drafts with `model`, whose vocabulary must be the target's. The cache of a row never holds
    more than the row's text without its last token."""

    def __init__(self, model: Target) -> None:
        self.model = model
        self.texts: list[list[int]] = []

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        self.texts = [list(text) for text in texts]
        longest = max(len(text) for text in texts)
        self.cache = self.model.new_cache(len(texts), longest + room)
        # Passes of one width: rows are padded at the end, and rolled back.
        padded = [list(text[:-1]) + [0] * (longest - len(text)) for text in texts]
        self.model.features(torch.tensor(padded, device=self.model.device), self.cache)
        self.cache.roll_back([len(text) - 1 for text in texts])

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        state = self._read_missing()
        tokens, laws = [], []
        for step in range(k):
            if step:
                state = self.model.features(tokens[-1][:, None], self.cache)[:, 0]
            logits = self.model.logits(state)
            if uniforms is None:
                tokens.append(logits.argmax(-1))
            else:
                laws.append(probabilities(logits, sampling))
                tokens.append(draw(laws[-1], uniforms[:, step]))
        return Proposal(
            tokens=torch.stack(tokens, dim=1),
            counts=torch.full((len(self.texts),), k, device=self.model.device),
            probabilities=torch.stack(laws, dim=1) if laws else None,
        )

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        for text, new in zip(self.texts, committed):
            text.extend(new)
        self.cache.roll_back([min(held, len(text) - 1) for held, text in zip(self.cache.lengths, self.texts)])

    def keep_rows(self, rows: Sequence[int]) -> None:
        self.texts = [self.texts[row] for row in rows]
        self.cache.keep_rows(rows)

    def _read_missing(self) -> Tensor:
        """Read what the cache lacks of the texts: one token a row, or two; [B, d], the state after
        the last."""
        missing = [text[held:] for text, held in zip(self.texts, self.cache.lengths)]
        width = max(map(len, missing))
        padded = [new + [0] * (width - len(new)) for new in missing]
        states = self.model.features(torch.tensor(padded, device=self.model.device), self.cache)
        self.cache.roll_back([len(text) for text in self.texts])
        last = torch.tensor([len(new) - 1 for new in missing], device=states.device)
        return states[torch.arange(len(last), device=states.device), last]

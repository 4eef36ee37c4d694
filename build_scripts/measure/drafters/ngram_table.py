"""A table made beforehand: after these last tokens, that one came most often.

Made from text of the kind that will be decoded, best from the target's own. It costs next to
nothing and knows no context beyond a few tokens. Kept as sorted arrays: millions of entries
in a dictionary of tuples would take several times the target's memory.

The table that is shipped was counted from text that SmolLM2 wrote itself, by
`python -m build_scripts measure head`, as the eagle_head's weights were.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from build_scripts.measure.drafting import TextDrafter
from build_scripts.measure.target import Target
from build_scripts.write import write_bytes_if_changed

WEIGHTS = Path(__file__).parents[1] / "weights" / "ngram-table.npz"
SHIPPED_ORDER, SHIPPED_LEAST = 3, 3
"""Of the answers in rows that were not counted the table then knows .333 of the next tokens, in
0.5 MB; with every pair that occurs at all .335, in 4 MB; with an order of 2 .318, in 0.2 MB."""


@dataclass(frozen=True)
class Table:
    """The likeliest next token after the last n tokens, for n = 1 … `order`.

    contexts[n - 1]: int64, sorted, the n tokens as digits of one number in base `vocabulary`;
    following[n - 1]: int64, the token that came most often after each, of equals the smallest.
    """

    vocabulary: int
    contexts: tuple[np.ndarray, ...]
    following: tuple[np.ndarray, ...]

    @property
    def order(self) -> int:
        return len(self.contexts)

    def next(self, text: Sequence[int]) -> int | None:
        """The token to follow `text`, by the longest context that is known; None if none is."""
        for size in range(min(self.order, len(text)), 0, -1):
            context = 0
            for token in text[-size:]:
                context = context * self.vocabulary + token
            contexts = self.contexts[size - 1]
            place = int(np.searchsorted(contexts, context))
            if place < len(contexts) and contexts[place] == context:
                return int(self.following[size - 1][place])
        return None


def count_table(texts: Iterable[Sequence[int]], vocabulary: int, order: int = 2, least: int = 1) -> Table:
    """The table of these texts; contexts do not reach across texts.

    least: how often a pair of context and token must occur to be kept. ValueError where
    vocabulary^(order + 1) is beyond a 64-bit number, or for an order below 1.
    """
    if order < 1 or vocabulary ** (order + 1) > 2**63:
        raise ValueError(f"an order of {order} does not fit a vocabulary of {vocabulary}")
    arrays = [np.asarray(text, dtype=np.int64) for text in texts]
    counted = [_count(arrays, vocabulary, size, least) for size in range(1, order + 1)]
    return Table(vocabulary, tuple(pair[0] for pair in counted), tuple(pair[1] for pair in counted))


def _count(texts: list[np.ndarray], vocabulary: int, size: int, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Contexts of `size` tokens and what follows each."""
    pairs = [np.empty(0, dtype=np.int64)]
    for text in texts:
        if len(text) > size:
            windows = np.lib.stride_tricks.sliding_window_view(text, size + 1)
            digits = vocabulary ** np.arange(size, -1, -1, dtype=np.int64)
            pairs.append(windows @ digits)
    distinct, counts = np.unique(np.concatenate(pairs), return_counts=True)
    distinct, counts = distinct[counts >= least], counts[counts >= least]
    contexts, tokens = distinct // vocabulary, distinct % vocabulary
    # By context, then the most frequent, then the smallest token: the first of each is kept.
    order = np.lexsort((tokens, -counts, contexts))
    known, first = np.unique(contexts[order], return_index=True)
    return known, tokens[order][first]


def shipped_table(texts: Iterable[Sequence[int]], vocabulary: int) -> Table:
    """The table that is shipped, of texts that the target wrote itself."""
    return count_table(texts, vocabulary, SHIPPED_ORDER, SHIPPED_LEAST)


def save_table(table: Table, path: Path = WEIGHTS) -> None:
    """Write it aside and rename it. Contexts are kept as differences, which compress well; the same
    table gives the same bytes."""
    parts: dict[str, np.ndarray] = {"vocabulary": np.asarray([table.vocabulary])}
    for size, (contexts, following) in enumerate(zip(table.contexts, table.following), start=1):
        parts[f"contexts{size}"] = np.diff(contexts, prepend=0).astype(np.uint64)
        parts[f"following{size}"] = following.astype(np.uint32)
    packed = io.BytesIO()
    np.savez_compressed(packed, **parts)
    write_bytes_if_changed(path, packed.getvalue())


def load_table(path: Path = WEIGHTS) -> Table:
    """The table in a file. FileNotFoundError where there is none; ValueError for another file."""
    with np.load(path) as parts:
        sizes = range(1, len([name for name in parts if name.startswith("contexts")]) + 1)
        try:
            return Table(
                vocabulary=int(parts["vocabulary"][0]),
                contexts=tuple(parts[f"contexts{size}"].astype(np.int64).cumsum() for size in sizes),
                following=tuple(parts[f"following{size}"].astype(np.int64) for size in sizes),
            )
        except KeyError as error:
            raise ValueError(f"{path}: this is no table: {error}") from None


class NgramTable(TextDrafter):
    """Goes on token by token, each draft being part of the context of the next."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def continuation(self, row: int, k: int) -> list[int]:
        text = self.texts[row][-self.table.order :]
        drafted: list[int] = []
        while len(drafted) < k:
            token = self.table.next(text)
            if token is None:
                break
            drafted.append(token)
            text = [*text, token][-self.table.order :]
        return drafted


def for_target(target: Target) -> NgramTable:
    return create()


def create(table: Table | None = None) -> NgramTable:
    """table: the shipped one where none is given."""
    return NgramTable(load_table() if table is None else table)

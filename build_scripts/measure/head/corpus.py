"""The head's training text: conversations that the target wrote by itself.

A head learns to foresee its target, so it learns from what the target really says. Each row is
one conversation, begun by the system text and an open user turn.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from build_scripts.measure.head.files import sha256

USER, ASSISTANT, TEMPLATE = 0, 1, 2
"""Who wrote a token: the target as user, the target as assistant, or the chat template."""


@dataclass(frozen=True)
class Corpus:
    """tokens: uint16 [rows, length]; role: int8, the same size; sha256: of the file."""

    tokens: np.ndarray
    role: np.ndarray
    sha256: str


def read_corpus(path: Path, vocabulary: int) -> Corpus:
    """ValueError, in one line, for a file that is not there or is no corpus for this vocabulary."""
    try:
        # No pickles: a file from elsewhere must not run anything.
        with np.load(path, allow_pickle=False) as arrays:
            tokens, role = arrays["tokens"], arrays["role"]
    except FileNotFoundError:
        raise ValueError(f"there is no corpus at {path}") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        raise ValueError(f"{path} is no corpus: it needs the arrays `tokens` and `role`, as .npz") from None
    if tokens.ndim != 2 or tokens.dtype != np.uint16 or role.dtype != np.int8 or role.shape != tokens.shape:
        raise ValueError(f"{path} is no corpus: `tokens` must be uint16 and `role` int8, both [rows, length]")
    if not tokens.size:
        raise ValueError(f"{path} is an empty corpus")
    if int(tokens.max()) >= vocabulary:
        raise ValueError(f"{path} has the token {tokens.max()}, and the target knows {vocabulary} only")
    if role.min() < USER or role.max() > TEMPLATE:
        raise ValueError(f"{path} has a role other than {USER} (user), {ASSISTANT} (assistant), {TEMPLATE} (template)")
    return Corpus(tokens, role, sha256(path))

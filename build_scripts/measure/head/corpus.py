"""The head's training text: conversations that the target wrote by itself.

A head learns to foresee its target, so it learns from what the target really says. Each row is
one conversation, begun by the system text and an open user turn: the target asks, answers, and
asks again until the row is full. Its questions are drawn freely, so that they differ; its answers
are greedy in even rows and drawn in odd ones, since a head will be asked to draft for both.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from build_scripts.measure.head.chance import dice
from build_scripts.measure.head.features import Progress, fingerprint
from build_scripts.measure.files import sha256, write_json, write_whole
from build_scripts.measure.kernels import choose
from build_scripts.measure.sampling import GREEDY, Sampling, draw, probabilities
from build_scripts.measure.target import Target

if TYPE_CHECKING:
    from build_scripts.measure.smollm2 import Chat

USER, ASSISTANT, TEMPLATE = 0, 1, 2
"""Who wrote a token: the target as user, the target as assistant, or the chat template."""

LENGTH = 320
"""Tokens of a row."""
BATCH = 32
"""Rows that are written at once: a multiple of 2, and what an interruption may lose."""
ASKING = Sampling(temperature=1.0, top_k=48)
ANSWERING = (GREEDY, Sampling(temperature=0.8))
"""In even rows, in odd rows."""
LONGEST_QUESTION = 96
"""Tokens after which a user turn is ended if it does not end by itself."""


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


# --- writing it ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """What the chat template puts around turns: `opening` before the first user turn, `answer` and
    `question` between a turn's end and what the next one says; `end` ends a turn."""

    opening: tuple[int, ...]
    answer: tuple[int, ...]
    question: tuple[int, ...]
    end: int

    @classmethod
    def of(cls, chat: Chat) -> Frame:
        before, after = chat.around()
        # The system text ends as a turn does; the user turn after it begins as any later one.
        last_end = len(before) - 1 - before[::-1].index(chat.end)
        return cls(tuple(before), tuple(after[after.index(chat.end) + 1 :]), tuple(before[last_end + 1 :]), chat.end)


def write_corpus(
    out: Path,
    tokens: int,
    seed: int,
    progress: Progress,
    *,
    target: Target | None = None,
    frame: Frame | None = None,
    length: int = LENGTH,
) -> str:
    """Have the target write `tokens` tokens or a little more, in rows of `length`; the file's sha256.

    Finished batches are kept in a folder beside `out` until all are there: interrupted, it goes
    on with the same command, and writes the file that it would have written. target and frame:
    SmolLM2's unless given. ValueError, in one line, for a number of tokens below 1, and for a
    target or a frame that no row can hold.
    """
    if tokens < 1:
        raise ValueError(f"a corpus needs at least 1 token, not {tokens}")
    if target is None or frame is None:
        from build_scripts.measure.smollm2 import load_chat, load_smollm2

        target, frame = load_smollm2(torch.float32), Frame.of(load_chat())
    if len(frame.opening) >= length:
        raise ValueError(f"a row of {length} tokens has no room after an opening of {len(frame.opening)}")
    if target.shapes.vocabulary > 2**16:
        raise ValueError(f"a vocabulary of {target.shapes.vocabulary} does not fit the file's 16 bits")
    rows = -(-tokens // length)
    batches = -(-rows // BATCH)
    identity = json.dumps([fingerprint(target), asdict(frame), rows, length, seed])
    folder = _folder(out, identity)
    writer, _ = choose(target, target.device)
    parts = []
    for batch in range(batches):
        part, begin = folder / f"{batch:05}.npz", batch * BATCH
        count = min(BATCH, rows - begin)

        def told(done: float, batch: int = batch, said: str = f"rows {begin + 1} to {begin + count} of {rows}") -> None:
            progress((batch + done) / batches, said)

        if not part.is_file():
            _write(part, *converse(writer, frame, count, length, dice(seed, batch), told))
        with np.load(part, allow_pickle=False) as arrays:
            parts.append((arrays["tokens"], arrays["role"]))
    _write(out, *(np.concatenate(arrays) for arrays in zip(*parts)))
    shutil.rmtree(folder)
    return sha256(out)


@torch.inference_mode()
def converse(
    target: Target, frame: Frame, rows: int, length: int, generator: torch.Generator, told: Callable[[float], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Conversations of the target with itself: tokens uint16 and roles int8, both [rows, length]."""
    device = target.device
    uniforms = torch.rand(length, rows, generator=generator, dtype=torch.float64).to(device)
    cache = target.new_cache(rows, length)
    opening = len(frame.opening)
    tokens = torch.zeros(rows, length, dtype=torch.long, device=device)
    tokens[:, :opening] = torch.tensor(frame.opening, device=device)
    turns = [Turns(frame) for _ in range(rows)]
    roles = [[TEMPLATE] * opening for _ in turns]
    read = 0
    for place in range(opening, length):
        # All rows are as long, forced tokens or not: no pass is ragged.
        logits = target.logits(target.features(tokens[:, read:place], cache)[:, -1])
        read = place
        chosen = _choose(logits, [turn.speaker for turn in turns], uniforms[place])
        for row, turn in enumerate(turns):
            chosen[row], role = turn.next(chosen[row])
            roles[row].append(role)
        tokens[:, place] = torch.tensor(chosen, device=device)
        told((place + 1) / length)
    return tokens.cpu().numpy().astype(np.uint16), np.array(roles, dtype=np.int8)


class Turns:
    """Whose turn it is in one conversation, and what the template forces. speaker: USER or ASSISTANT."""

    def __init__(self, frame: Frame) -> None:
        self.speaker = USER
        self._frame = frame
        self._forced: list[int] = []
        self._said = 0

    def next(self, chosen: int) -> tuple[int, int]:
        """The token that comes next, and its role: the one chosen, unless one is forced."""
        if self._forced:
            return self._forced.pop(0), TEMPLATE
        role = self.speaker
        if role == USER and self._said == LONGEST_QUESTION:
            chosen, role = self._frame.end, TEMPLATE
        self._said += 1
        if chosen == self._frame.end:
            asked = self.speaker == USER
            self._forced = list(self._frame.answer if asked else self._frame.question)
            self.speaker, self._said = (ASSISTANT if asked else USER), 0
        return chosen, role


def _choose(logits: Tensor, speakers: Sequence[int], uniforms: Tensor) -> list[int]:
    """A token for each row of logits [rows, V], as its speaker chooses; uniforms [rows]."""
    ways = [ASKING if speaker == USER else ANSWERING[row % 2] for row, speaker in enumerate(speakers)]
    chosen = [0] * len(ways)
    for sampling in dict.fromkeys(ways):
        rows = [row for row, way in enumerate(ways) if way == sampling]
        picked = logits[rows]
        if sampling.greedy:
            drawn = picked.argmax(-1)
        else:
            drawn = draw(probabilities(picked, sampling), uniforms[rows])
        for row, token in zip(rows, drawn.tolist()):
            chosen[row] = token
    return chosen


def _folder(out: Path, identity: str) -> Path:
    """Where the finished batches of this corpus are; those of another are dropped."""
    folder = out.with_name(f".{out.name}.parts")
    state = folder / "identity.json"
    try:
        same = json.loads(state.read_text(encoding="utf-8")) == identity
    except (OSError, ValueError):
        same = False
    if not same:
        shutil.rmtree(folder, ignore_errors=True)
        write_json(state, identity)
    return folder


def _write(path: Path, tokens: np.ndarray, role: np.ndarray) -> None:
    write_whole(path, lambda file: np.savez_compressed(file, tokens=tokens, role=role))

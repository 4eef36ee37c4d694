"""What is measured: a target with its kernel, prompts as tokens, and drafters by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch

from build_scripts.measure import drafters
from build_scripts.measure.drafting import Drafter
from build_scripts.measure.experiments.recorded import Recorded
from build_scripts.measure.files import sha256
from build_scripts.measure.smollm2 import Chat
from build_scripts.measure.target import Target

NAME = "SmolLM2-135M-Instruct"


@dataclass(frozen=True)
class Text:
    """A prompt; part: "acceptance" or "speedup"; words: what the user says; tokens: what the target
    reads."""

    id: str
    kind: str
    part: str
    words: str
    tokens: tuple[int, ...]


@dataclass
class Subject:
    """plain: the same weights under torch's own kernel; chat: what tokens stand for, None for a target
    that was never trained; prompts_sha256: None where none of the project's are read;
    drafter_sha256: of the files of weights that drafters read; makers: what creates each drafter;
    recorded: the runs that decide which drafts stand, None where the target does."""

    name: str
    trained: bool
    target: Target
    kernel: str
    plain: Target
    chat: Chat | None
    ends: frozenset[int]
    texts: Sequence[Text]
    prompts_sha256: str | None
    weights_sha256: str
    drafter_sha256: Mapping[str, str]
    makers: Mapping[str, Callable[[], Drafter]]
    recorded: Recorded | None = None
    _made: dict[str, Drafter] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        return str(self.target.dtype).removeprefix("torch.")

    def drafter(self, name: str) -> Drafter:
        """The drafter of that name, made once: copying the target takes seconds."""
        if name not in self._made:
            self._made[name] = self.makers[name]()
        return self._made[name]

    def ks(self, drafter: str, kind: str, wanted: Sequence[int]) -> tuple[int, ...]:
        """Those of `wanted` that it can decode this kind of text with."""
        recorded = wanted if self.recorded is None else self.recorded.ks(drafter, kind)
        return tuple(k for k in wanted if k in recorded)

    def prompts(self, kind: str, part: str) -> list[Text]:
        return [text for text in self.texts if text.kind == kind and text.part == part]


def load_smollm2_subject(device: str) -> Subject:
    """SmolLM2 on "cpu" or "cuda", with the project's prompts and every drafter that there is.

    NotInstalled, in one line, for what is missing.
    """
    from build_scripts.measure.kernels import choose
    from build_scripts.measure.prompts import load_prompts, prompts_sha256
    from build_scripts.measure.smollm2 import find_weights, load_chat, load_smollm2

    # On a GPU half the bytes are half the time; on a CPU without matrix units bf16 does not pay.
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    plain = load_smollm2(dtype, device)
    target, chosen = choose(plain, device)
    chat = load_chat()
    prompts = load_prompts()
    return Subject(
        name=NAME,
        trained=True,
        target=target,
        kernel=chosen,
        plain=plain,
        chat=chat,
        ends=frozenset({chat.end}),
        texts=[Text(p.id, p.kind, p.part, p.text, tuple(chat.prompt(p.text))) for p in prompts],
        prompts_sha256=prompts_sha256(prompts),
        weights_sha256=sha256(find_weights()),
        drafter_sha256=drafter_hashes(),
        makers=drafters_for(target),
    )


def drafters_for(target: Target) -> dict[str, Callable[[], Drafter]]:
    """What creates each drafter that can be measured, by name."""
    return {
        name: partial(module.for_target, target)
        for name, module in drafters.measurable().items()
        if name not in absent()
    }


def absent() -> list[str]:
    """The drafters that could be measured if there were weights for them."""
    return [name for name, path in _weights_of_drafters().items() if not path.is_file()]


def drafter_hashes() -> dict[str, str]:
    """Of the weights that drafters read, as far as they are there."""
    return {name: sha256(path) for name, path in _weights_of_drafters().items() if path.is_file()}


def _weights_of_drafters() -> dict[str, Path]:
    modules = drafters.measurable().items()
    return {name: module.WEIGHTS for name, module in modules if hasattr(module, "WEIGHTS")}

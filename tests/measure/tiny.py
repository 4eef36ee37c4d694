"""Small random models in double precision, prompts for them, and drafters that only tests need.

In double precision two ways to the same logits differ by some 1e-15, and a tie that close does
not happen: equal greedy texts are a proof of the loop, not luck with the rounding.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from build_scripts.measure import drafters
from build_scripts.measure.cache import Cache
from build_scripts.measure.decoding import Decoded, decode_plain
from build_scripts.measure.drafters.ngram_table import count_table
from build_scripts.measure.drafting import Drafter, Proposal
from build_scripts.measure.experiments.context import Context
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.head.model import Frozen, new_parameters
from build_scripts.measure.head.quantised import Trained
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.sampling import Sampling, draw, probabilities
from build_scripts.measure.smollm2 import Chat
from build_scripts.measure.stopping import Limits
from build_scripts.measure.target import Shapes, Target, random_model
from build_scripts.measure.toy_law import law_after  # noqa: F401  (tests take it from here)
from build_scripts.records.schema import Device, hash_of

VOCABULARY = 24
SHAPES = Shapes(layers=2, width=16, ffn_width=32, heads=4, kv_heads=2, vocabulary=VOCABULARY, tied=False)
DRAFTERS = ["adversary", "context_ngram", "eagle_head", "int8_copy", "ngram_table", "oracle"]
"""Every drafter of the package: a test below fails when one is missing here."""


def tiny_target(seed: int = 1) -> Target:
    return random_model(SHAPES, seed, torch.float64, positions=256)


def tiny_chat() -> Chat:
    """Each token is a letter; the last one stands for no text."""

    class Letters:
        def id_to_token(self, token: int) -> str:
            return chr(ord("a") + token)

        def get_added_tokens_decoder(self) -> dict[int, str]:
            return {VOCABULARY - 1: self.id_to_token(VOCABULARY - 1)}

    return Chat(Letters(), end=VOCABULARY - 1, template="")


def tiny_subject() -> Subject:
    """What the experiments measure, in single precision, as on the real CPU; each kind of text has
    three prompts for each part."""
    shapes = Shapes(layers=2, width=16, ffn_width=32, heads=4, kv_heads=2, vocabulary=VOCABULARY)
    target = random_model(shapes, 3, torch.float32, positions=256)
    prompts = some_prompts(24, longest=10)
    table = count_table(known_texts(decode_plain(target, prompts, Limits(30)), prompts), VOCABULARY)
    kinds = [KINDS[n % 4] for n in range(24)]
    return Subject(
        name="tiny",
        trained=True,
        target=target,
        kernel="torch.matmul fp32",
        plain=target,
        chat=tiny_chat(),
        ends=frozenset({VOCABULARY - 1}),
        texts=[
            Text(f"{kind}-{n:02}", kind, "acceptance" if n < 12 else "speedup", f"ask {n}", tuple(prompt))
            for n, (kind, prompt) in enumerate(zip(kinds, prompts))
        ],
        prompts_sha256=hash_of(prompts),
        weights_sha256="1" * 64,
        drafter_sha256={"ngram_table": "2" * 64},
        makers={
            "context_ngram": lambda: drafters.create("context_ngram"),
            "ngram_table": lambda: drafters.create("ngram_table", table=table),
        },
    )


def tiny_context(folder: Path, settings: Mapping[str, Any], subject: Subject | None = None) -> Context:
    """Records and journals go below `folder`; what else uses the machine is not read, as tests run
    beside other processes."""
    return Context(
        subject=subject or tiny_subject(),
        device=Device(kind="cpu", name="A tiny one", cores=2, memory_gib=1.0, driver=None),
        versions={"torch": "some"},
        out=folder / "records",
        work=folder / "work",
        command="a test",
        seed=5,
        reader=lambda: None,
        settings=settings,
    )


def some_prompts(count: int, seed: int = 7, longest: int = 12) -> list[list[int]]:
    """Of every length from 1 on, in no order; a third repeat themselves, as a quotation does."""
    dice = random.Random(seed)
    prompts = []
    for index in range(count):
        prompt = [dice.randrange(VOCABULARY) for _ in range(dice.randint(1, longest))]
        prompts.append(prompt * 2 if index % 3 == 0 else prompt)
    return prompts


def make_drafter(name: str, target: Target, prompts: Sequence[list[int]], tokens: int, k: int) -> Drafter:
    """The drafter of that name, knowing what it may: answers of `tokens` tokens and k more."""
    if name == "context_ngram":
        return drafters.create(name)
    if name == "eagle_head":
        return drafters.create(name, target=target, trained=untrained_head(target))
    if name == "int8_copy":
        return drafters.create(name, target=target)
    if name == "ngram_table":
        others = some_prompts(20, seed=99)
        texts = known_texts(decode_plain(target, others, Limits(40)), others)
        return drafters.create(name, table=count_table(texts, VOCABULARY))
    known = known_texts(decode_plain(target, prompts, Limits(tokens + k)), prompts)
    options = {"vocabulary": VOCABULARY} if name == "adversary" else {}
    return drafters.create(name, known=known, **options)


def untrained_head(target: Target, count: int = VOCABULARY - 4) -> Trained:
    """A head as training begins it, which knows all tokens but a few."""
    tokens = torch.arange(target.shapes.vocabulary)[-count:]
    frozen = Frozen.of(target, tokens, target.dtype)
    parameters = {name: value.to(target.dtype) for name, value in new_parameters(target, seed=3).items()}
    return Trained(parameters, tokens, frozen.embedding_scale)


def known_texts(decoded: Decoded, prompts: Sequence[list[int]]) -> list[list[int]]:
    return [prompt + answer.tokens for prompt, answer in zip(prompts, decoded.answers)]


def answers(decoded: Decoded) -> list[list[int]]:
    return [answer.tokens for answer in decoded.answers]


class ModelDrafter(Drafter):
    """A draft model: k steps one after the other, with a cache of its own that it rolls back.

    Told the target, it checks that the features belong to the tokens they come with, and counts
    in `checked` how many rows it looked at.
    """

    def __init__(self, model: Target, target: Target | None = None) -> None:
        self.model = model
        self.target = target
        self.checked = 0
        self.texts: list[list[int]] = []
        self.cache: Cache | None = None

    def reset(self, texts: Sequence[Sequence[int]], features: Tensor, room: int) -> None:
        self.texts = [list(text) for text in texts]
        longest = max(len(text) for text in texts)
        self.cache = self.model.new_cache(len(texts), longest + room)
        padded = [list(text[:-1]) + [0] * (longest - len(text)) for text in texts]
        self.model.features(torch.tensor(padded), self.cache)
        self.cache.roll_back([len(text) - 1 for text in texts])
        self._check([text[1:] for text in self.texts], features)

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        # All tokens that its cache lacks are read first: after a round without a miss, two.
        missing = [text[length:] for text, length in zip(self.texts, self.cache.lengths)]
        width = max(map(len, missing))
        block = torch.tensor([new + [0] * (width - len(new)) for new in missing])
        states = self.model.features(block, self.cache)
        self.cache.roll_back([len(text) for text in self.texts])
        ends = torch.tensor([len(new) - 1 for new in missing])
        state = states[torch.arange(len(ends)), ends]
        tokens, laws = [], []
        for step in range(k):
            law = probabilities(self.model.logits(state), sampling)
            token = law.argmax(-1) if uniforms is None else draw(law, uniforms[:, step])
            tokens.append(token)
            laws.append(law)
            if step < k - 1:
                state = self.model.features(token[:, None], self.cache)[:, 0]
        return Proposal(
            torch.stack(tokens, dim=1), torch.full((len(self.texts),), k), torch.stack(laws, dim=1)
        )

    def update(self, committed: Sequence[Sequence[int]], features: Tensor) -> None:
        for text, new in zip(self.texts, committed):
            text.extend(new)
        self.cache.roll_back([min(held, len(text) - 1) for held, text in zip(self.cache.lengths, self.texts)])
        self._check([list(new) for new in committed], features)

    def keep_rows(self, rows: Sequence[int]) -> None:
        self.texts = [self.texts[row] for row in rows]
        self.cache.keep_rows(rows)

    def _check(self, predicted: list[list[int]], features: Tensor) -> None:
        if self.target is None:
            return
        for row, (text, tokens) in enumerate(zip(self.texts, predicted)):
            fresh = self.target.features(torch.tensor([text[:-1]]), self.target.new_cache(1, len(text)))
            self.checked += 1
            mine = features[row, : len(tokens)]
            torch.testing.assert_close(mine, fresh[0, -len(tokens) :], rtol=0, atol=1e-10)

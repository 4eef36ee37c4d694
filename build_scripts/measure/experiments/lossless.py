"""The proof on the real model: speculative decoding writes what plain decoding writes.

Greedy: every drafter, the oracle and the adversary among them, with k = 1 … 8, against plain
decoding of each prompt by itself. Most of it in a batch of all prompts of a kind, which is a harder
test where a row's result depends on how many rows there are; some of it alone. Where two answers
part, the margin between plain decoding's two likeliest tokens is put down: rounding can turn
a near-tie, and nothing else.

Flips: how often the likeliest token changes only because a text is read five tokens at a time
instead of one, for the kernels and precisions that could be decoded with.

Sampled: chi-square on a toy vocabulary whose law is known exactly (`toy_law`), with a wrong rule
that must fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import torch

from build_scripts.measure import drafters, rejection, toy_law
from build_scripts.measure.decoding import decode_plain, decode_speculative
from build_scripts.measure.drafting import Drafter
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.curve import converted, torch_kernel
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.experiments.subject import Subject, Text
from build_scripts.measure.prompts import KINDS
from build_scripts.measure.sampling import Sampling
from build_scripts.measure.stopping import Limits
from build_scripts.measure.target import Target
from build_scripts.records.schema import Difference, Flips, LosslessCell, LosslessRecord, SampledLaw

MARGIN_LIMIT = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 0.5, "float16": 0.1}
"""Some ten times what two ways to the same logits were seen to differ by, over a range of 40."""

BLOCK = 5
"""Tokens read at a time where flips are counted: as a round with four drafts does."""


@dataclass(frozen=True)
class Settings:
    """prompts: of each kind; alone_*: what is decoded one prompt at a time; flip_prompts: in all;
    flip_dtypes: under torch's own kernel, beside the target's kernel."""

    kinds: tuple[str, ...]
    ks: tuple[int, ...]
    prompts: int
    tokens: int
    alone_ks: tuple[int, ...]
    alone_prompts: int
    flip_dtypes: tuple[str, ...]
    flip_prompts: int
    draws: int


def settings(quick: bool) -> Settings:
    return Settings(
        kinds=KINDS,
        ks=(1, 3, 8) if quick else tuple(range(1, 9)),
        prompts=3 if quick else 10,
        tokens=16 if quick else 24,
        alone_ks=(3,) if quick else (1, 8),
        alone_prompts=1,
        flip_dtypes=("float32", "bfloat16"),
        flip_prompts=4 if quick else 12,
        draws=4_000 if quick else 20_000,
    )


def run(context: Context) -> Outcome:
    subject = context.subject
    chosen: Settings = context.settings.get("lossless") or settings(context.quick)
    runner = context.begin("lossless", chosen)
    texts = [
        text
        for kind in chosen.kinds
        for text in [text for text in subject.texts if text.kind == kind][: chosen.prompts]
    ]
    names = [*subject.makers, "oracle", "adversary"]

    answer_tasks = [plain_task(subject, text, chosen.tokens + max(chosen.ks)) for text in texts]
    alone = some(texts, chosen.kinds, chosen.alone_prompts)
    cell_weight = len(names) * (sum(8 + k for k in chosen.ks) + len(alone) * len(chosen.alone_ks))
    flip_weight = 3.0 * chosen.flip_prompts
    runner.plan(len(texts) + cell_weight + flip_weight + 6)

    # Each prompt by itself, so that a batch is not its own witness.
    answers = runner.complete(answer_tasks, timed=False)
    known = {text.id: answers[task.key] for text, task in zip(texts, answer_tasks)}
    cell_tasks = [cell_task(subject, chosen, name, k, texts, known, chosen.prompts) for name in names for k in chosen.ks]
    cell_tasks += [cell_task(subject, chosen, name, k, alone, known, 1) for name in names for k in chosen.alone_ks]
    cells = runner.complete(cell_tasks, timed=False)

    flip_tasks = [
        flips_task(make, kernel, dtype, text, known[text.id], flip_weight / 3 / chosen.flip_prompts)
        for make, kernel, dtype in kernels_of(subject, chosen)
        for text in some(texts, chosen.kinds, -(-chosen.flip_prompts // len(chosen.kinds)))
    ]
    flips = runner.complete(flip_tasks, timed=False)
    law_tasks = [law_task(rule, chosen.draws) for rule in RULES]
    laws = runner.complete(law_tasks, timed=False)

    record = LosslessRecord(
        experiment="lossless",
        margin_limit=MARGIN_LIMIT[subject.dtype],
        cells=[LosslessCell.model_validate(cells[task.key]) for task in cell_tasks],
        flips=[pooled_flips(flips, kernel, dtype) for _, kernel, dtype in kernels_of(subject, chosen)],
        sampled=[SampledLaw.model_validate(laws[task.key]) for task in law_tasks],
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record), proven(record))


def some(texts: list[Text], kinds: tuple[str, ...], each: int) -> list[Text]:
    """The first few of every kind."""
    return [text for kind in kinds for text in [text for text in texts if text.kind == kind][:each]]


def proven(record: LosslessRecord) -> bool:
    """Whether every difference is a near-tie, the right rules fit and the wrong ones do not."""
    near = all(
        difference.margin < record.margin_limit for cell in record.cells for difference in cell.differences
    )
    return near and all((abs(law.z) < 4) == law.right for law in record.sampled)


def headline(record: LosslessRecord) -> str:
    compared = sum(cell.prompts for cell in record.cells)
    differing = sum(len(cell.differences) for cell in record.cells)
    wrong = [law for law in record.sampled if not law.right]
    verdict = "as proven" if proven(record) else "NOT PROVEN"
    return (
        f"Speculative decoding against plain, {verdict}: {compared - differing} of {compared} greedy answers "
        f"identical, {differing} parted at a near-tie; sampled |z| ≤ "
        f"{max(abs(law.z) for law in record.sampled if law.right):.1f} for the right rule, "
        f"{min(law.z for law in wrong):.0f} for a wrong one"
    )


# --- greedy ------------------------------------------------------------------------------------


def plain_task(subject: Subject, text: Text, tokens: int) -> Task:
    """The plain answer to one prompt, longer than it is compared: the oracle looks ahead."""

    def answer() -> Json:
        decoded = decode_plain(subject.target, [text.tokens], Limits(tokens, subject.ends))
        return decoded.answers[0].tokens

    return Task(f"plain {text.id}", f"plain decoding of {text.id}", 1.0, answer)


def cell_task(
    subject: Subject, chosen: Settings, name: str, k: int,
    texts: list[Text], known: dict[str, list[int]], batch: int,
) -> Task:  # fmt: skip
    """All `texts`, `batch` rows at a time, and where their answers part from the plain ones."""
    limits = Limits(chosen.tokens, subject.ends)

    def compare() -> Json:
        drafter = drafter_knowing(subject, name, [[*text.tokens, *known[text.id]] for text in texts])
        differences = []
        for first in range(0, len(texts), batch):
            rows = texts[first : first + batch]
            decoded = decode_speculative(subject.target, drafter, [text.tokens for text in rows], k, limits)
            for text, answer in zip(rows, decoded.answers):
                plain = known[text.id][: chosen.tokens]
                if answer.tokens != plain:
                    differences.append(difference(subject.target, text, plain, answer.tokens))
        return {
            "drafter": name, "k": k, "batch": batch, "prompts": len(texts), "tokens": chosen.tokens,
            "identical": len(texts) - len(differences), "differences": differences,
        }  # fmt: skip

    weight = 8 + k if batch > 1 else len(texts)
    return Task(f"greedy {name} k={k} B={batch}", f"{name}, k = {k}, B = {batch}", weight, compare)


def drafter_knowing(subject: Subject, name: str, texts: list[list[int]]) -> Drafter:
    """By name; the oracle and the adversary are told the answers."""
    if name == "oracle":
        return drafters.create(name, known=texts)
    if name == "adversary":
        return drafters.create(name, known=texts, vocabulary=subject.target.shapes.vocabulary)
    return subject.drafter(name)


def difference(target: Target, text: Text, plain: list[int], speculative: list[int]) -> Json:
    """Where two answers part, and by how much plain decoding preferred its own token."""
    same = next(
        (place for place, (one, other) in enumerate(zip(plain, speculative)) if one != other),
        min(len(plain), len(speculative)),
    )
    if same == min(len(plain), len(speculative)):
        raise AssertionError(f"{text.id}: one answer goes on where the other one ends")
    [margin] = margins(target, [*text.tokens], plain[: same + 1], 1)[1][-1:]
    return {
        "prompt": text.id, "position": same, "plain": plain[same],
        "speculative": speculative[same], "margin": margin,
    }  # fmt: skip


# --- flips -------------------------------------------------------------------------------------


def kernels_of(subject: Subject, chosen: Settings) -> list[tuple[Callable[[], Target], str, str]]:
    """The target's own kernel, then torch's in several precisions."""
    found: list[tuple[Callable[[], Target], str, str]] = [
        (lambda: subject.target, subject.kernel, subject.dtype)
    ]
    for dtype in chosen.flip_dtypes:
        if torch_kernel(dtype) != subject.kernel:
            found.append((lambda dtype=dtype: converted(subject.plain, dtype), torch_kernel(dtype), dtype))
    return found


def flips_task(
    make: Callable[[], Target], kernel: str, dtype: str, text: Text, answer: list[int], weight: float
) -> Task:
    """The same answer read one token at a time, and in blocks."""

    def count() -> Json:
        target = make()
        one, margin = margins(target, [*text.tokens], answer, 1)
        block, _ = margins(target, [*text.tokens], answer, BLOCK)
        flipped = [gap for a, b, gap in zip(one, block, margin) if a != b]
        return {"positions": len(one), "ties": sum(gap == 0 for gap in margin), "margins": flipped}

    return Task(f"flips {kernel} {dtype} {text.id}", f"flips: {kernel} {dtype}, {text.id}", weight, count)


@torch.inference_mode()
def margins(target: Target, prompt: list[int], answer: list[int], m: int) -> tuple[list[int], list[float]]:
    """For each token of `answer`: the likeliest token there, and its lead over the second; read in
    blocks of m tokens after a pass over the prompt."""
    cache = target.new_cache(1, len(prompt) + len(answer))
    features = [target.features(torch.tensor([prompt], device=target.device), cache)[:, -1:]]
    for first in range(0, len(answer) - 1, m):
        block = torch.tensor([answer[first : min(first + m, len(answer) - 1)]], device=target.device)
        features.append(target.features(block, cache))
    best: list[int] = []
    lead: list[float] = []
    for states in features:
        values, tokens = target.logits(states)[0].topk(2, dim=-1)
        best += tokens[:, 0].tolist()
        lead += (values[:, 0] - values[:, 1]).tolist()
    return best, lead


def pooled_flips(samples: dict[str, Json], kernel: str, dtype: str) -> Flips:
    found = [sample for key, sample in samples.items() if key.startswith(f"flips {kernel} {dtype} ")]
    return Flips(
        kernel=kernel,
        dtype=dtype,
        m=BLOCK,
        positions=sum(sample["positions"] for sample in found),
        ties=sum(sample["ties"] for sample in found),
        margins=[margin for sample in found for margin in sample["margins"]],
    )


# --- sampled -----------------------------------------------------------------------------------

FILTERED = Sampling(0.8, top_k=5, top_p=0.95)
RULES = ("plain", "rejection", "residual of p alone")
WRONG = "residual of p alone"
"""The replacement of a rejected draft is drawn from p, which counts twice what acceptance served."""


def law_task(rule: str, draws: int) -> Task:
    def fit() -> Json:
        target = toy_law.toy_target()
        drafter = None if rule == "plain" else toy_law.Bigram()
        if rule == WRONG:
            with patch.object(rejection, "residual", lambda p, q: p):
                observed, _ = toy_law.drawn(target, FILTERED, drafter, draws)
        else:
            observed, _ = toy_law.drawn(target, FILTERED, drafter, draws)
        found = toy_law.chi_square(observed, toy_law.exact_law(target, FILTERED))
        return {
            "rule": rule, "right": rule != WRONG, "draws": draws,
            "statistic": found.statistic, "degrees": found.degrees, "z": found.z,
        }  # fmt: skip

    return Task(f"law {rule}", f"the law of sampled texts, {rule}", 2.0, fit)

"""The training run: as many minutes as it is given, safe to interrupt, with its record.

Two stages. First the target reads the whole corpus once (`features`); that is not part of the
minutes. Then the head learns for that long, over as many epochs as fit, its rate falling along a
cosine of the time spent. Every draw of chance is a function of the seed and the step, so that a
run resumed from its checkpoint is the run that was never interrupted.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.head.corpus import ASSISTANT, USER, Corpus, read_corpus
from build_scripts.measure.head.features import Progress, cached_features, fingerprint
from build_scripts.measure.head.chance import dice
from build_scripts.measure.files import write_json, write_whole
from build_scripts.measure.head.model import MATRICES, Frozen, Head, frequent_tokens, new_parameters
from build_scripts.measure.head.quantised import quantise, write_head
from build_scripts.measure.machine import processor
from build_scripts.measure.target import Target


BEGINNING = 64
"""Tokens of a row by which conversations are told apart."""


@dataclass(frozen=True)
class Settings:
    """How the head is trained; all of it goes into the record.

    Rates are those of AdamW; `noise` is the width of the uniform noise on the features, in
    their standard deviations; `unroll_from` is the share of the time after which the head also
    learns to read its own output, `unroll` steps deep, step j weighing `unroll_decay`^j;
    `user_share` of the user turns' tokens count, drawn anew each time, beside all of the
    answers'; intervals are in seconds.
    """

    vocabulary: int = 8160
    rows_per_step: int = 4
    peak_rate: float = 3e-3
    final_rate: float = 0.01
    warm_up_steps: int = 50
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    clip: float = 1.0
    noise: float = 0.2
    user_share: float = 0.25
    feature_weight: float = 0.5
    unroll: int = 3
    unroll_from: float = 0.6
    unroll_decay: float = 0.8
    held_out_rows: int = 64
    evaluate_every: float = 120.0
    checkpoint_every: float = 60.0


@dataclass
class Run:
    """A training run as far as it is: what a checkpoint holds.

    elapsed: seconds spent, over all sittings; evaluated: when the curve got its last point;
    losses: the first unroll step's cross-entropy of each step since then.
    """

    parameters: dict[str, Tensor]
    optimiser: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    elapsed: float = 0.0
    evaluated: float = 0.0
    losses: list[float] = field(default_factory=list)
    curve: list[dict[str, Any]] = field(default_factory=list)
    sittings: int = 0


class SoftCrossEntropy(torch.autograd.Function):
    """The mean over n of −Σ_x p_n(x) log q_n(x), q = softmax(foreseen @ head), and its gradient.

    foreseen [n, d], head [d, R], p [n, R]. The gradient of the logits is q − p: it is taken at
    once, so that no [n, R] has to be kept. The value is only looked at, so it is that of every
    eighth position: the sum would take as long as a matrix product.
    """

    @staticmethod
    def forward(ctx: Any, foreseen: Tensor, head: Tensor, p: Tensor) -> Tensor:
        logits = foreseen @ head
        some_p, some = p[::8].float(), logits[::8].float()
        value = (some.logsumexp(-1) - (some_p * some).sum(-1)).mean()
        ctx.save_for_backward(torch.softmax(logits, -1).sub_(p) @ head.t() / len(p))
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad.to(gradient.dtype), None, None


@dataclass(frozen=True)
class Batch:
    """features [B, L, d]; tokens, role [B, L]; noise [B, L - 2, d]; lots [B, L - 2] in [0, 1): by
    which it is settled what user turns count."""

    features: Tensor
    tokens: Tensor
    role: Tensor
    noise: Tensor
    lots: Tensor


def loss_of(
    head: Head, parameters: Mapping[str, Tensor], batch: Batch, steps: int, settings: Settings
) -> tuple[Tensor, float]:
    """The loss of a batch of rows, `steps` deep: of each step, the cross-entropy to the target's law
    and how far the features are apart. Beside it the first step's cross-entropy alone."""
    wanted, role = batch.features[:, 1:-1], batch.role[:, 2:]
    counted = (role == ASSISTANT) | ((role == USER) & (batch.lots < settings.user_share))
    wanted = wanted[counted]
    p = torch.softmax(wanted @ head.frozen.head, -1)
    made = head.unroll(parameters, batch.features[:, :-2] + batch.noise, batch.tokens[:, 1:-1], steps)
    total, first = torch.zeros(()), 0.0
    for step, foreseen in enumerate(made):
        foreseen = foreseen[counted]
        loss = SoftCrossEntropy.apply(foreseen, head.frozen.head, p)
        if step == 0:
            first = loss.item()
        apart = F.smooth_l1_loss(foreseen, wanted)
        total = total + settings.unroll_decay**step * (loss + settings.feature_weight * apart.float())
    return total, first


class HeldOut:
    """Rows that are not trained on, and what the target says there, over its whole vocabulary."""

    def __init__(self, target: Target, frozen: Frozen, features: Tensor, tokens: Tensor, role: Tensor) -> None:
        self.features, self.tokens = features, tokens
        self.answers = role[:, 2:] == ASSISTANT
        full_head = target.weights.head
        wanted = features[:, 1:-1][self.answers].to(full_head.dtype)
        places = torch.full((target.shapes.vocabulary,), -1)
        places[frozen.tokens] = torch.arange(len(frozen.tokens))
        choices, laws = [], []
        for part in wanted.split(1024):
            logits = part @ full_head
            choices.append(places[logits.argmax(-1)])
            laws.append(logits.softmax(-1)[:, frozen.tokens].to(torch.bfloat16))
        self.choices, self.laws = torch.cat(choices), torch.cat(laws)

    @torch.no_grad()
    def score(self, head: Head, parameters: Mapping[str, Tensor], steps: int) -> list[dict[str, float]]:
        """For each unroll step, over the answers: `top1`, the share of positions where the head's
        likeliest token is the target's, and `overlap`, the mean of Σ min(p, q)."""
        hits, overlaps = torch.zeros(steps), torch.zeros(steps)
        begin = 0
        for features, tokens, answers in zip(self.features.split(8), self.tokens.split(8), self.answers.split(8)):
            count = int(answers.sum())
            choices, laws = self.choices[begin : begin + count], self.laws[begin : begin + count]
            begin += count
            dtype = head.frozen.head.dtype
            made = head.unroll(parameters, features[:, :-2].to(dtype), tokens[:, 1:-1], steps)
            for step, foreseen in enumerate(made):
                logits = foreseen[answers] @ head.frozen.head
                hits[step] += (logits.argmax(-1) == choices).sum()
                overlaps[step] += torch.minimum(logits.softmax(-1), laws).sum()
        return [
            {"top1": round(float(hit) / begin, 4), "overlap": round(float(overlap) / begin, 4)}
            for hit, overlap in zip(hits, overlaps)
        ]


@dataclass(frozen=True)
class Data:
    """What a run learns from: rows to train on and rows held out, both with their features."""

    corpus: Corpus
    features: Tensor
    tokens: Tensor
    role: Tensor
    training_rows: Tensor
    held_out_rows: Tensor
    frozen: Frozen
    head: Head
    held_out: HeldOut
    spread: float

    @classmethod
    def prepare(
        cls, target: Target, corpus: Corpus, rows: int, settings: Settings, seed: int, scratch: Path, progress: Progress
    ) -> Data:
        """Compute the features of the first `rows` rows, or find them in `scratch`."""
        tokens = torch.from_numpy(corpus.tokens.astype(np.int64))
        role = torch.from_numpy(corpus.role)
        identity = f"{corpus.sha256} {fingerprint(target)}"
        features = cached_features(target, tokens, rows, scratch, identity, progress)
        training, held_out = split_rows(tokens[:rows], settings.held_out_rows, seed)
        frequent = frequent_tokens(tokens[training], target.shapes.vocabulary, settings.vocabulary)
        frozen = Frozen.of(target, frequent, target.dtype)
        return cls(
            corpus=corpus,
            features=features,
            tokens=tokens,
            role=role,
            training_rows=training,
            held_out_rows=held_out,
            frozen=frozen,
            head=Head(target, frozen, tokens.shape[1]),
            held_out=HeldOut(target, frozen, features[held_out], tokens[held_out], role[held_out]),
            spread=float(features[training[:64]].float().std()),
        )

    def batch(self, step: int, seed: int, settings: Settings) -> Batch:
        """The rows of a step: each epoch reads all training rows once, in an order of its own."""
        count = settings.rows_per_step
        steps_in_epoch = len(self.training_rows) // count
        epoch, place = divmod(step, steps_in_epoch)
        order = torch.randperm(len(self.training_rows), generator=dice(seed, 2 * epoch + 1))
        rows = self.training_rows[order[place * count : (place + 1) * count]]
        features = self.features[rows].to(self.frozen.head.dtype)
        own = dice(seed, 2 * step)
        inputs = (len(rows), features.shape[1] - 2)
        noise = torch.rand(*inputs, features.shape[2], generator=own) - 0.5
        noise = (noise * (settings.noise * self.spread)).to(features.dtype)
        lots = torch.rand(inputs, generator=own)
        return Batch(features, self.tokens[rows], self.role[rows], noise, lots)


def split_rows(tokens: Tensor, held_out: int, seed: int) -> tuple[Tensor, Tensor]:
    """Rows to train on and rows held out, ascending. Conversations that begin as one held out does
    are in neither."""
    order = torch.randperm(len(tokens), generator=dice(seed, 0))
    held = order[:held_out].sort().values
    beginnings = [tuple(row) for row in tokens[:, :BEGINNING].tolist()]
    taken = {beginnings[row] for row in held.tolist()}
    training = [row for row, beginning in enumerate(beginnings) if beginning not in taken]
    return torch.tensor(training), held


# --- the run ---------------------------------------------------------------------------------


def fit(
    data: Data,
    run: Run,
    seconds: float,
    seed: int,
    settings: Settings,
    save: Callable[[Run], None],
    progress: Progress,
    clock: Callable[[], float],
) -> None:
    """Train until `run.elapsed` reaches `seconds`, counted over all sittings."""
    parameters = list(run.parameters.values())
    for parameter in parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.AdamW(
        parameters, lr=settings.peak_rate, betas=settings.betas, weight_decay=settings.weight_decay
    )
    if run.optimiser:
        optimiser.load_state_dict(run.optimiser)
    saved, last = run.elapsed, clock()
    while run.elapsed < seconds:
        share = run.elapsed / seconds
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(run.step, share, settings)
        depth = settings.unroll if share >= settings.unroll_from else 1
        working = {name: value.to(data.frozen.head.dtype) for name, value in run.parameters.items()}
        loss, first = loss_of(data.head, working, data.batch(run.step, seed, settings), depth, settings)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, settings.clip)
        optimiser.step()
        run.step += 1
        run.losses.append(first)
        now = clock()
        run.elapsed, last = run.elapsed + now - last, now

        if run.elapsed >= run.evaluated + settings.evaluate_every:
            run.evaluated = run.elapsed
            evaluate(data, run, depth, settings)
        if run.elapsed >= saved + settings.checkpoint_every:
            saved = run.elapsed
            run.optimiser = optimiser.state_dict()
            save(run)
        progress(min(1.0, run.elapsed / seconds), _said(run, seconds))
    run.optimiser = optimiser.state_dict()
    if not run.curve or run.curve[-1]["step"] != run.step:
        evaluate(data, run, settings.unroll, settings)
    save(run)


def learning_rate(step: int, share: float, settings: Settings) -> float:
    """Up over the first steps, then along a cosine of the time spent."""
    fall = settings.final_rate + (1 - settings.final_rate) * 0.5 * (1 + math.cos(math.pi * share))
    return settings.peak_rate * min(1.0, (step + 1) / settings.warm_up_steps) * fall


def evaluate(data: Data, run: Run, depth: int, settings: Settings) -> None:
    """Add a point to the curve."""
    working = {name: value.detach().to(data.frozen.head.dtype) for name, value in run.parameters.items()}
    tokens = run.step * settings.rows_per_step * data.tokens.shape[1]
    run.curve.append(
        {
            "elapsed_s": round(run.elapsed, 1),
            "step": run.step,
            "tokens": tokens,
            "epochs": round(run.step * settings.rows_per_step / len(data.training_rows), 3),
            "unroll": depth,
            "train_cross_entropy": round(sum(run.losses) / len(run.losses), 4),
            "held_out": data.held_out.score(data.head, working, settings.unroll),
        }
    )
    run.losses = []


def _said(run: Run, seconds: float) -> str:
    left = max(0.0, seconds - run.elapsed)
    said = f"step {run.step}, {left / 60:.0f} min left"
    if run.curve:
        point = run.curve[-1]
        first = point["held_out"][0]
        said += f", loss {point['train_cross_entropy']:.2f}, held out: top-1 {first['top1']:.3f}, overlap {first['overlap']:.3f}"
    return said


# --- checkpoint and record -------------------------------------------------------------------


def save_run(run: Run, path: Path, identity: str) -> None:
    write_whole(path, lambda file: torch.save({"identity": identity, **vars(run)}, file))


def load_run(path: Path, identity: str) -> Run | None:
    """The run in a checkpoint; None where there is none, or one of another run."""
    try:
        held = torch.load(path, weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError):
        return None
    if not isinstance(held, dict) or held.pop("identity", None) != identity:
        return None
    return Run(**held)


def default_scratch(corpus: Corpus) -> Path:
    return Path(tempfile.gettempdir()) / f"eagle-head-{corpus.sha256[:16]}"


def train_head(
    corpus: Path,
    out: Path,
    minutes: float,
    seed: int,
    progress: Progress,
    *,
    command: str | None = None,
    rows: int | None = None,
    target: Target | None = None,
    settings: Settings = Settings(),
    scratch: Path | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Train a head on `corpus` and write it to `out`, its record beside it as .json; the record.

    minutes: of training, after the features are there; command: what was typed, for the record;
    rows: how many of the corpus are used, from the first on, all if None; scratch: where features
    and checkpoints are kept so that an interrupted run goes on: by default a folder among the
    system's temporary files, removed at the end. ValueError, in one line, for a corpus that is
    none or too small, and for a time that is none.
    """
    if not minutes > 0:
        raise ValueError(f"minutes must be above 0, not {minutes!r}")
    if target is None:
        from build_scripts.measure.smollm2 import load_smollm2

        target = load_smollm2(torch.bfloat16)
    text = read_corpus(corpus, target.shapes.vocabulary)
    used = len(text.tokens) if rows is None else rows
    least = settings.held_out_rows + settings.rows_per_step
    if not least <= used <= len(text.tokens):
        raise ValueError(f"{corpus} has {len(text.tokens)} rows; of {used}, at least {least} are needed")
    folder = scratch or default_scratch(text)
    identity = json.dumps([text.sha256, fingerprint(target), used, minutes, seed, asdict(settings)])
    checkpoint = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.checkpoint"
    with no_denormals():
        data = Data.prepare(target, text, used, settings, seed, folder, progress)
        run = load_run(checkpoint, identity) or Run(new_parameters(target, seed))
        run.sittings += 1
        fit(data, run, 60 * minutes, seed, settings, lambda run: save_run(run, checkpoint, identity), progress, clock)

    weights_sha256 = write_head(out, run.parameters, data.frozen.tokens, data.frozen.embedding_scale)
    record = {
        "weights_sha256": weights_sha256,
        "corpus": corpus.name,
        **training_record(target, data, run, minutes, seed, used, settings),
        **provenance(target, command),
    }
    write_json(out.with_suffix(".json"), record)
    if scratch is None:
        shutil.rmtree(folder)
    return record


@contextmanager
def no_denormals() -> Iterator[None]:
    """Tiny numbers, of which softmax makes many, are slow on some CPUs. The setting is the whole
    thread's, Python's own arithmetic included, so it ends with the training."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def training_record(
    target: Target,
    data: Data,
    run: Run,
    minutes: float,
    seed: int,
    rows: int,
    settings: Settings,
) -> dict[str, Any]:
    """What was trained on what, how, and what came of it, as it is after rounding to 8 bits."""
    in_bits = {name: value.detach() for name, value in run.parameters.items()}
    for name in MATRICES:
        values, scale = quantise(in_bits[name])
        in_bits[name] = values * scale
    working = {name: value.to(data.frozen.head.dtype) for name, value in in_bits.items()}
    step_tokens = settings.rows_per_step * data.tokens.shape[1]
    answers = data.held_out.answers
    return {
        "corpus_sha256": data.corpus.sha256,
        "corpus_rows": len(data.corpus.tokens),
        "rows_used": rows,
        "training_rows": len(data.training_rows),
        "training_tokens": data.training_rows.numel() * data.tokens.shape[1],
        "held_out_rows": data.held_out_rows.tolist(),
        "held_out_answer_tokens": int(answers.sum()),
        "held_out_reachable": round(float((data.held_out.choices >= 0).double().mean()), 4),
        "seed": seed,
        "minutes": minutes,
        "settings": asdict(settings),
        "parameters": sum(value.numel() for value in run.parameters.values()),
        "steps": run.step,
        "tokens_seen": run.step * step_tokens,
        "seconds": round(run.elapsed, 1),
        "sittings": run.sittings,
        "final": data.held_out.score(data.head, working, settings.unroll),
        "curve": run.curve,
    }


def provenance(target: Target, command: str | None) -> dict[str, Any]:
    """Where and when: date, commit, command, device, versions."""
    root = Path(__file__).parents[3]
    asked = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": asked.stdout.strip() or None,
        "command": command,
        "device": str(target.device),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "dtype": str(target.dtype).removeprefix("torch."),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
    }

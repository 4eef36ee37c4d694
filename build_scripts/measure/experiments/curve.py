"""Experiment 1: what a pass costs, by the tokens m, the rows B and the context that it reads.

T(B, m) over T(B, 1) is what a verifying pass costs in plain passes, which the textbook takes
as 1. A pass is timed as the decoding loops run it, features and logits of all its positions.
Keys and values of the context are random: what they are changes nothing about the time.

Within a sample all m go in turns, forth and then back, so that a drift of the machine hits
all of them; samples of all batches, contexts and kernels go in turns for the same reason.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import torch

from build_scripts.measure import machine
from build_scripts.measure.drafting import Drafter
from build_scripts.measure.experiments.context import Context, Outcome
from build_scripts.measure.experiments.journal import Json
from build_scripts.measure.experiments.running import Task
from build_scripts.measure.kernels import choose
from build_scripts.measure.predicting import costs_of
from build_scripts.measure.sampling import GREEDY
from build_scripts.measure.stopwatch import wait_for
from build_scripts.measure.target import Layer, Shapes, Target, Weights, random_model
from build_scripts.records.schema import CurveRecord, DraftCost, Model, PassCost
from build_scripts.records.statistics import summarise

SMALLER = {
    "stories15M": Shapes(6, 288, 768, 6, 6, 32000),
    "stories42M": Shapes(8, 512, 1376, 8, 8, 32000),
    "stories110M": Shapes(12, 768, 2048, 12, 12, 32000),
}
"""Real Llama-shaped models of github.com/karpathy/llama2.c, here with random weights: only
their shapes matter for the time."""

LARGE = {
    "Llama-3-8B": Shapes(32, 4096, 14336, 32, 8, 128256, tied=False, rope_base=5e5),
    "Llama-3-70B, 10 of 80 layers": Shapes(10, 8192, 28672, 64, 8, 128256, tied=False, rope_base=5e5),
    "Llama-3-70B, 20 of 80 layers": Shapes(20, 8192, 28672, 64, 8, 128256, tied=False, rope_base=5e5),
}
"""What a GPU has the memory for. Two slices of one model give the time of a layer, and so that
of the whole."""


SHAPES = {**SMALLER, **LARGE}


@dataclass(frozen=True)
class Grid:
    """Which passes: every m, with these batches, after these contexts."""

    ms: tuple[int, ...]
    batches: tuple[int, ...]
    contexts: tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """target: the passes of the model that is decoded with; long: contexts that it has at B = 1
    only; torch_dtypes, torch_grid: the same model under torch's own kernel; random, random_grid:
    models with random weights; draft_*: which drafting, and how many rounds a sample, with few_ks
    where there are several rows; repeats: how often all of it is measured; at_least: seconds that a
    sample of passes takes."""

    target: Grid
    long: tuple[int, ...]
    torch_dtypes: tuple[str, ...]
    torch_grid: Grid
    random: tuple[str, ...]
    random_grid: Grid
    draft_ks: tuple[int, ...]
    few_ks: tuple[int, ...]
    draft_batches: tuple[int, ...]
    draft_context: int
    draft_rounds: int
    repeats: int
    at_least: float


MS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17)


def settings(device: str, quick: bool) -> Settings:
    gpu = device == "cuda"
    batches = (1, 8, 32) if quick else (1, 2, 4, 8, 16, 32)
    return Settings(
        target=Grid(MS, (*batches, 64, 128, 256) if gpu else batches, (128, 512) if gpu and not quick else (128,)),
        long=() if quick else (1024,) if gpu else (512, 1024),
        # On a CPU without units for bf16 its passes take minutes.
        torch_dtypes=("bfloat16",) if gpu else ("float32",) if quick else ("float32", "bfloat16"),
        torch_grid=Grid(MS, (1,), (128,)),
        random=tuple(LARGE if gpu else list(SMALLER)[:1] if quick else SMALLER),
        random_grid=Grid(MS, (1, 8, 64, 256) if gpu else (1,), (128, 512) if gpu else (128,)),
        draft_ks=tuple(range(1, 9)),
        few_ks=(1, 2, 3),
        draft_batches=(1, 8, 32) if quick else (1, 4, 8, 32),
        draft_context=128,
        draft_rounds=4,
        repeats=3 if quick else 7,
        at_least=0.8,
    )


def run(context: Context) -> Outcome:
    chosen: Settings = context.settings.get("curve") or settings(context.device.kind, context.quick)
    runner = context.begin("curve", chosen)
    runner.rehearse = False  # every sample warms itself up
    subject = context.subject
    own = Variant(subject.name, subject.kernel, subject.dtype, lambda: subject.target)
    under_torch = [
        Variant(subject.name, torch_kernel(name), name, lambda name=name: converted(subject.plain, name))
        for name in chosen.torch_dtypes
        if torch_kernel(name) != own.kernel
    ]
    random = [random_variant(name, context, subject.dtype) for name in chosen.random]

    grids = {own: chosen.target, **{each: chosen.torch_grid for each in under_torch}}
    rounds: list[list[Task]] = []
    for repeat in range(chosen.repeats):
        tasks = limit_tasks(context, repeat)
        for variant, grid in grids.items():
            tasks += pass_tasks(variant, grid, chosen.at_least, repeat)
        tasks += pass_tasks(own, Grid(chosen.target.ms, (1,), chosen.long), chosen.at_least, repeat)
        tasks += draft_tasks(context, chosen, repeat)
        rounds.append(tasks)
    # One model with random weights at a time: there may be no memory for all of them.
    for variant in random:
        every = range(chosen.repeats)
        rounds.append([t for n in every for t in pass_tasks(variant, chosen.random_grid, chosen.at_least, n)])

    runner.plan(sum(task.weight for tasks in rounds for task in tasks))
    samples: dict[str, Json] = {}
    with torch.inference_mode():
        for tasks in rounds:
            samples |= runner.complete(tasks, timed=True)
            for variant in random:
                variant.forget()

    decoded = model_of(subject.name, subject.plain.shapes, subject.trained, *itemsizes(subject.plain))
    first = chosen.target.contexts[0]
    alone = [samples[own.key(1, first, repeat)]["1"] for repeat in range(chosen.repeats)]
    record = CurveRecord(
        experiment="curve",
        read_gbps=summarise(_gathered(samples, "read_gbps")),
        pass_gbps=summarise([decoded.matrix_bytes / statistics.median(times) / 1e6 for times in alone]),
        peak_gflops=summarise(_gathered(samples, "peak_gflops")),
        models=[
            decoded,
            *(
                model_of(name, SHAPES[name], False, subject.target.dtype.itemsize, subject.target.dtype.itemsize)
                for name in chosen.random
            ),
        ],
        passes=[cost for variant in (own, *under_torch, *random) for cost in pass_costs(variant, samples)],
        drafts=draft_costs(samples, chosen),
        **context.about(runner),
    )
    return context.finish(runner, record, headline(record))


def headline(record: CurveRecord) -> str:
    """What verifying four drafts costs, for one row and for the most."""
    costs = costs_of(record)
    batches = sorted({batch for batch, _ in costs.passes})
    context = min(cost.context for cost in record.passes)

    def relative(batch: int) -> str:
        ratio = costs.pass_ms(batch, 5, context) / costs.pass_ms(batch, 1, context)
        return f"{ratio:.2f}× for B = {batch}"

    return (
        f"Verifying 4 drafts costs {relative(batches[0])} and {relative(batches[-1])}, in plain passes "
        f"({record.kernel}, {record.dtype}, {costs.pass_ms(batches[0], 1, context):.1f} ms)"
    )


def limit_tasks(context: Context, repeat: int) -> list[Task]:
    """What the device can do at best, right before what decoding makes of it."""
    target = context.subject.target

    def limits() -> dict[str, float]:
        return {
            "read_gbps": machine.read_bandwidth(target.device) / 1e9,
            "peak_gflops": machine.peak_flops(target.device, target.dtype) / 1e9,
        }

    return [Task(f"limits repeat={repeat}", "what the memory and the arithmetic units can do", 2.0, limits)]


def _gathered(samples: Mapping[str, Json], name: str) -> list[float]:
    return [sample[name] for sample in samples.values() if name in sample]


# --- passes ------------------------------------------------------------------------------------


@dataclass(eq=False)
class Variant:
    """A model under one kernel; it is made when it is first needed."""

    model: str
    kernel: str
    dtype: str
    make: Callable[[], Target]
    _made: Target | None = None

    @property
    def target(self) -> Target:
        if self._made is None:
            self._made = self.make()
        return self._made

    def forget(self) -> None:
        self._made = None
        gc.collect()

    def key(self, batch: int, context: int, repeat: int) -> str:
        return f"pass {self.model} {self.kernel} {self.dtype} B={batch} context={context} repeat={repeat}"


def pass_tasks(variant: Variant, grid: Grid, at_least: float, repeat: int) -> list[Task]:
    """One task for each batch and context: all m of the grid, in turns."""
    return [
        Task(
            key=variant.key(batch, context, repeat),
            what=f"{variant.model}, {variant.kernel} {variant.dtype}, B = {batch}, context {context}",
            weight=at_least + 0.08 * batch,
            run=lambda batch=batch, context=context: time_passes(
                variant.target, batch, context, grid.ms, at_least
            ),
        )
        for context in grid.contexts
        for batch in grid.batches
    ]


def time_passes(
    target: Target, batch: int, context: int, ms: Sequence[int], at_least: float
) -> dict[str, list[float]]:
    """Milliseconds of passes over `batch` rows of m tokens, by m, each after `context` tokens.

    In turns until `at_least` seconds are measured: every m has as many samples as the others.
    """
    cache = target.new_cache(batch, context + max(ms))
    cache.keys.normal_()
    cache.values.normal_()
    tokens = torch.randint(target.shapes.vocabulary, (batch, max(ms)), device=target.device)

    def one(m: int) -> float:
        cache.lengths = [context] * batch
        wait_for(target.device)
        began = time.perf_counter()
        target.logits(target.features(tokens[:, :m], cache))
        wait_for(target.device)
        return 1000 * (time.perf_counter() - began)

    for m in (max(ms), *ms):  # the first pass of a size sets up its memory
        one(m)
    found: dict[str, list[float]] = {str(m): [] for m in ms}
    spent, turn = 0.0, 0
    while spent < 1000 * at_least or turn < 2:
        for m in ms if turn % 2 == 0 else reversed(ms):
            milliseconds = one(m)
            found[str(m)].append(round(milliseconds, 4))
            spent += milliseconds
        turn += 1
    return found


def pass_costs(variant: Variant, samples: Mapping[str, Json]) -> list[PassCost]:
    """Of one variant, from all repeats."""
    found: dict[tuple[int, int, int], list[float]] = {}
    start = f"pass {variant.model} {variant.kernel} {variant.dtype} B="
    for key, sample in samples.items():
        if key.startswith(start):
            batch, context, _ = (int(part.split("=")[1]) for part in key[len(start) - 2 :].split())
            for m, milliseconds in sample.items():
                found.setdefault((batch, context, int(m)), []).extend(milliseconds)
    return [
        PassCost(
            model=variant.model, kernel=variant.kernel, dtype=variant.dtype,
            batch=batch, context=context, m=m, ms=summarise(milliseconds),
        )
        for (batch, context, m), milliseconds in sorted(found.items())
    ]  # fmt: skip


def model_of(name: str, shapes: Shapes, trained: bool, itemsize: int, head_itemsize: int) -> Model:
    """By its shapes alone: the model itself may be gone, or be in the journal only."""
    width, kv_width = shapes.width, shapes.kv_heads * shapes.head_width
    layer = width * (width + 2 * kv_width) + width * width + 3 * width * shapes.ffn_width + 2 * width
    return Model(
        id=name, trained=trained, layers=shapes.layers, width=width, ffn_width=shapes.ffn_width,
        heads=shapes.heads, kv_heads=shapes.kv_heads, vocabulary=shapes.vocabulary,
        matrix_bytes=(shapes.layers * layer + width) * itemsize + width * shapes.vocabulary * head_itemsize,
    )  # fmt: skip


def random_variant(name: str, context: Context, dtype: str) -> Variant:
    """A model of `name`'s shapes under the kernel that is chosen for the device."""

    def make() -> Target:
        device = context.subject.target.device
        plain = random_model(SHAPES[name], context.seed, getattr(torch, dtype), device, positions=1024)
        return choose(plain, device, "torch" if "torch" in context.subject.kernel else "auto")[0]

    return Variant(name, context.subject.kernel, dtype, make)


def itemsizes(target: Target) -> tuple[int, int]:
    """Bytes of a weight, and of one of the head's."""
    return target.dtype.itemsize, target.weights.head.dtype.itemsize


def torch_kernel(dtype: str) -> str:
    """The name of torch's own kernel, as `kernels.choose` gives it."""
    return f"torch.matmul {dtype.replace('bfloat', 'bf').replace('float', 'fp')}"


def converted(target: Target, dtype: str) -> Target:
    """The same weights in another precision, under torch's own kernel; the head stays as it is."""
    wanted = getattr(torch, dtype)
    if target.dtype == wanted:
        return target
    weights = target.weights
    layers = tuple(
        Layer(**{part.name: getattr(layer, part.name).to(wanted) for part in fields(layer)})
        for layer in weights.layers
    )
    return Target(
        target.shapes,
        Weights(weights.embedding.to(wanted), layers, weights.final_norm.to(wanted), weights.head),
        target.positions,
    )


# --- drafting ----------------------------------------------------------------------------------


def draft_tasks(context: Context, chosen: Settings, repeat: int) -> list[Task]:
    """One task for each drafter and batch: all k, in turns."""
    texts = [list(text.tokens) for text in context.subject.texts]
    return [
        Task(
            key=f"draft {name} B={batch} repeat={repeat}",
            what=f"drafting by {name}, B = {batch}",
            weight=0.5 + 0.05 * batch,
            run=lambda name=name, batch=batch: time_drafting(
                context.subject.drafter(name), context.subject.target, texts, batch, chosen
            ),
        )
        for name in context.subject.makers
        for batch in chosen.draft_batches
    ]


def time_drafting(
    drafter: Drafter, target: Target, texts: list[list[int]], batch: int, chosen: Settings
) -> dict[str, float]:
    """Milliseconds of one round's `propose` and `update`, by k, as the loop calls them.

    The rows are parts of the prompts, so that drafters that search a text find something; half of
    each round's drafts are committed. Features are random: they change what is drafted, not
    how long it takes.
    """
    length, rounds = chosen.draft_context, chosen.draft_rounds
    stream = [token for text in texts for token in text]
    starts = [row * 37 for row in range(batch)]
    rows = [[stream[(start + place) % len(stream)] for place in range(length)] for start in starts]

    def one(k: int) -> float:
        room = (rounds + 2) * (k + 1)
        size = (batch, length, target.shapes.width)
        features = torch.randn(size, dtype=target.dtype, device=target.device)
        drafter.reset(rows, features, room)
        seconds = 0.0
        for round_ in range(rounds + 1):
            wait_for(target.device)
            began = time.perf_counter()
            proposal = drafter.propose(k, GREEDY, None)
            wait_for(target.device)
            seconds += (time.perf_counter() - began) if round_ else 0.0  # the first one warms up
            committed = [
                [*drafts[: count // 2], 1]
                for drafts, count in zip(proposal.tokens.tolist(), proposal.counts.tolist())
            ]
            began = time.perf_counter()
            drafter.update(committed, features[:, : k + 1])
            wait_for(target.device)
            seconds += (time.perf_counter() - began) if round_ else 0.0
        return 1000 * seconds / rounds

    ks = chosen.draft_ks if batch == 1 else chosen.few_ks
    one(max(ks))
    return {str(k): round(one(k), 4) for k in ks}


def draft_costs(samples: Mapping[str, Json], chosen: Settings) -> list[DraftCost]:
    found: dict[tuple[str, int, int], list[float]] = {}
    for key, sample in samples.items():
        if key.startswith("draft "):
            _, drafter, batch, _ = key.split()
            for k, milliseconds in sample.items():
                found.setdefault((drafter, int(batch[2:]), int(k)), []).append(milliseconds)
    return [
        DraftCost(
            drafter=drafter, batch=batch, context=chosen.draft_context, k=k, ms=summarise(milliseconds)
        )
        for (drafter, batch, k), milliseconds in sorted(found.items())
    ]

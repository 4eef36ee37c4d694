"""Every experiment from end to end, on a random model that takes milliseconds: the record loads, says
what was asked for, and an interrupted run loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import drafters  # noqa: E402
from build_scripts.measure.decoding import decode_plain  # noqa: E402
from build_scripts.measure.drafters.ngram_table import count_table  # noqa: E402
from build_scripts.measure.experiments import ALL, acceptance, batch, curve, lossless, module, speedup, traces  # noqa: E402
from build_scripts.measure.experiments.context import Context  # noqa: E402
from build_scripts.measure.experiments.load import Reading  # noqa: E402
from build_scripts.measure.experiments.running import Runner  # noqa: E402
from build_scripts.measure.experiments.subject import Subject, Text  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.measure.target import Shapes, random_model  # noqa: E402
from build_scripts.records.schema import Device, hash_of  # noqa: E402
from build_scripts.records.store import RecordError, file_name, load_records, read_record  # noqa: E402
from tests.measure.tiny import known_texts, some_prompts, tiny_chat  # noqa: E402

KINDS = ("chat", "prose", "code", "quoting")
VOCABULARY = 24
SHAPES = Shapes(layers=2, width=16, ffn_width=32, heads=4, kv_heads=2, vocabulary=VOCABULARY)
DEVICE = Device(kind="cpu", name="A tiny one", cores=2, memory_gib=1.0, driver=None)

SETTINGS = {
    "curve": curve.Settings(
        target=curve.Grid((1, 2, 4, 5), (1, 2), (8, 16)),
        long=(32,),
        torch_dtypes=("float32", "bfloat16"),
        torch_grid=curve.Grid((1, 2), (1,), (8,)),
        random=("stories15M",),
        random_grid=curve.Grid((1, 2), (1,), (4,)),
        draft_ks=(1, 3),
        few_ks=(1, 3),
        draft_batches=(1, 2),
        draft_context=12,
        draft_rounds=2,
        repeats=2,
        at_least=0.0,
    ),
    "acceptance": acceptance.Settings(KINDS, ((0.0, 1), (0.0, 3), (1.0, 3)), prompts=3, tokens=16),
    "speedup": speedup.Settings(
        KINDS, {"context_ngram": (1, 3), "ngram_table": (1, 3)}, prompts=2, tokens=16, repeats=2
    ),
    "batch": batch.Settings(
        (("quoting", (("context_ngram", 3),)), ("mix", (("ngram_table", 1), ("context_ngram", 3)))),
        batches=(1, 2), tokens=16, repeats=2, prompts=2, large=2,
    ),
    "lossless": lossless.Settings(
        KINDS, (1, 3), prompts=2, tokens=16, alone_ks=(3,), alone_prompts=1,
        flip_dtypes=("bfloat16",), flip_prompts=2, draws=2_000,
    ),
    "traces": traces.Settings(
        tokens=12, repeats=3,
        wanted=(traces.Wanted("context_ngram", "quoting", 3, 0.0), traces.Wanted("ngram_table", "chat", 2, 1.0)),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def subject() -> Subject:
    """In single precision, as on the real CPU; each kind has prompts of its own for both parts."""
    target = random_model(SHAPES, 3, torch.float32, positions=256)
    prompts = some_prompts(24, longest=10)
    table = count_table(known_texts(decode_plain(target, prompts, Limits(30)), prompts), VOCABULARY)
    return Subject(
        name="tiny",
        trained=True,
        target=target,
        kernel="torch.matmul fp32",
        plain=target,
        chat=tiny_chat(),
        ends=frozenset({VOCABULARY - 1}),
        texts=[
            Text(f"{KINDS[n % 4]}-{n:02}", KINDS[n % 4], "acceptance" if n < 12 else "speedup", f"ask {n}", tuple(prompt))
            for n, prompt in enumerate(prompts)
        ],
        prompts_sha256=hash_of(prompts),
        weights_sha256="1" * 64,
        drafter_sha256={"ngram_table": "2" * 64},
        makers={
            "context_ngram": lambda: drafters.create("context_ngram"),
            "ngram_table": lambda: drafters.create("ngram_table", table=table),
        },
    )


def quiet() -> None:
    """Tests run beside other processes: here the load is not read."""


@pytest.fixture
def context(subject: Subject, tmp_path: Path) -> Context:
    return Context(
        subject=subject,
        device=DEVICE,
        versions={"torch": "some"},
        out=tmp_path / "records",
        work=tmp_path / "work",
        command="a test",
        reader=quiet,
        settings=SETTINGS,
    )


def test_all_in_order(context: Context) -> None:
    for name in ALL:
        outcome = module(name).run(context)
        assert outcome.holds and outcome.headline

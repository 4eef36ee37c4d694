"""Records that nobody measured: plausible, small and the same for the same seed. For tests only.

Nothing made here ever stands below docs/: what the site shows is measured or not there.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from build_scripts.records.schema import (
    AcceptanceRecord,
    BatchRecord,
    CurveRecord,
    LosslessRecord,
    PeersRecord,
    Record,
    SpeedupRecord,
    hash_of,
)
from build_scripts.records.store import write_record

KINDS = ("chat", "prose", "code", "quoting")
LENGTHS = (1, 2, 4, 8)
BATCHES = (1, 2, 4, 8, 16, 32)

# Of each drafter: a draft step over a pass, the share of rounds that propose, and by kind the
# acceptance of the first position and how much a later one is more likely than the one before.
DRAFTERS: dict[str, tuple[float, float, dict[str, tuple[float, float]]]] = {
    "context_ngram": (0.001, 0.5, {"chat": (0.3, 1.3), "prose": (0.22, 1.3), "code": (0.45, 1.2), "quoting": (0.75, 1.06)}),
    "ngram_table": (0.002, 1.0, {"chat": (0.16, 1.1), "prose": (0.2, 1.1), "code": (0.1, 1.1), "quoting": (0.12, 1.1)}),
    "int8_copy": (0.36, 1.0, {"chat": (0.95, 0.99), "prose": (0.93, 0.99), "code": (0.95, 0.99), "quoting": (0.97, 0.99)}),
    "eagle_head": (0.06, 1.0, {"chat": (0.5, 0.86), "prose": (0.42, 0.86), "code": (0.4, 0.86), "quoting": (0.38, 0.9)}),
}  # fmt: skip

BASIS = {"curve_sha256": "c" * 64, "acceptance_sha256": "d" * 64}
CPU = {"kind": "cpu", "name": "AMD EPYC 9B14", "cores": 2, "memory_gib": 15.6, "driver": None}
GPU = {"kind": "cuda", "name": "NVIDIA H200", "cores": 16, "memory_gib": 139.8, "driver": "580.82"}
SHAPES = {"layers": 30, "width": 576, "ffn_width": 1536, "heads": 9, "kv_heads": 3, "vocabulary": 49152}


def synthetic_records(device: str = "cpu", quick: bool = False, seed: int = 1) -> list[Record]:
    """One record of each experiment."""
    maker = _Maker(device, quick, seed)
    return [maker.curve(), maker.acceptance(), maker.speedup(), maker.batch(), maker.lossless(), maker.peers()]


def write_synthetic(folder: Path, device: str = "cpu", quick: bool = False) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [write_record(record, folder) for record in synthetic_records(device, quick)]


def altered(record: Record, change: Callable[[Any], None]) -> Record:
    """The record with `change` made to its data, through the checks of the format again."""
    data = record.model_dump()
    change(data)
    return type(record).model_validate_json(json.dumps(data))


def scale(statistic: dict[str, Any], factor: float) -> None:
    """Every sample of a statistic times `factor`: the number behind a figure, altered."""
    for name in ("low", "high"):
        statistic[name] *= factor
    statistic["samples"] = [sample * factor for sample in statistic["samples"]]
    statistic["median"] = statistics.median(statistic["samples"])


def quicken(cell: dict[str, Any], factor: float) -> None:
    """One setting of the speedup record, `factor` times as fast with drafts as it was."""
    scale(cell["speedup"], factor)
    scale(cell["speculative_ms_per_token"], 1 / factor)
    pooled = cell["pooled_speedup"]
    for name in ("value", "low", "high"):
        pooled[name] *= factor


def accept_none(counts: dict[str, Any]) -> None:
    """The same rounds, in all of which the target refuses the first draft."""
    proposing = sum(counts["histogram"])
    k = len(counts["offered"])
    counts |= {
        "histogram": [proposing] + [0] * k, "examined": [proposing] + [0] * (k - 1), "accepted": [0] * k,
        "recovered": proposing, "bonus": 0,
    }  # fmt: skip


def statistic(samples: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(samples), "low": min(samples), "high": max(samples), "samples": samples}


class _Maker:
    def __init__(self, device: str, quick: bool, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gpu = device == "cuda"
        self.quick = quick
        self.repeats = 3 if quick else 5
        self.plain_ms = 0.9 if self.gpu else 28.4
        self.slope = 0.004 if self.gpu else 0.0385
        self.kernel = "cuBLAS bf16, CUDA graphs" if self.gpu else "packed AVX-512 fp32"

    def about(self, experiment: str) -> dict[str, Any]:
        quick = " --quick" if self.quick else ""
        return {
            "experiment": experiment,
            "schema_version": 1,
            "quick": self.quick,
            "device": GPU if self.gpu else CPU,
            "versions": {"python": "3.11.7", "torch": "2.13.0"},
            "kernel": self.kernel,
            "dtype": "bfloat16" if self.gpu else "float32",
            "threads": 2,
            "commit": "abc1234" + "0" * 33,
            "clean": not self.quick,
            "date": "2026-11-30T05:10:00Z",
            "command": f"python -m build_scripts measure {experiment}{quick}",
            "seed": 0,
            "prompts_sha256": "a" * 64,
            "weights_sha256": "b" * 64,
            "load_average": {"start": 0.1, "end": 1.9},
            "discarded_repeats": 2,
            "seconds": 611.0,
        }

    def around(self, value: float, spread: float = 0.01) -> dict[str, Any]:
        return statistic([value * (1 + self.chance.uniform(-spread, spread)) for _ in range(self.repeats)])

    def cost(self, m: int, batch: int, steepness: float = 1.0) -> float:
        """Of a pass, in passes of one row and one token."""
        return 1 + self.slope * steepness * (m * batch - 1)

    def counts(self, drafter: str, kind: str, k: int, temperature: float = 0.0, rounds: int = 40) -> dict[str, Any]:
        _, proposing, by_kind = DRAFTERS[drafter]
        first, growth = by_kind[kind]
        histogram, offered, examined, accepted = [0] * (k + 1), [0] * k, [0] * k, [0] * k
        empty = 0
        for _ in range(rounds):
            if self.chance.random() > proposing:
                empty += 1
                continue
            kept = 0
            for place in range(k):
                offered[place] += 1
                if kept < place:
                    continue
                examined[place] += 1
                likely = min(0.99, first * growth**place) * (1 - 0.25 * temperature)
                if self.chance.random() < likely:
                    accepted[place] += 1
                    kept += 1
            histogram[kept] += 1
        return {
            "histogram": histogram, "offered": offered, "examined": examined, "accepted": accepted,
            "recovered": sum(histogram[:-1]), "bonus": histogram[-1], "empty": empty, "first": 1, "discarded": 0,
        }  # fmt: skip

    def curve(self) -> Record:
        width = {"bfloat16": 2, "float32": 4}[self.about("curve")["dtype"]]
        models = [{"id": "SmolLM2-135M-Instruct", "trained": True, **SHAPES, "matrix_bytes": 134_480_000 * width}]
        models.append({"id": "stories15M", "trained": False, **SHAPES, "matrix_bytes": 15_000_000 * width})
        own, trained = self.about("curve")["dtype"], "SmolLM2-135M-Instruct"
        lines = [(trained, self.kernel, own, batch, 128, 1.0) for batch in BATCHES]
        lines += [(trained, self.kernel, own, 1, 512, 1.1)]
        lines += [] if self.gpu else [(trained, "torch.matmul fp32", own, 1, 128, 1.9)]
        lines += [(trained, "torch.matmul bf16", "bfloat16", 1, 128, 2.6), ("stories15M", self.kernel, own, 1, 128, 0.7)]
        passes = [
            {
                "model": model, "kernel": kernel, "dtype": dtype, "batch": batch, "context": context, "m": m,
                "ms": self.around(self.plain_ms * self.cost(m, batch, steepness)),
            }
            for model, kernel, dtype, batch, context, steepness in lines
            for m in (1, 2, 3, 4, 5, 7, 9, 17)
        ]  # fmt: skip
        drafts = [
            {"drafter": drafter, "batch": batch, "context": 128, "k": k, "ms": self.around(self.plain_ms * c * k)}
            for drafter, (c, _, _) in DRAFTERS.items()
            for batch in (1, 8)
            for k in LENGTHS
        ]
        read = 4300.0 if self.gpu else 24.5
        return self.made(CurveRecord, "curve", {
            "read_gbps": self.around(read), "pass_gbps": self.around(0.8 * read), "peak_gflops": self.around(700e3 if self.gpu else 290.0),
            "models": models, "passes": passes, "drafts": drafts,
        })  # fmt: skip

    def acceptance(self) -> Record:
        cells = [
            {
                "drafter": drafter, "kind": kind, "temperature": temperature, "k": k,
                "prompts": [
                    {"prompt": f"{kind}-{n:02}", "counts": self.counts(drafter, kind, k, temperature)} for n in range(6)
                ],
            }
            for drafter in DRAFTERS
            for kind in KINDS
            for temperature, k in ((0.0, 4), (0.0, 8), (0.7, 4), (1.0, 4))
        ]  # fmt: skip
        return self.made(AcceptanceRecord, "acceptance", {"replayed": self.gpu, "cells": cells})

    def speedup(self) -> Record:
        predictions, cells = [], []
        for drafter, (c, proposing, by_kind) in DRAFTERS.items():
            for kind in KINDS:
                for k in LENGTHS:
                    first, growth = by_kind[kind]
                    survival, expected = 1.0, 1.0
                    for place in range(k):
                        survival *= min(0.99, first * growth**place)
                        expected += survival
                    textbook = sum(first**j for j in range(k + 1))
                    full = 1 + proposing * (expected - 1)
                    verify = proposing * self.cost(k + 1, 1) + (1 - proposing)
                    speedup = full / (proposing * k * c + verify)
                    predictions.append({
                        "drafter": drafter, "kind": kind, "k": k,
                        "textbook": {"acceptance": first, "cost_ratio": c, "expected_tokens": textbook, "speedup": textbook / (1 + k * c)},
                        "full": {"expected_tokens": full, "draft_cost": proposing * k * c, "verify_cost": verify, "speedup": speedup},
                    })  # fmt: skip
                    measured = speedup * (1 + self.chance.gauss(-0.01, 0.03))
                    cells.append(self.timed(drafter, kind, k, measured))
        return self.made(SpeedupRecord, "speedup", {
            **BASIS, "predictions": predictions, "predictions_sha256": hash_of(predictions), "cells": cells,
        })  # fmt: skip

    def timed(self, drafter: str, kind: str, k: int, measured: float) -> dict[str, Any]:
        """One setting of the speedup record, about `measured` times as fast as plain decoding."""
        plain = self.around(self.plain_ms)
        ratios = [measured * (1 + self.chance.uniform(-0.05, 0.05)) for _ in plain["samples"]]
        speculative = [ms / ratio for ms, ratio in zip(plain["samples"], ratios, strict=True)]
        pooled = sum(plain["samples"]) / sum(speculative)
        return {
            "drafter": drafter, "kind": kind, "k": k, "speedup": statistic(ratios),
            "pooled_speedup": {"value": pooled, "low": pooled * 0.97, "high": pooled * 1.03},
            "plain_ms_per_token": plain, "speculative_ms_per_token": statistic(speculative),
            "counts": self.counts(drafter, kind, k, rounds=300),
            "plain_seconds": {"target": 10.0}, "speculative_seconds": {"draft": 1.0, "verify": 5.0},
        }  # fmt: skip

    def batch(self) -> Record:
        cells = []
        for drafter, kind, k in (("context_ngram", "quoting", 3), ("int8_copy", "mix", 3), ("eagle_head", "mix", 1)):
            c, proposing, by_kind = DRAFTERS[drafter]
            first, _ = by_kind["chat" if kind == "mix" else kind]
            expected = 1 + proposing * sum(first**j for j in range(1, k + 1))
            for batch in BATCHES:
                plain = self.cost(1, batch)
                predicted = expected / (proposing * (k * c + self.cost(k + 1, batch) / plain) + 1 - proposing)
                measured = predicted * (1 + self.chance.gauss(-0.02, 0.03))
                rate = 1000 * batch / (self.plain_ms * plain)
                cells.append({
                    "drafter": drafter, "kind": kind, "k": k, "batch": batch, "plain_tokens_per_s": self.around(rate),
                    "speculative_tokens_per_s": self.around(rate * measured), "speedup": self.around(measured, 0.04),
                    "counts": self.counts(drafter, "chat", k), "predicted_speedup": predicted,
                })  # fmt: skip
        return self.made(BatchRecord, "batch", {**BASIS, "cells": cells})

    def lossless(self) -> Record:
        cells = [
            {
                "drafter": drafter, "k": k, "batch": batch, "prompts": 4 * batch, "tokens": 24,
                "identical": 4 * batch, "differences": [],
            }
            for drafter in (*DRAFTERS, "oracle", "adversary")
            for batch, lengths in ((10, range(1, 9)), (1, (1, 8)))
            for k in lengths
        ]  # fmt: skip
        cells[5] |= {
            "identical": 39,
            "differences": [{"prompt": "chat-03", "position": 31, "plain": 12, "speculative": 15, "margin": 3e-5}],
        }
        flips = [
            {"kernel": self.kernel, "dtype": "float32", "m": 5, "positions": 682, "ties": 0, "margins": []},
            {"kernel": "torch.matmul bf16", "dtype": "bfloat16", "m": 5, "positions": 682, "ties": 24, "margins": [0.0, 0.0, 0.125, 0.25]},
        ]  # fmt: skip
        sampled = [
            {"rule": "rejection", "right": True, "draws": 20000, "statistic": 24.0, "degrees": 23, "z": 0.147},
            {"rule": "residual of p alone", "right": False, "draws": 20000, "statistic": 592.0, "degrees": 23, "z": 83.9},
        ]  # fmt: skip
        return self.made(
            LosslessRecord, "lossless", {"margin_limit": 1e-3, "cells": cells, "flips": flips, "sampled": sampled}
        )

    def peers(self) -> Record:
        rows = [
            ("this project", "abc1234", "plain", "quoting", None, 34.0, True, None),
            ("this project", "abc1234", "context_ngram", "quoting", 3, 74.2, True, None),
            ("this project", "abc1234", "int8_copy", "quoting", 5, 51.0, False, "quoting-05 differs from token 31 on, where the likeliest two are 2e-05 apart"),
            ("transformers", "5.24.0", "plain", "quoting", None, 30.4, True, None),
            ("transformers", "5.24.0", "prompt lookup", "quoting", 5, 52.8, True, None),
            ("transformers", "5.24.0", "assisted", "quoting", None, 35.8, True, "draft: int8 copy; 20 drafts, confidence threshold 0.4"),
            ("llama.cpp", "0.3.36", "plain", "quoting", None, 100.0, None, "the wheel's Q4_1 weights"),
        ]
        data = [
            {
                "engine": engine, "version": version, "mode": mode, "kind": kind, "k": k,
                "tokens_per_s": self.around(rate), "same_tokens": same, "note": note,
            }
            for engine, version, mode, kind, k, rate, same, note in rows
        ]  # fmt: skip
        logits = {"prompts": 24, "positions": 1200, "largest_difference": 6e-5, "same_argmax": True}
        return self.made(PeersRecord, "peers", {"rows": data, "logits": logits})

    def made(self, kind: type[Record], experiment: str, data: dict[str, Any]) -> Record:
        return kind.model_validate_json(json.dumps(self.about(experiment) | data))

"""Writes speculation.json, the vectors that hold model.js and format.js to the Python.

    python tests/golden/write.py

Seeded, and free of functions that a platform may round its own way, so the file is the
same on every machine; tests/test_golden.py checks that it is up to date.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import astuple, fields
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from build_scripts.model.speculation import Outcome, Round, evaluate  # noqa: E402
from build_scripts.render.numbers import format_number  # noqa: E402

GOLDEN = Path(__file__).with_name("speculation.json")
NONE = "none"

TIES = [0.005, 0.015, 0.025, 0.05, 0.125, 0.25, 0.35, 0.375, 0.5, 0.625, 1.005, 1.5, 2.5, 2.675, 3.5]
TIES += [23.35, 44.95]
ROUND_NUMBERS = [0.0, 0.1, 1.0, 9.995, 9.999, 10.0, 54.0, 99.95, 100.0, 1000.0, 123456.789, 1e9, 1e15]
SIGNED = [-0.0, -0.001, -0.004, -0.125, -2.5, -23.35]
MEASURES = [
    "expected_tokens", "speedup", "operations_factor", "round_ms", "tpot_ms", "burst_gap_ms", "throughput_tps",
    "target_ms", "draft_ms", "ttft_ms", "slo_ttft_ms", "slo_itl_ms", "slo_throughput_tps",
]  # fmt: skip
SHARES = ["acceptance", "break_even_acceptance"]
COUNTS = ["draft_tokens", "best_draft_tokens"]


def rounds() -> list[Round]:
    """The rounds to evaluate: the lesson's own, every pair of edges, and random ones."""
    cases = [Round(0.75, k, 45, 3, bonus) for k in range(13) for bonus in (False, True)]
    for acceptance, k, draft_ms, bonus in product(
        (0.0, 1e-20, 1e-9, 0.5, 1 - 1e-9, 1.0), (0, 1, 12, 32, 1000), (0, 1e-9, 3, 45, 60), (False, True)
    ):
        cases.append(Round(acceptance, k, 45, draft_ms, bonus))
    # On a line on paper, beside it in binary: no k better than 0, verdicts, a break-even at h = 1.
    cases += [Round(h, 1, t, d, True) for t, h, d in ((30, 0.13, 3.9), (45, 0.14, 6.3), (33, 0.05, 1.65))]
    cases += [Round(1, 3, 45.9, 44.7, True), Round(1, 2, 49, 50.5, True), Round(1, 3, 44.1, 30.3, False)]
    cases += [Round(0.5, 3, t, d, False) for t, d in ((0.3, 0.2), (0.9, 0.6), (10.2, 6.8), (45.3, 30.2))]
    cases += [Round(1, k, t, t, True) for k in (1, 2, 3, 7) for t in (0.3, 10.1, 45.7)]
    # The ends of what is allowed.
    cases += [Round(0.9, 1000, target, draft) for target in (1e-6, 1e9) for draft in (0, 1e9)]

    rng = random.Random(20221117)
    for _ in range(600):
        target_ms = rng.random() * rng.choice((1, 50, 200, 5000)) + 0.001
        cases.append(
            Round(
                acceptance=rng.random(),
                draft_tokens=rng.choice((rng.randint(1, 12), rng.randint(1, 12), rng.randint(0, 32))),
                target_ms=target_ms,
                draft_ms=target_ms * rng.random() * rng.choice((0.05, 0.2, 1.2)),
                bonus=rng.random() < 0.5,
                operations_ratio=rng.random() if rng.random() < 0.2 else None,
            )
        )
    for _ in range(20):
        cases.append(Round(1 - rng.random() / 100, rng.randint(33, 1000), 45, rng.random(), rng.random() < 0.5))
    for _ in range(200):
        k = rng.randint(0, 12)
        positions = []
        for _ in range(k + rng.randint(0, 3)):
            certain = rng.random() < 0.15
            positions.append(float(rng.randint(0, 1)) if certain else round(rng.random(), 4))
        cases.append(Round(tuple(positions), k, 45, round(rng.random() * 20, 2), rng.random() < 0.5))
    cases.append(Round(tuple(round(0.999 - 0.0005 * j, 4) for j in range(1000)), 1000, 45, 0.01, True))
    return cases


def shown_numbers() -> list[tuple[str, Any]]:
    """Names and values to write as text: ties, signs, large and random ones."""
    rng = random.Random(20230202)
    shown: list[tuple[str, Any]] = [("bonus", True), ("bonus", False)]
    shown += [("verdict", word) for word in ("net win", "break-even", "net loss")]
    shown += [("break_even_acceptance", None)]
    for name in MEASURES:
        shown += [(name, value) for value in TIES + ROUND_NUMBERS + SIGNED]
        shown += [(name, rng.random() * rng.choice((1, 10, 1000))) for _ in range(20)]
    for name in SHARES:
        shown += [(name, value) for value in TIES if value <= 1]
        shown += [(name, rng.random()) for _ in range(20)]
    for name in COUNTS:
        shown += [(name, value) for value in (0, 1, 7, 32, 1000)]
    return shown


def text() -> str:
    """The whole file, one case a line."""
    cases = []
    for round_ in rounds():
        row = [astuple(round_), astuple(evaluate(round_))]
        cases.append(json.dumps(row, separators=(",", ":"), allow_nan=False))
    numbers = []
    for name, value in shown_numbers():
        row = [name, value, format_number(name, value, NONE)]
        numbers.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False, allow_nan=False))
    head = {
        "about": "Written by tests/golden/write.py. A round: inputs, outputs; a number: name, value, text.",
        "inputs": [field.name for field in fields(Round)],
        "outputs": [field.name for field in fields(Outcome)],
        "none": NONE,
    }
    lines = ",\n".join
    return (
        json.dumps(head, indent=1)[:-2]
        + f',\n "rounds": [\n{lines(cases)}\n ],\n "numbers": [\n{lines(numbers)}\n ]\n}}\n'
    )


if __name__ == "__main__":
    GOLDEN.write_text(text(), encoding="utf-8")
    print(f"{len(rounds())} rounds and {len(shown_numbers())} numbers written to {GOLDEN.name}")

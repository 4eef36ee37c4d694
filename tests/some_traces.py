"""Small traces made by hand, and the record of their measurement, for the tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from build_scripts.bench.project import build_site, copy_project
from build_scripts.records.schema import TracesRecord
from build_scripts.records.store import write_record
from build_scripts.records.trace import Trace, write_trace

ABOUT: dict[str, Any] = {
    "quick": False,
    "device": {"kind": "cpu", "name": "Test CPU", "cores": 2, "memory_gib": 8.0, "driver": None},
    "versions": {"torch": "2.0"},
    "kernel": "torch",
    "dtype": "float32",
    "threads": 2,
    "commit": "0" * 40,
    "clean": True,
    "date": "2026-11-30T00:00:00Z",
    "command": "python -m build_scripts measure traces",
    "weights_sha256": "1" * 64,
}


def a_trace(temperature: float) -> dict[str, Any]:
    """Three rounds of up to two drafts: all accepted, nothing drafted, one rejected. The text has a
    letter of two bytes, in two tokens. Drawn with a law of the draft's own, or greedy without one."""
    warm = temperature > 0
    vocabulary = {
        "ids": [10, 11, 12, 13, 14, 15, 16],
        "texts": ["A", " sn", [0xC3], [0xB6], " dog", {"control": "<|end|>"}, " cat"],
    }

    def law(*shares: float, first: int) -> list[list[float]]:
        return [[(first + place) % 7, share] for place, share in enumerate(shares)]

    def draft(token: int, p: float, q: float, u: float, accepted: bool | None) -> dict[str, Any]:
        if not warm:
            return {"token": token, "p": 0.0 if accepted is False else 1.0, "q": 1.0, "u": None, "accepted": accepted}
        return {"token": token, "p": p, "q": q, "u": u, "accepted": accepted}

    def ms(draft_: float, verify: float, overhead: float) -> dict[str, float]:
        return {"draft": draft_, "verify": verify, "overhead": overhead}

    u = 0.25 if warm else None
    left = {"likeliest": [[5, 0.75], [1, 0.25]], "rest": 0.0}
    rounds = [
        {
            "drafts": [draft(1, 0.5, 0.25, 0.9, True), draft(2, 0.6, 0.9, 0.5, True)],
            "token": 3, "kind": "bonus", "u": u,
            "target": [law(0.5, 0.2, first=1), law(0.6, 0.3, first=2), law(0.9, first=3)],
            "draft": [law(0.25, first=1), law(0.9, first=2)] if warm else None,
            "residual": None, "ms": ms(4.0, 30.0, 1.0),
        },
        {
            "drafts": [], "token": 4, "kind": "plain", "u": u, "target": [law(1.0, first=4)],
            "draft": None, "residual": None, "ms": ms(0.5, 28.0, 0.5),
        },
        {
            "drafts": [draft(6, 0.8, 0.5, 0.3, True), draft(4, 0.1, 0.9, 0.5, False)],
            "token": 5, "kind": "recovered", "u": u,
            "target": [law(0.8, first=6), law(0.5, 0.1, first=5), law(1.0, first=0)],
            "draft": [law(0.5, first=6), law(0.9, first=4)] if warm else None,
            "residual": left if warm else {"likeliest": [[5, 1.0]], "rest": 0.0}, "ms": ms(4.5, 29.0, 1.5),
        },
    ]  # fmt: skip
    return {
        "schema_version": 1,
        "id": "chat-model-k2-t1" if warm else "chat-model-k2",
        **ABOUT,
        "drafter_sha256": None,
        "target": "Tiny",
        "drafter": "model",
        "k": 2,
        "temperature": temperature,
        "seed": 0,
        "kind": "chat",
        "prompt_id": "chat-01",
        "prompt": "What is that?",
        "prompt_tokens": 9,
        "vocabulary": vocabulary,
        "plain": {
            "prefill_ms": 50.0,
            "tokens": [0, 1, 4] if warm else [0, 1, 2, 3, 4, 6, 5],
            "ms": [30.0, 28.0] if warm else [30.0, 28.0, 29.0, 30.0, 31.0, 27.5],
            "end": "cap",
        },
        "speculative": {
            "prefill_ms": 51.0, "reset_ms": 2.0, "first": 0, "rounds": rounds,
            "discarded": 1 if warm else 0, "end": "cap",
        },
        "same_tokens": None if warm else True,
    }  # fmt: skip


def a_record(traces: Sequence[Trace]) -> dict[str, Any]:
    """What the measurement of these traces says, before anything in them was changed."""

    def once(ms: float) -> dict[str, Any]:
        return {"median": ms, "low": ms, "high": ms, "samples": [ms]}

    def entry(trace: Trace) -> dict[str, Any]:
        plain, run = trace.plain, trace.speculative
        seconds = {
            phase: sum(getattr(one.ms, phase) for one in run.rounds) / 1000 for phase in ("draft", "verify", "overhead")
        }
        return {
            "id": trace.id,
            "drafter": trace.drafter,
            "kind": trace.kind,
            "prompt": trace.prompt_id,
            "k": trace.k,
            "temperature": trace.temperature,
            "plain_tokens": len(plain.tokens),
            "speculative_tokens": len(run.tokens),
            "counts": trace.counts.model_dump(),
            "plain_ms": once(plain.decode_ms),
            "speculative_ms": once(run.decode_ms),
            "plain_seconds": {"prefill": plain.prefill_ms / 1000, "decode": plain.decode_ms / 1000},
            "speculative_seconds": {"prefill": run.prefill_ms / 1000, "reset": run.reset_ms / 1000, **seconds},
            "same_tokens": trace.same_tokens,
        }

    return {
        "schema_version": 1,
        **ABOUT,
        "experiment": "traces",
        "seed": 0,
        "prompts_sha256": None,
        "load_average": {"start": 0.0, "end": 0.0},
        "discarded_repeats": 0,
        "seconds": 1.0,
        "traces": [entry(trace) for trace in traces],
    }


def site_with(traces: Sequence[Trace], folder: Path) -> Path:
    """The built site of this project as it is once these runs, and nothing else, are recorded."""
    project = copy_project(folder / "project")
    measurements = project / "docs" / "measurements"
    shutil.rmtree(measurements, ignore_errors=True)  # what is really measured stays out of the tests
    for trace in traces:
        write_trace(trace, measurements / "traces")
    write_record(TracesRecord.model_validate_json(json.dumps(a_record(traces))), measurements)
    result = build_site(project, folder / "site")
    assert result.status == 0, result.output
    return folder / "site"

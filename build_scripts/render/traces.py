"""Traces as the page gets them: a small script for each, which registers itself.

A script works from disk, where a page may not fetch JSON. It is fetched only when a reader asks
for its trace: what a choice needs stands in the page. docs/assets/lesson/traces.js reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from build_scripts.records.schema import TracesRecord
from build_scripts.records.store import Records
from build_scripts.records.trace import Law, Trace, TraceRound

FOLDER = "traces"
"""Of the scripts, below docs/."""

PACKED_VERSION = 1
"""Of what a script holds; traces.js refuses any other."""

TOLD = (
    "id", "quick", "device", "commit", "date", "target", "drafter", "k", "temperature", "seed", "kind",
    "prompt_id", "prompt", "prompt_tokens", "vocabulary", "plain",
)  # fmt: skip
"""What a script says in the words of the trace's file; the rest is for those who check a measurement."""


def shown_traces(records: Records, traces: dict[str, Trace]) -> list[Trace]:
    """Of each device those of its full run, or of its quick one where there is no other, in the
    record's order."""
    return [traces[entry.id] for record in records.of(TracesRecord) for entry in record.traces]


def trace_scripts(traces: Iterable[Trace], mark: str) -> dict[str, str]:
    """Path below docs/ -> text, for each trace. `mark` stands in it, so that a stale one is known."""
    return {f"{FOLDER}/{trace.id}.js": trace_script(trace, mark) for trace in traces}


def trace_script(trace: Trace, mark: str) -> str:
    packed = json.dumps(pack(trace), ensure_ascii=False, separators=(",", ":"))
    name = json.dumps(trace.id)
    return f"/* {mark} docs/measurements/traces/{trace.id}.json */\nLesson.traces.register({name},{packed});\n"


def pack(trace: Trace) -> dict[str, Any]:
    """The trace with its rounds as plain lists, in the order that traces.js takes them apart."""
    run = trace.speculative
    return {
        "version": PACKED_VERSION,
        **trace.model_dump(include=set(TOLD)),
        "vocabulary": trace.model_dump()["vocabulary"]["texts"],
        "speculative": [run.prefill_ms, run.reset_ms, run.first, run.discarded, run.end],
        "rounds": [_pack_round(entry) for entry in run.rounds],
    }


def _pack_round(entry: TraceRound) -> list[Any]:
    """[how many drafts stand, drafts, the target's token and its draw, laws, residual, times]; the
    kind of the token follows."""
    left, ms = entry.residual, entry.ms
    return [
        entry.accepted,
        [[draft.token, draft.p, draft.q, draft.u] for draft in entry.drafts],
        entry.token,
        entry.u,
        [_flat(law) for law in entry.target],
        None if entry.draft is None else [_flat(law) for law in entry.draft],
        None if left is None else [_flat(left.likeliest), left.rest],
        [ms.draft, ms.verify, ms.overhead],
    ]


def _flat(law: Law) -> list[float]:
    """[token, probability, token, probability, …]"""
    return list(chain.from_iterable(law))


def fastest_first(traces: Sequence[Trace]) -> list[Trace]:
    """The slowest are as easy to find, from the other end."""
    return sorted(traces, key=lambda trace: (-trace.factor, trace.id))

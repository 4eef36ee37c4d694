"""Whether traces add up to what the measurement's record says of them: rounds, tokens and times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from build_scripts.records.faults import RecordError
from build_scripts.records.schema import TraceEntry, TracesRecord
from build_scripts.records.trace import Trace

ROUNDED_MS = 0.0005
"""How far a time in a trace may be from the one that was measured: it has three decimals."""


def check_traces(traces: dict[str, Trace], records: dict[str, TracesRecord], folder: Path) -> None:
    """RecordError with every `FILE: FIELD: what is wrong`.

    traces: by id, as `load_traces` returns them; records: by file name; folder: of the records.
    """
    faults: list[str] = []
    told: dict[str, str] = {}
    # A folder or a record that is gone is one fault, not one for each of its traces.
    if traces and not records:
        raise RecordError(f"{folder / 'traces'}: no record tells of the {len(traces)} traces in it")
    for name, record in records.items():
        if record.traces and not traces:
            faults.append(f"{folder / name}: traces: none of its {len(record.traces)} is in {folder / 'traces'}")
            continue
        for place, entry in enumerate(record.traces):
            where = f"{folder / name}: traces.{place}"
            if entry.id in told:
                faults.append(f"{where}.id: {entry.id} is in {told[entry.id]} too")
            elif entry.id not in traces:
                faults.append(f"{where}.id: there is no trace {entry.id}")
            else:
                faults += [f"{where}.{fault}" for fault in disagreements(traces[entry.id], entry)]
            told[entry.id] = name
    faults += [f"{folder / 'traces' / name}.json: id: no record tells of it" for name in traces if name not in told]
    if faults:
        raise RecordError("\n".join(faults))


def disagreements(trace: Trace, entry: TraceEntry) -> Iterator[str]:
    """`FIELD: what is wrong` for each field of the entry that the trace does not add up to."""
    plain, speculative = trace.plain, trace.speculative
    exact = {
        "drafter": trace.drafter,
        "kind": trace.kind,
        "prompt": trace.prompt_id,
        "k": trace.k,
        "temperature": trace.temperature,
        "plain_tokens": len(plain.tokens),
        "speculative_tokens": len(speculative.tokens),
        "counts": trace.counts,
        "same_tokens": trace.same_tokens,
    }
    for name, value in exact.items():
        if getattr(entry, name) != value:
            yield f"{name}: the trace says {value}, the record {getattr(entry, name)}"

    rounds = speculative.rounds
    measured, timed = entry.plain_seconds, entry.speculative_seconds
    times = {
        "plain_ms.median": (plain.decode_ms, entry.plain_ms.median, len(plain.ms)),
        "plain_seconds.prefill": (plain.prefill_ms, _ms(measured, "prefill"), 1),
        "plain_seconds.decode": (plain.decode_ms, _ms(measured, "decode", "overhead"), len(plain.ms)),
        "speculative_ms.median": (speculative.decode_ms, entry.speculative_ms.median, 3 * len(rounds) + 1),
        "speculative_seconds.prefill": (speculative.prefill_ms, _ms(timed, "prefill"), 1),
        "speculative_seconds.reset": (speculative.reset_ms, _ms(timed, "reset"), 1),
        **{
            f"speculative_seconds.{phase}": (
                sum(getattr(one.ms, phase) for one in rounds), _ms(timed, phase), len(rounds)
            )
            for phase in ("draft", "verify", "overhead")
        },
    }  # fmt: skip
    for name, (summed, told, terms) in times.items():
        if not math.isclose(summed, told, rel_tol=1e-9, abs_tol=ROUNDED_MS * terms):
            yield f"{name}: the trace adds up to {summed:.3f} ms, the record says {told:.3f}"


def _ms(seconds: dict[str, float], *phases: str) -> float:
    return 1000 * sum(seconds.get(phase, 0.0) for phase in phases)

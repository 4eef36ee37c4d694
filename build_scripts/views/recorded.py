"""What the race and the replay of recorded runs share: the runs to choose from, and their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from build_scripts.model.speculation import verdict
from build_scripts.records.schema import TracesRecord
from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed
from build_scripts.render.traces import fastest_first
from build_scripts.views.base import PageContext
from build_scripts.views.measured import frame

LOADER = "assets/lesson/traces.js"

SPEEDS = ("1", "2", "0.25", "0.0625")
"""Times real time, as the address writes them."""

OUTCOMES = {"net win": "wins", "break-even": "ties", "net loss": "loses"}
"""What readers are told of the verdict on a run."""
MARKS = {"wins": "▲", "ties": "=", "loses": "▼"}


def parameters(traces: Sequence[Trace], default: str, name: str) -> list[dict[str, Any]]:
    """The page's parameters NAME_trace and NAME_speed, `trace` and `speed` in the address. default:
    the id of the trace that is shown before anybody chooses; "" for none."""
    ids = [trace.id for trace in fastest_first(traces)]
    return [
        {"name": f"{name}_trace", "key": "trace", "type": "choice", "options": ids if default else ["", *ids], "default": default},
        {"name": f"{name}_speed", "key": "speed", "type": "choice", "options": list(SPEEDS), "default": SPEEDS[0]},
    ]


# --- the runs to choose from -----------------------------------------------------------------------


def outcome(trace: Trace) -> str:
    """wins, ties or loses; a tie is a factor within 2 % of 1."""
    return OUTCOMES[verdict(trace.factor)]


def by_device(traces: Sequence[Trace]) -> list[list[Trace]]:
    """CPUs first, as the records are listed."""
    devices = frame.distinct([(trace.device.kind, trace.device.name) for trace in traces])
    return [[trace for trace in traces if (trace.device.kind, trace.device.name) == device] for device in devices]


def choice(trace: Trace, setting: str | None = None, note: str | None = None) -> dict[str, Any]:
    """One run for the template's `run`. setting, note: what stands before and after its factor."""
    return {
        "id": trace.id,
        "factor": frame.times(trace.factor),
        "outcome": outcome(trace),
        "setting": setting,
        "note": None if note is None else frame.unbroken(note),
    }


# --- words -----------------------------------------------------------------------------------------


def milliseconds(ms: float) -> str:
    return fixed(ms, 0 if ms >= 100 else 1)


def device_line(page: PageContext, trace: Trace) -> frame.DeviceLine:
    """Of the record that tells of this trace."""
    told = (record for record in page.records.of(TracesRecord) if any(entry.id == trace.id for entry in record.traces))
    return frame.device_line(next(told), page)

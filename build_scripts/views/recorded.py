"""What the race and the replay of recorded runs share: the choice of a run, the speeds, and their
parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from build_scripts.model.speculation import verdict
from build_scripts.records.schema import TracesRecord
from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed
from build_scripts.render.traces import fastest_first
from build_scripts.spec.measured import MeasuredWords
from build_scripts.views.base import PageContext
from build_scripts.views.measured import frame

LOADER = "assets/lesson/traces.js"
STYLESHEET = "assets/lesson/recorded.css"

SPEEDS = ("1", "2", "0.25", "0.0625")
"""Times real time, as the address writes them."""

OUTCOMES = {"net win": "wins", "break-even": "ties", "net loss": "loses"}
"""What readers are told of the verdict on a run."""
MARKS = {"wins": "▲", "ties": "=", "loses": "▼"}

PROMPT_CHARACTERS = 100
"""Of a prompt that stand on the page before its trace is fetched."""


def parameters(traces: Sequence[Trace], default: str, name: str) -> list[dict[str, Any]]:
    """The page's parameters NAME_trace and NAME_speed, `trace` and `speed` in the address. default:
    the id of the trace that is shown before anybody chooses, or "" where none is fetched by then."""
    ids = [trace.id for trace in fastest_first(traces)]
    options = ids if default in ids else [default, *ids]
    return [
        {"name": f"{name}_trace", "key": "trace", "type": "choice", "options": options, "default": default},
        {"name": f"{name}_speed", "key": "speed", "type": "choice", "options": list(SPEEDS), "default": SPEEDS[0]},
    ]


def speeds(words: MeasuredWords) -> list[tuple[str, str]]:
    return list(zip(SPEEDS, words.recorded.speeds, strict=True))


# --- the runs to choose from -----------------------------------------------------------------------


def outcome(trace: Trace) -> str:
    """wins, ties or loses; a tie is a factor within 2 % of 1."""
    return OUTCOMES[verdict(trace.factor)]


def fastest(traces: Iterable[Trace]) -> Trace:
    return max(traces, key=lambda trace: trace.factor)


def greedy(traces: Iterable[Trace]) -> list[Trace]:
    return [trace for trace in traces if trace.temperature == 0]


def by_device(traces: Sequence[Trace]) -> list[list[Trace]]:
    """CPUs first, as the records are listed."""
    devices = frame.distinct([(trace.device.kind, trace.device.name) for trace in traces])
    return [[trace for trace in traces if (trace.device.kind, trace.device.name) == device] for device in devices]


def choice(trace: Trace, setting: str = "", note: str = "") -> dict[str, Any]:
    return {
        "id": trace.id, "factor": frame.times(trace.factor), "outcome": outcome(trace), "setting": setting, "note": note,
    }  # fmt: skip


# --- words -----------------------------------------------------------------------------------------


def milliseconds(ms: float) -> str:
    return fixed(ms, 0 if ms >= 100 else 1)


def short(prompt: str) -> str:
    """The prompt's first words on one line."""
    text = " ".join(prompt.split())
    if len(text) <= PROMPT_CHARACTERS:
        return text
    cut = text[: PROMPT_CHARACTERS + 1].rsplit(" ", 1)[0][:PROMPT_CHARACTERS]
    return cut.rstrip(",.;:") + " …"


def device_line(page: PageContext, trace: Trace) -> frame.DeviceLine:
    """Of the record that tells of this trace."""
    told = (record for record in page.records.of(TracesRecord) if any(entry.id == trace.id for entry in record.traces))
    return frame.device_line(next(told), page)

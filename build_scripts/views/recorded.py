"""What the views of recorded runs share: the choice of a run, the speeds, and their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed
from build_scripts.render.traces import trace_index
from build_scripts.spec.measured import MeasuredWords
from build_scripts.views.measured import frame

LOADER = "assets/lesson/traces.js"
STYLESHEET = "assets/lesson/recorded.css"

SPEEDS = ("1", "2", "0.25", "0.0625")
"""Times real time, as the address writes them."""

MARKS = {"net win": "✓", "break-even": "=", "net loss": "✗"}


def parameters(traces: Sequence[Trace], default: str, name: str) -> list[dict[str, Any]]:
    """The page's parameters NAME_trace and NAME_speed, `trace` and `speed` in the address. default:
    the id of the trace that is shown before anybody chooses."""
    ids = [entry["id"] for entry in trace_index(traces)]
    return [
        {"name": f"{name}_trace", "key": "trace", "type": "choice", "options": ids, "default": default},
        {"name": f"{name}_speed", "key": "speed", "type": "choice", "options": list(SPEEDS), "default": SPEEDS[0]},
    ]


def choices(traces: Sequence[Trace], words: MeasuredWords) -> dict[str, Any]:
    """For the template's `trace_choices`: a row a kind of text, a cell a drafter, each recorded run
    with its speedup, so that the losing ones stand beside the winning ones."""
    index = trace_index(traces)
    drafters = [name for name in words.drafters if any(entry["drafter"] == name for entry in index)]
    drafters += frame.distinct([entry["drafter"] for entry in index if entry["drafter"] not in drafters])
    kinds = [name for name in words.kinds if any(entry["kind"] == name for entry in index)]
    return {
        "drafters": [frame.drafter_name(name, words) for name in drafters],
        "rows": [
            {
                "kind": frame.kind_name(kind, words),
                "cells": [[_choice(entry, words) for entry in _of(index, kind, drafter)] for drafter in drafters],
            }
            for kind in kinds
        ],
    }


def _of(index: Sequence[dict[str, Any]], kind: str, drafter: str) -> list[dict[str, Any]]:
    mine = [entry for entry in index if (entry["kind"], entry["drafter"]) == (kind, drafter)]
    return sorted(mine, key=lambda entry: (entry["device"], entry["temperature"], entry["k"]))


def _choice(entry: dict[str, Any], words: MeasuredWords) -> dict[str, Any]:
    how = words.recorded.choice if entry["temperature"] == 0 else words.recorded.choice_drawn
    return {
        "id": entry["id"],
        "verdict": entry["verdict"],
        "mark": MARKS[entry["verdict"]],
        "settings": frame.unbroken(how.format(k=entry["k"], temperature=f"{entry['temperature']:g}")),
        "speedup": f"{fixed(entry['speedup'], 2)}×",
    }

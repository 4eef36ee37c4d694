"""How a file that cannot be used is told: one line for each fault, `FILE: FIELD: what is wrong`."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError


class RecordError(ValueError):
    """A record or a trace that cannot be used; one line for each fault."""


def fault_lines(path: Path, error: ValidationError, whole: str, skip: int = 0) -> str:
    """skip: steps at the head of a field's path that are no part of it; whole: what is at fault
    where no field is."""
    lines = []
    for fault in error.errors():
        steps = fault["loc"][skip:] if len(fault["loc"]) > skip else fault["loc"]
        where = ".".join(str(step) for step in steps) or whole
        lines.append(f"{path}: {where}: {' '.join(str(fault['msg']).removeprefix('Value error, ').split())}")
    return "\n".join(lines)

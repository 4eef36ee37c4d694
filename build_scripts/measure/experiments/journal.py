"""A run's finished samples on disk, one JSON line each, so that a run goes on where it stopped.

The first line says what the run is: its definition. A journal of another definition is not
continued; it is set aside, once, under another name. A sample is appended in one write and
synced; a last line that a crash tore is dropped when the journal is opened again.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from build_scripts.records.schema import hash_of

Json = Any

FILE = "journal.jsonl"
SET_ASIDE = "journal.other.jsonl"


class InUse(RuntimeError):
    """Another process measures here; the message is one line."""


def open_locked(path: Path) -> int:
    """Open a file, made if it is missing, for this process alone: until it is closed, or the process
    ends in whatever way. InUse where another one has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise InUse(f"{path}: another process is measuring here, and two would disturb each other") from None
    return file


class Journal:
    """samples: by key, those finished so far; notes: what else was put down, in order; header:
    of the sitting that began the run; begun_afresh: whether another definition was set aside."""

    def __init__(self, folder: Path, definition: Json, header: Json = None) -> None:
        """Open the journal in `folder`, or begin one. InUse where another process has it."""
        self.folder = folder
        self.path = folder / FILE
        self.begun_afresh = False
        self._file = open_locked(self.path)
        first = {"definition": hash_of(definition), "what": definition, "header": header}
        lines = self._whole_lines()
        if lines and lines[0].get("definition") != first["definition"]:
            (folder / SET_ASIDE).write_bytes(self.path.read_bytes())
            os.ftruncate(self._file, 0)
            lines, self.begun_afresh = [], True
        if not lines:
            self._append(first)
            lines = [first]
        # Through JSON also for a run that begins now, so that both sittings see the same.
        self.header: Json = json.loads(json.dumps(lines[0]["header"]))
        self.samples: dict[str, Json] = {
            line["key"]: line["sample"] for line in lines[1:] if "key" in line
        }
        self.notes: list[Json] = [line["note"] for line in lines[1:] if "note" in line]

    def add(self, key: str, sample: Json) -> None:
        """Keep a finished sample; it is on disk when this returns."""
        self._append({"key": key, "sample": sample})
        self.samples[key] = sample

    def note(self, note: Json) -> None:
        """Put down something that is not a sample."""
        self._append({"note": note})
        self.notes.append(note)

    def close(self) -> None:
        """Leave it as it is, to be continued."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """The run is complete and recorded elsewhere."""
        self.path.unlink(missing_ok=True)
        self.close()

    def _whole_lines(self) -> list[Json]:
        """The lines that are whole; the file is cut after them."""
        data = self.path.read_bytes()
        lines, end = [], 0
        for raw in data.splitlines(keepends=True):
            try:
                line = json.loads(raw) if raw.endswith(b"\n") else None
            except ValueError:
                line = None
            if not isinstance(line, dict):
                break
            lines.append(line)
            end += len(raw)
        if end < len(data):
            os.ftruncate(self._file, end)
        return lines

    def _append(self, line: Json) -> None:
        data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        os.write(self._file, data)
        os.fsync(self._file)

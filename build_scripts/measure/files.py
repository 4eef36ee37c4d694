"""Files that are whole or not there: written aside, then renamed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Have `write` fill a file beside `path`, then put it in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as file:
            write(file)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2) + "\n"
    write_whole(path, lambda file: file.write(text.encode("utf-8")) and None)


def sha256(path: Path) -> str:
    """The hash of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

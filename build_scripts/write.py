"""Writing generated files: whole or not at all, and only when they change.

`mkdocs serve` rebuilds when a file below docs/ changes, so a file whose text is the
same is left alone. A file is written aside and renamed, so that an interrupted build
leaves the last good one.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_if_changed(path: Path, text: str) -> bool:
    """Write `text` to `path` as UTF-8; True when the file's content changed."""
    return write_bytes_if_changed(path, text.encode("utf-8"))


def write_bytes_if_changed(path: Path, data: bytes) -> bool:
    """The same for a file that is no text."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        aside.write_bytes(data)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return True


def write_all(folder: Path, files: dict[str, str], owned: list[str], mark: str) -> list[Path]:
    """Write `files` (relative path -> text) below `folder`; return those that changed.

    `owned` are glob patterns of generated files: what matches one, holds `mark` and is not
    in `files` is left over from an older lesson and is removed. A file that somebody wrote
    by hand has no mark, and stays.
    """
    changed = [folder / name for name, text in files.items() if write_if_changed(folder / name, text)]
    for pattern in owned:
        for path in sorted(folder.glob(pattern)):
            if path.relative_to(folder).as_posix() not in files and mark in path.read_text("utf-8", "replace"):
                path.unlink()
                changed.append(path)
    return changed

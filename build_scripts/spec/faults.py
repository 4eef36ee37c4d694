"""What is wrong with a lesson, and where: a fault, and the document that places it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from build_scripts.spec.wording import in_short

DataPath = tuple[Union[str, int], ...]
"""Where a value stands: ("pages", 0, "parts", 2) is pages[0].parts[2]."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, and where: line and column count from 1."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.path}: {self.message}"


class SpecError(Exception):
    """A lesson that cannot be used; `faults` has all that is wrong with it, in the file's order."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(set(faults), key=lambda f: (f.line, f.column, f.path, f.message))
        super().__init__("\n".join(map(str, self.faults)))


class Span(NamedTuple):
    """A key or a value in the text: line and column from 1, and its first and last character from 0."""

    line: int
    column: int
    start: int
    end: int


@dataclass
class Document:
    """The data of a file, and where each part of it stands.

    `faults` are those that did not stop the reading; at the paths in `broken` the data is
    not what the author wrote, and says nothing more.
    """

    file: str
    text: str
    data: Any = None
    keys: dict[DataPath, Span] = field(default_factory=dict)
    values: dict[DataPath, Span] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)

    def fault(self, path: DataPath, message: str, at: Span | None = None) -> Fault:
        """A fault of the value at `path`; of what is nearest above it where there is no such value."""
        span = at or self.span(path)
        return Fault(self.file, span.line, span.column, path_text(path), message)

    def span(self, path: DataPath) -> Span:
        """Where the value at `path` stands, or the nearest value that holds it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Span(1, 1, 0, 0))

    def within(self, path: DataPath, text: str, start: int, end: int) -> Span:
        """Where text[start:end], a part of the string `text` at `path`, stands in the file.

        Quotes, folding and indentation lie between the two, so the part is looked for as
        words with any space between them; the whole value stands in where it is not found.
        """
        value = self.span(path)
        words = text[start:end].split()
        if not words:
            return value
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        earlier = sum(1 for match in pattern.finditer(text) if match.start() < start)
        places = list(pattern.finditer(self.text, value.start, value.end))
        if earlier >= len(places):
            return value
        found = places[earlier]
        line_start = self.text.rfind("\n", 0, found.start()) + 1
        line = self.text.count("\n", 0, found.start()) + 1
        return Span(line, found.start() - line_start + 1, found.start(), found.end())


def path_text(path: DataPath) -> str:
    """quiz[1].answer"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{in_short(part)}" for part in path)
    return text.removeprefix(".") or "lesson"

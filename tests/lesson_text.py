"""The small lesson of the tests as text, and changed in places: what is refused, and where.

In a changed text `¦` stands before the place that a fault must name.
"""

from __future__ import annotations

from pathlib import Path

from build_scripts.spec import Lesson, SpecError, parse_lesson

SMALL_LESSON = Path(__file__).parent / "fixtures" / "lesson.yaml"
TEXT = SMALL_LESSON.read_text(encoding="utf-8")
MARK = "¦"


def changed(*changes: tuple[str, str], text: str = TEXT) -> str:
    """The lesson with the first place of each `old` changed to its `new`."""
    for old, new in changes:
        assert old in text, f"the small lesson has no {old!r}"
        text = text.replace(old, new, 1)
    return text


def lesson_from(text: str) -> Lesson:
    return parse_lesson(text.encode("utf-8"))


def faults_of(text: str) -> list[str]:
    """Every fault as it is printed; none for a good lesson."""
    try:
        lesson_from(text)
    except SpecError as error:
        return [str(fault) for fault in error.faults]
    return []


def assert_refused(marked: str, *expected: tuple[str, str]) -> None:
    """The text has exactly these faults (path, message), at its marks, in their order."""
    *before, _ = marked.split(MARK)
    assert len(before) == len(expected), "a mark for each fault"
    lines = []
    for i, (path, message) in enumerate(expected):
        until = "".join(before[: i + 1])
        row, column = until.count("\n") + 1, len(until) - until.rfind("\n")
        lines.append(f"lesson.yaml:{row}:{column}: {path}: {message}")
    assert faults_of(marked.replace(MARK, "")) == lines

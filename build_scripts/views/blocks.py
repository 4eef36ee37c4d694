"""Looking up blocks of the lesson, for the views that show more than their own."""

from __future__ import annotations

from typing import TypeVar

from build_scripts.spec.schema import Lesson

AnyBlock = TypeVar("AnyBlock")


def blocks_of(lesson: Lesson, kind: type[AnyBlock]) -> list[AnyBlock]:
    """Every block of that type, in reading order."""
    return [block for page in lesson.pages for block in page.blocks if isinstance(block, kind)]

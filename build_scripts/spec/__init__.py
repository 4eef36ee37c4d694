"""lesson.yaml: what it may say, and everything that is wrong with it at once."""

from __future__ import annotations

from build_scripts.spec.faults import Fault, SpecError
from build_scripts.spec.load import load_lesson, parse_lesson
from build_scripts.spec.schema import Lesson

__all__ = ["Fault", "Lesson", "SpecError", "load_lesson", "parse_lesson"]

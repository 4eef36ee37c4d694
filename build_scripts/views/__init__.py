"""The views by the name that lesson.yaml gives them. A new view is a module and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from build_scripts.views import (
    acceptance_traces,
    baseline_strip,
    calculator,
    cards,
    formula,
    glossary,
    numbers_table,
    prose,
    published_benchmark,
    published_results,
    quiz,
    sources,
    step_diagram,
    terms,
)
from build_scripts.views.base import PageContext, Rendered

VIEWS: dict[str, Callable[[Any, PageContext], Rendered]] = {
    "prose": prose.render_prose,
    "note": prose.render_note,
    "summary": prose.render_summary,
    "terms": terms.render,
    "baseline-strip": baseline_strip.render,
    "step-diagram": step_diagram.render,
    "calculator": calculator.render,
    "cards": cards.render,
    "published-benchmark": published_benchmark.render,
    "published-results": published_results.render,
    "quiz": quiz.render,
    "formula": formula.render,
    "acceptance-traces": acceptance_traces.render,
    "glossary": glossary.render,
    "sources": sources.render,
    "numbers": numbers_table.render,
}

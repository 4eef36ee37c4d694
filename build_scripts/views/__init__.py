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
    race,
    replay,
    sources,
    step_diagram,
    terms,
)
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import acceptance as measured_acceptance
from build_scripts.views.measured import batch as measured_batch
from build_scripts.views.measured import card as measured_card
from build_scripts.views.measured import cost as measured_cost
from build_scripts.views.measured import lossless as measured_lossless
from build_scripts.views.measured import peers as measured_peers
from build_scripts.views.measured import prediction as measured_prediction
from build_scripts.views.measured import provenance as measured_provenance
from build_scripts.views.measured import speedup as measured_speedup
from build_scripts.views.measured import training as measured_training

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
    "race": race.render,
    "replay": replay.render,
    "formula": formula.render,
    "acceptance-traces": acceptance_traces.render,
    "glossary": glossary.render,
    "sources": sources.render,
    "numbers": numbers_table.render,
    "measured-cost": measured_cost.render,
    "measured-acceptance": measured_acceptance.render,
    "measured-training": measured_training.render,
    "measured-speedup": measured_speedup.render,
    "measured-prediction": measured_prediction.render,
    "measured-batch": measured_batch.render,
    "measured-lossless": measured_lossless.render,
    "measured-peers": measured_peers.render,
    "measured-records": measured_provenance.render,
    "measured-card": measured_card.render,
}

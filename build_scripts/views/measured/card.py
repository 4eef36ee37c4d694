"""What this project measured, on the lesson itself: a win, a loss, and how well the formula foresaw them."""

from __future__ import annotations

from build_scripts.records.schema import LosslessRecord, SpeedupRecord
from build_scripts.records.summaries import (
    best,
    comparisons,
    median_error,
    outcome,
    speedup_of,
    worst,
)
from build_scripts.render.panels import MARKS
from build_scripts.spec.measured import MeasuredCard
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredCard, page: PageContext) -> Rendered:
    words = page.lesson.measured
    records = page.records.of(SpeedupRecord)
    if not records:
        return Rendered(page.template("measured-card.html", block=block, words=words, cases=[], said=[], line=None, loss=""))
    record = records[0]
    cases = [
        {
            "outcome": outcome(cell),
            "mark": MARKS[outcome(cell)],
            "factor": frame.times(speedup_of(cell).value),
            "text": block.case.format(
                drafter=frame.drafter_name(cell.drafter, words), kind=frame.kind_name(cell.kind, words), k=cell.k
            ),
        }
        for cell in (best(record.cells), worst(record.cells))
    ]
    lost = outcome(worst(record.cells)) == "slower"
    points = comparisons(record)
    said = [
        block.prediction.format(
            median=frame.percent(median_error([point.full_error for point in points]), 1),
            textbook=frame.percent(median_error([point.textbook_error for point in points]), 1),
            cells=len(points),
        )
    ]
    for proof in page.records.of(LosslessRecord):
        if proof.device == record.device:
            identical, prompts = (sum(getattr(cell, name) for cell in proof.cells) for name in ("identical", "prompts"))
            said.append(block.proof.format(identical=identical, prompts=prompts))
    html = page.template(
        "measured-card.html",
        block=block,
        words=words,
        cases=cases if lost else cases[:1],
        said=said,
        line=frame.device_line(record, page),
        loss="" if lost else block.loss_none,
    )
    return Rendered(html)

"""What this project measured, on the lesson itself: a win, a loss, and how well the formula foresaw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from build_scripts.records.schema import (
    BatchCell,
    BatchRecord,
    LosslessRecord,
    PeersRecord,
    SpeedupCell,
    SpeedupRecord,
)
from build_scripts.records.summaries import (
    best,
    comparisons,
    foreseen,
    median_error,
    other_arithmetic,
    outcome,
    speedup_of,
)
from build_scripts.render.panels import MARKS
from build_scripts.spec.measured import MeasuredCard, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredCard, page: PageContext) -> Rendered:
    words = page.lesson.measured
    records = page.records.of(SpeedupRecord)
    if not records:
        html = page.template("measured-card.html", block=block, words=words, lines=[])
        return Rendered(html)
    record = records[0]
    served = next((each for each in page.records.of(BatchRecord) if each.device == record.device), None)
    shown: list[SpeedupCell | BatchCell] = [best(record.cells)]
    lowest = min([*record.cells, *(served.cells if served else [])], key=lambda cell: speedup_of(cell).value)
    lost = outcome(lowest) == "slower"
    if lost:
        shown.append(lowest)
    sources: list[SpeedupRecord | BatchRecord] = [record] if served is None else [record, served]
    html = page.template(
        "measured-card.html",
        block=block,
        words=words,
        cases=[_case(block, cell, words) for cell in shown],
        said=[frame.unbroken(sentence) for sentence in _said(block, record, served, page)],
        lines=_lines(sources, page),
        loss="" if lost else block.loss_none,
        other=_other_engine(block, record, page),
    )
    return Rendered(html)


def _lines(records: Sequence[SpeedupRecord | BatchRecord], page: PageContext) -> list[dict[str, object]]:
    """Where and when, said once for the records of which it is the same; each with its link."""
    found: dict[tuple[str, bool], list[tuple[str, str]]] = {}
    for record in records:
        line = frame.device_line(record, page)
        found.setdefault((line.text, line.quick), []).append((page.lesson.measured.experiments[record.experiment], line.file))
    return [{"text": text, "quick": quick, "links": links} for (text, quick), links in found.items()]


def _case(block: MeasuredCard, cell: SpeedupCell | BatchCell, words: MeasuredWords) -> dict[str, str]:
    names = {"drafter": frame.drafter_name(cell.drafter, words), "kind": frame.kind_name(cell.kind, words), "k": cell.k}
    text = block.case_batch.format(**names, batch=cell.batch) if isinstance(cell, BatchCell) else block.case.format(**names)
    return {
        "outcome": outcome(cell),
        "mark": MARKS[outcome(cell)],
        "factor": frame.times(speedup_of(cell).value),
        "text": frame.unbroken(text),
    }


def _said(
    block: MeasuredCard, record: SpeedupRecord, served: BatchRecord | None, page: PageContext
) -> Iterator[str]:
    points = comparisons(record)
    said = block.prediction.format(
        median=frame.percent(median_error([point.full_error for point in points]), 1),
        textbook=frame.percent(median_error([point.textbook_error for point in points]), 1),
        cells=len(points),
    )
    right, decided = foreseen(points, served.cells if served else [])
    if decided:
        said += " " + block.foreseen.format(decided=decided, right=right)
    yield said
    for proof in page.records.of(LosslessRecord):
        if proof.device == record.device:
            identical, prompts = (sum(getattr(cell, name) for cell in proof.cells) for name in ("identical", "prompts"))
            yield block.proof.format(identical=identical, prompts=prompts)


def _other_engine(block: MeasuredCard, record: SpeedupRecord, page: PageContext) -> str:
    """The engine that decodes fastest in another arithmetic on the same device; "" without one."""
    found = [
        entry
        for peers in page.records.of(PeersRecord)
        if peers.device == record.device
        for entry in other_arithmetic(peers.rows, page.lesson.measured.own_engine)
    ]
    if not found:
        return ""
    row, factor = max(found, key=lambda entry: entry[1])
    return block.other_engine.format(
        engine=row.engine, note=row.note or row.version, kind=frame.kind_name(row.kind, page.lesson.measured),
        factor=frame.times(factor),
    )  # fmt: skip

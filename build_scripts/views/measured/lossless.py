"""Whether speculation changed the answers: greedy decoding token by token, rounding, and the drawn law."""

from __future__ import annotations

from collections.abc import Sequence

from build_scripts.records.schema import LosslessCell, LosslessRecord
from build_scripts.records.summaries import largest_margin
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredLossless, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredLossless, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: LosslessRecord, records: Sequence[LosslessRecord], suffix: str) -> frame.Shown:
        tables = [answers(block, record, words)]
        if record.flips:
            tables.append(flips(block, record, words))
        if record.sampled:
            tables.append(law(block, record))
        return frame.Shown(captions=[caption(block, record)], tables=tables)

    return frame.render(block, page, LosslessRecord, "lossless", show, beside=False)


def answers(block: MeasuredLossless, record: LosslessRecord, words: MeasuredWords) -> frame.Table:
    """Drafters and batches by k: how many of the prompts gave the same tokens."""
    lengths = sorted({cell.k for cell in record.cells})
    by_key = {(cell.drafter, cell.batch, cell.k): cell for cell in record.cells}

    def cell_text(cell: LosslessCell | None) -> str:
        return "–" if cell is None else block.identical.format(identical=cell.identical, prompts=cell.prompts)

    def row_title(drafter: str, batch: int) -> str:
        template = block.row_alone if batch == 1 else block.row_together
        return template.format(drafter=frame.drafter_name(drafter, words), batch=batch)

    rows = [
        [row_title(drafter, batch), *(cell_text(by_key.get((drafter, batch, k))) for k in lengths)]
        for drafter, batch in dict.fromkeys((cell.drafter, cell.batch) for cell in record.cells)
    ]
    titles = [block.drafter_title, *(block.length_title.format(k=k) for k in lengths)]
    return frame.Table(block.table_title, titles, rows, opened=True)


def caption(block: MeasuredLossless, record: LosslessRecord) -> str:
    prompts = sum(cell.prompts for cell in record.cells)
    identical = sum(cell.identical for cell in record.cells)
    said = block.caption.format(
        identical=identical, prompts=prompts, tokens=max(cell.tokens for cell in record.cells),
        differences=prompts - identical,
    )  # fmt: skip
    margin = largest_margin(record.cells)
    if margin is not None:
        said += " " + block.margin.format(margin=_small(margin), limit=_small(record.margin_limit))
    beyond = sum(entry.margin >= record.margin_limit for cell in record.cells for entry in cell.differences)
    if beyond:
        said += " " + block.beyond.format(count=beyond, limit=_small(record.margin_limit))
    return said


def flips(block: MeasuredLossless, record: LosslessRecord, words: MeasuredWords) -> frame.Table:
    rows = [
        [
            frame.kernel_name(entry.kernel, words),
            frame.dtype_name(entry.dtype, words),
            str(entry.m),
            f"{len(entry.margins)} / {entry.positions}",
            _small(max(entry.margins)) if entry.margins else "–",
            str(entry.ties),
        ]
        for entry in record.flips
    ]
    return frame.Table(block.flips_title, block.flips_titles, rows, opened=True)


def law(block: MeasuredLossless, record: LosslessRecord) -> frame.Table:
    rows = [
        [
            block.rules.get(entry.rule, entry.rule),
            block.right if entry.right else block.wrong,
            str(entry.draws),
            f"{fixed(entry.statistic, 1)} / {entry.degrees}",
            fixed(entry.z, 1).replace("-", "−"),
        ]
        for entry in record.sampled
    ]
    return frame.Table(block.law_title, block.law_titles, rows, opened=True)


def _small(value: float) -> str:
    """Three digits that count, also of a very small number."""
    return fixed(value, 3, trim=True) if value == 0 or value >= 0.01 else f"{value:.1e}".replace("e-0", "e-")

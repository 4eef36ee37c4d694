"""How the trained head learned to foresee its target, minute by minute."""

from __future__ import annotations

from itertools import count

from build_scripts.records.schema import AcceptanceRecord
from build_scripts.records.summaries import longest_drafts, pooled
from build_scripts.records.training import CurvePoint, TrainingRecord
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredTraining, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame

DRAFTER = "eagle_head"
STYLES = (
    {"colour": "accent", "width": 2.5, "size": 5},
    {"colour": "muted", "width": 1.5, "size": 4, "symbol": "square", "filled": False},
    {"colour": "muted", "dash": "dash", "width": 1.5, "size": 4, "symbol": "diamond", "filled": False},
)  # fmt: skip
"""Of the positions that it foresees, the first first."""


def render(block: MeasuredTraining, page: PageContext) -> Rendered:
    record, words = page.training, page.lesson.measured
    if record is None:
        html = page.template(
            "measured-training.html",
            block=block,
            chart=None,
            sentence=frame.none_yet(words, "head"),
            command=frame.command("head"),
        )
        return Rendered(html, stylesheet=frame.STYLESHEET)
    chart = frame.Chart(f"{block.id}-chart", block.chart.title, figure(block, record, page))
    html = page.template(
        "measured-training.html",
        block=block,
        words=words,
        chart=chart,
        caption=frame.unbroken(caption(block, record, page)),
        table=table(block, record, page),
        line=line(block, record, words),
        command=record.command,
    )
    charts = {chart.name: chart.figure}
    return Rendered(html, {"figures": charts}, charts, stylesheet=frame.STYLESHEET)


def figure(block: MeasuredTraining, record: TrainingRecord, page: PageContext) -> Figure:
    series = []
    for place in range(len(record.final)):
        label = block.place.format(j=place + 1)
        shares = [point.held_out[place].top1 for point in record.curve]
        minutes = [point.elapsed_s / 60 for point in record.curve]
        hover = [f"{label}, {fixed(at, 0)} min: {frame.percent(share, 1)}" for at, share in zip(minutes, shares)]
        style = STYLES[min(place, len(STYLES) - 1)]
        series.append(panels.Series(x=minutes, y=shares, hover=hover, label=label, **style))
    longest = max(record.curve[-1].elapsed_s / 60, 1.0)
    step = next(step for power in count() for step in (10**power, 2 * 10**power, 5 * 10**power) if longest / step <= 8)
    ticks = [(float(at), str(at)) for at in range(0, int(longest) + 1, step)]
    said = ". ".join("; ".join(one.hover) for one in series)
    return panels.grid(
        [panels.Panel(series=series[::-1])],  # the first lies on top
        panels.Axis(0.0, longest * 1.03, ticks, block.chart.x_title, ticks[::2]),
        panels.Axis(0.0, 1.0, [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")], block.chart.y_title),
        page.palette,
        f"{block.chart.alt} {said}.",
        (1, 1),
        (200, 170),
        end_room=84,
    )


def caption(block: MeasuredTraining, record: TrainingRecord, page: PageContext) -> str:
    """What it learned from, what it reached, what the last pass over the text still brought, and how
    it does on prompts that nobody trained it for."""
    said = [
        block.caption.format(
            parameters=fixed(record.parameters / 1e6, 1),
            minutes=fixed(record.minutes, 0),
            tokens=fixed(record.training_tokens / 1e6, 1),
            epochs=fixed(record.curve[-1].epochs, 1),
            held_out=record.held_out_answer_tokens,
            first=frame.percent(record.final[0].top1),
            last=frame.percent(record.final[-1].top1),
            place=len(record.final),
            reachable=frame.percent(record.held_out_reachable),
        )
    ]
    before = an_epoch_before(record)
    if before is not None:
        end = record.curve[-1]
        gain = 100 * (end.held_out[0].top1 - before.held_out[0].top1)
        said.append(
            block.caption_last.format(gain=fixed(gain, 1).replace("-", "−"), epochs=fixed(end.epochs - before.epochs, 1))
        )
    for accepted in page.records.of(AcceptanceRecord)[:1]:
        for cell in longest_drafts(accepted):
            if (cell.drafter, cell.kind, cell.temperature) == (DRAFTER, "chat", 0) and not accepted.replayed:
                share = pooled(cell).acceptance[0]
                if share is not None:
                    device = frame.device_name(accepted.device, page.lesson.measured)
                    said.append(
                        block.caption_prompts.format(
                            share=frame.percent(share), prompts=len(cell.prompts), device=device
                        )
                    )
    return " ".join(said)


def an_epoch_before(record: TrainingRecord) -> CurvePoint | None:
    """The last point of the curve at least one pass over the text before its end."""
    end = record.curve[-1].epochs
    return next((point for point in reversed(record.curve) if point.epochs <= end - 1), None)


def table(block: MeasuredTraining, record: TrainingRecord, page: PageContext) -> frame.Table:
    places = [block.place.format(j=place + 1) for place in range(len(record.final))]
    rows = [
        [
            fixed(point.elapsed_s / 60, 1),
            fixed(point.tokens / 1e6, 2),
            fixed(point.epochs, 2),
            fixed(point.train_cross_entropy, 2),
            *(frame.percent(score.top1, 1) for score in point.held_out),
        ]
        for point in record.curve
    ]
    return frame.Table(page.lesson.labels.table, [*block.table_titles, *places], rows)


def line(block: MeasuredTraining, record: TrainingRecord, words: MeasuredWords) -> str:
    return block.line.format(
        processor=record.processor,
        threads=record.threads,
        dtype=frame.dtype_name(record.dtype, words),
        date=record.date[:10],
        commit=(record.commit or "–")[:7],
    )

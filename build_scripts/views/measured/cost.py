"""What a pass over several tokens costs: by kernel alone, and by batch; and what of the device it uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from build_scripts.model.readings import Ratio
from build_scripts.records.schema import CurveRecord
from build_scripts.records.summaries import (
    LimitShare,
    PassLine,
    arithmetic_share,
    batches,
    best_rate,
    draft_ratio,
    lengths,
    lines_beside,
    longest_context,
    own_line,
    pass_cost,
    pass_lines,
    read_share,
    verify_ratio,
)
from build_scripts.render import panels
from build_scripts.render.figures import Figure
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredCost, MeasuredWords, Share
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up")
HEIGHTS = (260, 240)


def render(block: MeasuredCost, page: PageContext) -> Rendered:
    def show(record: CurveRecord, records: Sequence[CurveRecord], suffix: str) -> frame.Shown:
        words = page.lesson.measured
        charts = [
            frame.Chart(
                f"{block.id}-kernels{suffix}", block.kernels.title, kernels_figure(block, record, records, page),
                kernels_caption(block, record, words),
                [(panels.swatch(one), one.label) for one in kernel_series(record, words)],
            )
        ]  # fmt: skip
        line = own_line(record)
        if line is not None and len(batches(record, line)) > 1:
            figure = batches_figure(block, record, records, page)
            charts.append(
                frame.Chart(f"{block.id}-batches{suffix}", block.batches.title, figure, batches_caption(block, record))
            )
        tables = [table(block, record, page)]
        if record.drafts:
            tables.append(drafts_table(block, record, words))
        return frame.Shown(charts, drafts_caption(block, record, words), tables, readouts(block, record))

    return frame.render(block, page, CurveRecord, "curve", show, asks_for_cuda=True)


def kernels_figure(
    block: MeasuredCost, record: CurveRecord, records: Sequence[CurveRecord], page: PageContext
) -> Figure:
    """v over m for one sequence, a line for each kernel; the scale counts doublings and is that of all records."""
    series = kernel_series(record, page.lesson.measured)
    longest = max(max(lengths(each, line, 1)) for each in records for line in lines_beside(each))
    ticks = [(m, str(m)) for m in sorted({m for line in lines_beside(record) for m in lengths(record, line, 1)})]
    return panels.grid(
        [panels.Panel(series=series)],
        panels.Axis(0.5, longest + 0.5, _sparse(ticks, 0.7), block.kernels.x_title, _sparse(ticks, 1.4)),
        panels.doublings(_ratios(records, alone=True), block.kernels.y_title, room=0.5),
        page.palette,
        _alt(block.kernels.alt, series),
        (1, 1),
        HEIGHTS,
        [panels.Guide(block.ideal_label, 0.0, "dash")],
        narrow_key=True,
    )


def kernel_series(record: CurveRecord, words: MeasuredWords) -> list[panels.Series]:
    return [
        _series(record, line, 1, lengths(record, line, 1), line_name(line, record, words), index)
        for index, line in enumerate(lines_beside(record))
    ]


def batches_figure(
    block: MeasuredCost, record: CurveRecord, records: Sequence[CurveRecord], page: PageContext
) -> Figure:
    """v over the batch, a line for each doubling of k, for the kernel that decodes."""
    line = own_line(record)
    assert line is not None
    served = batches(record, line)
    series = []
    for m in reversed(doubled(lengths(record, line, served[-1]))):
        points = [(batch, ratio) for batch in served if (ratio := verify_ratio(record, line, batch, m)) is not None]
        chosen = m == block.tokens
        label = block.line_label.format(m=m, k=m - 1)
        series.append(
            panels.Series(
                x=[math.log2(batch) for batch, _ in points],
                y=[math.log2(ratio.value) for _, ratio in points],
                low=[math.log2(ratio.low) for _, ratio in points],
                high=[math.log2(ratio.high) for _, ratio in points],
                hover=[f"{label}, B = {batch}: {_says(ratio)}" for batch, ratio in points],
                colour="accent" if chosen else "muted",
                width=2.5 if chosen else 1.5,
                size=7 if chosen else 5,
                label=label,
            )
        )
    ticks = [(math.log2(batch), str(batch)) for batch in served]
    return panels.grid(
        [panels.Panel(series=series)],
        panels.Axis(ticks[0][0] - 0.15, ticks[-1][0] + 0.15, ticks, block.batches.x_title),
        panels.doublings(_ratios(records, alone=False), block.batches.y_title),
        page.palette,
        _alt(block.batches.alt, series),
        (1, 1),
        HEIGHTS,
        [panels.Guide(block.ideal_label, 0.0, "dash", at="left")],
        end_room=44,
    )


def kernels_caption(block: MeasuredCost, record: CurveRecord, words: MeasuredWords) -> str:
    own, *rest = lines_beside(record)
    m = _nearest(lengths(record, own, 1), block.tokens)
    ratio, ms = verify_ratio(record, own, 1, m), pass_cost(record, own, 1, 1)
    assert ratio is not None and ms is not None
    said = block.caption.format(
        k=m - 1, m=m, kernel=line_name(own, record, words), v=frame.times(ratio.value),
        low=fixed(ratio.low, 2), high=fixed(ratio.high, 2), ms=fixed(ms.median, 2),
    )  # fmt: skip
    others = [(line, other) for line in rest if (other := verify_ratio(record, line, 1, m)) is not None]
    if others:
        line, dearest = max(others, key=lambda entry: entry[1].value)
        # A little dearer is no reason to write a kernel.
        if dearest.low > 1.1 * ratio.high:
            said += " " + block.caption_other.format(
                m=m, kernel=line_name(line, record, words), v=frame.times(dearest.value)
            )
    longest = longest_context(record, own)
    if longest != own and (longer := verify_ratio(record, longest, 1, m)) is not None:
        ms = pass_cost(record, longest, 1, 1)
        assert ms is not None
        said += " " + block.caption_context.format(
            m=m, context=longest.context, ms=fixed(ms.median, 2), v=frame.times(longer.value)
        )
    return said


def batches_caption(block: MeasuredCost, record: CurveRecord) -> str:
    line = own_line(record)
    assert line is not None
    largest = batches(record, line)[-1]
    m = _nearest(lengths(record, line, largest), block.tokens)
    ratio, alone = verify_ratio(record, line, largest, m), verify_ratio(record, line, 1, m)
    assert ratio is not None
    said = block.caption_batch.format(
        k=m - 1, m=m, batch=largest, v=frame.times(ratio.value), low=fixed(ratio.low, 2), high=fixed(ratio.high, 2),
        alone=frame.times(ratio.value if alone is None else alone.value),
    )  # fmt: skip
    dearer = alone is not None and ratio.low > alone.high
    return f"{said} {block.caption_batch_dearer}" if dearer else said


def drafts_caption(block: MeasuredCost, record: CurveRecord, words: MeasuredWords) -> list[str]:
    """c of each drafter, for one sequence and the k that the captions speak of."""
    k = block.tokens - 1
    cases = [
        block.drafts_case.format(drafter=frame.drafter_name(cost.drafter, words), c=_c(ratio.value / k))
        for cost in record.drafts
        if (cost.batch, cost.k) == (1, k) and (ratio := draft_ratio(record, cost)) is not None
    ]
    return [block.caption_drafts.format(k=k, cases=", ".join(cases))] if cases else []


def drafts_table(block: MeasuredCost, record: CurveRecord, words: MeasuredWords) -> frame.Table:
    """A row for each drafter and batch, a column for each k: the drafting of a round in passes of that batch."""
    columns = sorted({cost.k for cost in record.drafts})
    found = {(cost.drafter, cost.batch, cost.k): draft_ratio(record, cost) for cost in record.drafts}
    rows = []
    for drafter, batch in dict.fromkeys((cost.drafter, cost.batch) for cost in record.drafts):
        ratios = [found.get((drafter, batch, k)) for k in columns]
        cells = ["–" if ratio is None else f"{fixed(ratio.value, 3)} ({frame.interval(ratio, 3)})" for ratio in ratios]
        rows.append([frame.drafter_name(drafter, words), str(batch), *cells])
    return frame.Table(block.drafts_title, [*block.drafts_titles, *(f"k = {k}" for k in columns)], rows)


def readouts(block: MeasuredCost, record: CurveRecord) -> list[frame.Readout]:
    """How near decoding alone comes to the device's bandwidth, and any pass to its arithmetic."""
    line = own_line(record)
    if line is None:
        return []
    found = (
        (block.read, read_share(record), record.read_gbps.median),
        (block.arithmetic, arithmetic_share(record, line), best_rate(record.peak_gflops)),
    )

    def readout(words: Share, share: LimitShare | None, limit: float) -> frame.Readout:
        assert share is not None
        text = words.text.format(
            rate=frame.rate(share.rate), limit=frame.rate(limit), low=frame.percent(share.share.low),
            high=frame.percent(share.share.high), batch=share.batch, m=share.m,
        )  # fmt: skip
        return frame.Readout(words.label, frame.percent(share.share.value), text)

    return [readout(*entry) for entry in found if entry[1] is not None]


def table(block: MeasuredCost, record: CurveRecord, page: PageContext) -> frame.Table:
    """A row for each line and batch, a column for each m."""
    words = page.lesson.measured
    lines = pass_lines(record)
    columns = sorted({m for line in lines for batch in batches(record, line) for m in lengths(record, line, batch)} - {1})
    several = len({(line.model, line.context) for line in lines}) > 1
    rows = []
    for line in lines:
        name = full_line_name(block, record, line, words) if several else line_name(line, record, words)
        for batch in batches(record, line):
            one = pass_cost(record, line, batch, 1)
            assert one is not None
            ratios = [verify_ratio(record, line, batch, m) for m in columns]
            rows.append(
                [name, str(batch), fixed(one.median, 2), *("–" if ratio is None else _says(ratio) for ratio in ratios)]
            )
    return frame.Table(page.lesson.labels.table, [*block.table_titles, *(f"m = {m}" for m in columns)], rows)


def full_line_name(block: MeasuredCost, record: CurveRecord, line: PassLine, words: MeasuredWords) -> str:
    """With its model and its context, for where these differ."""
    trained = any(entry.id == line.model and entry.trained for entry in record.models)
    model = line.model if trained else block.random_model.format(model=line.model)
    return block.line.format(kernel=line_name(line, record, words), model=model, context=line.context)


def doubled(ms: list[int]) -> list[int]:
    """The m with 1, 2, 4, 8 … drafts: the lines then stand about equally far apart."""
    return [m for m in ms if m > 1 and (m - 1) & (m - 2) == 0]


# --- parts ---------------------------------------------------------------------------------------


def _series(
    record: CurveRecord, line: PassLine, batch: int, ms: list[int], name: str, index: int
) -> panels.Series:
    points = [(m, ratio) for m in ms if (ratio := verify_ratio(record, line, batch, m)) is not None]
    own = index == 0
    return panels.Series(
        x=[m for m, _ in points],
        y=[math.log2(ratio.value) for _, ratio in points],
        low=[math.log2(ratio.low) for _, ratio in points],
        high=[math.log2(ratio.high) for _, ratio in points],
        hover=[f"{name}, m = {m}: {_says(ratio)}" for m, ratio in points],
        colour="accent" if own else "muted",
        dash=DASHES[index % len(DASHES)],
        symbol=SYMBOLS[index % len(SYMBOLS)],
        filled=own,
        width=2.5 if own else 1.5,
        size=7 if own else 6,
        label=name,
    )


def line_name(line: PassLine, record: CurveRecord, words: MeasuredWords) -> str:
    name = frame.kernel_name(line.kernel, words)
    return name if line.dtype == record.dtype else f"{name}, {frame.dtype_name(line.dtype, words)}"


def _says(ratio: Ratio) -> str:
    return "1" if ratio.low == ratio.high == 1 else f"{fixed(ratio.value, 2)} ({frame.interval(ratio)})"


def _ratios(records: Sequence[CurveRecord], alone: bool) -> list[Ratio]:
    """Every v that a chart of its kind shows on any device."""
    found = [Ratio(1.0, 1.0, 1.0)]
    for record in records:
        for line in lines_beside(record) if alone else [own_line(record)]:
            for batch in [1] if alone or line is None else batches(record, line):
                ratios = [] if line is None else [verify_ratio(record, line, batch, m) for m in lengths(record, line, batch)]
                found += [ratio for ratio in ratios if ratio is not None]
    return found


def _c(value: float) -> str:
    """Two digits also of what looking a word up costs."""
    return fixed(value, 2 if value >= 0.1 else 4, trim=True)


def _nearest(measured: list[int], wanted: int) -> int:
    """The wanted m, or what was measured next to it; never m = 1, which says nothing."""
    return min([m for m in measured if m > 1] or measured, key=lambda m: (abs(m - wanted), m))


def _sparse(ticks: list[tuple[float, str]], least: float) -> list[tuple[float, str]]:
    """Ticks that stand at least so far apart."""
    kept: list[tuple[float, str]] = []
    for tick in ticks:
        if not kept or tick[0] - kept[-1][0] >= least:
            kept.append(tick)
    return kept


def _alt(lead: str, series: Sequence[panels.Series]) -> str:
    return f"{lead} " + ". ".join("; ".join(one.hover) for one in series) + "."

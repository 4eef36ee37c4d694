"""What every measured figure has: one panel a device, its device line, and a sentence where nothing
was measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from markupsafe import Markup

from build_scripts.model.readings import Ratio
from build_scripts.records.schema import Device, Record, Replayable
from build_scripts.render.figures import Figure
from build_scripts.render.numbers import fixed
from build_scripts.render.svg import chart_html
from build_scripts.spec.measured import MeasuredBlock, MeasuredWords
from build_scripts.views.base import PageContext, Rendered

STYLESHEET = "assets/lesson/measured.css"

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    figure: Figure
    caption: str = ""
    narrow_key: Sequence[tuple[Markup, str]] = ()
    """What the lines are, with a piece of each, where the chart is too narrow to say it itself."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", unbroken(self.caption))

    @property
    def html(self) -> Markup:
        return chart_html(self.name, self.figure, self.title)


@dataclass(frozen=True)
class Table:
    """The first cell of a row is its head; an open table is a figure by itself. notes: whether the
    last column holds words, which wrap."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    opened: bool = False
    notes: bool = False


@dataclass(frozen=True)
class Readout:
    label: str
    value: str
    text: str


@dataclass(frozen=True)
class Shown:
    """What a view shows of one device's record."""

    charts: list[Chart] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    readouts: list[Readout] = field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "captions", [unbroken(caption) for caption in self.captions])


@dataclass(frozen=True)
class DeviceLine:
    """Where, how and when a record was measured, in words; `file` is its JSON."""

    device: str
    text: str
    command: str
    file: str
    quick: bool


def render(
    block: MeasuredBlock,
    page: PageContext,
    kind: type[R],
    experiment: str,
    show: Callable[[R, Sequence[R], str], Shown],
    key: Sequence[tuple[Markup, str]] = (),
    beside: bool = True,
    asks_for_cuda: bool = False,
) -> Rendered:
    """The block for every device that has such a record.

    show(record, all of them, suffix): the suffix keeps the charts' names apart; the scales should
    be those of all, so that devices can be compared. beside: whether devices stand side by side.
    asks_for_cuda: whether it says so when no GPU was measured.
    """
    records = page.records.of(kind)
    words = page.lesson.measured
    entries = []
    charts: dict[str, Figure] = {}
    for index, record in enumerate(records):
        shown = show(record, records, "" if index == 0 else f"-{index + 1}")
        charts |= {chart.name: chart.figure for chart in shown.charts}
        entries.append({"shown": shown, "line": device_line(record, page), "replayed": isinstance(record, Replayable) and record.replayed})
    html = page.template(
        "measured.html",
        block=block,
        words=words,
        entries=entries,
        key=key,
        beside=beside and len(entries) > 1,
        sentence=none_yet(words, experiment),
        command=command(experiment),
        no_cuda=asks_for_cuda and not any(record.device.kind == "cuda" for record in records),
    )
    return Rendered(html, {"figures": charts} if charts else None, charts, stylesheet=STYLESHEET)


def none_yet(words: MeasuredWords, experiment: str) -> tuple[str, str]:
    """The sentence where there is no record, before and after the command that makes one."""
    what = words.experiments.get(experiment, experiment)  # type: ignore[call-overload]
    before, _, after = words.none_yet.format(what=what, command="\n").partition("\n")
    return before, after


def command(experiment: str) -> str:
    return "make bench-peers" if experiment == "peers" else f"python -m build_scripts measure {experiment}"


def device_line(record: Record, page: PageContext) -> DeviceLine:
    words = page.lesson.measured
    device = device_name(record.device, words)
    text = words.device_line.format(
        device=device,
        dtype=dtype_name(record.dtype, words),
        kernel=kernel_name(record.kernel, words),
        date=record.date[:10],
        commit=record.commit[:7] + ("" if record.clean else f" {words.uncommitted}"),
    )
    if record.kept_under_load:
        text += " " + words.kept_under_load.format(n=record.kept_under_load)
    return DeviceLine(device, text, record.command, page.records.file_of(record), record.quick)


# --- names ---------------------------------------------------------------------------------------


def device_name(device: Device, words: MeasuredWords) -> str:
    """"a 2-core AMD EPYC CPU": what it is, so that nobody takes it for something else."""
    name = re.sub(r"\((R|TM)\)|\bProcessor\b|\bCPU\b|@.*", " ", device.name)
    name = " ".join(name.split())
    if device.kind == "cuda":
        return words.cuda.format(name=name)
    return words.cpu.format(name=name, cores=device.cores)


def drafter_name(drafter: str, words: MeasuredWords) -> str:
    known = words.drafters.get(drafter)
    return drafter if known is None else known.name


def kernel_name(kernel: str, words: MeasuredWords) -> str:
    return words.kernels.get(kernel, kernel)


def dtype_name(dtype: str, words: MeasuredWords) -> str:
    return words.dtypes.get(dtype, dtype)


def kind_name(kind: str, words: MeasuredWords) -> str:
    return words.kinds.get(kind, kind)  # type: ignore[call-overload]


# --- numbers as text -----------------------------------------------------------------------------


def times(value: float) -> str:
    return f"{fixed(value, 2)}×"


def percent(value: float, decimals: int = 0) -> str:
    return f"{fixed(100 * value, decimals)} %"


def signed_percent(value: float) -> str:
    text = percent(abs(value), 1)
    return text if not text.strip("0. %") else ("+" if value > 0 else "−") + text


def interval(ratio: Ratio, decimals: int = 2) -> str:
    return f"{fixed(ratio.low, decimals)}–{fixed(ratio.high, decimals)}"


def rate(value: float) -> str:
    """With as many decimals as a reader can use."""
    return fixed(value, 0 if value >= 100 else 1)


def unbroken(words: str) -> str:
    """No line ends within "k = 4" or "10.3 %"."""
    return words.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")


def distinct(items: Sequence[str]) -> list[str]:
    """Each once, in the order of their first place."""
    return list(dict.fromkeys(items))

"""The race under the lesson's header: one prompt, plain decoding against speculation, on one clock.

The HTML shows how the race of the fastest run ended and, of every run, what speculation gained or
lost. race.js runs the race; it is fetched when the reader asks for it, a trace when it is raced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from build_scripts.records.trace import Trace
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredWords
from build_scripts.spec.race import Race
from build_scripts.spec.schema import Lesson
from build_scripts.views import recorded
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame
from build_scripts.views.recorded import milliseconds, outcome

STYLESHEET = "assets/lesson/race.css"
SCRIPTS = (recorded.LOADER, "assets/lesson/views/race.js")

PROMPT_CHARACTERS = 100
"""Of a prompt that stand on the page before its trace is fetched."""

SCRIPTED = (
    "setting", "setting_drawn", "speculative_lane", "speculative_pace", "ms", "tokens", "rate", "start", "again",
    "clock_at", "started", "ready", "leads", "plain_lane", "clock", "accepted", "target",
)  # fmt: skip
"""The words that race.js needs; the others stand in the page."""


def render(block: Race, page: PageContext) -> Rendered:
    """Nothing at all where no run was recorded: the header then ends with the question."""
    if not page.traces:
        return Rendered("")
    words = page.lesson.measured
    devices = recorded.by_device(page.traces)
    default = fastest(_greedy(devices[0]) or devices[0])
    home = _replay(page.lesson)
    html = page.template(
        "race.html",
        block=block,
        words=block.labels,
        measured=words,
        marks=recorded.MARKS,
        default=default,
        speeds=list(zip(recorded.SPEEDS, words.recorded.speeds)),
        devices=[_choices(block, traces, words, len(devices) > 1) for traces in devices],
        prompt=short(default.prompt),
        lanes=_lanes(block, default, words),
        result=result(block, default, words),
        check=check(block, default),
        replay=None if home is None else f"{home}{default.id}",
        drafters=_drafters(page.traces, words),
        caption=_caption(block, page.traces, words),
        line=recorded.device_line(page, default),
    )
    data = {
        "runs": {trace.id: _index_entry(trace, words) for trace in page.traces},
        "prompts": {trace.kind: short(trace.prompt) for trace in page.traces},
        "results": block.results.model_dump(),
        "checks": block.checks.model_dump(),
        "labels": block.labels.model_dump(include=set(SCRIPTED)),
        "loading": words.recorded.loading,
        "failed": words.recorded.failed,
        "replay": home,
    }
    return Rendered(
        html,
        data,
        parameters=recorded.parameters(page.traces, default.id, "race"),
        stylesheet=STYLESHEET,
        scripts=SCRIPTS,
        wakes="used",
    )


def _drafters(traces: Sequence[Trace], words: MeasuredWords) -> list[tuple[str, str]]:
    """What each draft is, in the order of the table; one that the lesson does not know has no words."""
    names = frame.distinct([trace.drafter for trace in traces])
    return [(known.name, known.what) for name in names if (known := words.drafters.get(name)) is not None]


# --- the runs to choose from -----------------------------------------------------------------------


def fastest(traces: Iterable[Trace]) -> Trace:
    return max(traces, key=lambda trace: trace.factor)


def _greedy(traces: Iterable[Trace]) -> list[Trace]:
    return [trace for trace in traces if trace.temperature == 0]


def _choices(block: Race, traces: Sequence[Trace], words: MeasuredWords, named: bool) -> dict[str, Any]:
    """The table of one device: a row for each drafter, a column for each kind of text, in it the
    greedy run that went best; and all other runs, the slowest first."""
    drafters = frame.distinct([trace.drafter for trace in traces])
    kinds = frame.distinct([trace.kind for trace in traces])
    best: dict[tuple[str, str], Trace] = {}
    for trace in _greedy(traces):
        place = (trace.drafter, trace.kind)
        best[place] = fastest([trace, best.get(place, trace)])
    more = sorted((trace for trace in traces if trace not in best.values()), key=lambda trace: trace.factor)
    return {
        "device": frame.device_name(traces[0].device, words) if named else None,
        "kinds": [frame.kind_name(kind, words) for kind in kinds],
        "rows": [
            (frame.drafter_name(drafter, words), [_cell(block, best.get((drafter, kind))) for kind in kinds])
            for drafter in drafters
        ],
        "more": [recorded.choice(trace, setting(block, trace, words)) for trace in more],
        "more_says": block.labels.more.format(**_counts(more)),
    }


def _cell(block: Race, trace: Trace | None) -> list[dict[str, Any]]:
    return [] if trace is None else [recorded.choice(trace, note=block.labels.run_k.format(k=trace.k))]


def setting(block: Race, trace: Trace, words: MeasuredWords) -> str:
    template = block.labels.setting_drawn if trace.temperature else block.labels.setting
    return frame.unbroken(
        template.format(
            drafter=frame.drafter_name(trace.drafter, words),
            kind=frame.kind_name(trace.kind, words),
            k=trace.k,
            temperature=fixed(trace.temperature, 1, trim=True),
        )
    )


def _counts(traces: Sequence[Trace]) -> dict[str, int]:
    outcomes = [outcome(trace) for trace in traces]
    return {
        "runs": len(traces),
        "wins": outcomes.count("wins"),
        "ties": outcomes.count("ties"),
        "losses": outcomes.count("loses"),
    }


def _caption(block: Race, traces: Sequence[Trace], words: MeasuredWords) -> str:
    extremes = {"best": fastest(traces), "worst": min(traces, key=lambda trace: trace.factor)}
    named = {
        name: words.case.format(
            drafter=frame.drafter_name(trace.drafter, words),
            kind=frame.kind_name(trace.kind, words),
            k=trace.k,
            speedup=frame.times(trace.factor),
        )
        for name, trace in extremes.items()
    }
    return frame.unbroken(block.caption.format(**_counts(traces), **named))


# --- how a race ended ------------------------------------------------------------------------------


def _lanes(block: Race, trace: Trace, words: MeasuredWords) -> list[dict[str, str]]:
    """Both at their end; `width` is the time, in percent of the longer one."""
    longest = max(trace.plain.decode_ms, trace.speculative.decode_ms) or 1.0
    lanes = []
    for name, run in (("plain", trace.plain), ("speculative", trace.speculative)):
        tokens, ms = len(run.tokens), run.decode_ms
        lanes.append(
            {
                "name": name,
                "width": fixed(100 * ms / longest, 2, trim=True),
                "ms": block.labels.ms.format(ms=milliseconds(ms)),
                "tokens": block.labels.tokens.format(n=tokens, total=tokens),
                "rate": block.labels.rate.format(rate=fixed(1000 * (tokens - 1) / ms, 1)) if ms else "",
            }
        )
    plain, speculative = lanes
    plain |= {"title": block.labels.plain_lane, "pace": block.labels.plain_pace}
    name = frame.drafter_name(trace.drafter, words)
    speculative |= {
        "title": frame.unbroken(block.labels.speculative_lane.format(drafter=name, k=trace.k)),
        "pace": block.labels.speculative_pace.format(most=trace.k + 1),
    }
    first = {"wins": speculative, "loses": plain}.get(outcome(trace))
    return [lane | {"first": lane is first} for lane in lanes]


def result(block: Race, trace: Trace, words: MeasuredWords) -> str:
    """Who finished first, and by what factor."""
    name = ("drawn_" if trace.temperature else "") + outcome(trace)
    template: str = getattr(block.results, name)
    return template.format(
        drafter=frame.drafter_name(trace.drafter, words),
        plain_ms=milliseconds(trace.plain.decode_ms),
        speculative_ms=milliseconds(trace.speculative.decode_ms),
        tokens=len(trace.plain.tokens),
        plain_tokens=len(trace.plain.tokens),
        speculative_tokens=len(trace.speculative.tokens),
        factor=frame.times(trace.factor),
    )


def check(block: Race, trace: Trace) -> str:
    """Whether both texts are the same; reading the trace compared them."""
    n, tokens = parting(trace), len(trace.plain.tokens)
    if n is None:
        return block.checks.drawn
    return block.checks.differ.format(n=n, tokens=tokens) if n else block.checks.built.format(tokens=tokens)


def parting(trace: Trace) -> int | None:
    """The first token, from 1, that is not the same in both texts; 0 where there is none, None where
    the texts need not be the same."""
    if trace.temperature:
        return None
    plain, speculative = trace.plain.tokens, trace.speculative.tokens
    pairs = zip_longest(plain, speculative)
    return next((n for n, (one, other) in enumerate(pairs, start=1) if one != other), 0)


def _index_entry(trace: Trace, words: MeasuredWords) -> list[Any]:
    """What race.js says of a run before it is fetched: drafter, kind of text, k, temperature, of plain
    decoding ms and tokens, of speculation ms and tokens, and `parting`."""
    return [
        frame.drafter_name(trace.drafter, words),
        trace.kind,
        trace.k,
        trace.temperature,
        round(trace.plain.decode_ms, 3),
        len(trace.plain.tokens),
        round(trace.speculative.decode_ms, 3),
        len(trace.speculative.tokens),
        parting(trace),
    ]


# --- words -----------------------------------------------------------------------------------------


def short(prompt: str) -> str:
    """The prompt's first words on one line."""
    words = prompt.split()
    text = " ".join(words)
    if len(text) <= PROMPT_CHARACTERS:
        return text
    cut = text[: PROMPT_CHARACTERS + 1].rsplit(" ", 1)[0][:PROMPT_CHARACTERS]
    return cut.rstrip(",.;:") + " …"


def _replay(lesson: Lesson) -> str | None:
    """The address of the same run, round by round, but for its id; None where the lesson has no replay."""
    for page in lesson.pages:
        for block in page.blocks:
            if block.view == "replay":
                return f"{page.id}.html#at={block.id}&trace="
    return None

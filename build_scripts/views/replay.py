"""One recorded run, round by round, in the live diagram's elements.

The HTML has the runs to choose from and, of the one that is shown first, its end and a table of
its rounds, which stand without JavaScript. When the reader asks for a run, replay.js fetches its
trace and fills the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from build_scripts.model.speculation import expected_tokens
from build_scripts.records.trace import Control, Trace
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredWords
from build_scripts.spec.replay import Replay
from build_scripts.views import recorded, step_diagram
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame
from build_scripts.views.recorded import milliseconds

STYLESHEET = "assets/lesson/replay.css"
SCRIPTS = (step_diagram.SCRIPT, recorded.LOADER, "assets/lesson/views/replay_round.js", "assets/lesson/views/replay.js")

BLANKS = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥"})


def render(block: Replay, page: PageContext) -> Rendered:
    words = page.lesson.measured
    if not page.traces:
        html = page.template(
            "replay.html",
            block=block,
            default=None,
            sentence=frame.none_yet(words, "traces"),
            command=frame.command("traces"),
        )
        return Rendered(html, stylesheet=frame.STYLESHEET)
    default = most_decided(page.traces)
    devices = recorded.by_device(page.traces)
    html = page.template(
        "replay.html",
        block=block,
        words=block.labels,
        measured=words,
        default=default,
        marks=recorded.MARKS,
        devices=[_runs(block, traces, words, len(devices) > 1) for traces in devices],
        speeds=list(zip(recorded.SPEEDS, words.recorded.speeds)),
        result=result(block, default, words),
        check=check(block, default),
        yields=_yields(block, default),
        rows=rows(default),
        line=recorded.device_line(page, default),
    )
    data = block.model_dump(include={"result", "same", "differ", "drawn", "says", "whys", "yields", "labels"})
    data |= {
        "default": default.id,
        "marks": step_diagram.MARKS,
        "drafters": {trace.drafter: frame.drafter_name(trace.drafter, words) for trace in page.traces},
        "kinds": {trace.kind: frame.kind_name(trace.kind, words) for trace in page.traces},
        "lines": _device_lines(page),
        "loading": words.recorded.loading,
        "failed": words.recorded.failed,
    }
    most = max(len(trace.speculative.rounds) for trace in page.traces)
    own = recorded.parameters(page.traces, "", "replay")
    own.append({"name": "replay_round", "key": "round", "type": "integer", "default": 1, "min": 0, "max": most})
    return Rendered(html, data, parameters=own, stylesheet=STYLESHEET, scripts=SCRIPTS, wakes="used")


def most_decided(traces: Sequence[Trace]) -> Trace:
    """What a reader sees first: of the runs drawn at random, if there are any, the one with the most
    drafts of the rarer verdict, so that there is something of both to look at."""

    def both(trace: Trace) -> tuple[bool, int]:
        counts = trace.counts
        return trace.temperature > 0, min(sum(counts.accepted), counts.recovered)

    return max(traces, key=both)


# --- the runs to choose from -----------------------------------------------------------------------


def _runs(block: Replay, traces: Sequence[Trace], words: MeasuredWords, named: bool) -> dict[str, Any]:
    """The table of one device. Every run is in it, so that a losing one stands beside a winning one."""
    drafters = frame.distinct([trace.drafter for trace in traces])
    kinds = frame.distinct([trace.kind for trace in traces])
    return {
        "device": frame.device_name(traces[0].device, words) if named else None,
        "kinds": [frame.kind_name(kind, words) for kind in kinds],
        "rows": [
            (frame.drafter_name(drafter, words), [_cell(block, traces, drafter, kind) for kind in kinds])
            for drafter in drafters
        ],
    }


def _cell(block: Replay, traces: Sequence[Trace], drafter: str, kind: str) -> list[dict[str, Any]]:
    mine = [trace for trace in traces if (trace.drafter, trace.kind) == (drafter, kind)]
    mine.sort(key=lambda trace: (trace.temperature, trace.k))
    return [recorded.choice(trace, note=_setting(block, trace)) for trace in mine]


def _setting(block: Replay, trace: Trace) -> str:
    template = block.labels.run_drawn if trace.temperature else block.labels.run_k
    return template.format(k=trace.k, temperature=_temperature(trace))


def _temperature(trace: Trace) -> str:
    return fixed(trace.temperature, 1, trim=True)


def _device_lines(page: PageContext) -> dict[str, list[str]]:
    """Of each trace: where, how and when it was measured, and the file of its record."""
    lines = {trace.id: recorded.device_line(page, trace) for trace in page.traces}
    return {name: [line.text, line.file] for name, line in lines.items()}


# --- one run ---------------------------------------------------------------------------------------


def result(block: Replay, trace: Trace, words: MeasuredWords) -> str:
    """How it ended; plain decoding's time is that for as many tokens."""
    run = trace.speculative
    text = block.result.format(
        drafter=frame.drafter_name(trace.drafter, words),
        kind=frame.kind_name(trace.kind, words),
        k=trace.k,
        temperature=_temperature(trace),
        tokens=len(run.tokens),
        rounds=len(run.rounds),
        ms=milliseconds(run.decode_ms),
        plain_ms=milliseconds(run.decode_ms * trace.factor),
        factor=frame.times(trace.factor),
        verdict=getattr(block.labels, recorded.outcome(trace)),
    )
    return frame.unbroken(text)


def check(block: Replay, trace: Trace) -> str:
    if trace.same_tokens is None:
        return block.drawn.format(temperature=_temperature(trace))
    return block.same.format(tokens=len(trace.plain.tokens)) if trace.same_tokens else block.differ


def _yields(block: Replay, trace: Trace) -> list[dict[str, str]]:
    """E as it was, and as the formula has it for one h and as many drafts as each round had."""
    counts, words = trace.counts, block.yields
    rounds = trace.speculative.rounds
    h = counts.pooled_acceptance
    drafted = [len(entry.drafts) for entry in rounds]
    predicted = None if h is None else sum(expected_tokens(h, k, True) for k in drafted) / len(rounds)
    told = (
        words.predicted_none
        if h is None
        else words.predicted_text.format(
            h=fixed(h, 2),
            accepted=sum(counts.accepted),
            examined=sum(counts.examined),
            offered=fixed(sum(drafted) / len(rounds), 1),
        )
    )
    measured = words.measured_text.format(committed=counts.committed, rounds=len(rounds))
    return [
        {"name": "measured", "label": words.measured, "value": fixed(counts.tokens_per_round, 2), "text": measured},
        {"name": "predicted", "label": words.predicted, "value": "–" if predicted is None else fixed(predicted, 2), "text": told},
    ]  # fmt: skip


def rows(trace: Trace) -> list[list[str]]:
    """The rounds as a table: number, drafted, kept, the target's token, tokens committed, ms."""
    return [
        [
            str(number),
            " ".join(label(trace, draft.token) for draft in entry.drafts) or "–",
            f"{entry.accepted} / {len(entry.drafts)}",
            label(trace, entry.token),
            str(len(entry.committed)),
            fixed(entry.ms.total, 1),
        ]
        for number, entry in enumerate(trace.speculative.rounds, start=1)
    ]


def label(trace: Trace, token: int) -> str:
    """One token for the eye, as `Lesson.traces.label` has it."""
    text = trace.vocabulary.texts[token]
    if isinstance(text, Control):
        return text.control
    if isinstance(text, list):
        return " ".join(f"{byte:02X}" for byte in text)
    return text.replace("\r\n", "\n").translate(BLANKS)

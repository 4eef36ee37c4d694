"""Sliders, readouts, targets and curves of the analytic model.

The static HTML shows the lesson's own settings; `calculator.js` follows the reader's.
"""

from __future__ import annotations

from typing import Any

from build_scripts.model.speculation import SEARCHED_DRAFT_TOKENS, evaluate
from build_scripts.render.numbers import Value, fixed, format_number, number, round_at
from build_scripts.spec.schema import Calculator, CalculatorLabels, Lesson
from build_scripts.views import curves
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.curve_tables import render_tables
from build_scripts.views.measured.frame import drafter_name
from build_scripts.views.measured.presets import measured_presets, preset_text

SLIDERS = ("acceptance", "draft_tokens", "target_ms", "draft_ms")

OBJECTIVES = (
    ("ttft", "slo_ttft_ms", "≤"),
    ("itl", "slo_itl_ms", "≤"),
    ("throughput", "slo_throughput_tps", "≥"),
)
"""Each service-level objective: its label, its parameter, and which side of it passes."""

ROOM_FOR_WORDS = 0.15
"""Share of the polynomial's width below which a bar has no room for more than its symbol."""

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render(block: Calculator, page: PageContext) -> Rendered:
    lesson, labels = page.lesson, block.labels
    outcome = evaluate(round_at(lesson))
    charts = curves.render(block, page)
    k = lesson.parameters.draft_tokens.default
    acceptance = lesson.parameters.acceptance.default
    bonus = lesson.parameters.bonus.default
    terms = polynomial(acceptance, k, bonus)
    text = {name: number(lesson, name).text for name in (*SLIDERS, "bonus", *type(outcome).__dataclass_fields__)}
    plain = evaluate(round_at(lesson, {"draft_tokens": 0}))
    measured = measured_presets(block, lesson, page.records)
    html = page.template(
        "calculator.html",
        block=block,
        words=labels,
        measured=[
            {
                "id": preset.id,
                "label": block.measured_presets.label.format(drafter=drafter_name(preset.drafter, lesson.measured)),
                "text": preset_text(preset, block, lesson),
                "file": preset.file,
            }
            for preset in measured
            if block.measured_presets is not None
        ],
        sliders=[_slider(lesson, name) for name in SLIDERS],
        bonus=lesson.parameters.bonus,
        outcome=outcome,
        text=text,
        baselines={
            "expected_tokens": labels.baseline.format(value=fixed(plain.expected_tokens, 0)),
            "tpot_ms": labels.baseline.format(value=format_number("tpot_ms", plain.tpot_ms, "")),
            "throughput_tps": labels.baseline.format(value=format_number("throughput_tps", plain.throughput_tps, "")),
        },
        verdict_class=outcome.verdict.replace(" ", "-"),
        verdict_word={
            "net win": labels.net_win,
            "break-even": labels.break_even,
            "net loss": labels.net_loss,
        }[outcome.verdict],
        burst=labels.burst.format(ms=text["burst_gap_ms"], words=text["expected_tokens"]),
        round_sum=labels.round_sum.format(
            target=fixed(lesson.parameters.target_ms.default, 2, trim=True),
            k=k,
            draft=fixed(lesson.parameters.draft_ms.default, 2, trim=True),
            round=text["round_ms"],
        ),
        terms=[
            {
                "symbol": power(i),
                "value": fixed(term, 4, trim=True),
                "share": fixed(term, 4),
                "thin": term < ROOM_FOR_WORDS * len(terms),
                "says": labels.polynomial_first if i == 0 else labels.polynomial_term.format(n=i),
            }
            for i, term in enumerate(terms)
        ],
        rows=len(terms),
        polynomial=polynomial_text(terms, text["expected_tokens"]),
        objectives=[_objective(block, lesson, outcome, *entry) for entry in OBJECTIVES],
        itl_note=labels.itl_note.format(gap=text["burst_gap_ms"]),
        best_k=_best_k(lesson, labels, outcome.best_draft_tokens),
        break_even_at=(
            labels.break_even_never
            if outcome.break_even_acceptance is None
            else labels.break_even_at.format(h=text["break_even_acceptance"])
        ),
        operations=labels.operations.format(factor=text["operations_factor"]),
        never=outcome.break_even_acceptance is None,
        charts=charts.html,
        tables=render_tables(block, page),
    )
    # What a preset leaves out goes back to the lesson's default, whatever the reader had set.
    defaults = {name: getattr(lesson.parameters, name).default for name in (*SLIDERS, "bonus")}
    data: dict[str, Any] = {
        "ttft_ms": block.ttft_ms,
        "most_draft_tokens": SEARCHED_DRAFT_TOKENS,
        "labels": labels.model_dump(exclude={"other_on", "other_off"}),
        "presets": [
            {"id": preset.id, "settings": {**defaults, **preset.settings.model_dump(exclude_none=True)}}
            for preset in block.presets
        ]
        + [{"id": preset.id, "settings": {**defaults, **preset.settings}} for preset in measured],
        "room_for_words": ROOM_FOR_WORDS,
        "figure": block.id,
        "curves": charts.data,
    }
    return Rendered(html, data, charts.charts)


def polynomial(acceptance: float, draft_tokens: int, bonus: bool) -> list[float]:
    """The terms 1, h, h², … whose sum is E: k of them, one more with the bonus (k ≥ 1)."""
    rows = max(1, draft_tokens + 1 if bonus else draft_tokens)
    return [acceptance**i for i in range(rows)]


def power(exponent: int) -> str:
    """1, h, h², h³, … as text."""
    return "1" if exponent == 0 else "h" if exponent == 1 else "h" + str(exponent).translate(SUPERSCRIPTS)


def polynomial_text(terms: list[float], total: str) -> str:
    """The sum written out: E = 1 + h + h² = 1 + 0.75 + 0.5625 = 2.31."""
    symbols = " + ".join(power(i) for i in range(len(terms)))
    values = " + ".join(fixed(term, 4, trim=True) for term in terms)
    return f"E = {symbols} = {values} = {total}" if len(terms) > 1 else f"E = 1 = {total}"


def margin(unit: str, difference: float) -> str:
    """How far a value is from its objective, as text in the objective's unit."""
    return f"{fixed(abs(difference), 1, trim=True)} {unit}"


def _best_k(lesson: Lesson, labels: CalculatorLabels, best: int) -> str:
    if best == 0:
        return labels.best_k_none
    template = labels.best_k_most if best == SEARCHED_DRAFT_TOKENS else labels.best_k
    return template.format(k=best, speedup=number(lesson, "speedup", {"draft_tokens": best}).text)


def _slider(lesson: Lesson, name: str) -> dict[str, Any]:
    parameter = getattr(lesson.parameters, name)
    return {"name": name, "parameter": parameter, "value": _plain(parameter.default), "range": [
        _plain(parameter.min), _plain(parameter.max), _plain(parameter.step)
    ]}  # fmt: skip


def _plain(value: float) -> str:
    return fixed(value, 6, trim=True)


def _objective(
    block: Calculator, lesson: Lesson, outcome: Any, label: str, name: str, sign: str
) -> dict[str, Any]:
    reached: Value = {"ttft": block.ttft_ms, "itl": outcome.tpot_ms, "throughput": outcome.throughput_tps}[label]
    slider = _slider(lesson, name)
    difference = reached - slider["parameter"].default
    passes = difference <= 0 if sign == "≤" else difference >= 0
    labels = block.labels
    says = (
        labels.exactly
        if difference == 0
        else labels.by.format(
            margin=margin(slider["parameter"].unit, difference), side=labels.below if difference < 0 else labels.above
        )
    )
    return slider | {
        "label": label,
        "title": getattr(labels, label),
        "sign": sign,
        "passes": passes,
        "says": says,
        "word": labels.passes if passes else labels.fails,
        "reached": format_number({"ttft": "ttft_ms", "itl": "tpot_ms", "throughput": "throughput_tps"}[label], reached, ""),
        "kind": block.ttft_kind if label == "ttft" else "computed",
    }

"""Every number of a lesson, one row each: what it is, its value, its kind, where it comes from.

The rows are collected from the typed lesson, so a number that an author adds is listed
without anybody listing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from build_scripts.model.readings import latency_ratio
from build_scripts.model.roofline import arithmetic_ms, weight_read_ms
from build_scripts.records.store import Records
from build_scripts.render.numbers import READOUTS, ROUND_PARAMETERS, Value, fixed, format_number, number, round_at
from build_scripts.spec.richtext import NumberRef, every_piece, parse
from build_scripts.spec.schema import (
    RICH,
    AcceptanceTraces,
    BaselineStrip,
    Calculator,
    Cards,
    Kind,
    Lesson,
    Numbers,
    NumbersLabels,
    Numeric,
    PublishedBenchmark,
    PublishedResults,
    Quiz,
    Settings,
    SourceId,
)
from build_scripts.spec.walk import Leaf, walk
from build_scripts.views.acceptance_traces import predictions
from build_scripts.views.blocks import blocks_of
from build_scripts.views.measured.frame import device_name
from build_scripts.views.measured.numbers import measured_numbers


@dataclass(frozen=True)
class Row:
    """One number. `source` is the id of a source, `formula` a name of `Numbers.formulas`."""

    what: str
    text: str
    kind: Kind
    value: Value = None
    source: SourceId | None = None
    formula: str | None = None
    record: str | None = None
    """The file of the record that a measured number stands in."""


@dataclass(frozen=True)
class Group:
    title: str
    rows: list[Row]


def number_groups(lesson: Lesson, block: Numbers, records: Records) -> list[Group]:
    """All rows of the lesson, in the groups of the schema; a group without rows is left out."""
    labels = block.labels
    names = labels.groups
    groups = [
        Group(names.parameters, list(_parameters(lesson))),
        Group(names.without_bonus, list(_results(lesson, labels, bonus=False))),
        Group(names.with_bonus, list(_results(lesson, labels, bonus=True))),
        Group(names.elsewhere, list(_elsewhere(lesson, labels))),
        Group(names.presets, list(_presets(lesson, labels))),
        Group(names.quiz, list(_quiz(lesson, labels))),
        Group(names.hardware, list(_hardware(lesson, labels))),
        Group(names.measured, list(_measured(lesson, labels, records))),
        Group(names.readings, list(_readings(lesson, labels))),
        Group(names.headlines, list(_headlines(lesson, labels))),
        Group(names.results, list(_published_results(lesson, labels))),
        Group(names.traces, list(_traces(lesson, labels))),
    ]
    return [group for group in groups if group.rows]


def _parameters(lesson: Lesson) -> Iterator[Row]:
    for name in type(lesson.parameters).model_fields:
        at_default = number(lesson, name)
        yield Row(_parameter_name(lesson, name), at_default.text, at_default.kind, at_default.value)
    for calculator in blocks_of(lesson, Calculator):
        text = format_number("ttft_ms", calculator.ttft_ms, lesson.labels.none)
        yield Row(calculator.labels.ttft, text, calculator.ttft_kind, calculator.ttft_ms)


def _results(lesson: Lesson, labels: NumbersLabels, bonus: bool) -> Iterator[Row]:
    """The model's results at the defaults, for one setting of the bonus. The verdict is no number."""
    for name in READOUTS:
        if name != "verdict":
            yield _computed(lesson, labels, name, {"bonus": bonus}, show_settings=False)


def _elsewhere(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    """What the cards and the text compute away from the defaults, each once."""
    listed: set[tuple[str, tuple[tuple[str, Value], ...]]] = set()
    for name, settings in [*_on_cards(lesson), *_in_text(lesson)]:
        changed = _changed(lesson, settings)
        # With the bonus alone changed, it stands among the results already.
        if name not in READOUTS or name == "verdict" or set(changed) <= {"bonus"}:
            continue
        key = (name, tuple(sorted(changed.items())))
        if key not in listed:
            listed.add(key)
            yield _computed(lesson, labels, name, changed)


def _on_cards(lesson: Lesson) -> Iterator[tuple[str, dict[str, Value]]]:
    for cards in blocks_of(lesson, Cards):
        for card in cards.cards:
            if card.number is not None:
                yield card.number.readout, _given(card.number.at)


def _in_text(lesson: Lesson) -> Iterator[tuple[str, dict[str, Value]]]:
    for place in walk(Lesson, lesson.model_dump(), lesson):
        if isinstance(place, Leaf) and RICH in place.marks:
            for piece in every_piece(parse(place.text).pieces):
                if isinstance(piece, NumberRef):
                    yield piece.name, _given(piece.settings)


def _presets(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    """What a preset changes; the rest of it are the defaults."""
    for calculator in blocks_of(lesson, Calculator):
        for preset in calculator.presets:
            for name, value in _changed(lesson, _given(preset.settings)).items():
                what = labels.preset.format(preset=preset.label, what=_parameter_name(lesson, name))
                yield Row(what, _setting(lesson, name, value), preset.kind, value, source=preset.source)


def _quiz(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    for quiz in blocks_of(lesson, Quiz):
        for n, question in enumerate(quiz.questions, start=1):
            if isinstance(question, Numeric):
                asked = question.number
                row = _computed(lesson, labels, asked.readout, _given(asked.at))
                what = labels.question.format(n=n, what=row.what)
                yield Row(what, row.text, row.kind, row.value, formula=row.formula)


def _hardware(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    units = labels.units
    for strip in blocks_of(lesson, BaselineStrip):
        weights, hardware = strip.weights, strip.hardware
        for what, name, value, unit, source in (
            (labels.weights, weights.name, weights.weights_billion, units.billion, weights.source),
            (labels.bytes_per_weight, weights.name, weights.bytes_per_weight, units.bytes, weights.source),
            (labels.devices, hardware.name, hardware.devices, "", hardware.source),
            (labels.bandwidth, hardware.name, hardware.bandwidth_tbps, units.tbps, hardware.source),
            (labels.peak, hardware.name, hardware.peak_tflops, units.tflops, hardware.source),
        ):
            text = f"{fixed(value, 3, trim=True)} {unit}".strip()
            yield Row(f"{what} ({name})", text, "published", value, source=source)
        both = f"{weights.name}, {hardware.name}"
        read = weight_read_ms(
            weights.weights_billion, weights.bytes_per_weight, hardware.devices, hardware.bandwidth_tbps
        )
        arithmetic = arithmetic_ms(weights.weights_billion, hardware.devices, hardware.peak_tflops)
        for what, value, decimals in ((labels.read, read, 1), (labels.arithmetic, arithmetic, 3)):
            text = f"{fixed(value, decimals)} {units.ms}"
            yield Row(f"{what} ({both})", text, "computed", value, formula="pass_parts")


def _readings(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    for benchmark in blocks_of(lesson, PublishedBenchmark):
        for panel in benchmark.panels:
            for reading in panel.readings:
                names = {"panel": panel.title, "qps": fixed(reading.request_rate_qps, 2, trim=True)}
                for what, seconds in (
                    (labels.plain_latency, reading.plain_s),
                    (labels.speculative_latency, reading.speculative_s),
                ):
                    text = labels.give_or_take.format(
                        value=fixed(seconds, 2), uncertainty=fixed(reading.uncertainty_s, 2, trim=True)
                    )
                    yield Row(what.format(**names), text, "published", seconds, source=benchmark.source)
                ratio = latency_ratio(reading.plain_s, reading.speculative_s, reading.uncertainty_s)
                text = labels.between.format(
                    value=fixed(ratio.value, 2), low=fixed(ratio.low, 2), high=fixed(ratio.high, 2)
                )
                what = labels.latency_ratio.format(**names)
                yield Row(what, text, "computed", ratio.value, formula="latency_ratio")


def _headlines(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    for benchmark in blocks_of(lesson, PublishedBenchmark):
        panels = {panel.id: panel.title for panel in benchmark.panels}
        for headline in benchmark.headlines:
            what = labels.headline.format(
                panel=panels[headline.panel],
                qps=fixed(headline.request_rate_qps, 2, trim=True),
                outcome=labels.faster if headline.outcome == "faster" else labels.slower,
            )
            text = f"{fixed(headline.factor, 2, trim=True)}×"
            yield Row(what, text, benchmark.kind, headline.factor, source=benchmark.source)


def _published_results(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    for results in blocks_of(lesson, PublishedResults):
        for result in results.results:
            what = labels.result.format(target=result.target, draft=result.draft, setup=result.setup)
            text = result.result if result.speedup is None else f"{fixed(result.speedup, 2, trim=True)}×"
            yield Row(what, text, results.kind, result.speedup, source=result.source)


def _traces(lesson: Lesson, labels: NumbersLabels) -> Iterator[Row]:
    for traces in blocks_of(lesson, AcceptanceTraces):
        for trace in traces.traces:
            for position, acceptance in enumerate(trace.acceptances, start=1):
                what = labels.trace_position.format(trace=trace.label, position=position)
                yield Row(what, fixed(acceptance, 2), traces.kind, acceptance, source=trace.source)
            what = labels.trace_rate.format(trace=trace.label)
            yield Row(what, fixed(trace.engine_rate, 3), traces.kind, trace.engine_rate, source=trace.source)
            result = predictions(trace)
            for template, value, formula in (
                (labels.trace_expected, result.expected, "engine_rate"),
                (labels.trace_from_first, result.from_first, "expected_tokens"),
                (labels.trace_from_rate, result.from_rate, "expected_tokens"),
            ):
                yield Row(template.format(trace=trace.label), fixed(value, 2), "computed", value, formula=formula)


def _measured(lesson: Lesson, labels: NumbersLabels, records: Records) -> Iterator[Row]:
    for found in measured_numbers(lesson, records):
        what = labels.measured.format(what=found.what, where=device_name(found.record.device, lesson.measured))
        yield Row(what, found.text, found.kind, found.value, record=records.file_of(found.record))


def _computed(
    lesson: Lesson, labels: NumbersLabels, name: str, settings: dict[str, Value], show_settings: bool = True
) -> Row:
    """A result of the model, named with the settings that are not the defaults."""
    result = number(lesson, name, settings)
    what = getattr(labels.readouts, name)
    if settings and show_settings:
        what = labels.at.format(
            what=what,
            settings=", ".join(
                f"{_symbol(lesson, key)} = {_setting(lesson, key, value)}" for key, value in settings.items()
            ),
        )
    formula = name
    if name == "expected_tokens" and not round_at(lesson, settings).bonus:
        formula = "expected_without_bonus"
    return Row(what, result.text, result.kind, result.value, formula=formula)


def _parameter_name(lesson: Lesson, name: str) -> str:
    parameter = getattr(lesson.parameters, name)
    return parameter.label if parameter.symbol is None else f"{parameter.label} {parameter.symbol}"


def _setting(lesson: Lesson, name: str, value: Value) -> str:
    """A setting as it was given: 0.333 is not the 0.33 that a slider would show."""
    if name == "acceptance" and isinstance(value, float):
        return fixed(value, max(2, len(repr(value).partition(".")[2])))
    return format_number(name, value, lesson.labels.none)


def _symbol(lesson: Lesson, name: str) -> str:
    parameter = getattr(lesson.parameters, name)
    return parameter.symbol or parameter.label


def _changed(lesson: Lesson, settings: dict[str, Value]) -> dict[str, Value]:
    """The settings that differ from the lesson's defaults."""
    return {name: value for name, value in settings.items() if value != getattr(lesson.parameters, name).default}


def _given(settings: Settings) -> dict[str, Value]:
    """The settings that are given, in the parameters' order."""
    given = settings.model_dump(exclude_none=True)
    return {name: given[name] for name in ROUND_PARAMETERS if name in given}

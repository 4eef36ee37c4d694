"""What lesson.yaml may say: one typed class for each thing that an author writes.

The classes check types, ranges and shapes. What needs two places at once (an id
that is cited elsewhere, an answer that must be one of the options) is in
`checks.py`. Units stand in the field names: `target_ms`, `bandwidth_tbps`.
The blocks that show measurements are in `measured.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field, StringConstraints

from build_scripts.spec.measured import (
    MeasuredAcceptance,
    MeasuredBatch,
    MeasuredCard,
    MeasuredCost,
    MeasuredLossless,
    MeasuredPeers,
    MeasuredPrediction,
    MeasuredPresets,
    MeasuredRecords,
    MeasuredSpeedup,
    MeasuredTraining,
    MeasuredWords,
)
from build_scripts.spec.race import Race
from build_scripts.spec.replay import Replay
from build_scripts.spec.types import (
    LATEX as LATEX,
    RICH as RICH,
    SOURCE as SOURCE,
    TEMPLATE as TEMPLATE,
    TERM as TERM,
    URL as URL,
    Id,
    Kind,
    Latex,
    Marker as Marker,
    Names,
    NonNegative,
    ParameterName as ParameterName,
    PlainText,
    Positive,
    Probability,
    Readout,
    RichText,
    Role,
    SourceId,
    Strict,
    Template,
    TermId,
    Url,
)

# --- the lesson's identity -------------------------------------------------------------


class Neighbour(Strict):
    """The lesson before or after this one; without a URL it is shown as plain text."""

    title: PlainText
    url: Url | None = None


class Video(Strict):
    title: PlainText
    url: Url


class Term(Strict):
    id: Id
    term: PlainText
    definition: RichText
    role: Role | None = None


class Source(Strict):
    """A primary source. `label` is what a citation in the text shows."""

    id: Id
    label: PlainText
    title: PlainText
    authors: PlainText | None = None
    year: int | None = Field(default=None, ge=1900, le=2100)
    url: Url
    note: RichText | None = None


# --- parameters: what the reader can set, shared by every view of the page -------------


class Parameter(Strict):
    """One slider or switch. `key` is its name in the page's address."""

    key: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*$")]
    label: PlainText
    symbol: PlainText | None = None
    unit: PlainText | None = None
    help: RichText
    kind: Kind


class ProbabilityParameter(Parameter):
    default: Probability
    min: Probability
    max: Probability
    step: Positive


class CountParameter(Parameter):
    default: int = Field(ge=0, le=32)
    min: int = Field(ge=0, le=32)
    max: int = Field(ge=0, le=32)
    step: int = Field(default=1, ge=1)


class PositiveParameter(Parameter):
    unit: PlainText
    default: Positive
    min: Positive
    max: Positive
    step: Positive


class NonNegativeParameter(Parameter):
    unit: PlainText
    default: NonNegative
    min: NonNegative
    max: NonNegative
    step: Positive


class SwitchParameter(Parameter):
    default: bool


class Parameters(Strict):
    acceptance: ProbabilityParameter
    draft_tokens: CountParameter
    target_ms: PositiveParameter
    draft_ms: NonNegativeParameter
    bonus: SwitchParameter
    slo_ttft_ms: PositiveParameter
    slo_itl_ms: PositiveParameter
    slo_throughput_tps: PositiveParameter


class Settings(Strict):
    """Values for some of the model's parameters; those left out keep their defaults."""

    acceptance: Probability | None = None
    draft_tokens: int | None = Field(default=None, ge=0, le=32)
    target_ms: Positive | None = None
    draft_ms: NonNegative | None = None
    bonus: bool | None = None


class ComputedNumber(Strict):
    """A number that the model computes, never one that somebody typed."""

    readout: Readout
    at: Settings = Settings()


# --- blocks: a part of a page is a list of them, in reading order ----------------------


class Prose(Strict):
    view: Literal["prose"]
    text: RichText


class Terms(Strict):
    """A closed box of definitions, for readers who need them here."""

    view: Literal["terms"]
    summary: PlainText
    terms: list[TermId] = Field(min_length=1)


class Note(Strict):
    view: Literal["note"]
    title: PlainText
    text: RichText


class Hardware(Strict):
    """What a model's weights are read with; every figure from the cited source."""

    name: PlainText
    devices: int = Field(ge=1)
    bandwidth_tbps: Positive
    peak_tflops: Positive
    source: SourceId


class Weights(Strict):
    name: PlainText
    weights_billion: Positive
    bytes_per_weight: Positive
    source: SourceId


class BaselineStrip(Strict):
    """Plain decoding on a time axis, and what one pass is made of."""

    view: Literal["baseline-strip"]
    id: Id
    title: PlainText
    words: list[PlainText] = Field(min_length=2, max_length=8)
    pass_label: Annotated[Template, Names("ms")]
    caption: RichText
    weights: Weights
    hardware: Hardware
    cost_title: PlainText
    read_label: PlainText
    arithmetic_label: PlainText
    read_formula: Annotated[Template, Names("weights_billion", "bytes_per_weight", "devices", "bandwidth_tbps", "ms")]
    arithmetic_formula: Annotated[Template, Names("weights_billion", "devices", "peak_tflops", "ms")]
    cost_caption: Annotated[Template, Names("read_ms", "arithmetic_ms", "ratio", "target_ms")]


StepShow = Literal["context", "draft", "waiting", "triangle", "target", "verdict", "commit"]
"""What a step of the diagram makes visible; each step adds to the ones before it or replaces them."""


SAYS = Names(
    "prompt", "drafted", "k", "draft_ms", "rows", "target", "accepted", "rejected", "word",
    "committed", "words", "ms", "plain_ms",
)  # fmt: skip
"""What a step's sentence may use: the round's words, counts and times."""


class Step(Strict):
    id: Id
    title: PlainText
    text: RichText
    shows: list[StepShow] = Field(min_length=1)
    clock: Literal["start", "drafted", "verified"]
    """Where the round's clock stands once the step is done."""
    says: Annotated[Template, SAYS]
    """The step in one sentence, for the live region; a miss when there is one."""
    says_all: Annotated[Template, SAYS] | None = None
    """The same when every draft is accepted and no bonus is committed."""
    says_bonus: Annotated[Template, SAYS] | None = None
    """The same when every draft is accepted and the bonus is committed."""


class StepDiagramLabels(Strict):
    context: PlainText
    draft: PlainText
    target: PlainText
    committed: PlainText
    waiting: PlainText
    nothing_drafted: PlainText
    not_committed: PlainText
    not_examined: PlainText
    accepted: PlainText
    rejected: PlainText
    recovered: PlainText
    bonus: PlainText
    flip: Annotated[Template, Names("word")]
    flip_title: PlainText
    flip_hint: PlainText
    draft_count: PlainText
    bonus_switch: PlainText
    triangle_caption: Annotated[Template, Names("rows")]
    triangle_caption_one: PlainText
    row_head: PlainText
    may_see: PlainText
    may_not_see: PlainText
    lanes_title: PlainText
    plain_lane: PlainText
    speculative_lane: PlainText
    passes: PlainText
    words: PlainText
    milliseconds: PlainText
    lanes_says: Annotated[Template, Names("words", "ms", "plain_ms", "plain_words")]
    round_ahead: Annotated[Template, Names("committed", "ms", "plain_ms", "speedup")]
    """What the round will give, before the target has looked."""
    round_says: Annotated[Template, Names("committed", "ms", "plain_ms", "speedup")]
    average_says: Annotated[Template, Names("acceptance", "expected", "speedup")]
    lucky: PlainText
    usual: PlainText
    unlucky: PlainText
    steps_title: PlainText
    count_one: Annotated[Template, Names("n")]
    count_many: Annotated[Template, Names("n")]


class StepDiagram(Strict):
    """One round of speculative decoding over a handful of words, step by step."""

    view: Literal["step-diagram"]
    id: Id
    title: PlainText
    disclaimer: RichText
    prompt: list[PlainText] = Field(min_length=1, max_length=6)
    drafted: list[PlainText] = Field(min_length=1, max_length=5)
    target: list[PlainText]
    """The target's own word at each position, one a draft and one more for the bonus."""
    alternatives: list[PlainText]
    """What the target says at a position when the reader flips its verdict; one a draft."""
    draft_role: RichText
    target_role: RichText
    ready: Annotated[Template, Names("prompt")]
    """The state before anything is drafted, for the live region."""
    steps: list[Step] = Field(min_length=2)
    labels: StepDiagramLabels
    caption: RichText


ChartName = Literal[
    "expected-over-acceptance", "speedup-over-acceptance", "speedup-over-draft-tokens"
]


class ChartWords(Strict):
    """The words in one chart. The labels also make the chart's description in words."""

    chart: ChartName
    title: PlainText
    x_title: PlainText
    y_title: PlainText
    without_label: PlainText
    """On the line without the bonus."""
    with_label: PlainText
    """On the line with the bonus."""
    point_label: Annotated[Template, Names("acceptance", "k", "expected", "speedup")]
    """At the reader's point."""
    reference_label: PlainText | None = None
    """On the line of plain decoding."""
    mark_label: Annotated[Template, Names("break_even", "k", "speedup")] | None = None
    """Where the speedup breaks even, or at the best k."""
    mark_beyond_label: Annotated[Template, Names("k", "speedup")] | None = None
    """The same where the best k is off the chart; `mark_label` stands in for it."""


class Preset(Strict):
    id: Id
    label: PlainText
    settings: Settings
    kind: Kind
    text: RichText
    source: SourceId | None = None


class CalculatorLabels(Strict):
    expected_tokens: PlainText
    tpot_ms: PlainText
    tpot_note: PlainText
    throughput_tps: PlainText
    speedup: PlainText
    burst: Annotated[Template, Names("ms", "words")]
    baseline: Annotated[Template, Names("value")]
    net_win: PlainText
    break_even: PlainText
    net_loss: PlainText
    passes: PlainText
    fails: PlainText
    by: Annotated[Template, Names("margin", "side")]
    below: PlainText
    above: PlainText
    exactly: PlainText
    ttft: PlainText
    itl: PlainText
    itl_note: Annotated[Template, Names("gap")]
    throughput: PlainText
    targets_title: PlainText
    round_sum: Annotated[Template, Names("target", "k", "draft", "round")]
    polynomial_title: PlainText
    polynomial_first: PlainText
    polynomial_term: Annotated[Template, Names("n")]
    other_on: RichText
    other_off: RichText
    best_k: Annotated[Template, Names("k", "speedup")]
    best_k_none: PlainText
    """Where plain decoding is best."""
    best_k_most: Annotated[Template, Names("k", "speedup")]
    """Where the best is the largest k that is searched."""
    break_even_at: Annotated[Template, Names("h")]
    break_even_never: PlainText
    operations: Annotated[Template, Names("factor")]
    presets: PlainText
    reset: PlainText
    copy_link: PlainText
    copied: PlainText
    copy_failed: PlainText
    summary: Annotated[Template, Names("verdict", "speedup", "expected", "tpot")]


class Calculator(Strict):
    """Sliders, readouts, targets and curves of the analytic model."""

    view: Literal["calculator"]
    id: Id
    title: PlainText
    ttft_ms: Positive
    ttft_kind: Kind
    assumptions_title: PlainText
    assumptions: list[RichText] = Field(min_length=1)
    presets: list[Preset]
    measured_presets: MeasuredPresets | None = None
    charts: list[ChartWords] = Field(min_length=1)
    labels: CalculatorLabels
    caption: RichText
    caption_never: RichText
    """The caption where no acceptance breaks even."""
    caption_off: RichText
    """What follows either caption while the bonus is off."""
    caption_on: RichText
    """The same while it is on."""


class Card(Strict):
    label: PlainText
    direction: PlainText
    sign: Literal["down", "up", "same"]
    text: RichText
    number: ComputedNumber | None = None
    number_label: PlainText | None = None
    evidence: PlainText | None = None
    """What proves it where no single number does."""


class Cards(Strict):
    view: Literal["cards"]
    cards: list[Card] = Field(min_length=1)


class Reading(Strict):
    """One pair of bars of a published figure, in seconds, as read off it."""

    request_rate_qps: Positive
    speculative_s: Positive
    plain_s: Positive
    uncertainty_s: NonNegative


class Panel(Strict):
    id: Id
    title: PlainText
    dataset: PlainText
    draft: PlainText
    readings: list[Reading] = Field(min_length=1)


class Headline(Strict):
    """A factor in the source's own words; below, whether it is a gain or a loss."""

    factor: Positive
    outcome: Literal["faster", "slower"]
    request_rate_qps: Positive
    panel: Id
    text: RichText


class Fact(Strict):
    label: PlainText
    text: RichText


class OutcomeLabels(Strict):
    """What a bar says in a word; equal: its interval reaches into the band around 1."""

    faster: PlainText
    equal: PlainText
    slower: PlainText


class PublishedBenchmark(Strict):
    """Published latencies, shown as ratios: bars above 1 are wins, bars below are losses."""

    view: Literal["published-benchmark"]
    id: Id
    title: PlainText
    subtitle: PlainText
    source: SourceId
    kind: Literal["published"]
    facts: list[Fact] = Field(min_length=1)
    panels: list[Panel] = Field(min_length=1)
    headlines: list[Headline]
    headlines_title: PlainText
    x_title: PlainText
    y_title: PlainText
    equal_label: PlainText
    """On the line where both take as long."""
    outcomes: OutcomeLabels
    column_titles: list[PlainText] = Field(min_length=7, max_length=7)
    table_title: PlainText
    caption: Annotated[Template, Names(
        "bars", "wins", "equals", "losses",
        "best", "best_dataset", "best_qps", "worst", "worst_dataset", "worst_qps",
    )]  # fmt: skip
    reading_note: RichText
    shows: RichText
    shows_not: RichText
    compare_note: RichText
    link_label: PlainText


class PublishedResult(Strict):
    target: PlainText
    draft: PlainText
    setup: PlainText
    draft_tokens: PlainText | None = None
    result: PlainText
    speedup: Positive | None = None
    """The factor that the row is sorted and marked by; below 1 it is a loss."""
    loss: bool = False
    """A loss whose factor the source does not give."""
    source: SourceId


class PublishedResults(Strict):
    view: Literal["published-results"]
    id: Id
    title: PlainText
    kind: Literal["published"]
    intro: RichText
    column_titles: list[PlainText] = Field(min_length=6, max_length=6)
    loss_label: PlainText
    """Marks a row whose factor is below 1."""
    results: list[PublishedResult] = Field(min_length=1)
    caption: Annotated[Template, Names("rows", "losses")]


# --- the quiz --------------------------------------------------------------------------


class Option(Strict):
    text: RichText
    feedback: RichText
    """For a wrong option: the misconception behind it and what is right."""


class QuestionBase(Strict):
    id: Id
    prompt: RichText
    explanation: RichText
    kind: Kind | None = None
    """Where the numbers in the question come from, if it has any."""
    source: SourceId | None = None
    open: Settings | None = None
    """Settings of the calculator that show the answer."""


class SingleChoice(QuestionBase):
    type: Literal["single"]
    options: list[Option] = Field(min_length=2)
    answer: int


class MultipleChoice(QuestionBase):
    type: Literal["multiple"]
    options: list[Option] = Field(min_length=2)
    answers: list[int] = Field(min_length=1)


class Slip(Strict):
    """A wrong number that a known misconception leads to; typed, or computed by the model."""

    value: float | None = None
    number: ComputedNumber | None = None
    feedback: RichText


class Numeric(QuestionBase):
    type: Literal["numeric"]
    number: ComputedNumber
    tolerance: Positive
    """How far an answer may be from the computed value, in the number's own unit."""
    unit: PlainText | None = None
    slips: list[Slip]
    otherwise: RichText
    """Feedback for a wrong number that no slip explains."""


Question = Annotated[Union[SingleChoice, MultipleChoice, Numeric], Field(discriminator="type")]


class QuizLabels(Strict):
    check: PlainText
    retry: PlainText
    reset: PlainText
    cleared: PlainText
    right: PlainText
    wrong: PlainText
    partly: Annotated[Template, Names("hits", "misses")]
    missing: PlainText
    choose_first: PlainText
    choose_one: PlainText
    choose_all: PlainText
    field: PlainText
    within: Annotated[Template, Names("tolerance")]
    enter_number: PlainText
    not_a_number: PlainText
    progress: Annotated[Template, Names("n", "total")]
    score: Annotated[Template, Names("right", "answered", "total")]
    saved: PlainText
    question: Annotated[Template, Names("n", "total")]
    link: Annotated[Template, Names("n")]
    copied: PlainText
    answer: PlainText
    see_it: PlainText
    source: PlainText


class Quiz(Strict):
    view: Literal["quiz"]
    id: Id
    intro: RichText
    labels: QuizLabels
    questions: list[Question] = Field(min_length=1)


class Summary(Strict):
    """The lesson in one sentence (the lesson's own `summary`), and where to go next."""

    view: Literal["summary"]
    title: PlainText
    text: RichText
    next_label: PlainText


# --- the method page -------------------------------------------------------------------


class FormulaStep(Strict):
    text: RichText
    latex: Latex | None = None


class FormulaLabels(Strict):
    """The words around every formula."""

    steps: PlainText
    example: PlainText
    assumes: PlainText
    fails: PlainText
    sources: PlainText


class Formula(Strict):
    view: Literal["formula"]
    id: Id
    title: PlainText
    latex: Latex
    text: RichText
    steps: list[FormulaStep]
    example: RichText | None = None
    pass_example: (
        Annotated[
            Template,
            Names(
                "model", "weights_billion", "bytes_per_weight", "hardware", "devices", "bandwidth_tbps",
                "peak_tflops", "read_ms", "arithmetic_ms", "ratio", "rows", "batch", "target_ms",
            ),
        ]
        | None
    ) = None  # fmt: skip
    """An example with the model and the hardware of the lesson's baseline strip."""
    assumes: list[RichText]
    fails: RichText | None = None
    sources: list[SourceId]


class AcceptanceTrace(Strict):
    """How often each drafted position was accepted once it was reached, in a published run."""

    label: PlainText
    acceptances: list[Probability] = Field(min_length=1, max_length=32)
    engine_rate: Probability
    """Accepted over all drafted: what an engine's log calls the draft acceptance rate."""
    source: SourceId


class AcceptanceTraces(Strict):
    """Published acceptance by position, and what one number for all of it would predict."""

    view: Literal["acceptance-traces"]
    id: Id
    title: PlainText
    kind: Literal["published"]
    traces: list[AcceptanceTrace] = Field(min_length=1)
    column_titles: list[PlainText] = Field(min_length=6, max_length=6)
    caption: Annotated[Template, Names("worst", "expected", "from_first", "from_rate")]


class Glossary(Strict):
    view: Literal["glossary"]


class Sources(Strict):
    view: Literal["sources"]


class ReadoutNames(Strict):
    """A name for each of the model's results."""

    expected_tokens: PlainText
    round_ms: PlainText
    tpot_ms: PlainText
    throughput_tps: PlainText
    speedup: PlainText
    verdict: PlainText
    best_draft_tokens: PlainText
    break_even_acceptance: PlainText
    operations_factor: PlainText
    burst_gap_ms: PlainText


class NumberGroups(Strict):
    """Headings of the groups of the numbers table, in its order."""

    parameters: PlainText
    without_bonus: PlainText
    with_bonus: PlainText
    elsewhere: PlainText
    presets: PlainText
    quiz: PlainText
    hardware: PlainText
    readings: PlainText
    headlines: PlainText
    results: PlainText
    traces: PlainText
    measured: PlainText


class NumberUnits(Strict):
    billion: PlainText
    bytes: PlainText
    tbps: PlainText
    tflops: PlainText
    ms: PlainText


class NumbersLabels(Strict):
    groups: NumberGroups
    readouts: ReadoutNames
    own: PlainText
    """The source of a number that the lesson assumes."""
    at: Annotated[Template, Names("what", "settings")]
    preset: Annotated[Template, Names("preset", "what")]
    question: Annotated[Template, Names("n", "what")]
    weights: PlainText
    bytes_per_weight: PlainText
    devices: PlainText
    bandwidth: PlainText
    peak: PlainText
    read: PlainText
    arithmetic: PlainText
    units: NumberUnits
    plain_latency: Annotated[Template, Names("panel", "qps")]
    speculative_latency: Annotated[Template, Names("panel", "qps")]
    latency_ratio: Annotated[Template, Names("panel", "qps")]
    headline: Annotated[Template, Names("panel", "qps", "outcome")]
    faster: PlainText
    slower: PlainText
    give_or_take: Annotated[Template, Names("value", "uncertainty")]
    between: Annotated[Template, Names("value", "low", "high")]
    result: Annotated[Template, Names("target", "draft", "setup")]
    trace_position: Annotated[Template, Names("trace", "position")]
    trace_rate: Annotated[Template, Names("trace")]
    trace_expected: Annotated[Template, Names("trace")]
    trace_from_first: Annotated[Template, Names("trace")]
    trace_from_rate: Annotated[Template, Names("trace")]
    measured: Annotated[Template, Names("what", "where")]
    """A measured number: what it is and what it was measured on; its record is its source."""


DerivedNumber = Literal["expected_without_bonus", "pass_parts", "latency_ratio", "engine_rate"]
"""What is computed by a formula of its own, beside the model's results."""


class Numbers(Strict):
    """Every number of the lesson with its kind and its source, as a table."""

    view: Literal["numbers"]
    column_titles: list[PlainText] = Field(min_length=4, max_length=4)
    caption: Annotated[Template, Names("rows", "assumed", "computed", "measured", "published")]
    formulas: dict[Union[Readout, DerivedNumber], Id] = {}
    """The formula of the page that gives a result, for the source column."""
    labels: NumbersLabels


Block = Annotated[
    Union[
        Prose, Terms, Note, BaselineStrip, StepDiagram, Calculator, Cards, PublishedBenchmark,
        PublishedResults, Quiz, Summary, Formula, AcceptanceTraces, Glossary, Sources, Numbers,
        MeasuredCost, MeasuredAcceptance, MeasuredTraining, MeasuredSpeedup, MeasuredPrediction,
        MeasuredBatch, MeasuredLossless, MeasuredPeers, MeasuredRecords, MeasuredCard, Race, Replay,
    ],
    Field(discriminator="view"),
]  # fmt: skip


# --- pages -----------------------------------------------------------------------------


class Part(Strict):
    id: Id
    heading: PlainText
    number: Annotated[str, StringConstraints(pattern=r"^\d\d$")] | None = None
    lead: RichText | None = None
    blocks: list[Block] = Field(min_length=1)


class Page(Strict):
    id: Id
    title: PlainText
    description: PlainText
    opening: list[Block] = []
    """What stands before the first part, under the page's title."""
    parts: list[Part] = Field(min_length=1)

    @property
    def blocks(self) -> list[Block]:
        """All of them, in reading order."""
        return [*self.opening, *(block for part in self.parts for block in part.blocks)]


class Labels(Strict):
    """Words that stand on every page."""

    lesson: PlainText
    part: PlainText
    previous: PlainText
    next: PlainText
    back: PlainText
    forward: PlainText
    play: PlainText
    pause: PlainText
    reset: PlainText
    step_of: Annotated[Template, Names("n", "total")]
    table: PlainText
    kinds: dict[Kind, PlainText]
    kinds_help: dict[Kind, PlainText]
    no_script: PlainText
    script_failed: PlainText
    """Where what makes a figure live could not be fetched."""
    chart_loading: PlainText
    chart_failed: PlainText
    none: PlainText
    source: PlainText
    video: PlainText
    formula: FormulaLabels


class Lesson(Strict):
    course: PlainText
    section: PlainText
    number: int = Field(ge=1)
    title: PlainText
    question: PlainText
    summary: PlainText
    previous: Neighbour | None = None
    next: Neighbour | None = None
    video: Video | None = None
    labels: Labels
    measured: MeasuredWords
    parameters: Parameters
    terms: list[Term]
    pages: list[Page] = Field(min_length=1)
    sources: list[Source]


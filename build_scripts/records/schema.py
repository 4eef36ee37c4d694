"""The format of a record: one JSON file for each experiment that was run on a device.

A record holds every sample beside what was made of them. Loading one checks both, so that a
figure is never drawn from a number that its samples do not give. Units stand in the names.

Letters: k drafted tokens a round; m tokens of a row that a pass reads (k + 1 when it verifies);
B rows in a batch.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

SCHEMA_VERSION = 1

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Name = Annotated[str, StringConstraints(min_length=1)]
Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$")]
LARGEST = 1e15
"""No quantity here comes near it, and no page could show it."""
Finite = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
TraceId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Kind = Literal["chat", "prose", "code", "quoting"]
KindOrMix = Literal["chat", "prose", "code", "quoting", "mix"]
"""mix: all kinds, in turns."""
Dtype = Literal["float32", "bfloat16", "float16"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Statistic(Strict):
    """The median of the samples, and its bootstrap 95 % interval."""

    median: NonNegative
    low: NonNegative
    high: NonNegative
    samples: list[NonNegative] = Field(min_length=1)

    @model_validator(mode="after")
    def _agrees(self) -> Statistic:
        middle = statistics.median(self.samples)
        if not math.isclose(self.median, middle, rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(f"the median of the samples is {middle!r}, not {self.median!r}")
        if not self.low <= self.median <= self.high:
            raise ValueError(f"the interval {self.low!r} to {self.high!r} does not hold {self.median!r}")
        return self


def _above_zero(statistic: Statistic) -> Statistic:
    if not statistic.low > 0 or not min(statistic.samples) > 0:
        raise ValueError("every sample must be above 0")
    return statistic


AboveZero = Annotated[Statistic, AfterValidator(_above_zero)]
"""Of a time, a rate or a quotient of them, which others are divided by."""


class Interval(Strict):
    """A value that is not a median, such as a ratio of sums, and its bootstrap 95 % interval."""

    value: Positive
    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _agrees(self) -> Interval:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"the interval {self.low!r} to {self.high!r} does not hold {self.value!r}")
        return self


class Device(Strict):
    """driver: None on a CPU; memory_gib: of the GPU where there is one, else of the machine."""

    kind: Literal["cpu", "cuda"]
    name: Name
    cores: int = Field(ge=1)
    memory_gib: Positive
    driver: Name | None


class LoadAverage(Strict):
    """Of one minute, when the run began and when it ended."""

    start: NonNegative
    end: NonNegative


class RoundCounts(Strict):
    """`measure.counts.Counts`, which says what each is; the lists go by position."""

    histogram: list[Count] = Field(min_length=1)
    offered: list[Count]
    examined: list[Count]
    accepted: list[Count]
    recovered: Count
    bonus: Count
    empty: Count
    first: Count
    discarded: Count

    @model_validator(mode="after")
    def _adds_up(self) -> RoundCounts:
        k = len(self.histogram) - 1
        if not len(self.offered) == len(self.examined) == len(self.accepted) == k:
            raise ValueError("the lists of counts do not have one length")
        for place in range(k):
            if sum(self.histogram[place + 1 :]) != self.accepted[place]:
                raise ValueError(f"accepted[{place}] is not what the histogram says")
        if self.recovered + self.bonus != sum(self.histogram):
            raise ValueError("recovered and bonus do not add up to the rounds with drafts")
        return self

    @property
    def proposing(self) -> int:
        return sum(self.histogram)

    @property
    def rounds(self) -> int:
        return self.proposing + self.empty

    @property
    def committed(self) -> int:
        return sum((j + 1) * rounds for j, rounds in enumerate(self.histogram)) + self.empty

    @property
    def tokens_per_round(self) -> float:
        """E over all rounds, also those without a draft; NaN without rounds."""
        return self.committed / self.rounds if self.rounds else math.nan

    @property
    def proposing_share(self) -> float:
        return self.proposing / self.rounds if self.rounds else math.nan

    @property
    def acceptance(self) -> list[float | None]:
        """a_1 … a_k, each None where no draft was examined."""
        return [part / whole if whole else None for part, whole in zip(self.accepted, self.examined)]

    @property
    def pooled_acceptance(self) -> float | None:
        """One h for all positions: accepted over examined; None where none was."""
        examined = sum(self.examined)
        return sum(self.accepted) / examined if examined else None


class Record(Strict):
    """What every record says about its run.

    commit: of the code that ran; clean: whether the files were those of the commit;
    drafter_sha256: of the files of weights that drafters read, by drafter;
    discarded_repeats: repeats that were thrown away because something else used the machine;
    kept_under_load: repeats that were kept although something did, since that was asked for;
    seconds: what the run took, over all its sittings; quick: fewer prompts and repeats.
    """

    schema_version: Literal[1]
    quick: bool
    device: Device
    versions: dict[Name, Name]
    kernel: Name
    dtype: Dtype
    threads: int = Field(ge=1)
    commit: Commit
    clean: bool
    date: Moment
    command: Name
    seed: int
    prompts_sha256: Hash | None
    weights_sha256: Hash
    drafter_sha256: dict[Name, Hash] = Field(default_factory=dict)
    load_average: LoadAverage
    discarded_repeats: Count
    kept_under_load: Count = 0
    seconds: NonNegative


# --- 1. what a pass costs ----------------------------------------------------------------------


class Model(Strict):
    """matrix_bytes: of the weights that every pass reads."""

    id: Name
    trained: bool
    layers: int = Field(ge=1)
    width: int = Field(ge=1)
    ffn_width: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    vocabulary: int = Field(ge=1)
    matrix_bytes: int = Field(ge=1)


class PassCost(Strict):
    """One target pass over B rows of m tokens, each after `context` tokens."""

    model: Name
    kernel: Name
    dtype: Dtype
    batch: int = Field(ge=1)
    context: int = Field(ge=0)
    m: int = Field(ge=1)
    ms: AboveZero


class DraftCost(Strict):
    """What drafting takes in one round of k drafts: propose and update. It is k·c times a pass."""

    drafter: Name
    batch: int = Field(ge=1)
    context: int = Field(ge=0)
    k: int = Field(ge=1)
    ms: Statistic


class CurveRecord(Record):
    """read_gbps: the best rate at which this machine was seen reading memory, repeat by repeat;
    pass_gbps: in the same repeats, right after, the weights' bytes over the median time of a pass
    over one token, since a machine's memory may be slower in one minute than in the next;
    peak_gflops: the same for arithmetic in the record's dtype; models: first the one that is decoded
    with."""

    experiment: Literal["curve"]
    read_gbps: AboveZero
    pass_gbps: AboveZero
    peak_gflops: AboveZero
    models: list[Model] = Field(min_length=1)
    passes: list[PassCost] = Field(min_length=1)
    drafts: list[DraftCost]

    @model_validator(mode="after")
    def _known(self) -> CurveRecord:
        if len(self.read_gbps.samples) != len(self.pass_gbps.samples):
            raise ValueError("read_gbps and pass_gbps are not of the same repeats")
        known = {model.id for model in self.models}
        for cost in self.passes:
            if cost.model not in known:
                raise ValueError(f"passes name the model {cost.model}, which models does not hold")
        return self


# --- 2. what is accepted -----------------------------------------------------------------------


class Replayable(Record):
    """replayed: whether which drafts were accepted was not measured in this run but replayed, round by
    round, from the recorded runs of another, as the model's weights were not at hand. Times are
    measured in either case."""

    replayed: bool = False


class PromptCounts(Strict):
    prompt: Name
    counts: RoundCounts


class AcceptanceCell(Strict):
    """One drafter on one kind of text: the counts of every prompt."""

    drafter: Name
    kind: Kind
    temperature: NonNegative
    k: int = Field(ge=1)
    prompts: list[PromptCounts] = Field(min_length=1)


class AcceptanceRecord(Replayable):
    experiment: Literal["acceptance"]
    cells: list[AcceptanceCell] = Field(min_length=1)


# --- 3. what it brings, end to end -------------------------------------------------------------


class TextbookPrediction(Strict):
    """One h for all positions and v = 1: E / (k·c + 1), Leviathan et al., theorem 3.8."""

    acceptance: Share
    cost_ratio: NonNegative
    expected_tokens: Positive
    speedup: Positive


class FullPrediction(Strict):
    """Acceptance by position, the share of rounds that propose, and the measured costs:
    expected_tokens / (draft_cost + verify_cost), both costs in plain passes a round, averaged
    over rounds with and without drafts."""

    expected_tokens: Positive
    draft_cost: NonNegative
    verify_cost: Positive
    speedup: Positive


class Prediction(Strict):
    drafter: Name
    kind: Kind
    k: int = Field(ge=1)
    textbook: TextbookPrediction
    full: FullPrediction


class SpeedupCell(Strict):
    """Speculative against plain decoding of the same prompts, in turns.

    speedup: one sample for each prompt and repeat, plain over speculative; the samples of the
    three statistics go together. pooled_speedup: the same of the sums, which is what a prediction
    from pooled counts predicts. Seconds: by phase, over all samples.
    """

    drafter: Name
    kind: Kind
    k: int = Field(ge=1)
    speedup: AboveZero
    pooled_speedup: Interval
    plain_ms_per_token: AboveZero
    speculative_ms_per_token: AboveZero
    counts: RoundCounts
    plain_seconds: dict[Name, NonNegative]
    speculative_seconds: dict[Name, NonNegative]

    @model_validator(mode="after")
    def _agrees(self) -> SpeedupCell:
        plain, speculative = self.plain_ms_per_token.samples, self.speculative_ms_per_token.samples
        if not len(plain) == len(speculative) == len(self.speedup.samples):
            raise ValueError("the three statistics do not have the same number of samples")
        for ratio, one, other in zip(self.speedup.samples, plain, speculative):
            if not math.isclose(ratio * other, one, rel_tol=1e-9):
                raise ValueError(f"a speedup of {ratio!r} is not {one!r} ms over {other!r} ms")
        if not math.isclose(self.pooled_speedup.value * sum(speculative), sum(plain), rel_tol=1e-9):
            raise ValueError("pooled_speedup is not that of the samples")
        return self


class SpeedupRecord(Replayable):
    """predictions_sha256: of the predictions, written down before the first of the runs that they
    predict; curve_sha256, acceptance_sha256: of the records that they were made from."""

    experiment: Literal["speedup"]
    curve_sha256: Hash
    acceptance_sha256: Hash
    predictions: list[Prediction] = Field(min_length=1)
    predictions_sha256: Hash
    cells: list[SpeedupCell] = Field(min_length=1)

    @model_validator(mode="after")
    def _frozen(self) -> SpeedupRecord:
        if hash_of(self.predictions) != self.predictions_sha256:
            raise ValueError("the predictions are not those that were frozen before the runs")
        predicted = {(entry.drafter, entry.kind, entry.k) for entry in self.predictions}
        for cell in self.cells:
            if (cell.drafter, cell.kind, cell.k) not in predicted:
                raise ValueError(f"{cell.drafter} on {cell.kind} with k = {cell.k} was not predicted")
        return self


# --- 4. what a batch does to it ----------------------------------------------------------------


class BatchCell(Strict):
    """Rounds in which all `batch` rows go on. predicted_speedup: by the curve's costs at this batch
    and the acceptance record; None where they do not tell."""

    drafter: Name
    kind: KindOrMix
    k: int = Field(ge=1)
    batch: int = Field(ge=1)
    plain_tokens_per_s: AboveZero
    speculative_tokens_per_s: AboveZero
    speedup: AboveZero
    counts: RoundCounts
    predicted_speedup: Positive | None


class BatchRecord(Replayable):
    experiment: Literal["batch"]
    curve_sha256: Hash
    acceptance_sha256: Hash
    cells: list[BatchCell] = Field(min_length=1)


# --- proofs ------------------------------------------------------------------------------------


class Difference(Strict):
    """Where a speculative answer first left the plain one; margin: the difference of the two
    largest logits of plain decoding there."""

    prompt: Name
    position: Count
    plain: Count
    speculative: Count
    margin: NonNegative


class LosslessCell(Strict):
    """Greedy decoding of the same prompts, `batch` rows at a time, against plain decoding of each by
    itself: identical + len(differences) = prompts. tokens: the longest answer."""

    drafter: Name
    k: int = Field(ge=1)
    batch: int = Field(ge=1)
    prompts: int = Field(ge=1)
    tokens: int = Field(ge=1)
    identical: Count
    differences: list[Difference]

    @model_validator(mode="after")
    def _adds_up(self) -> LosslessCell:
        if self.identical + len(self.differences) != self.prompts:
            raise ValueError("identical and differences do not add up to the prompts")
        return self


class Flips(Strict):
    """How often the likeliest token changes when the same text is read m tokens at a time instead
    of one; margins: of the flipped positions; ties: positions whose two largest logits are equal."""

    kernel: Name
    dtype: Dtype
    m: int = Field(ge=2)
    positions: int = Field(ge=1)
    ties: Count
    margins: list[NonNegative]


class SampledLaw(Strict):
    """Chi-square of drawn tokens against the target's law, on a toy vocabulary; wrong rules must
    fail. z: (statistic - degrees) / sqrt(2·degrees)."""

    rule: Name
    right: bool
    draws: int = Field(ge=1)
    statistic: NonNegative
    degrees: int = Field(ge=1)
    z: Finite


class LosslessRecord(Record):
    experiment: Literal["lossless"]
    margin_limit: NonNegative
    """A difference is put down to rounding only where the margin is below this."""
    cells: list[LosslessCell] = Field(min_length=1)
    flips: list[Flips]
    sampled: list[SampledLaw]


# --- peers -------------------------------------------------------------------------------------


class PeerRow(Strict):
    """same_tokens: whether every answer was that of our plain decoding; None where the arithmetic
    differs, so that it need not be."""

    engine: Name
    version: Name
    mode: Name
    kind: Kind
    k: int | None
    tokens_per_s: AboveZero
    same_tokens: bool | None
    note: Name | None


class LogitsAgreement(Strict):
    """Our target against transformers, both in fp32."""

    prompts: int = Field(ge=1)
    positions: int = Field(ge=1)
    largest_difference: NonNegative
    same_argmax: bool


class PeersRecord(Record):
    experiment: Literal["peers"]
    rows: list[PeerRow] = Field(min_length=1)
    logits: LogitsAgreement | None


# --- 5. what the traces must add up to ---------------------------------------------------------


class TraceEntry(Strict):
    """One prompt, decoded plainly and with speculation; its trace holds the rounds.

    plain_ms, speculative_ms: all tokens after the first, the drafter's reading of the prompt
    included, one sample a repeat; seconds: by phase, of the run that is in the trace, which is
    the one with the median time. same_tokens: None when drawn at random.
    """

    id: TraceId
    drafter: Name
    kind: Kind
    prompt: Name
    k: int = Field(ge=1)
    temperature: NonNegative
    plain_tokens: int = Field(ge=1)
    speculative_tokens: int = Field(ge=1)
    counts: RoundCounts
    plain_ms: Statistic
    speculative_ms: Statistic
    plain_seconds: dict[Name, NonNegative]
    speculative_seconds: dict[Name, NonNegative]
    same_tokens: bool | None


class TracesRecord(Record):
    experiment: Literal["traces"]
    traces: list[TraceEntry] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> TracesRecord:
        names = [entry.id for entry in self.traces]
        if len(set(names)) != len(names):
            raise ValueError("a trace is here twice")
        return self


AnyRecord = Annotated[
    Union[
        CurveRecord, AcceptanceRecord, SpeedupRecord, BatchRecord, TracesRecord, LosslessRecord, PeersRecord
    ],
    Field(discriminator="experiment"),
]  # fmt: skip


def hash_of(data: Any) -> str:
    """sha256 of JSON data, or of records, in one canonical form."""

    def plain(value: Any) -> Any:
        return value.model_dump() if isinstance(value, BaseModel) else value

    data = [plain(value) for value in data] if isinstance(data, list) else plain(data)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()

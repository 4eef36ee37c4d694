"""The blocks that show measurements, and the words around them. Every number in them comes from a record."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from build_scripts.spec.types import Id, Names, PlainText, RichText, Strict, Template

TextKind = Literal["chat", "prose", "code", "quoting"]
Experiment = Literal["curve", "acceptance", "speedup", "batch", "lossless", "traces", "peers", "head"]


class DrafterName(Strict):
    name: PlainText
    what: PlainText
    """What it is, in a few words."""


class RecordedWords(Strict):
    """What the race and the replay of recorded runs both say."""

    loading: PlainText
    failed: PlainText
    """Where a run could not be fetched, or is not what it should be."""
    speed: PlainText
    speeds: list[PlainText] = Field(min_length=4, max_length=4)
    """Real time, twice, a quarter and a sixteenth of it."""


class MeasuredWords(Strict):
    """What readers call the things that records name, and the lines under every measured figure."""

    drafters: dict[str, DrafterName]
    kinds: dict[TextKind | Literal["mix"], PlainText]
    """mix: all kinds, in turns."""
    kernels: dict[str, PlainText]
    dtypes: dict[str, PlainText]
    experiments: dict[Experiment, PlainText]
    case: Annotated[Template, Names("drafter", "kind", "k", "speedup")]
    """One measured speedup, in a sentence about it."""
    own_engine: PlainText
    """This project's own engine, as the records of peers name it."""
    cpu: Annotated[Template, Names("name", "cores")]
    cuda: Annotated[Template, Names("name")]
    device_line: Annotated[Template, Names("device", "dtype", "kernel", "date", "commit")]
    uncommitted: PlainText
    """Where the files were not those of the commit."""
    quick: PlainText
    kept_under_load: Annotated[Template, Names("n")]
    """Where repeats were kept although something else used the machine."""
    again: PlainText
    """Before the command of the run."""
    record: PlainText
    """The link to the record."""
    none_yet: Annotated[Template, Names("what", "command")]
    cuda_none_yet: RichText
    replayed: PlainText
    """Where a device did not measure acceptance but replayed it."""
    recorded: RecordedWords


class MeasuredBlock(Strict):
    id: Id
    title: PlainText
    intro: RichText


class LineChartWords(Strict):
    title: PlainText
    x_title: PlainText
    y_title: PlainText
    alt: PlainText
    """What the chart shows, before its values, for those who do not see it."""


class Share(Strict):
    """A readout: a part of what the device can do."""

    label: PlainText
    text: Annotated[Template, Names("rate", "limit", "low", "high", "batch", "m")]


class MeasuredCost(MeasuredBlock):
    """What a pass over several tokens costs: by kernel alone, and by batch."""

    view: Literal["measured-cost"]
    tokens: int = Field(ge=2, le=33)
    """The m that the captions speak of: k + 1."""
    kernels: LineChartWords
    batches: LineChartWords
    ideal_label: PlainText
    line_label: Annotated[Template, Names("m", "k")]
    caption: Annotated[Template, Names("k", "m", "kernel", "v", "low", "high", "ms")]
    caption_other: Annotated[Template, Names("m", "kernel", "v")]
    """Added where the check costs more with another kernel: the dearest of them."""
    caption_context: Annotated[Template, Names("m", "context", "ms", "v")]
    """Added where a longer context was measured: the longest."""
    caption_batch: Annotated[Template, Names("k", "m", "batch", "v", "low", "high", "alone")]
    caption_batch_dearer: PlainText
    """Added where that is dearer than for one sequence, beyond both intervals."""
    caption_drafts: Annotated[Template, Names("k", "cases")]
    drafts_case: Annotated[Template, Names("drafter", "c")]
    """What one step of each draft costs, in passes."""
    drafts_title: PlainText
    drafts_titles: list[PlainText] = Field(min_length=2, max_length=2)
    """Draft and batch; the columns of k follow."""
    read: Share
    arithmetic: Share
    line: Annotated[Template, Names("kernel", "model", "context")]
    """One row of the table, where models or contexts differ."""
    random_model: Annotated[Template, Names("model")]
    """A model of which only the shapes are real."""
    table_titles: list[PlainText] = Field(min_length=3, max_length=3)
    """Kernel, batch, and the pass over one token in ms; the columns of m follow."""


class MeasuredAcceptance(MeasuredBlock):
    """Acceptance by position, a chart for each drafter with a panel for each kind of text."""

    view: Literal["measured-acceptance"]
    chart: LineChartWords
    fewest: int = Field(ge=1)
    """A position that was examined less often is not drawn."""
    fewest_note: Annotated[Template, Names("fewest")]
    temperature: Annotated[Template, Names("temperature")]
    panel_note: Annotated[Template, Names("h", "expected")]
    """Under each panel's title, for temperature 0."""
    caption: Annotated[
        Template,
        Names("best_kind", "best_h", "best_expected", "worst_kind", "worst_h", "worst_expected", "share", "rounds"),
    ]  # fmt: skip
    """Of one drafter at temperature 0; `share` of its `rounds` proposed something."""
    caption_hot: Annotated[Template, Names("kind", "k", "h", "hot_h", "temperature")]
    """What drawing at the highest temperature makes of h, with the same k."""
    overall: Annotated[Template, Names("drafter", "kind", "first", "last", "place", "h", "expected", "predicted", "k")]
    """Where one h for all positions errs most: what it predicts for E, and what E was."""
    table_titles: list[PlainText] = Field(min_length=6, max_length=6)
    """Drafter, kind, temperature and k; h; E; share of the rounds that proposed; rounds; prompts. The
    positions follow."""
    case: Annotated[Template, Names("drafter", "kind", "temperature", "k")]
    position_title: Annotated[Template, Names("j")]


class MeasuredTraining(MeasuredBlock):
    """How the trained head learned to foresee its target, on conversations that it was not trained on."""

    view: Literal["measured-training"]
    chart: LineChartWords
    place: Annotated[Template, Names("j")]
    """One line: the j-th token that it foresees."""
    caption: Annotated[
        Template, Names("parameters", "minutes", "tokens", "epochs", "held_out", "first", "last", "place", "reachable")
    ]  # fmt: skip
    """`first` and `last`: top-1 at positions 1 and `place`, of the weights that are shipped."""
    caption_last: Annotated[Template, Names("gain", "epochs")]
    """What the last pass over the text brought at position 1, in percentage points."""
    caption_prompts: Annotated[Template, Names("share", "prompts", "device")]
    """Added where acceptance was measured: of its first drafts on chat prompts that were written by hand."""
    line: Annotated[Template, Names("processor", "threads", "dtype", "date", "commit")]
    table_titles: list[PlainText] = Field(min_length=4, max_length=4)
    """Minutes, tokens seen, epochs, cross-entropy in training; a column for each position follows."""


class MeasuredSpeedup(MeasuredBlock):
    """Speculative against plain decoding, a chart for each drafter with a panel for each kind of text."""

    view: Literal["measured-speedup"]
    chart: LineChartWords
    caption: Annotated[Template, Names("cells", "wins", "equals", "losses", "best", "worst")]
    caption_drafter: Annotated[Template, Names("best", "wins", "equals", "cells")]
    loses: Annotated[Template, Names("losses", "cases")]
    loses_case: Annotated[Template, Names("kind", "ks")]
    loses_none: PlainText
    table_titles: list[PlainText] = Field(min_length=2, max_length=2)
    """Drafter and kind, and the best k; the columns of k follow."""


class MeasuredPrediction(MeasuredBlock):
    view: Literal["measured-prediction"]
    chart: LineChartWords
    textbook: PlainText
    full: PlainText
    panel_note: Annotated[Template, Names("median", "largest")]
    diagonal_label: PlainText
    caption: Annotated[
        Template,
        Names("cells", "full_median", "full_largest", "full_case", "textbook_median", "textbook_largest", "textbook_case"),
    ]  # fmt: skip
    caption_speeds: Annotated[Template, Names("pass_ms", "plain_ms")]
    """Added where the costs of the same device are at hand."""
    caption_other_speed: PlainText
    """Added where the two differ: what that does to the predictions."""
    table_titles: list[PlainText] = Field(min_length=6, max_length=6)
    """The case, measured, by the textbook, its error, by the full formula, its error."""


class MeasuredBatch(MeasuredBlock):
    view: Literal["measured-batch"]
    chart: LineChartWords
    measured_label: PlainText
    predicted_label: PlainText
    equal_label: PlainText
    panel_title: Annotated[Template, Names("drafter", "k")]
    panel_note: Annotated[Template, Names("kind")]
    turns: Annotated[Template, Names("drafter", "kind", "k", "first", "first_batch", "last", "last_batch", "win")]
    """What becomes of a gain; `win` is the last batch that is one."""
    stays: Annotated[Template, Names("drafter", "kind", "k", "first", "first_batch", "last", "last_batch")]
    never: Annotated[Template, Names("drafter", "kind", "k", "first", "first_batch", "last", "last_batch")]
    error: Annotated[Template, Names("median", "cells")]
    """How far the predictions were off."""
    table_titles: list[PlainText] = Field(min_length=7, max_length=7)
    """Drafter and k, kind, batch, plain and speculative tokens a second, measured and predicted speedup."""


class MeasuredLossless(MeasuredBlock):
    view: Literal["measured-lossless"]
    identical: Annotated[Template, Names("identical", "prompts")]
    caption: Annotated[Template, Names("identical", "prompts", "tokens", "differences")]
    margin: Annotated[Template, Names("margin", "limit")]
    """Where answers differ: how close the two likeliest tokens were at the worst place."""
    beyond: Annotated[Template, Names("count", "limit")]
    """Where they differ by more than rounding explains."""
    row_alone: Annotated[Template, Names("drafter")]
    row_together: Annotated[Template, Names("drafter", "batch")]
    """Prompts one after the other, and that many at a time."""
    flips_title: PlainText
    flips_titles: list[PlainText] = Field(min_length=6, max_length=6)
    law_title: PlainText
    law_titles: list[PlainText] = Field(min_length=5, max_length=5)
    rules: dict[str, PlainText]
    """What readers call the rules by which tokens were drawn."""
    right: PlainText
    wrong: PlainText
    drafter_title: PlainText
    length_title: Annotated[Template, Names("k")]
    table_title: PlainText


class MeasuredPeers(MeasuredBlock):
    view: Literal["measured-peers"]
    table_titles: list[PlainText] = Field(min_length=5, max_length=5)
    """Engine, how it decodes, tokens a second, beside our plain decoding, same tokens and notes."""
    mode: Annotated[Template, Names("mode", "k")]
    same: PlainText
    differs: PlainText
    need_not: PlainText
    fastest: Annotated[Template, Names("kind", "engine", "mode", "rate")]
    beside: Annotated[Template, Names("kind", "ours", "theirs", "factor")]
    """Our best over the best of another engine's way to decode, in the same arithmetic."""
    caption: Annotated[Template, Names("same", "compared")]
    logits: Annotated[Template, Names("prompts", "positions", "difference")]
    logits_differ: Annotated[Template, Names("prompts", "positions", "difference")]
    other_arithmetic: Annotated[Template, Names("engine", "note", "kind", "factor")]
    """An engine that decodes plainly in another arithmetic, faster than this project does."""


class MeasuredRecords(MeasuredBlock):
    """Every record: what ran, where, when, from which commit; to be downloaded."""

    view: Literal["measured-records"]
    facts: list[PlainText] = Field(min_length=11, max_length=11)
    """Device, memory, versions, arithmetic, date, commit, command, load, discarded repeats, took, hashes."""
    memory: Annotated[Template, Names("gib")]
    driver: Annotated[Template, Names("driver")]
    load: Annotated[Template, Names("start", "end")]
    minutes: Annotated[Template, Names("minutes")]
    kept: Annotated[Template, Names("n")]
    """Beside the repeats that were thrown away: those that were kept although they were disturbed."""
    prompts_hash: PlainText
    weights_hash: PlainText
    download: PlainText


class MeasuredCard(MeasuredBlock):
    """What this project measured, on the lesson itself, beside what others published."""

    view: Literal["measured-card"]
    case: Annotated[Template, Names("drafter", "kind", "k")]
    case_batch: Annotated[Template, Names("drafter", "kind", "k", "batch")]
    loss_none: PlainText
    prediction: Annotated[Template, Names("median", "textbook", "cells")]
    foreseen: Annotated[Template, Names("decided", "right")]
    """Of the settings, batches among them, that gained or lost beyond their interval: of how many the
    full formula had said which."""
    proof: Annotated[Template, Names("identical", "prompts")]
    other_engine: Annotated[Template, Names("engine", "note", "kind", "factor")]
    """An engine that decodes plainly in another arithmetic, as fast as `factor` of ours."""
    shows: RichText
    shows_not: RichText
    none_yet: RichText
    link_label: PlainText
    page: Id
    """The page with everything behind it."""


class MeasuredPresets(Strict):
    """Presets of the calculator that are made from the records, one for each drafter."""

    title: PlainText
    label: Annotated[Template, Names("drafter")]
    kind: TextKind
    """The kind of text whose runs they take, each with its best k."""
    text: Annotated[
        Template,
        Names(
            "drafter", "kind", "device", "k", "measured", "target_ms", "expected", "share", "h", "draft_cost", "v",
            "draft_ms", "computed",
        ),
    ]  # fmt: skip

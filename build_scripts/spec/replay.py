"""The replay: one recorded run, round by round, with the numbers that decided each token. Every
number in its words comes from a trace."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from build_scripts.spec.types import Id, Names, PlainText, RichText, Strict, Template


class ReplayLabels(Strict):
    drafter: PlainText
    """Heads the column of drafters."""
    runs: PlainText
    open: PlainText
    """Fetches the run that is chosen, and shows its first round."""
    wins: PlainText
    ties: PlainText
    loses: PlainText
    run_k: Annotated[Template, Names("k")]
    run_drawn: Annotated[Template, Names("k", "temperature")]
    rounds: PlainText
    """Names the strip of rounds."""
    round_tokens: Annotated[Template, Names("n", "tokens")]
    """One round of the strip; `tokens` is `count_one` or `count_many`."""
    round_of: Annotated[Template, Names("n", "total")]
    accepted_key: PlainText
    own_key: PlainText
    next_rejection: PlainText
    clock: PlainText
    clock_at: Annotated[Template, Names("ms", "total")]
    context: PlainText
    drafted: PlainText
    nothing_drafted: PlainText
    drafting: PlainText
    reading: PlainText
    committed: PlainText
    not_committed: PlainText
    accepted: PlainText
    rejected: PlainText
    unexamined: PlainText
    recovered: PlainText
    bonus: PlainText
    plain: PlainText
    p: PlainText
    q: PlainText
    ratio: PlainText
    draw: PlainText
    no_draw: PlainText
    """Where nothing was drawn: greedy, or a draft that nobody looked at."""
    likeliest: PlainText
    """Before the token that the target finds likeliest at a drafted position."""
    position: Annotated[Template, Names("n")]
    draft_law: PlainText
    target_law: PlainText
    residual: PlainText
    others: PlainText
    no_law: PlainText
    greedy_laws: PlainText
    """Why greedy runs show probabilities at all."""
    plain_lane: PlainText
    speculative_lane: PlainText
    passes: PlainText
    tokens: PlainText
    milliseconds: PlainText
    rate: PlainText
    count_one: Annotated[Template, Names("n")]
    count_many: Annotated[Template, Names("n")]
    answer: PlainText
    prompt: PlainText
    table: PlainText


class ReplaySays(Strict):
    """One sentence for each round, by how it went."""

    start: Annotated[Template, Names("token")]
    missed: Annotated[
        Template, Names("n", "k", "drafted", "accepted", "rejected", "token", "tokens", "ms", "plain_ms")
    ]  # fmt: skip
    all: Annotated[Template, Names("n", "k", "drafted", "token", "tokens", "ms", "plain_ms")]
    plain: Annotated[Template, Names("n", "token", "ms", "plain_ms")]


class ReplayWhys(Strict):
    """Why one token is there or is not."""

    sure: Annotated[Template, Names("token", "p", "q")]
    """Kept whatever the draw: p is at least q."""
    kept: Annotated[Template, Names("token", "p", "q", "ratio", "u")]
    missed: Annotated[Template, Names("token", "p", "q", "ratio", "u")]
    greedy_kept: Annotated[Template, Names("token")]
    greedy_missed: Annotated[Template, Names("token", "other")]
    unexamined: Annotated[Template, Names("token")]
    recovered: Annotated[Template, Names("token")]
    greedy_recovered: Annotated[Template, Names("token")]
    bonus: Annotated[Template, Names("token")]
    plain: Annotated[Template, Names("token")]


class ReplayYields(Strict):
    """E, the mean number of tokens a round, as it was and as the formula has it."""

    measured: PlainText
    measured_text: Annotated[Template, Names("committed", "rounds")]
    predicted: PlainText
    predicted_text: Annotated[Template, Names("h", "accepted", "examined", "offered")]
    predicted_none: PlainText
    """Where no draft was looked at, so that there is no h."""


class Replay(Strict):
    view: Literal["replay"]
    id: Id
    title: PlainText
    intro: RichText
    result: Annotated[
        Template, Names("drafter", "kind", "k", "temperature", "tokens", "rounds", "ms", "plain_ms", "factor", "verdict")
    ]  # fmt: skip
    """How the run ended; `verdict` is `wins`, `ties` or `loses`."""
    same: Annotated[Template, Names("tokens")]
    differ: PlainText
    drawn: Annotated[Template, Names("temperature")]
    says: ReplaySays
    whys: ReplayWhys
    yields: ReplayYields
    labels: ReplayLabels
    table_titles: list[PlainText] = Field(min_length=6, max_length=6)
    """Round, drafted, kept, the target's token, tokens, milliseconds."""
    caption: RichText

"""The race: plain decoding and speculation on one prompt, at the rhythm that was recorded. Every
number in its words comes from a trace."""

from __future__ import annotations

from typing import Annotated, Literal

from build_scripts.spec.types import Id, Names, PlainText, RichText, Strict, Template

RESULT = Names("drafter", "plain_ms", "speculative_ms", "tokens", "plain_tokens", "speculative_tokens", "factor")
"""What the sentence of a finished race may use; `tokens` where both wrote as many."""


class RaceResults(Strict):
    """Who finished first and by what factor, one sentence for each way that it can end."""

    wins: Annotated[Template, RESULT]
    ties: Annotated[Template, RESULT]
    loses: Annotated[Template, RESULT]
    drawn_wins: Annotated[Template, RESULT]
    """Where tokens are drawn at random: the texts may have different lengths."""
    drawn_ties: Annotated[Template, RESULT]
    drawn_loses: Annotated[Template, RESULT]


class RaceChecks(Strict):
    """Whether both texts are the same, which they must be when greedy."""

    built: Annotated[Template, Names("tokens")]
    """What the build found, before the reader's browser has looked."""
    same: Annotated[Template, Names("tokens")]
    differ: Annotated[Template, Names("n", "tokens")]
    """`n`: the first token that is not the same."""
    drawn: PlainText


class RaceLabels(Strict):
    drafter: PlainText
    """Heads the column of drafters."""
    runs: PlainText
    """Names the table of runs."""
    wins: PlainText
    ties: PlainText
    loses: PlainText
    run_k: Annotated[Template, Names("k")]
    more: Annotated[Template, Names("runs", "wins", "ties", "losses")]
    """Opens the runs at another k, and those at T = 1."""
    setting: Annotated[Template, Names("drafter", "kind", "k")]
    setting_drawn: Annotated[Template, Names("drafter", "kind", "k", "temperature")]
    prompt: PlainText
    plain_lane: PlainText
    plain_pace: PlainText
    speculative_lane: Annotated[Template, Names("drafter", "k")]
    speculative_pace: Annotated[Template, Names("most")]
    ms: Annotated[Template, Names("ms")]
    tokens: Annotated[Template, Names("n", "total")]
    rate: Annotated[Template, Names("rate")]
    first: PlainText
    """Beside the lane that finished first."""
    start: PlainText
    again: PlainText
    step: PlainText
    """The button that goes on to the next token or burst."""
    clock: PlainText
    """Names the slider of time."""
    clock_at: Annotated[Template, Names("ms", "plain", "speculative")]
    """Where the slider stands, for those who do not see it."""
    accepted: PlainText
    target: PlainText
    """The target's own token, in the key beside the texts."""
    started: Annotated[Template, Names("drafter")]
    ready: PlainText
    """Loaded and paused, for readers who asked for less motion."""
    leads: Annotated[Template, Names("lane", "ms", "other")]
    """One lane is done, and the other is not."""
    replay: PlainText
    """The link to the same run, round by round."""
    key: PlainText
    """What the letters in the table stand for."""


class Race(Strict):
    """Two lanes on one clock. Without recorded runs nothing stands in its place."""

    view: Literal["race"]
    id: Id
    title: PlainText
    intro: RichText
    results: RaceResults
    checks: RaceChecks
    labels: RaceLabels
    caption: Annotated[Template, Names("runs", "wins", "ties", "losses", "best", "worst")]

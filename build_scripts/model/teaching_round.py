"""One round over a handful of words, as the stepped diagram plays it.

The rule is the greedy one of Leviathan et al. (arXiv 2211.17192): drafts are compared with
the target's own words from left to right; the first that differs ends the round and the
target's word takes its place. `docs/assets/lesson/views/step_diagram.js` mirrors it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accepted", "rejected", "unexamined"]
Commit = Literal["accepted", "recovered", "bonus"]


@dataclass(frozen=True)
class PlayedRound:
    """`outcomes`: one for each draft. `committed`: words in order, each with how it got there."""

    outcomes: tuple[Outcome, ...]
    committed: tuple[tuple[str, Commit], ...]

    @property
    def accepted(self) -> int:
        return self.outcomes.count("accepted")


def play_round(drafted: Sequence[str], target: Sequence[str], bonus: bool) -> PlayedRound:
    """The round in which the draft says `drafted` and the target `target`.

    `target` holds the target's word at each drafted position and at the one after them, each
    given the drafts to its left. ValueError when it holds fewer.
    """
    k = len(drafted)
    if len(target) < k + 1:
        raise ValueError(f"{k} drafts need {k + 1} target words, not {len(target)}")
    accepted = 0
    while accepted < k and drafted[accepted] == target[accepted]:
        accepted += 1
    outcomes: list[Outcome] = ["accepted"] * accepted
    committed: list[tuple[str, Commit]] = [(word, "accepted") for word in drafted[:accepted]]
    if accepted < k:
        outcomes += ["rejected"] + ["unexamined"] * (k - accepted - 1)
        committed.append((target[accepted], "recovered"))
    elif bonus:
        committed.append((target[k], "bonus"))
    return PlayedRound(tuple(outcomes), tuple(committed))

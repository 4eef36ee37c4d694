"""What speculative decoding is judged by: counts of one request, to be pooled by adding them.

Averaging ratios over requests would weigh a short answer like a long one; so ratios are only
taken of sums. All counts are of what the rule decided: tokens that an end inside the block
threw away are among them, and `discarded` says how many they were.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counts:
    """Rounds of up to k drafts; all lists go by position, the first draft first.

    histogram[j]: rounds that had drafts, and accepted exactly j of them (k + 1 entries);
    offered[j], examined[j], accepted[j]: rounds that drafted position j; that looked at it,
    all before it having been accepted; that accepted it (k entries each);
    recovered, bonus: rounds with drafts that ended with the target's replacement, or with its
    extra token; empty: rounds in which the drafter proposed nothing, which are plain passes;
    first: tokens that came from the pass over the prompt; discarded: see above.
    """

    histogram: list[int]
    offered: list[int]
    examined: list[int]
    accepted: list[int]
    recovered: int = 0
    bonus: int = 0
    empty: int = 0
    first: int = 0
    discarded: int = 0

    @classmethod
    def zero(cls, k: int) -> Counts:
        """No rounds yet, of up to k drafts; k = 0 for plain decoding."""
        return cls([0] * (k + 1), [0] * k, [0] * k, [0] * k)

    def add_round(self, drafted: int, accepted: int) -> None:
        """One round of one row: `accepted` of its `drafted` drafts stood."""
        if drafted == 0:
            self.empty += 1
            return
        self.histogram[accepted] += 1
        for position in range(drafted):
            self.offered[position] += 1
            self.examined[position] += position <= accepted
            self.accepted[position] += position < accepted
        if accepted < drafted:
            self.recovered += 1
        else:
            self.bonus += 1

    def __add__(self, other: Counts) -> Counts:
        """The pool of both. ValueError for counts of another k."""
        if len(self.histogram) != len(other.histogram):
            raise ValueError("counts of different k cannot be pooled")
        pooled = Counts.zero(len(self.offered))
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            both = [a + b for a, b in zip(mine, theirs)] if isinstance(mine, list) else mine + theirs
            setattr(pooled, name, both)
        return pooled

    @property
    def proposing(self) -> int:
        """Rounds that had drafts."""
        return sum(self.histogram)

    @property
    def rounds(self) -> int:
        """Target passes of a row after the one over its prompt."""
        return self.proposing + self.empty

    @property
    def committed(self) -> int:
        """Tokens that rounds committed, those discarded included: each round's accepted drafts
        and one of the target's own."""
        return sum((j + 1) * rounds for j, rounds in enumerate(self.histogram)) + self.empty

    @property
    def tokens(self) -> int:
        """Tokens of the answer."""
        return self.first + self.committed - self.discarded

    def proposing_share(self) -> float:
        """The share of rounds that had drafts; NaN without rounds."""
        return _ratio(self.proposing, self.rounds)

    def tokens_per_round(self) -> float:
        """E, the mean number of tokens committed per target pass; NaN without rounds."""
        return _ratio(self.committed, self.rounds)

    def survival(self) -> list[float]:
        """S_1 … S_k: the share of rounds with drafts that accepted at least j of them."""
        return [_ratio(accepted, self.proposing) for accepted in self.accepted]

    def acceptance(self) -> list[float]:
        """a_1 … a_k: the share accepted of the drafts at position j that were examined.

        NaN where none was. Where a drafter proposes fewer than k, S_j is less than a_1 · … · a_j.
        """
        return [_ratio(*pair) for pair in zip(self.accepted, self.examined)]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")

"""What one round of speculative decoding costs and yields: the lesson's analytic model.

A round: the draft proposes `draft_tokens` tokens one after the other, the target scores
them in one pass, and the run is kept up to the first miss, where the target's own token
takes the place of the rejected one. With the bonus, a run without a miss also commits the
token that the target gives for the next position.

    name here        lesson     Leviathan et al., arXiv 2211.17192
    acceptance       h (a_j)    alpha
    draft_tokens     k          gamma
    expected_tokens  E          E(# generated tokens), Eq. 1
    speedup                     the improvement factor of Thm 3.8
    operations_factor           Thm 3.11

Times are in milliseconds. Assumed, as in the paper: a verifying pass takes as long as a
pass over one token, and acceptances at different positions are independent.

`docs/assets/lesson/model.js` mirrors this file, operation by operation. Only + - * / and
comparisons are used, which IEEE 754 fixes to the last bit, so both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Union

from build_scripts.model.checks import as_count, as_number, as_switch

Acceptance = Union[float, tuple[float, ...]]
"""One h for every position, or one a_j for each position j, the first drafted token first."""

Verdict = Literal["net win", "break-even", "net loss"]

MAX_DRAFT_TOKENS = 1000
SEARCHED_DRAFT_TOKENS = 32
"""`best_draft_tokens` looks no further: at h = 1, or with a free draft, no k is ever the best."""

NET_WIN_FROM = 1.02
NET_LOSS_TO = 0.98

# Beyond these bounds results overflow or divide by nothing; no hardware is near them.
MIN_TARGET_MS = 1e-6
MAX_MS = 1e9
MAX_OPERATIONS_RATIO = MAX_MS / MIN_TARGET_MS

# Eight units in the last place: what is equal on paper may differ by that much in binary.
_ROUNDING = 2.0**-49


@dataclass(frozen=True)
class Round:
    """The inputs of the model. ValueError, in one line, for what is out of range.

    acceptance: probability that a drafted token is accepted once it is examined, in [0, 1];
        or one such probability for each of at least `draft_tokens` positions.
    draft_tokens: tokens drafted a round, 0 (plain decoding) to 1000.
    target_ms: one pass of the target, above 0 (from 1e-6 to 1e9 ms).
    draft_ms: one step of the draft, 0 or more (to 1e9 ms).
    bonus: whether a round without a miss commits the target's extra token.
    operations_ratio: arithmetic of a draft step over that of the target for one token
        (the paper's c-hat); None takes the ratio of the times, draft_ms / target_ms.
    """

    acceptance: Acceptance
    draft_tokens: int
    target_ms: float
    draft_ms: float
    bonus: bool = False
    operations_ratio: float | None = None

    def __post_init__(self) -> None:
        checked = {
            "acceptance": _as_acceptance(self.acceptance),
            "draft_tokens": _as_draft_tokens(self.draft_tokens, self.acceptance),
            "target_ms": as_number("target_ms", self.target_ms, MIN_TARGET_MS, MAX_MS),
            "draft_ms": as_number("draft_ms", self.draft_ms, 0, MAX_MS),
            "bonus": as_switch("bonus", self.bonus),
        }
        if self.operations_ratio is not None:
            checked["operations_ratio"] = as_number(
                "operations_ratio", self.operations_ratio, 0, MAX_OPERATIONS_RATIO
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Outcome:
    """Everything the model says about a round, under the names that the CLI and the page use."""

    expected_tokens: float
    round_ms: float
    tpot_ms: float
    throughput_tps: float
    speedup: float
    verdict: Verdict
    best_draft_tokens: int
    break_even_acceptance: float | None
    operations_factor: float
    burst_gap_ms: float


def evaluate(round_: Round) -> Outcome:
    """All results for one round."""
    factor = speedup(round_)
    return Outcome(
        expected_tokens=expected_tokens(round_.acceptance, round_.draft_tokens, round_.bonus),
        round_ms=round_ms(round_),
        tpot_ms=tpot_ms(round_),
        throughput_tps=throughput_tps(round_),
        speedup=factor,
        verdict=verdict(factor),
        best_draft_tokens=best_draft_tokens(round_),
        break_even_acceptance=break_even_acceptance(round_),
        operations_factor=operations_factor(round_),
        burst_gap_ms=burst_gap_ms(round_),
    )


def survival(acceptances: Sequence[float]) -> tuple[float, ...]:
    """S_1 … S_k: the probability that a round accepts at least j drafts, S_j = a_1 · … · a_j.

    ValueError, in one line, for what is not a probability.
    """
    survivals = []
    running = 1.0
    for a in _as_acceptance(tuple(acceptances)):
        running *= a
        survivals.append(running)
    return tuple(survivals)


def expected_tokens(acceptance: Acceptance, draft_tokens: int, bonus: bool) -> float:
    """E, the mean number of tokens committed per target pass, from 1 to k + 1.

    With the bonus E = 1 + S_1 + … + S_k (for one h: Eq. 1, (1 - h^(k+1)) / (1 - h)), without
    it E = 1 + S_1 + … + S_{k-1}; k = 0 is plain decoding, E = 1 in both.
    ValueError as for `Round`.
    """
    rows = _target_rows(_as_draft_tokens(draft_tokens, acceptance), as_switch("bonus", bonus))
    return 1.0 + _gained(_as_acceptance(acceptance), rows - 1)


def round_ms(round_: Round) -> float:
    """Milliseconds of one round: k draft steps and one target pass."""
    return _round_ms(round_, round_.draft_tokens)


def tpot_ms(round_: Round) -> float:
    """Mean milliseconds per output token: round time over E."""
    return round_ms(round_) / expected_tokens(round_.acceptance, round_.draft_tokens, round_.bonus)


def throughput_tps(round_: Round) -> float:
    """Tokens a second of one sequence."""
    return 1000.0 / tpot_ms(round_)


def burst_gap_ms(round_: Round) -> float:
    """Milliseconds between two deliveries to a client: a whole round, since its tokens come at once."""
    return round_ms(round_)


def speedup(round_: Round) -> float:
    """Throughput over that of plain decoding: E / (1 + k·c), c = draft_ms / target_ms (Thm 3.8).

    The paper's theorem has the bonus; without it only E differs.
    """
    # Divided this way round, a free draft gives exactly E.
    slower = round_ms(round_) / round_.target_ms
    return expected_tokens(round_.acceptance, round_.draft_tokens, round_.bonus) / slower


def verdict(speedup: float) -> Verdict:
    """The speedup in words: a net win from 1.02 up, a net loss from 0.98 down, break-even between."""
    if speedup >= NET_WIN_FROM * (1 - _ROUNDING):
        return "net win"
    if speedup <= NET_LOSS_TO * (1 + _ROUNDING):
        return "net loss"
    return "break-even"


def best_draft_tokens(round_: Round) -> int:
    """The k from 0 to 32 with the largest speedup at these costs; of equals the smallest.

    With per-position acceptances the search ends at the last position that has one.
    `round_.draft_tokens` plays no part.
    """
    # E_k / T_k > E_b / T_b is asked as (E_k - E_b)·T_b > E_b·(T_k - T_b): the gain is summed
    # on its own, since added to E it would drown in rounding long before k = 32.
    limit = SEARCHED_DRAFT_TOKENS
    if isinstance(round_.acceptance, tuple):
        limit = min(limit, len(round_.acceptance))
    best = 0
    best_expected = 1.0
    gain = 0.0
    reached = 1.0
    for k in range(1, limit + 1):
        examined = _target_rows(k, round_.bonus) - 1
        if examined > 0:
            reached *= _acceptance_at(round_.acceptance, examined)
            gain += reached
        extra_ms = (k - best) * round_.draft_ms
        if gain * _round_ms(round_, best) > best_expected * extra_ms * (1 + _ROUNDING):
            best = k
            best_expected += gain
            gain = 0.0
    return best


def break_even_acceptance(round_: Round) -> float | None:
    """The smallest h in [0, 1], the same at every position, at which the speedup reaches 1.

    None where no h reaches it, and for k = 0, where there is nothing to break even with.
    The round's own acceptance plays no part. Bisection down to neighbouring doubles.
    """
    # E / (1 + k·c) >= 1 is asked as (E - 1)·target_ms >= k·draft_ms, which keeps every digit
    # of a small h; neither side falls as h grows, also after rounding.
    examined = _target_rows(round_.draft_tokens, round_.bonus) - 1
    price_ms = round_.draft_tokens * round_.draft_ms

    def saved_ms(h: float) -> float:
        return _gained(h, examined) * round_.target_ms

    if round_.draft_tokens == 0 or saved_ms(1.0) < price_ms * (1 - _ROUNDING):
        return None
    if price_ms == 0:
        return 0.0
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            return high
        if saved_ms(middle) >= price_ms:
            high = middle
        else:
            low = middle


def operations_factor(round_: Round) -> float:
    """Arithmetic per committed token over that of plain decoding (Thm 3.11): (k·c-hat + rows) / E.

    `rows` are the positions that the target scores: k + 1 with the bonus, k without, 1 for k = 0.
    """
    ratio = round_.operations_ratio
    if ratio is None:
        ratio = round_.draft_ms / round_.target_ms
    rows = _target_rows(round_.draft_tokens, round_.bonus)
    work = round_.draft_tokens * ratio + rows
    return work / expected_tokens(round_.acceptance, round_.draft_tokens, round_.bonus)


# --- the parts that the formulas share ---------------------------------------------------


def _target_rows(draft_tokens: int, bonus: bool) -> int:
    """Positions that the target scores in a round: also the most that the round can commit."""
    if draft_tokens == 0:
        return 1
    return draft_tokens + 1 if bonus else draft_tokens


def _acceptance_at(acceptance: Acceptance, position: int) -> float:
    """a_j for position j = 1, 2, …"""
    return acceptance[position - 1] if isinstance(acceptance, tuple) else acceptance


def _gained(acceptance: Acceptance, examined: int) -> float:
    """E - 1 = S_1 + … + S_examined by Horner, a_1·(1 + a_2·(1 + …)).

    The closed form (1 - h^n) / (1 - h) loses its digits near h = 1, where it ends as 0 / 0.
    """
    gained = 0.0
    for position in range(examined, 0, -1):
        gained = _acceptance_at(acceptance, position) * (1.0 + gained)
    return gained


def _round_ms(round_: Round, draft_tokens: int) -> float:
    return round_.target_ms + draft_tokens * round_.draft_ms


def _as_acceptance(acceptance: object) -> Acceptance:
    if not isinstance(acceptance, (list, tuple)):
        return as_number("acceptance", acceptance, 0, 1)
    return tuple(as_number(f"acceptance at position {j}", a, 0, 1) for j, a in enumerate(acceptance, start=1))


def _as_draft_tokens(draft_tokens: object, acceptance: object) -> int:
    count = as_count("draft_tokens", draft_tokens, 0, MAX_DRAFT_TOKENS)
    if isinstance(acceptance, (list, tuple)) and len(acceptance) < count:
        raise ValueError(f"draft_tokens is {count}, but acceptance has only {len(acceptance)} positions")
    return count

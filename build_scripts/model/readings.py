"""What two readings off somebody's figure say about their ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from build_scripts.model.checks import as_number
from build_scripts.model.speculation import NET_LOSS_TO, NET_WIN_FROM

Outcome = Literal["faster", "equal", "slower"]


@dataclass(frozen=True)
class Ratio:
    """A ratio of two readings, and the least and the most that it can be."""

    value: float
    low: float
    high: float

    @property
    def outcome(self) -> Outcome:
        """Faster or slower only where the whole range says so, by the bounds of the model's verdict.

        What reaches into the band from 0.98 to 1.02 is too close to call.
        """
        if self.low >= NET_WIN_FROM:
            return "faster"
        return "slower" if self.high <= NET_LOSS_TO else "equal"


def latency_ratio(plain_s: float, speculative_s: float, uncertainty_s: float) -> Ratio:
    """Plain over speculative latency: above 1, speculation was faster.

    plain_s, speculative_s: seconds, above 0; uncertainty_s: how far each reading may be off,
    in seconds, less than the readings themselves. The range is the worst case, both readings
    off in opposite directions. ValueError, in one line, for anything else.
    """
    plain = as_number("plain_s", plain_s, 1e-9, 1e9)
    speculative = as_number("speculative_s", speculative_s, 1e-9, 1e9)
    off = as_number("uncertainty_s", uncertainty_s, 0, 1e9)
    if off >= min(plain, speculative):
        raise ValueError(f"uncertainty_s must be below both readings, not {uncertainty_s!r}")
    return Ratio(plain / speculative, (plain - off) / (speculative + off), (plain + off) / (speculative - off))

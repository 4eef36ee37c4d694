"""Medians of samples, with intervals by bootstrap; pure Python, so that a site build can check them."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from typing import TypeVar

from build_scripts.records.schema import Interval, Statistic

RESAMPLES = 2000
LEVEL = 0.95

T = TypeVar("T")


def bootstrap(
    samples: Sequence[T], measure: Callable[[Sequence[T]], float], seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The percentile interval (95 %) of `measure`, over samples drawn again with replacement.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. The same samples
    give the same interval. ValueError without samples.
    """
    if not samples:
        raise ValueError("an interval needs samples")
    chance = random.Random(seed)
    found = sorted(measure(chance.choices(samples, k=len(samples))) for _ in range(resamples))
    outside = (1 - LEVEL) / 2
    return found[int(outside * (resamples - 1))], found[int(round((1 - outside) * (resamples - 1)))]


def summarise(samples: Sequence[float], seed: int = 0) -> Statistic:
    """The median of samples of one quantity, its interval, and the samples themselves.

    ValueError without samples.
    """
    low, high = bootstrap(samples, statistics.median, seed)
    middle = statistics.median(samples)
    return Statistic(
        median=middle, low=min(low, middle), high=max(high, middle), samples=[float(value) for value in samples]
    )


def pool(plain: Sequence[float], speculative: Sequence[float], seed: int = 0) -> Interval:
    """The sum of one over that of the other, whose samples go together in pairs.

    ValueError without samples or for different numbers of them.
    """

    def ratio(pairs: Sequence[tuple[float, float]]) -> float:
        return sum(one for one, _ in pairs) / sum(other for _, other in pairs)

    pairs = list(zip(plain, speculative, strict=True))
    low, high = bootstrap(pairs, ratio, seed)
    value = ratio(pairs)
    return Interval(value=value, low=min(low, value), high=max(high, value))

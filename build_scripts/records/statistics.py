"""Medians of samples, with intervals by bootstrap; pure Python, so that a site build can check them."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
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


def summarise(samples: Sequence[float], groups: Sequence[Hashable] | None = None, seed: int = 0) -> Statistic:
    """The median of samples of one quantity, its interval, and the samples themselves.

    groups: for each sample what it is a repeat of, such as a prompt. Repeats are drawn together:
    they tell about the noise, and nothing about other prompts. ValueError without samples, or where
    the two differ in length.
    """
    low, high = bootstrap(_together(samples, groups), lambda drawn: statistics.median(chain(*drawn)), seed)
    middle = statistics.median(samples)
    return Statistic(
        median=middle, low=min(low, middle), high=max(high, middle), samples=[float(value) for value in samples]
    )


def pool(
    plain: Sequence[float], speculative: Sequence[float], groups: Sequence[Hashable] | None = None, seed: int = 0
) -> Interval:
    """The sum of one over that of the other, whose samples go together in pairs; groups as above.

    ValueError without samples or for different numbers of them.
    """

    def ratio(drawn: Sequence[Sequence[tuple[float, float]]]) -> float:
        pairs = list(chain(*drawn))
        return sum(one for one, _ in pairs) / sum(other for _, other in pairs)

    pairs = _together(list(zip(plain, speculative, strict=True)), groups)
    low, high = bootstrap(pairs, ratio, seed)
    value = ratio(pairs)
    return Interval(value=value, low=min(low, value), high=max(high, value))


def _together(samples: Sequence[T], groups: Sequence[Hashable] | None) -> list[list[T]]:
    """The samples of each group; without groups each is one by itself."""
    found: dict[Hashable, list[T]] = {}
    for sample, group in zip(samples, range(len(samples)) if groups is None else groups, strict=True):
        found.setdefault(group, []).append(sample)
    return list(found.values())

"""Generators that are a function of a seed and a place: a step, an epoch, a batch."""

from __future__ import annotations

import numpy as np
import torch


def dice(seed: int, place: int) -> torch.Generator:
    """Of all numbers that it is seeded with, torch's generator for CPUs takes the lowest 32 bits: so
    both are mixed into those."""
    mixed = np.random.SeedSequence([seed, place]).generate_state(1)
    return torch.Generator().manual_seed(int(mixed[0]))

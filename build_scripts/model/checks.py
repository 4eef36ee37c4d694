"""What the formulas refuse: each check returns the value, or says in one line what is wrong."""

from __future__ import annotations


def as_number(name: str, value: object, lowest: float, highest: float) -> float:
    """`value` as a float in [lowest, highest]; ValueError for all else, NaN and booleans too."""
    # NaN is in no range, since it compares false.
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, not {value!r}")
    return float(value)


def as_count(name: str, value: object, lowest: int, highest: int) -> int:
    """`value` as a whole number in [lowest, highest]; ValueError for all else, 3.0 and booleans too."""
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a whole number from {lowest} to {highest}, not {value!r}")
    return value


def as_switch(name: str, value: object) -> bool:
    """`value`, which must be True or False; ValueError for all else."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return value

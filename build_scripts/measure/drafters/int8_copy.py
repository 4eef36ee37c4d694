"""A copy of the target with its weights rounded to 8 bits: it reads a quarter of the memory, and
mostly agrees. Nothing is trained, and there is no other model to be found and kept in step."""

from __future__ import annotations

from build_scripts.measure.draft_model import DraftModel
from build_scripts.measure.kernels import int8_copy
from build_scripts.measure.target import Target


class Int8Copy(DraftModel):
    """kernel: what multiplies the copy's weights, for a record."""

    def __init__(self, target: Target) -> None:
        copy, self.kernel = int8_copy(target)
        super().__init__(copy)


def for_target(target: Target) -> Int8Copy:
    return create(target)


def create(target: Target) -> Int8Copy:
    return Int8Copy(target)

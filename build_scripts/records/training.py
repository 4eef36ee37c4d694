"""The record of a drafter's training, which lies beside its weights."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from build_scripts.records.faults import RecordError, fault_lines
from build_scripts.records.schema import Commit, Count, Finite, Hash, Moment, Name, NonNegative, Positive, Share, Strict

HEAD = Path(__file__).parents[1] / "measure" / "weights" / "eagle-head.json"
"""Of the EAGLE-style head that is shipped; its weights are the .npz of that name."""


MOST_POINTS = 1000
"""Of a curve: each is a row of the page's table."""


class Score(Strict):
    """Over the held-out answers: top1, the share of positions where the head's likeliest token is the
    target's; overlap, the mean of Σ min(p, q)."""

    top1: Share
    overlap: Share


class CurvePoint(Strict):
    """unroll: how deep the head read its own output in that step; held_out: a score for each step that
    it foresees, with the weights as they were then."""

    elapsed_s: NonNegative
    step: Count
    tokens: Count
    epochs: NonNegative
    unroll: int = Field(ge=1)
    train_cross_entropy: Finite
    held_out: list[Score] = Field(min_length=1)


class TrainingRecord(Strict):
    """training_tokens: of the text, once over; tokens_seen: over all epochs; held_out_reachable: the
    share of positions whose token the head can propose at all; final: the scores of the weights
    that are shipped, after rounding to 8 bits."""

    weights_sha256: Hash
    corpus: Name
    corpus_sha256: Hash
    corpus_rows: Count
    rows_used: Count
    training_rows: Count
    training_tokens: int = Field(ge=1)
    held_out_rows: list[Count]
    held_out_answer_tokens: Count
    held_out_reachable: Share
    seed: int
    minutes: Positive
    settings: dict[Name, Any]
    parameters: int = Field(ge=1)
    steps: Count
    tokens_seen: Count
    seconds: NonNegative
    sittings: Count
    final: list[Score] = Field(min_length=1)
    curve: list[CurvePoint] = Field(min_length=1, max_length=MOST_POINTS)
    date: Moment
    commit: Commit | None
    command: Name | None
    device: Name
    processor: Name
    threads: int = Field(ge=1)
    dtype: Name
    versions: dict[Name, Name]

    @model_validator(mode="after")
    def _goes_on(self) -> TrainingRecord:
        steps = [point.step for point in self.curve]
        if steps != sorted(set(steps)) or steps[-1] > self.steps:
            raise ValueError("the points of the curve are not in the order of their steps")
        times = [point.elapsed_s for point in self.curve]
        if times != sorted(set(times)):
            raise ValueError("the points of the curve are not in the order of their times")
        if any(len(point.held_out) != len(self.final) for point in self.curve):
            raise ValueError("the points of the curve have other steps than the final scores")
        return self


def read_training(path: Path = HEAD) -> TrainingRecord | None:
    """None where nothing was trained. RecordError, with the file and the field, for what is no such
    record, that of other weights than those beside it, or weights without a record."""
    path = Path(os.path.relpath(path))
    weights = path.with_suffix(".npz")
    if not path.is_file():
        if weights.is_file():
            raise RecordError(f"{path}: there is no such file, and {weights.name} has no record without it")
        return None
    try:
        data = json.loads(path.read_text("utf-8"))
        record = TrainingRecord.model_validate_json(json.dumps(data))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: this is not JSON: {error}") from None
    except ValidationError as error:
        raise RecordError(fault_lines(path, error, "the record")) from None
    if not weights.is_file() or hashlib.sha256(weights.read_bytes()).hexdigest() != record.weights_sha256:
        raise RecordError(f"{path}: weights_sha256: {weights.name} is not the file that was trained")
    return record

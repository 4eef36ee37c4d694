"""The lesson's numbers in prose: which value, which text, which kind."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from build_scripts.model.speculation import Outcome
from build_scripts.render.numbers import (
    READOUTS,
    ROUND_PARAMETERS,
    Number,
    fixed,
    format_number,
    number,
    round_at,
)
from build_scripts.spec.schema import Labels, Lesson, Parameters, Readout, Settings


def parameter(default: object, kind: str = "assumed") -> dict[str, object]:
    bounds = {} if isinstance(default, bool) else {"min": default, "max": default, "step": 1, "unit": "u"}
    return {"key": "x", "label": "x", "help": "x", "kind": kind, "default": default, **bounds}


@pytest.fixture
def lesson() -> Lesson:
    """Just what numbers need of a lesson: its parameters and the word for no value."""
    parameters = Parameters.model_validate(
        {
            "acceptance": parameter(0.75),
            "draft_tokens": parameter(3),
            "target_ms": parameter(45.0),
            "draft_ms": parameter(3.0),
            "bonus": parameter(False),
            "slo_ttft_ms": parameter(250.0),
            "slo_itl_ms": parameter(25.0),
            "slo_throughput_tps": parameter(40.5, "published"),
        }
    )
    return Lesson.model_construct(parameters=parameters, labels=Labels.model_construct(none="never"))


def test_the_names_are_those_of_the_schema() -> None:
    assert READOUTS == get_args(Readout) == tuple(field.name for field in fields(Outcome))
    assert set(ROUND_PARAMETERS) == set(Settings.model_fields)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("expected_tokens", "2.31"),
        ("round_ms", "54 ms"),
        ("tpot_ms", "23.4 ms"),
        ("throughput_tps", "42.8 tok/s"),
        ("speedup", "1.93×"),
        ("verdict", "net win"),
        ("best_draft_tokens", "7"),
        ("break_even_acceptance", "0.17"),
        ("operations_factor", "1.38×"),
        ("burst_gap_ms", "54 ms"),
        ("acceptance", "0.75"),
        ("draft_tokens", "3"),
        ("target_ms", "45 ms"),
        ("draft_ms", "3 ms"),
        ("bonus", "off"),
        ("slo_ttft_ms", "250 ms"),
        ("slo_itl_ms", "25 ms"),
        ("slo_throughput_tps", "40.5 tok/s"),
    ],
)
def test_every_number_at_the_lessons_defaults(lesson: Lesson, name: str, text: str) -> None:
    assert number(lesson, name).text == text


def test_settings_take_the_place_of_the_defaults(lesson: Lesson) -> None:
    assert number(lesson, "speedup", {"bonus": True}).text == "2.28×"
    assert number(lesson, "speedup", Settings(bonus=True)) == number(lesson, "speedup", {"bonus": True})
    assert number(lesson, "speedup", Settings()) == number(lesson, "speedup")
    assert number(lesson, "draft_ms", {"draft_ms": 30.25}) == Number(30.25, "30.25 ms", "assumed")
    assert number(lesson, "bonus", {"bonus": True}).text == "on"
    assert round_at(lesson, {"draft_tokens": 0}).draft_tokens == 0


def test_a_readout_is_computed_and_a_parameter_is_what_the_lesson_says(lesson: Lesson) -> None:
    assert number(lesson, "speedup").kind == "computed"
    assert number(lesson, "acceptance").kind == "assumed"
    assert number(lesson, "slo_throughput_tps").kind == "published"


def test_the_value_is_exact(lesson: Lesson) -> None:
    assert number(lesson, "expected_tokens").value == 2.3125
    assert number(lesson, "best_draft_tokens").value == 7


def test_no_value_is_the_lessons_own_word(lesson: Lesson) -> None:
    assert number(lesson, "break_even_acceptance", {"draft_tokens": 1}) == Number(None, "never", "computed")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("speed", {}, "no number is called speed"),
        ("speedup", {"speed": 1}, "no parameter is called speed"),
        ("speedup", {"acceptance": 2}, "acceptance must be a number from 0 to 1, not 2"),
    ],
)
def test_what_cannot_be_computed_is_one_line(lesson: Lesson, name: str, settings: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        number(lesson, name, settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "decimals", "trim", "text"),
    [
        (0.125, 2, False, "0.13"),
        (2.5, 0, False, "3"),
        (-2.5, 0, False, "-3"),
        (1.005, 2, False, "1.00"),
        (2.675, 2, False, "2.67"),
        (0.25, 1, False, "0.3"),
        (9.995, 2, True, "9.99"),
        (9.999, 2, True, "10"),
        (100.0, 2, True, "100"),
        (100, 0, True, "100"),
        (2.50, 2, True, "2.5"),
        (2.50, 2, False, "2.50"),
        (-0.001, 2, False, "0.00"),
        (-0.0, 1, True, "0"),
        (1e20, 2, False, "100000000000000000000.00"),
    ],
)
def test_the_exact_binary_value_is_rounded_half_away_from_zero(
    value: float, decimals: int, trim: bool, text: str
) -> None:
    """0.125 and 2.5 are ties; 1.005 is not, for the nearest double is below it."""
    assert fixed(value, decimals, trim) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e21])
def test_what_is_no_number_is_not_shown(value: float) -> None:
    with pytest.raises(ValueError):
        format_number("speedup", value, "never")

"""The lesson's numbers: evaluated at the lesson's parameters, and written as text.

`docs/assets/lesson/format.js` writes the same text in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any, Union

from build_scripts.model.speculation import Outcome, Round, evaluate

if TYPE_CHECKING:
    from build_scripts.spec.schema import Kind, Lesson, Settings

Value = Union[float, int, str, bool, None]

READOUTS = tuple(field.name for field in fields(Outcome))
"""What the model computes."""

ROUND_PARAMETERS = ("acceptance", "draft_tokens", "target_ms", "draft_ms", "bonus")
"""What the model computes it from; settings may override these."""

_FORMATS: dict[str, tuple[int, bool, str]] = {
    "expected_tokens": (2, False, ""),
    "speedup": (2, False, "×"),
    "operations_factor": (2, False, "×"),
    "round_ms": (1, True, " ms"),
    "tpot_ms": (1, True, " ms"),
    "burst_gap_ms": (1, True, " ms"),
    "throughput_tps": (1, False, " tok/s"),
    "acceptance": (2, False, ""),
    "break_even_acceptance": (2, False, ""),
    "draft_tokens": (0, False, ""),
    "best_draft_tokens": (0, False, ""),
    "target_ms": (2, True, " ms"),
    "draft_ms": (2, True, " ms"),
    "ttft_ms": (2, True, " ms"),
    "slo_ttft_ms": (2, True, " ms"),
    "slo_itl_ms": (2, True, " ms"),
    "slo_throughput_tps": (2, True, " tok/s"),
}
"""Decimals, whether trailing zeros are dropped, and what follows the number."""

# Enough digits to write any number below 1e21 with decimals exactly.
_EXACT = Context(prec=60, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Number:
    """A number of the lesson: its exact value, its text, and where it comes from."""

    value: Value
    text: str
    kind: Kind


def number(lesson: Lesson, name: str, settings: Settings | Mapping[str, Any] | None = None) -> Number:
    """The readout or parameter `name` at the lesson's defaults, with `settings` in their place.

    A readout is computed; a parameter is what the lesson says it is.
    ValueError, in one line, for an unknown name or a setting out of the model's range.
    """
    overrides = _overrides(settings)
    if name in READOUTS:
        value = getattr(evaluate(round_at(lesson, overrides)), name)
        kind: Kind = "computed"
    elif name in type(lesson.parameters).model_fields:
        parameter = getattr(lesson.parameters, name)
        value = overrides.get(name, parameter.default)
        kind = parameter.kind
    else:
        raise ValueError(f"no number is called {name}")
    return Number(value, format_number(name, value, lesson.labels.none), kind)


def round_at(lesson: Lesson, settings: Settings | Mapping[str, Any] | None = None) -> Round:
    """The model's inputs: the lesson's defaults, with `settings` in their place. ValueError as above."""
    inputs = {name: getattr(lesson.parameters, name).default for name in ROUND_PARAMETERS}
    return Round(**(inputs | _overrides(settings)))


def format_number(name: str, value: Value, none: str) -> str:
    """The value of a parameter or readout as the page shows it; `none` stands for None.

    ValueError for a name that has no format.
    """
    if value is None:
        return none
    if name == "verdict":
        return str(value)
    if name == "bonus":
        return "on" if value else "off"
    if name not in _FORMATS:
        raise ValueError(f"no number is called {name}")
    decimals, trim, unit = _FORMATS[name]
    return fixed(value, decimals, trim) + unit


def fixed(value: float, decimals: int, trim: bool = False) -> str:
    """The value with that many decimals, "2.50"; trimmed "2.5".

    The exact binary value is rounded half away from zero, as JavaScript's toFixed does it.
    ValueError for NaN, infinity, and from 1e21 on, where toFixed gives up.
    """
    if not abs(value) < 1e21:
        raise ValueError(f"cannot show {value} with decimals")
    text = format(_EXACT.quantize(Decimal(value), Decimal(1).scaleb(-decimals)), "f")
    if trim and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _overrides(settings: Settings | Mapping[str, Any] | None) -> dict[str, Any]:
    if settings is None:
        return {}
    given = dict(settings) if isinstance(settings, Mapping) else settings.model_dump()
    unknown = sorted(set(given) - set(ROUND_PARAMETERS))
    if unknown:
        raise ValueError(f"no parameter is called {unknown[0]}")
    return {name: value for name, value in given.items() if value is not None}

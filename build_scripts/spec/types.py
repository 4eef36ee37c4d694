"""The types that every class of the lesson's schema is made of: texts, ids, numbers, kinds.

`RichText` is Markdown with the additions of `richtext.py`; `Template` is plain text with
{names} that a view fills in.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Marker:
    """Tags a text field so that the checks and the renderer can find every one of its kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Names:
    """The {names} that a template may use: those that its view fills in."""

    def __init__(self, *names: str) -> None:
        self.names = names


RICH = Marker("rich text")
TEMPLATE = Marker("template")
LATEX = Marker("LaTeX")
SOURCE = Marker("the id of a source")
TERM = Marker("the id of a term")
URL = Marker("an address")

PlainText = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
RichText = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), RICH]
Template = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), TEMPLATE]
"""`Annotated[Template, Names("ms")]` where the names are known; braces that are text are doubled."""
Latex = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), LATEX]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
SourceId = Annotated[Id, SOURCE]
TermId = Annotated[Id, TERM]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+"), URL]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

Kind = Literal["assumed", "computed", "measured", "published"]
"""Where a number comes from. The page says it beside every number."""

Role = Literal["context", "draft", "accepted", "rejected", "target"]
"""One role, one colour, one mark; `target` is also the recovered and the bonus word."""

Readout = Literal[
    "expected_tokens", "round_ms", "tpot_ms", "throughput_tps", "speedup", "verdict",
    "best_draft_tokens", "break_even_acceptance", "operations_factor", "burst_gap_ms",
]  # fmt: skip
"""The names of the model's results, the same in the CLI, the page and the hash."""

ParameterName = Literal["acceptance", "draft_tokens", "target_ms", "draft_ms", "bonus"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

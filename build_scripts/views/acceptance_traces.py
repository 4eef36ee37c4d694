"""Published acceptance by position, beside what one number for all positions would predict."""

from __future__ import annotations

from dataclasses import dataclass

from build_scripts.model.speculation import expected_tokens
from build_scripts.render.numbers import fixed
from build_scripts.spec.schema import AcceptanceTrace, AcceptanceTraces
from build_scripts.views.base import PageContext, Rendered


@dataclass(frozen=True)
class Predictions:
    """Tokens committed per target pass, bonus included, three ways."""

    expected: float
    """As it was: 1 + k · rate, since the rate counts what was accepted over all that was drafted."""
    from_first: float
    """With the first position's acceptance at every position."""
    from_rate: float
    """With the engine's rate mistaken for the acceptance."""


def predictions(trace: AcceptanceTrace) -> Predictions:
    """The three for one trace; engines commit the bonus, so all three include it."""
    k = len(trace.acceptances)
    return Predictions(
        expected=1 + k * trace.engine_rate,
        from_first=expected_tokens(trace.acceptances[0], k, bonus=True),
        from_rate=expected_tokens(trace.engine_rate, k, bonus=True),
    )


def render(block: AcceptanceTraces, page: PageContext) -> Rendered:
    """A table with a bar for each position, and a caption about the trace that one number misses most."""
    rows = [(trace, predictions(trace)) for trace in block.traces]
    worst, missed = max(rows, key=lambda row: abs(row[1].from_first / row[1].expected - 1))
    return Rendered(
        page.template(
            "acceptance-traces.html",
            block=block,
            rows=[
                {
                    "trace": trace,
                    "positions": [fixed(a, 2) for a in trace.acceptances],
                    "rate": fixed(trace.engine_rate, 3),
                    "expected": fixed(result.expected, 2),
                    "from_first": fixed(result.from_first, 2),
                    "from_rate": fixed(result.from_rate, 2),
                    "citation": page.rich_inline(f"[@{trace.source}]"),
                }
                for trace, result in rows
            ],
            caption=block.caption.format(
                worst=worst.label,
                expected=fixed(missed.expected, 2),
                from_first=fixed(missed.from_first, 2),
                from_rate=fixed(missed.from_rate, 2),
            ),
        )
    )

"""Results that others published, one row each, from the largest gain to the largest loss."""

from __future__ import annotations

from build_scripts.render.numbers import fixed
from build_scripts.model.speculation import verdict
from build_scripts.spec.schema import PublishedResult, PublishedResults
from build_scripts.views.base import PageContext, Rendered


def render(block: PublishedResults, page: PageContext) -> Rendered:
    """A table whose rows become cards on a phone; a loss is marked in words too."""
    rows = in_order(block.results)
    losses = sum(is_loss(result) for result in rows)
    return Rendered(
        page.template(
            "published-results.html",
            block=block,
            rows=[
                {
                    "result": result,
                    "factor": None if result.speedup is None else f"{fixed(result.speedup, 2)}×",
                    "loss": is_loss(result),
                    "citation": page.rich_inline(f"[@{result.source}]"),
                }
                for result in rows
            ],
            caption=block.caption.format(rows=len(rows), losses=losses),
        )
    )


def in_order(results: list[PublishedResult]) -> list[PublishedResult]:
    """By factor, the largest first. Of those without one, losses go last.

    Equal ones keep the author's order.
    """
    return sorted(results, key=lambda result: (result.speedup is None, result.loss, -(result.speedup or 0.0)))


def is_loss(result: PublishedResult) -> bool:
    """Whether the row reports a net loss, by the same bounds as everywhere else in the lesson."""
    return result.loss or (result.speedup is not None and verdict(result.speedup) == "net loss")

"""Every source of the lesson, each with an anchor: `source-ID`."""

from __future__ import annotations

from build_scripts.spec.schema import Sources
from build_scripts.views.base import PageContext, Rendered


def render(block: Sources, page: PageContext) -> Rendered:
    """The sources in the order of their labels, which is what a citation shows."""
    return Rendered(
        page.template("sources.html", sources=sorted(page.lesson.sources, key=lambda source: source.label.casefold()))
    )

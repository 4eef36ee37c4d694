"""Every term of the lesson, each with an anchor: `term-ID`."""

from __future__ import annotations

from build_scripts.spec.schema import Glossary
from build_scripts.views.base import PageContext, Rendered


def render(block: Glossary, page: PageContext) -> Rendered:
    """The terms in the order in which the lesson lists them: each leans on those before it."""
    return Rendered(page.template("glossary.html", terms=page.lesson.terms))

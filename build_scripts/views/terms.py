"""The closed box of definitions that a reader may open where a part needs them."""

from __future__ import annotations

from build_scripts.spec.schema import Terms
from build_scripts.views.base import PageContext, Rendered


def render(block: Terms, page: PageContext) -> Rendered:
    """A native disclosure: it works without a script, and its summary names the terms in it."""
    by_id = {term.id: term for term in page.lesson.terms}
    return Rendered(page.template("terms.html", block=block, terms=[by_id[term] for term in block.terms]))

"""Every number of the lesson with its kind and its source, as one table in groups."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup, escape

from build_scripts.spec.schema import Formula, Lesson, Numbers
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.blocks import blocks_of
from build_scripts.views.number_rows import Row, number_groups


def render(block: Numbers, page: PageContext) -> Rendered:
    """The table; its caption counts the rows of each kind."""
    groups = number_groups(page.lesson, block)
    kinds = Counter(row.kind for group in groups for row in group.rows)
    caption = block.caption.format(
        rows=kinds.total(), **{kind: kinds[kind] for kind in ("assumed", "computed", "measured", "published")}
    )
    return Rendered(
        page.template(
            "numbers.html",
            block=block,
            groups=[
                {"title": group.title, "rows": [(row, _origin(row, block, page)) for row in group.rows]}
                for group in groups
            ],
            caption=caption,
        )
    )


def _origin(row: Row, block: Numbers, page: PageContext) -> Markup:
    """Where a row comes from: its source, the formula that gives it, or the lesson itself."""
    if row.source is not None:
        return page.rich_inline(f"[@{row.source}]")
    if row.formula in block.formulas:
        formula = block.formulas[row.formula]
        return Markup('<a href="#{}">{}</a>').format(formula, _title(page.lesson, formula))
    return escape(block.labels.own if row.kind == "assumed" else page.lesson.labels.none)


def _title(lesson: Lesson, formula: str) -> str:
    titles = {block.id: block.title for block in blocks_of(lesson, Formula)}
    if formula not in titles:
        raise ValueError(f"no formula is called {formula}")
    return titles[formula]

"""Every number of the lesson with its kind and its source, in groups that open and close."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from markupsafe import Markup, escape

from build_scripts.spec.schema import Formula, Kind, Numbers
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.blocks import blocks_of
from build_scripts.views.number_rows import Group, Row, number_groups

KINDS: tuple[Kind, ...] = get_args(Kind)


def render(block: Numbers, page: PageContext) -> Rendered:
    """A table for each group, the first one open; the caption counts the rows of each kind."""
    groups = number_groups(page.lesson, block, page.records)
    counts = Counter(row.kind for group in groups for row in group.rows)
    return Rendered(
        page.template(
            "numbers.html",
            block=block,
            groups=[
                {
                    "title": group.title,
                    "kinds": _counts(group),
                    "rows": [(row, _origin(row, block, page)) for row in group.rows],
                }
                for group in groups
            ],
            caption=block.caption.format(rows=counts.total(), **{kind: counts[kind] for kind in KINDS}),
        )
    )


def _counts(group: Group) -> list[tuple[Kind, int]]:
    """The kinds in the group, and how many rows each has."""
    counts = Counter(row.kind for row in group.rows)
    return [(kind, counts[kind]) for kind in KINDS if counts[kind]]


def _origin(row: Row, block: Numbers, page: PageContext) -> Markup:
    """Where a row comes from: its source, its record, the formula that gives it, or the lesson itself."""
    if row.source is not None:
        return page.rich_inline(f"[@{row.source}]")
    if row.record is not None:
        return Markup('<a href="measurements/{0}">{0}</a>').format(row.record)
    if row.formula in block.formulas:
        formula = block.formulas[row.formula]
        titles = {formula.id: formula.title for formula in blocks_of(page.lesson, Formula)}
        return Markup('<a href="#{}">{}</a>').format(formula, titles[formula])
    return escape(block.labels.own if row.kind == "assumed" else page.lesson.labels.none)

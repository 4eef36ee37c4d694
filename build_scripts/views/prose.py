"""Blocks of text: running prose, a note in a box, and the lesson in one sentence."""

from __future__ import annotations

from build_scripts.spec.schema import Note, Prose, Summary
from build_scripts.views.base import PageContext, Rendered


def render_prose(block: Prose, page: PageContext) -> Rendered:
    return Rendered(f'<div class="prose">{page.rich(block.text)}</div>')


def render_note(block: Note, page: PageContext) -> Rendered:
    return Rendered(page.template("note.html", block=block))


def render_summary(block: Summary, page: PageContext) -> Rendered:
    return Rendered(page.template("summary.html", block=block))

"""What needs more than one place of the lesson at once: ids, citations, links, the texts themselves.

The rules of single blocks and parameters are in `rules.py` and `quiz_rules.py`. Each check looks at what is
valid by itself, so that a fault elsewhere hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from build_scripts.spec.context import Context, anchor_of
from build_scripts.spec.faults import DataPath, Document, Fault
from build_scripts.spec.latex import to_mathml
from build_scripts.spec.quiz_rules import QUIZ_RULES
from build_scripts.spec.richtext import Citation, Link, NumberRef, every_piece, parse
from build_scripts.spec.rules import RULES
from build_scripts.spec.schema import (
    LATEX,
    RICH,
    SOURCE,
    TEMPLATE,
    TERM,
    URL,
    Lesson,
    Names,
)
from build_scripts.spec.templates import template_problems
from build_scripts.spec.walk import Leaf
from build_scripts.spec.wording import quoted, unknown

RESERVED_KEYS = {"at", "step", "words", "flips", "trace", "speed", "round"}
"""What an address has besides parameters: the figure that it opens, and the state of the step diagram and of recorded runs."""

RESERVED_IDS = {"top", "lesson-page"}
"""Ids that every page has already."""

ONCE = ("race", "replay", "step-diagram", "glossary", "sources", "numbers")
"""Views of which there is one: their parts have addresses, or they show all there is of something."""

METHOD = "method"
"""The page that citations link to."""

_CITATION = re.compile(r"\[@")
_ADDITION = re.compile(r"\[@|\{\{")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*\.?")
_LOCAL = re.compile(r"(?:(?P<page>[a-z][a-z0-9-]*)\.html)?(?:#(?P<anchor>[^#]+))?")


def check(document: Document, lesson: Lesson | None) -> list[Fault]:
    """Every fault that the types do not see; `lesson` is None when they saw some."""
    context = Context(document, lesson)
    _pages(context)
    _unique_ids(context)
    cited = _texts(context)
    _sources(context, cited)
    for part in context.parts:
        for kind, rule in (*RULES, *QUIZ_RULES):
            if isinstance(part.value, kind):
                rule(context, part.value, part.path)
    return context.faults


# --- ids ---------------------------------------------------------------------------------


def _pages(context: Context) -> None:
    pages = context.list_at("pages")
    if pages and isinstance(first := _id(pages[0]), str) and first != "index":
        context.note(("pages", 0, "id"), f"the first page is 'index', not {quoted(first)}")
    seen: dict[str, DataPath] = {}
    for part in context.parts:
        view = part.data.get("view")
        if view not in ONCE or not _in_page(part.path):
            continue
        if view in seen:
            line = context.document.span((*seen[view], "view")).line
            context.note(
                (*part.path, "view"), f"a lesson has one block '{view}'; there is one on line {line}"
            )
        seen.setdefault(view, part.path)


def _unique_ids(context: Context) -> None:
    """Every id is an address on its page, or a name within its own list."""
    seen: dict[tuple[Any, ...], DataPath] = {}
    for part in context.parts:
        name = _id(part.data)
        if name is None or "id" not in part.type.model_fields:
            continue
        path = (*part.path, "id")
        anchor = anchor_of(part)
        if anchor is None:
            _once(context, seen, part.path[:-1], name, name, path)
            continue
        if anchor in RESERVED_IDS:
            context.note(path, f"{quoted(name)} is an id that every page has already")
        _once(context, seen, part.path[:2], anchor, name, path)
    for page, anchors in context.entry_anchors.items():
        for name in anchors:
            if (taken := seen.get((("pages", page), name))) is not None:
                context.note(taken, f"{quoted(name)} is the id of an entry on this page")
    keys: dict[tuple[Any, ...], DataPath] = {}
    for part in context.parts:
        if part.path[:1] == ("parameters",) and isinstance(key := part.data.get("key"), str):
            if key in RESERVED_KEYS:
                context.note((*part.path, "key"), f"{quoted(key)} has another meaning in the page's address")
            _once(context, keys, (), key, key, (*part.path, "key"))


def _once(
    context: Context,
    seen: dict[tuple[Any, ...], DataPath],
    scope: DataPath,
    name: str,
    written: str,
    path: DataPath,
) -> None:
    """Notes a name that its scope has already; `written` is how the author wrote it."""
    if (scope, name) in seen:
        line = context.document.span(seen[scope, name]).line
        context.note(path, f"{quoted(written)} is already used on line {line}")
    else:
        seen[scope, name] = path


def _id(data: Any) -> str | None:
    name = data.get("id") if isinstance(data, dict) else None
    return name if isinstance(name, str) else None


def _in_page(path: DataPath) -> bool:
    return len(path) > 2 and path[0] == "pages"


# --- texts -------------------------------------------------------------------------------


def _texts(context: Context) -> set[str]:
    """Checks every marked text; the sources that are cited."""
    cited = set()
    for leaf in context.leaves:
        if RICH in leaf.marks:
            cited |= _rich_text(context, leaf)
        elif TEMPLATE in leaf.marks:
            names = next((mark.names for mark in leaf.marks if isinstance(mark, Names)), None)
            for problem in template_problems(leaf.text, names):
                context.note_within(leaf, problem.start, problem.end, problem.message)
            _no_additions(context, leaf, _CITATION)
        elif LATEX in leaf.marks:
            try:
                to_mathml(leaf.text.strip())
            except ValueError as error:
                context.note(leaf.path, str(error))
        elif URL in leaf.marks:
            if leaf.text.startswith(("http://", "https://")) and (reason := _url_problem(leaf.text)):
                context.note(leaf.path, reason)
        elif SOURCE in leaf.marks:
            cited.add(leaf.text)
            if leaf.text not in context.source_ids:
                context.note(leaf.path, unknown("source", leaf.text, context.source_ids))
        elif TERM in leaf.marks:
            if leaf.text not in context.term_ids:
                context.note(leaf.path, unknown("term", leaf.text, context.term_ids))
        else:
            _no_additions(context, leaf, _ADDITION)
    return cited


def _no_additions(context: Context, leaf: Leaf, addition: re.Pattern[str]) -> None:
    """Rich text's additions in plain text would be shown as they were typed."""
    for match in addition.finditer(leaf.text):
        context.note_within(leaf, *match.span(), f"{match[0]} means nothing in this field: its text is plain")


def _rich_text(context: Context, leaf: Leaf) -> set[str]:
    parsed = parse(leaf.text)
    cited = set()
    for problem in parsed.problems:
        context.note_within(leaf, problem.start, problem.end, problem.message)
    for link in parsed.links:
        if reason := _link_problem(context, leaf.path, link):
            context.note_within(leaf, link.start, link.end, reason)
    for piece in every_piece(parsed.pieces):
        if isinstance(piece, Citation):
            cited.add(piece.source)
            if piece.source not in context.source_ids:
                message = unknown("source", piece.source, context.source_ids)
                context.note_within(leaf, piece.start, piece.end, message)
        elif isinstance(piece, NumberRef):
            outcome = context.outcome(piece.settings)
            if isinstance(outcome, str):
                context.note_within(leaf, piece.start, piece.end, outcome)
    return cited


def _sources(context: Context, cited: Iterable[str]) -> None:
    """Citations need the page that they link to; sources need a citation."""
    if any(name in context.source_ids for name in cited) and not context.has_block(METHOD, "sources"):
        message = (
            f"sources are cited, so a page '{METHOD}' needs a block 'sources' for the citations to link to"
        )
        context.note(("pages",), message)
    if context.lesson is None:
        return  # a part that is not understood may hold the citation
    for i, source in enumerate(context.lesson.sources):
        if source.id not in cited:
            context.note(("sources", i, "id"), f"{quoted(source.id)} is cited nowhere")


def _link_problem(context: Context, path: DataPath, link: Link) -> str | None:
    target = link.target
    if target.startswith(("http://", "https://")):
        return _url_problem(target)
    local = _LOCAL.fullmatch(target)
    if not target or local is None:
        return f"a link goes to http://…, https://…, page.html or #id, not to {quoted(target)}"
    pages = context.page_ids
    if local["page"] is not None:
        if local["page"] not in pages:
            return unknown("page", local["page"], pages)
        page = pages[local["page"]]
    elif _in_page(path):
        page = int(path[1])
    else:
        return None  # such a text stands on more than one page
    anchor = local["anchor"]
    if anchor is None or "=" in anchor or anchor in context.anchors(page):
        return None
    return unknown("id of that page", anchor, context.anchors(page))


def _url_problem(url: str) -> str | None:
    """Why no browser could follow it; None for an address that it can."""
    try:
        parts = urlsplit(url)
        good = _HOST.fullmatch(parts.hostname or "") and parts.port != 0 and parts.username is None
    except ValueError:
        good = None
    if good and not re.search(r"[\s<>\"\\^`{|}]", url):
        return None
    return f"{quoted(url)} is no address"

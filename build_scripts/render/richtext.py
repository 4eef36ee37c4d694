"""Rich text -> HTML: Markdown with the lesson's numbers, citations, roles and formulas in it.

An author's text cannot break the page: HTML in it is shown as it was typed, and a link goes
to a web address or within the lesson, or nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markupsafe import Markup

from build_scripts.render.numbers import number
from build_scripts.spec.latex import to_mathml
from build_scripts.spec.richtext import Citation, Math, NumberRef, Piece, RoleText, Text, parse
from build_scripts.spec.schema import Lesson, Settings

# What is not Markdown goes through Markdown as its number between these two: control
# characters that no lesson can hold.
_OPEN, _CLOSE = "\x0e", "\x0f"
_STAND_IN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_STRAY = re.compile(f"[{_OPEN}{_CLOSE}]")

_PARAGRAPHS = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_GOOD_LINK = re.compile(r"(?:https?://|#|[a-z][a-z0-9-]*\.html(?:#|$)).*", re.DOTALL)


class RichTextRenderer:
    """Renders the rich text of one lesson. The same text is rendered once."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self._labels = {source.id: source.label for source in lesson.sources}
        self._block = _markdown(inline_only=False)
        self._inline = _markdown(inline_only=True)
        self.block = lru_cache(maxsize=None)(self._render_block)
        self.inline = lru_cache(maxsize=None)(self._render_inline)

    def _render_block(self, text: str) -> Markup:
        """Paragraphs, lists and the like. ValueError, in one line, for text that `check` refuses."""
        return self._convert(self._block, self._pieces(text))

    def _render_inline(self, text: str, at: Settings | None = None) -> Markup:
        """The same without a paragraph around it, for where only words may stand; no lists.

        `at`: settings that stand in for the lesson's defaults in every number of the text.
        """
        return self._words(self._pieces(text), at)

    def _pieces(self, text: str) -> list[Piece]:
        parsed = parse(_STRAY.sub("", text))
        if parsed.problems:
            raise ValueError(parsed.problems[0].message)
        return parsed.pieces

    def _words(self, pieces: Iterable[Piece], at: Settings | None = None) -> Markup:
        html = self._convert(self._inline, pieces, at)
        return Markup(" ".join(_PARAGRAPHS.findall(html)))

    def _convert(self, markdown: Markdown, pieces: Iterable[Piece], at: Settings | None = None) -> Markup:
        source = ""
        kept: list[Markup] = []
        for piece in pieces:
            if isinstance(piece, Text):
                source += piece.text
            else:
                source += f"{_OPEN}{len(kept)}{_CLOSE}"
                kept.append(self._html(piece, at))
        html = markdown.reset().convert(source)
        return Markup(_STAND_IN.sub(lambda match: kept[int(match[1])], html))

    def _html(self, piece: Piece, at: Settings | None) -> Markup:
        if isinstance(piece, NumberRef):
            return self._number(piece, at)
        if isinstance(piece, Citation):
            label = self._labels[piece.source]
            return Markup('<a class="cite" href="method.html#source-{}">{}</a>').format(piece.source, label)
        if isinstance(piece, RoleText):
            words = self._words(piece.pieces, at)
            return Markup('<span class="role role-{}">{}</span>').format(piece.role, words)
        assert isinstance(piece, Math)
        return to_mathml(piece.latex)

    def _number(self, piece: NumberRef, at: Settings | None) -> Markup:
        """The number's text, and for scripts its name, its settings and its exact value."""
        given = (at.model_dump(exclude_none=True) if at else {}) | piece.settings.model_dump(exclude_none=True)
        found = number(self.lesson, piece.name, given)
        settings = {name: _short(value) for name, value in given.items()}
        value = "" if found.value is None else _short(found.value)
        return Markup(
            '<data class="number" data-kind="{}" data-number="{}" data-at="{}" value="{}">{}</data>'
        ).format(
            found.kind,
            piece.name,
            json.dumps(settings, separators=(",", ":")),
            value if isinstance(value, str) else json.dumps(value),
            found.text,
        )


def _short(value: Any) -> Any:
    """60.0 as 60, the way that scripts write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# --- Markdown without what authors must not do -------------------------------------------


class _Links(Treeprocessor):
    """Leaves a link its address only where `check` allows it, and nothing in an attribute to replace."""

    def run(self, root: Element) -> None:
        for element in root.iter():
            for name, value in element.attrib.items():
                element.set(name, _STAND_IN.sub("", value))
            if element.tag == "a":
                target = element.get("href", "")
                if not _GOOD_LINK.fullmatch(target):
                    del element.attrib["href"]
                elif target.startswith("http"):
                    element.set("rel", "noopener")


def _markdown(inline_only: bool) -> Markdown:
    markdown = Markdown(extensions=["sane_lists"], output_format="html")
    # Without these, HTML is text like any other, and is escaped like it.
    markdown.preprocessors.deregister("html_block")
    markdown.inlinePatterns.deregister("html")
    # No pictures, no links by reference, no mail addresses.
    for name in (
        "image_link", "image_reference", "short_image_ref", "reference", "short_reference", "automail",
    ):  # fmt: skip
        markdown.inlinePatterns.deregister(name)
    # Headings belong to the parts; "#1 of 3" and indented text are no mark-up.
    blocks = ["reference", "hashheader", "setextheader", "code"]
    if inline_only:
        blocks += ["indent", "hr", "olist", "ulist", "quote"]
    for name in blocks:
        markdown.parser.blockprocessors.deregister(name)
    markdown.treeprocessors.register(_Links(markdown), "links", 0)
    return markdown

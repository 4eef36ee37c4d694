"""The text of lesson.yaml -> plain data, and where every key and value of it stands.

The language is YAML 1.2's core schema on PyYAML's scanner, so that a value means what its
author meant:

    true false                       booleans; yes, no, on, off are text
    null ~ and nothing               nothing
    10 -3                            whole numbers; 010, 0x10, 1_000 and 12:30 are text
    1.5 .5 1e-3                      numbers; .inf and .nan are text
    2024-10-17                       text

Keys are text, whatever they look like. Anchors and aliases work. What would change the
meaning without a word is a fault with its line: a key given twice, a merge key, a tag, a
second document, a `#` that cuts off the end of a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from build_scripts.spec.faults import DataPath, Document, Fault, Span, path_text
from build_scripts.spec.wording import in_short, plain_yaml_error

MAX_DEPTH = 40
MAX_NODES = 50_000
"""Values of the file once every alias is written out; a lesson has a few thousand."""
MAX_WHOLE = 10**15
"""Beyond this a whole number is no longer exact in a browser."""

_NULL = re.compile(r"(?:~|null|Null|NULL)?")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)

# All that YAML does not allow, and the line breaks that editors do not count as lines.
UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# YAML takes this for a comment, and the author may not have.
_CUT_OFF = re.compile(r"[ \t]+(#[^\s#!].*)")


class Stop(Exception):
    """The file cannot be read beyond this."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def compose(document: Document) -> None:
    """Read the document's text into its data and positions. Stop where it cannot be read on."""
    root = _Composer(document).compose()
    document.data = _Writer(document).write(root, (), 0)


def scalar(text: str) -> Any:
    """What unquoted text means: see the table at the top of this file."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _WHOLE.fullmatch(text) and len(text) < 400:
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text


def unprintable(character: str) -> str:
    what = "an invisible character" if ord(character) > 0x9F else "a control character"
    return f"{what} (U+{ord(character):04X}): delete it"


# --- text to nodes -----------------------------------------------------------------------


@dataclass
class _Node:
    span: Span
    value: Any
    """A scalar's meaning, a list of nodes, or a dict of text -> (the key's span, node)."""


class _Composer:
    """Builds nodes from PyYAML's events, where every alias is a node met before."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.loader = yaml.SafeLoader(document.text)
        self.anchors: dict[str, _Node | None] = {}

    def compose(self) -> _Node:
        self.next()  # the start of the stream
        first = self.next()
        if isinstance(first, yaml.StreamEndEvent):
            self.stop(Span(1, 1, 0, 0), "this file is empty", "file")
        root = self.node(self.next(), (), 0)
        self.next()  # the end of the document
        after = self.next()
        if not isinstance(after, yaml.StreamEndEvent):
            self.stop(_span(after), "a second document starts here; a lesson is one document", "YAML")
        if not isinstance(root.value, dict):
            self.stop(root.span, "a lesson must be a mapping of fields, such as `title: …`", "lesson")
        return root

    def next(self) -> Any:
        try:
            return self.loader.get_event()
        except yaml.MarkedYAMLError as error:
            mark, message = plain_yaml_error(error)
            self.stop(Span(mark.line + 1, mark.column + 1, mark.index, mark.index), message, "YAML")
        except Exception:  # PyYAML trips over a few escapes and version numbers
            mark = self.loader.get_mark()
            self.stop(Span(mark.line + 1, mark.column + 1, mark.index, mark.index), "this is no YAML", "YAML")

    def stop(self, span: Span, message: str, path: str) -> NoReturn:
        raise Stop(Fault(self.document.file, span.line, span.column, path, message))

    def note(self, path: DataPath, span: Span, message: str, broken: bool = False) -> None:
        self.document.faults.append(self.document.fault(path, message, span))
        if broken:
            self.document.broken.add(path_text(path))

    def node(self, event: Any, path: DataPath, depth: int) -> _Node:
        span = _span(event)
        if depth > MAX_DEPTH:
            self.stop(span, f"nested more than {MAX_DEPTH} levels deep", path_text(path[:3]))
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, path)
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self.note(path, span, f"the tag {in_short(event.tag)} is not understood here: leave it out", True)
        anchor = event.anchor
        if anchor is not None:
            if anchor in self.anchors:
                self.note(path, span, f"the anchor &{anchor} is already used above")
            self.anchors[anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = _Node(span, self.scalar(event, path))
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(span, path, depth)
        else:
            node = self.mapping(span, path, depth)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def sequence(self, span: Span, path: DataPath, depth: int) -> _Node:
        items: list[_Node] = []
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items)), depth + 1))
        return _Node(span._replace(end=event.end_mark.index), items)

    def mapping(self, span: Span, path: DataPath, depth: int) -> _Node:
        entries: dict[str, tuple[Span, _Node]] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            key_span = _span(event)
            key = self.key(event, path, depth)
            value = self.node(self.next(), (*path, key) if key is not None else path, depth + 1)
            if key is None:
                continue
            if key in entries:
                message = f"this field is already set on line {entries[key][0].line}"
                self.note((*path, key), key_span, message)
            elif key == "<<":
                self.note(path, key_span, "merge keys (<<) are not understood here: write the fields out")
            else:
                entries[key] = (key_span, value)
        return _Node(span._replace(end=event.end_mark.index), entries)

    def key(self, event: Any, path: DataPath, depth: int) -> str | None:
        if isinstance(event, yaml.ScalarEvent):
            if event.tag in (None, "!", "tag:yaml.org,2002:str"):
                return str(self.text(event, path))
            self.node(event, path, depth + 1)
            return None
        span = _span(event)
        self.node(event, path, depth + 1)
        self.note(
            path, span, "a field's name must be a word; text that starts with { or [ needs quotes", True
        )
        return None

    def alias(self, event: Any, path: DataPath) -> _Node:
        node = self.anchors.get(event.anchor)
        if node is not None:
            return node
        if event.anchor in self.anchors:
            self.stop(_span(event), f"*{event.anchor} stands inside of what it refers to", path_text(path))
        message = f"there is no anchor &{event.anchor} above; text that starts with * needs quotes"
        self.note(path, _span(event), message, True)
        return _Node(_span(event), None)

    def scalar(self, event: Any, path: DataPath) -> Any:
        text = self.text(event, path)
        if event.tag is not None or event.style is not None:
            return text
        value = scalar(text)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not abs(value) <= MAX_WHOLE:
            self.note(path, _span(event), "this number is too large", True)
            return 0
        if isinstance(value, str) and (cut := _CUT_OFF.match(self.document.text, event.end_mark.index)):
            message = f"{in_short(cut[1])} is left out as a comment: put the text in quotes"
            self.note(path, _span(event), f"{message}, or write `# ` before a comment")
        return value

    def text(self, event: Any, path: DataPath) -> str:
        """A scalar's text, without what an escape such as "\\0" may have smuggled in."""
        stray = UNPRINTABLE.search(event.value)
        if stray is None:
            return str(event.value)
        self.note(path, _span(event), f"this escape makes {unprintable(stray[0])}")
        return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", event.value)


def _span(event: Any) -> Span:
    start, end = event.start_mark, event.end_mark
    return Span(start.line + 1, start.column + 1, start.index, end.index)


# --- nodes to data -----------------------------------------------------------------------


class _Writer:
    """Writes nodes out as plain data, aliases too, and notes where each part stands."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.left = MAX_NODES

    def write(self, node: _Node, path: DataPath, depth: int) -> Any:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            message = (
                f"with its aliases written out, this is more than {MAX_NODES:,} values or {MAX_DEPTH} levels"
            )
            raise Stop(
                Fault(self.document.file, node.span.line, node.span.column, path_text(path[:3]), message)
            )
        self.document.values[path] = node.span
        if isinstance(node.value, list):
            return [self.write(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        if isinstance(node.value, dict):
            written = {}
            for key, (span, value) in node.value.items():
                self.document.keys[(*path, key)] = span
                written[key] = self.write(value, (*path, key), depth + 1)
            return written
        return node.value

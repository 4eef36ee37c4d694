r"""What authors write in rich text, taken apart; no HTML here.

Rich text is Markdown, and:

    {{ speedup }}  {{ speedup draft_ms=30 bonus=on }}   a number: a result of the model, or a
                                                        parameter, at other settings if there are any
    [@leviathan-2023]                                   a citation
    :draft[text]                                        text in the colour of a role
    $h^2$                                               LaTeX

`\$` is a dollar sign, `\{\{` two braces, and nothing is looked for in `code`, nor in a
link's address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Union, get_args

from pydantic import ValidationError

from build_scripts.spec.compose import scalar
from build_scripts.spec.latex import to_mathml
from build_scripts.spec.schema import Parameters, Readout, Role, Settings
from build_scripts.spec.wording import plain_schema_error, quoted, unknown

READOUTS = get_args(Readout)
ROLES = get_args(Role)
NUMBERS = (*READOUTS, *Parameters.model_fields)
SETTINGS = tuple(Settings.model_fields)


@dataclass(frozen=True)
class Text:
    """Markdown to keep as it is."""

    text: str


@dataclass(frozen=True)
class NumberRef:
    """A number of the lesson; `settings` holds only what the text sets."""

    name: str
    settings: Settings
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Citation:
    source: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class RoleText:
    role: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Math:
    latex: str


Piece = Union[Text, NumberRef, Citation, RoleText, Math]


@dataclass(frozen=True)
class Problem:
    """What is wrong with text[start:end]."""

    message: str
    start: int
    end: int


@dataclass(frozen=True)
class Link:
    """The address of a link, at text[start:end]."""

    target: str
    start: int
    end: int


@dataclass
class Parsed:
    """Rich text taken apart. With `problems`, `pieces` leave out what is wrong."""

    pieces: list[Piece] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


_TOKEN = re.compile(
    r"""
      (?P<escape> \\. )
    | (?P<code> (?P<ticks>`+) (?!`) (?:(?!\n[ \t]*\n).)+? (?<!`) (?P=ticks) (?!`) )
    | (?P<number> \{\{ )
    | (?P<closed> \}\} )
    | (?P<picture> !\[ )
    | (?P<citation> \[@ )
    | (?P<role> (?<![\w:]) : (?P<role_name>[A-Za-z][\w-]*) \[ )
    | (?P<math> \$ )
    | (?P<link> \]\( )
    | (?P<address> <(?P<url>https?://[^<>\s]*)> )
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"\{\{((?:(?!\{\{).)*?)\}\}", re.DOTALL)
_CITATION = re.compile(r"\[@([^\[\]\s@]*)\]")
_MATH = re.compile(r"\$((?:\\.|[^$\\])*)\$", re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s\"]*(?:\([^()\s\"]*\)[^()\s\"]*)*)(?:[ \t]+\"[^\"\n]*\")?\)")
# Markdown reads such a line by recursion, until there is no stack left.
_DEEP = re.compile(r"^[ \t]*(?:(?:[-*+>]|[0-9]+\.)[ \t]+){9}", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def parse(text: str) -> Parsed:
    """Rich text as pieces in reading order; nothing raises, `problems` has what is wrong."""
    reader = _Reader(text)
    reader.read(len(text))
    for match in _DEEP.finditer(text):
        reader.problem("lists and quotations nested this deep", *match.span())
    return reader.parsed


def every_piece(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, and those inside of them."""
    for piece in pieces:
        yield piece
        if isinstance(piece, RoleText):
            yield from every_piece(piece.pieces)


class _Reader:
    def __init__(self, text: str, position: int = 0, inside_role: bool = False) -> None:
        self.text = text
        self.position = position
        self.inside_role = inside_role
        self.parsed = Parsed()
        self.plain = ""

    def read(self, end: int) -> None:
        while match := _TOKEN.search(self.text, self.position, end):
            self.plain += self.text[self.position : match.start()]
            self.position = match.end()
            # The group that closes last is the outermost one: the token's name.
            getattr(self, f"_{match.lastgroup}")(match, end)
        self.plain += self.text[self.position : end]
        self.flush()

    def flush(self) -> None:
        if self.plain:
            self.parsed.pieces.append(Text(self.plain))
            self.plain = ""

    def piece(self, piece: Piece) -> None:
        self.flush()
        self.parsed.pieces.append(piece)

    def problem(self, message: str, start: int, end: int) -> None:
        self.parsed.problems.append(Problem(message, start, end))

    def _escape(self, token: re.Match[str], end: int) -> None:
        # Markdown knows the other escapes, and would show the backslash of these.
        self.plain += token[0][1] if token[0][1] in "$:" else token[0]

    def _code(self, token: re.Match[str], end: int) -> None:
        self.plain += token[0]

    def _address(self, token: re.Match[str], end: int) -> None:
        self.parsed.links.append(Link(token["url"], *token.span("url")))
        self.plain += token[0]

    def _number(self, token: re.Match[str], end: int) -> None:
        match = _NUMBER.match(self.text, token.start(), end)
        if match is None:
            self.problem("{{ has no }} after it; write \\{\\{ for braces", *token.span())
            return
        self.position = match.end()
        settings, problems = _settings(match[1])
        for problem in problems:
            self.problem(problem, *match.span())
        if settings is not None:
            self.piece(NumberRef(match[1].split()[0], settings, *match.span()))

    def _closed(self, token: re.Match[str], end: int) -> None:
        self.problem("}} has no {{ before it; write \\}\\} for braces", *token.span())

    def _picture(self, token: re.Match[str], end: int) -> None:
        self.problem("rich text takes no pictures; write \\!\\[ for the characters", *token.span())

    def _citation(self, token: re.Match[str], end: int) -> None:
        match = _CITATION.match(self.text, token.start(), end)
        if match is None or not match[1]:
            self.problem("a citation is [@id], with one source's id in it", *token.span())
            return
        self.position = match.end()
        self.piece(Citation(match[1], *match.span()))

    def _math(self, token: re.Match[str], end: int) -> None:
        match = _MATH.match(self.text, token.start(), end)
        latex = match[1] if match else ""
        if match is None or not latex or latex != latex.strip() or _BLANK_LINE.search(latex):
            self.problem("a $ that opens no $formula$; write \\$ for a dollar sign", *token.span())
            return
        self.position = match.end()
        try:
            to_mathml(latex)
        except ValueError as error:
            self.problem(str(error), *match.span())
            return
        self.piece(Math(latex))

    def _link(self, token: re.Match[str], end: int) -> None:
        match = _LINK.match(self.text, token.start(), end)
        if match is None:
            self.problem("a link is [text](address), with no spaces in the address", *token.span())
            return
        self.position = match.end()
        self.parsed.links.append(Link(match[1], *match.span()))
        self.plain += match[0]

    def _role(self, match: re.Match[str], end: int) -> None:
        close = _closing_bracket(self.text, match.end(), end)
        if close is None:
            self.problem(f"{match[0]} has no ] after it", match.start(), match.end())
            return
        name = match["role_name"]
        if name not in ROLES:
            self.problem(unknown("role", name, ROLES), match.start(), match.end())
        if self.inside_role:
            self.problem("a role stands inside of another", match.start(), match.end())
            return
        inner = _Reader(self.text, match.end(), inside_role=True)
        inner.read(close)
        self.position = close + 1
        self.parsed.problems += inner.parsed.problems
        self.parsed.links += inner.parsed.links
        if not self.text[match.end() : close].strip():
            self.problem(f"{match[0]}] has no text", match.start(), close + 1)
        elif name in ROLES:
            self.piece(RoleText(name, tuple(inner.parsed.pieces)))


def _closing_bracket(text: str, start: int, end: int) -> int | None:
    depth = 1
    for match in re.compile(r"\\.|[\[\]]", re.DOTALL).finditer(text, start, end):
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return None


def _settings(text: str) -> tuple[Settings | None, list[str]]:
    """`speedup draft_ms=30` -> the settings; None, and why, where it is no number."""
    name, *pairs = text.split() or [""]
    problems = [] if name in NUMBERS else [unknown("number", name, NUMBERS)]
    values: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value:
            problems.append(f"{quoted(pair)} is no setting, such as draft_ms=30")
        elif key not in SETTINGS:
            problems.append(unknown("setting", key, SETTINGS))
        elif key in values:
            problems.append(f"{key} is set twice")
        else:
            values[key] = (
                {"on": True, "off": False}.get(value, scalar(value)) if key == "bonus" else scalar(value)
            )
    if values and name in NUMBERS and name not in (*READOUTS, *SETTINGS):
        problems.append(f"{name} does not depend on settings")
    # `None` is a default of Settings, and nothing that an author would write here.
    values = {key: "null" if value is None else value for key, value in values.items()}
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        problems += [f"{fault['loc'][0]} {plain_schema_error(fault)}" for fault in error.errors()]
        return None, problems
    return (None if problems else settings), problems

"""What PyYAML and pydantic complain about, in the words of somebody who writes a lesson."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

# --- YAML --------------------------------------------------------------------------------

_INDENTED = "text must be indented more than its field"
_MEND = "mend the indentation or the quotes"
_CLOSERS = {"flow sequence": "]", "flow mapping": "}"}


def plain_yaml_error(error: yaml.MarkedYAMLError) -> tuple[yaml.Mark, str]:
    """Where a YAML error is best mended, and what is wrong there."""
    context, problem = error.context or "", error.problem or ""
    here = error.problem_mark or error.context_mark
    start = error.context_mark or here
    character = (
        problem.split("character ", 1)[-1][:3].strip("'") if "cannot start any token" in problem else ""
    )
    if problem.startswith(r"found character '\t'"):
        return here, "a tab: indent with spaces, or put the text in quotes"
    if character:
        return here, f"text cannot start with {character} here: put it in quotes"
    if context == "while scanning an alias":
        return start, "text that starts with * needs quotes"
    if context == "while scanning an anchor":
        return start, "text that starts with & needs quotes"
    if context.startswith(("while scanning a tag", "while parsing a tag", "while parsing a node")):
        return start, "text that starts with ! needs quotes"
    if context.startswith("while scanning a directive"):
        return start, "text that starts with % needs quotes"
    if "quoted scalar" in context:
        return _quoted(problem, start, here)
    if context == "while scanning a block scalar":
        return here, "after | or > nothing may follow on the line; text that starts with > or | needs quotes"
    if problem == "mapping values are not allowed here":
        return here, "a colon that starts no value: put the text in quotes, or mend the indentation"
    if problem == "sequence entries are not allowed here":
        return here, "a list's item cannot start here: give it its own line, or put the text in quotes"
    if problem == "could not find expected ':'":
        return start, f"a field needs a colon and a space after its name; {_INDENTED}"
    if context == "while parsing a block mapping":
        return here, f"no field of the mapping that starts on line {start.line + 1}: {_MEND}"
    if context == "while parsing a block collection":
        return here, f"no item of the list that starts on line {start.line + 1}: {_MEND}"
    if problem.startswith("expected '<document start>'"):
        return here, "this stands outside of the mapping that the file starts with: mend the indentation"
    if problem.startswith("expected the node content"):
        return here, "a value is missing before this"
    for kind, closer in _CLOSERS.items():
        if context == f"while parsing a {kind}":
            return here, f"a comma or the {closer} that closes line {start.line + 1} is missing"
    return here, " ".join(f"this is no YAML: {problem}".split())


def _quoted(problem: str, start: yaml.Mark, here: yaml.Mark) -> tuple[yaml.Mark, str]:
    if "escape" in problem:
        return here, "an unknown escape after \\ in double quotes: write \\\\, or use single quotes"
    return start, "the quotes that open here are never closed"


# --- values ------------------------------------------------------------------------------

MANY = 30
"""Names that a message lists at most."""


def in_short(text: object, length: int = 40) -> str:
    """A value in a message: on one line, not too long."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def quoted(text: object) -> str:
    return f"'{in_short(text)}'"


def one_of(words: Iterable[object]) -> str:
    """The words in a row; of many only the first."""
    known = list(map(str, words))
    return ", ".join(known[:MANY]) + (", …" if len(known) > MANY else "")


def close_match(word: object, words: Iterable[str]) -> str:
    """The hint `; did you mean 'target_ms'?`, or nothing where no word is close."""
    close = difflib.get_close_matches(str(word), list(words), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def unknown(what: str, word: object, words: Iterable[str]) -> str:
    """'targt' is no field; did you mean 'target'? All that are allowed where nothing is close."""
    known = list(words)
    hint = close_match(word, known) or (f"; allowed: {one_of(known)}" if known else "; there is none")
    return f"{quoted(word)} is no {what}{hint}"


def kind_of(value: object) -> str:
    """What a value is, as its author sees it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {quoted(value)}" if value.strip() else "an empty text"
    return "a list" if isinstance(value, list) else "a mapping"


def amount(number: Any) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


# --- pydantic ----------------------------------------------------------------------------

_PATTERNS = {
    r"^[a-z][a-z0-9-]*$": "small letters, digits and hyphens, a letter first",
    r"^[a-z][a-z0-9]*$": "small letters and digits, a letter first",
    r"^https?://[^\s/]+": "an address that starts with http:// or https://",
    r"^\d\d$": "two digits, such as '04'",
}

_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def plain_schema_error(error: Mapping[str, Any]) -> str:
    """What is wrong with a value, and what is allowed; `error` is one of pydantic's."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words} {amount(context[key])}, not {amount(value)}"
    if kind == "string_type":
        hint = ": put it in quotes" if isinstance(value, (bool, int, float)) else ""
        return f"must be text, not {kind_of(value)}{hint}"
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "string_pattern_mismatch":
        return f"{quoted(value)} must be {_PATTERNS.get(context['pattern'], context['pattern'])}"
    if kind in ("int_type", "int_from_float", "float_type", "finite_number"):
        whole = "a whole number" if kind.startswith("int") else "a number"
        zero = isinstance(value, str) and value.isdigit() and value.startswith("0")
        hint = " (a number has no leading zero)" if zero else ""
        return f"must be {whole}, not {kind_of(value)}{hint}"
    if kind == "bool_type":
        return f"must be true or false, not {kind_of(value)}"
    if kind == "list_type":
        return f"must be a list, not {kind_of(value)}"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return f"must be a mapping, not {kind_of(value)}"
    if kind in ("too_short", "too_long"):
        return _length(kind, context)
    # What is left is rare enough for pydantic's own words.
    message = in_short(error["msg"], 120).removeprefix("Input should ")
    return f"must {message}" if error["msg"].startswith("Input should ") else message


def _length(kind: str, context: Mapping[str, Any]) -> str:
    least, most, actual = context.get("min_length"), context.get("max_length"), context.get("actual_length")
    if kind == "too_short":
        items = "item" if least == 1 else "items"
        return f"needs at least {least} {items}, and has {actual}"
    return f"takes at most {most} items, and has {actual}"

"""Plain text in which `{name}` is filled in; `{{` and `}}` are braces, as in Python's str.format."""

from __future__ import annotations

import re
from collections.abc import Iterable

from build_scripts.spec.richtext import Problem
from build_scripts.spec.wording import quoted, unknown

_FIELD = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|(?P<stray>[{}])")


def template_problems(template: str, names: Iterable[str] | None) -> list[Problem]:
    """What is wrong with a template that may use `names`; None leaves the names to its view."""
    problems = []
    for match in _FIELD.finditer(template):
        name = match["name"]
        if match["stray"]:
            message = f"a {match[0]} without its partner; write {match[0] * 2} for the brace itself"
        elif name is None or (name.isidentifier() if names is None else name in names):
            continue
        elif names is None:
            message = f"{quoted(match[0])} is no name in braces"
        else:
            message = unknown("name of this template", name, names)
        problems.append(Problem(message, *match.span()))
    return problems

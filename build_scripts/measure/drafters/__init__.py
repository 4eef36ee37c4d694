"""The drafters, one module each. A new one is a new file here with a function `create`.

A module's name is the drafter's name; `create(**options)` returns a Drafter. Modules are
imported when they are asked for, so one drafter's needs are not the others'.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from build_scripts.measure.drafting import Drafter


def names() -> list[str]:
    """Every drafter, in alphabetical order."""
    return sorted(module.name for module in iter_modules(__path__))


def create(name: str, **options: Any) -> Drafter:
    """The drafter of that name. ValueError, in one line, for a name that there is not."""
    if name not in names():
        raise ValueError(f"no drafter is called {name}; there are {', '.join(names())}")
    return import_module(f"{__name__}.{name}").create(**options)

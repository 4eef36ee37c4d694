"""The drafters, one module each. A new one is a new file here, and nothing else.

A module's name is the drafter's name; its `create(**options)` returns a Drafter. One that is worth
measuring has a function `for_target(target)` too, which returns it as it drafts for that target,
and, where it reads a file of weights, that file's path as `WEIGHTS`; the oracle and the adversary,
which are for proofs, have neither. Modules are imported when they are asked for, so one drafter's
needs are not the others'.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
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


def measurable() -> dict[str, ModuleType]:
    """The modules of those that are worth measuring, by name, in alphabetical order."""
    modules = {name: import_module(f"{__name__}.{name}") for name in names()}
    return {name: module for name, module in modules.items() if hasattr(module, "for_target")}

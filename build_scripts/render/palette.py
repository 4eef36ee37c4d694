"""The lesson's colours, read out of the stylesheet, which owns them.

Charts are built with the light colours. The static pictures name the custom property
behind each of them, and so follow the page into the dark; `charts.js` does the same at
run time with the map that every figure carries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_PROPERTY = re.compile(r"(--ls-[\w-]+)\s*:\s*(#[0-9a-fA-F]{3,8})\s*(?:;|$)")
_DARK = re.compile(r'\[data-md-color-scheme="?slate"?\]')


@dataclass(frozen=True)
class Palette:
    """Colours by role ("accent", "draft-bg", …), for light and for dark pages."""

    light: Mapping[str, str]
    dark: Mapping[str, str]

    def __getitem__(self, role: str) -> str:
        """The light colour of a role, "#rrggbb". ValueError for a role that the stylesheet lacks."""
        try:
            return self.light[role]
        except KeyError:
            raise ValueError(f"the stylesheet has no --ls-{role}") from None

    def variables(self) -> dict[str, str]:
        """Light colour -> custom property. Of two roles with one colour the first one stands for it."""
        found: dict[str, str] = {}
        for role, colour in self.light.items():
            found.setdefault(colour, f"--ls-{role}")
        return found


def read_palette(stylesheet: Path) -> Palette:
    """The palette of a stylesheet: `--ls-*` of `:root`, and those of the slate scheme.

    Properties that hold no plain hex colour are no part of it. ValueError, in one line, where
    either palette is empty or the dark one misses a role.
    """
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for selector, body in _RULE.findall(_COMMENT.sub("", stylesheet.read_text(encoding="utf-8"))):
        if _DARK.search(selector):
            palette = dark
        elif ":root" in selector:
            palette = light
        else:
            continue
        for name, colour in _PROPERTY.findall(body):
            palette.setdefault(name.removeprefix("--ls-"), _long(colour))
    missing = sorted(set(light) - set(dark))
    if not light or missing:
        what = f"no dark --ls-{missing[0]}" if light else "no --ls-* colours under :root"
        raise ValueError(f"{stylesheet.name}: {what}")
    return Palette(light, dark)


def _long(colour: str) -> str:
    """#abc as #aabbcc, in lower case."""
    digits = colour[1:].lower()
    return "#" + ("".join(digit * 2 for digit in digits) if len(digits) in (3, 4) else digits)

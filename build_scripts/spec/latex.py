"""LaTeX -> MathML: the browser typesets it, with no script and no font to load.

It stands with the spec, since a formula that does not convert is a fault of the lesson.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup

MAX_LENGTH = 1000
"""No formula of a page is longer, and what is nested deeper exhausts the converter."""

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", _NAMESPACE)

_KNOWN = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "msub", "msup",
    "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom", "menclose",
}  # fmt: skip

# What could reach out of the formula: addresses, and the page's own styles and names.
_REFUSED = {"href", "style", "class", "id"}

# Elements that mean nothing with another number of children.
_CHILDREN = {
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3,
}  # fmt: skip


@cache
def to_mathml(latex: str, display: Literal["inline", "block"] = "inline") -> Markup:
    """The formula as one <math> element, its LaTeX as the text alternative.

    ValueError, in one line, for LaTeX that is not complete or has a command that the
    converter does not know: it would pass those through as text.
    """

    def refuse(reason: str) -> ValueError:
        return ValueError(f"not a formula ({reason}): {' '.join(latex.split())}")

    if len(latex) > MAX_LENGTH:
        raise ValueError(f"not a formula (longer than {MAX_LENGTH} characters)")
    bare = re.sub(r"\\.", "", latex, flags=re.DOTALL)
    if bare.count("{") != bare.count("}"):
        raise refuse("its braces are not balanced")
    try:
        source = convert(latex, display=display)
    except Exception as error:  # the converter's own errors share no base class
        raise refuse(_words(type(error).__name__)) from None
    try:
        math = ElementTree.fromstring(source)
    except ElementTree.ParseError:
        raise refuse("it does not become MathML") from None
    for element in math.iter():
        name = element.tag.removeprefix(f"{{{_NAMESPACE}}}")
        text = element.text or ""
        if name in _CHILDREN and len(element) != _CHILDREN[name]:
            raise refuse("an argument is missing")
        if "\\" in text or (name == "mi" and text in ("{", "}", "&")):
            raise refuse(f"unknown: {text}")
        if name not in _KNOWN or (name == "mo" and not text):
            raise refuse(f"it makes a stray <{name}>")
        if refused := _REFUSED & set(element.attrib):
            raise refuse(f"it sets {min(refused)}")
    math.set("alttext", latex)
    return Markup(ElementTree.tostring(math, encoding="unicode"))


def _words(name: str) -> str:
    """DoubleSuperscriptsError -> "double superscripts"."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return spaced.removesuffix(" error").strip()

"""What a page of HTML refers to: the files it loads, the places it links to, the places it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch", "preconnect"}
"""The relations of a <link> that make a browser fetch; canonical, prev and next do not."""

LOADED_ATTRIBUTES = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "image": ("href", "xlink:href"),
    "img": ("src", "srcset"), "input": ("src",), "object": ("data",), "script": ("src",),
    "source": ("src", "srcset"), "track": ("src",), "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}  # fmt: skip


@dataclass
class References:
    loads: list[str] = field(default_factory=list)
    """Addresses, as written, that a browser fetches to show the page."""
    links: list[str] = field(default_factory=list)
    """Addresses, as written, that a reader may go to."""
    ids: list[str] = field(default_factory=list)
    """Names of places in the page, in order; more than once where the page repeats one."""


def read_references(html: str) -> References:
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = References()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if values.get("id"):
            self.found.ids.append(values["id"])
        if tag in ("a", "area") and "href" in values:
            self.found.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            loaded = LOADED_RELATIONS & set(values.get("rel", "").lower().split())
            (self.found.loads if loaded else self.found.links).append(values["href"])
        for name in LOADED_ATTRIBUTES.get(tag, ()):
            if values.get(name):
                self.found.loads.append(values[name])

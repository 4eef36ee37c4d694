"""The bytes of a page, asset by asset, as a web server that compresses sends them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from build_scripts.bench.references import read_references
from build_scripts.bench.serving import served
from build_scripts.chromium import find_chromium, launch_chromium

COMPRESSED = {".css", ".html", ".js", ".json", ".svg", ".txt", ".xml"}
PLOTLY = "assets/vendor/plotly-cartesian.min.js"


@dataclass(frozen=True)
class Asset:
    """One file of a site: its path, its bytes, and its bytes on the wire."""

    path: str
    raw: int
    sent: int


def measure(site: Path, path: str) -> Asset:
    """`sent` is the size after gzip -6, or as it is for what is compressed already."""
    data = (site / path).read_bytes()
    sent = len(gzip.compress(data, compresslevel=6)) if Path(path).suffix in COMPRESSED else len(data)
    return Asset(path, len(data), sent)


def first_view(site: Path, page: str = "index.html") -> tuple[list[Asset], str]:
    """The files that opening `page` fetches before the reader does anything, and how that was found."""
    written = read_references((site / page).read_text(encoding="utf-8"))
    paths = {page} | {reference.split("?")[0] for reference in written.loads if not urlsplit(reference).scheme}
    fetched = _fetched(site, page)
    how = "what Chromium fetched, and the icon" if fetched else "what the HTML names (there is no Chromium)"
    if fetched:  # a headless browser asks for no icon; a reader's does
        paths = fetched | {path for path in paths if Path(path).suffix in (".png", ".ico", ".svg")}
    return sorted((measure(site, path) for path in paths), key=lambda asset: -asset.sent), how


def _fetched(site: Path, page: str) -> set[str]:
    """Paths that a Chromium asks the site for when it opens `page`; none without a Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return set()
    with sync_playwright() as playwright, served(site) as url:
        executable = find_chromium(playwright)
        if not executable:
            return set()
        browser = launch_chromium(playwright, executable)
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(url + page, wait_until="networkidle")
        browser.close()
    return {unquote(address.removeprefix(url).split("?")[0]) for address in asked if address.startswith(url)}

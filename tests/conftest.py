"""What the tests share: one build of the real site, served three ways, and a watched browser.

Nothing leaves the machine: Chromium resolves no other host, and a page that asks for one,
or writes an error to its console, fails its test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, sync_playwright

from build_scripts.bench.project import ROOT, build_site, copy_project
from build_scripts.bench.serving import served
from build_scripts.chromium import ADVICE, find_chromium, launch_chromium

os.environ["OMP_NUM_THREADS"] = "1"  # tests share few cores


@pytest.fixture(scope="session")
def lesson_path() -> Path:
    """The lesson that the project publishes."""
    return ROOT / "lesson.yaml"


def build(folder: Path, **environment: str) -> Path:
    """A clean build of the project, from a copy of it; the working tree is not written to."""
    project = copy_project(folder / "project")
    result = build_site(project, folder / "site", **environment)
    assert result.status == 0, f"the site does not build:\n{result.output}"
    return folder / "site"


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site. Tests share it: read it, do not write to it."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def site_url(built_site: Path) -> Iterator[str]:
    """The built site at the root of a web server; ends in a slash."""
    with served(built_site) as url:
        yield url


@pytest.fixture(scope="session")
def subpath_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site built for an address below a path, as that of a project on GitHub Pages."""
    return build(tmp_path_factory.mktemp("subpath"), SITE_URL="https://example.org/course/lesson/")


@pytest.fixture(scope="session")
def subpath_url(subpath_site: Path) -> Iterator[str]:
    """That site, served below /course/lesson/ and nowhere else; ends in a slash."""
    with served(subpath_site, "/course/lesson/") as url:
        yield url


@pytest.fixture(scope="session")
def file_url(built_site: Path) -> str:
    """The built site opened from disk, without a server; ends in a slash."""
    return built_site.as_uri() + "/"


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium. Without one its tests are skipped, and fail under CI."""
    executable = find_chromium(playwright)
    if executable is None:
        reason = f"there is no Chromium. {ADVICE}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    started = launch_chromium(playwright, executable)
    yield started
    started.close()


class Pages:
    """Opens pages and watches them: `requests` and `errors` of all, in order."""

    def __init__(self, browser: Browser) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._browser = browser
        self._contexts: list[Any] = []

    def new(self, width: int = 1280, height: int = 800, **options: Any) -> Page:
        """A page in a context of its own: nothing stored, and Playwright's `options` for a context."""
        context = self._browser.new_context(viewport={"width": width, "height": height}, **options)
        self._contexts.append(context)
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("console", self._note)
        context.on("weberror", lambda error: self.errors.append(f"uncaught: {error.error}"))
        return context.new_page()

    def expect_error(self, pattern: str) -> None:
        """Take the errors that match `pattern` off the list, where a test provokes them on purpose."""
        expected = [error for error in self.errors if re.search(pattern, error)]
        assert expected, f"no error matches {pattern!r}: {self.errors}"
        self.errors = [error for error in self.errors if error not in expected]

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url')})")


@pytest.fixture
def pages(browser: Browser) -> Iterator[Pages]:
    """`pages.new(width=320, color_scheme="dark", ...)`. Errors and off-site requests fail the test."""
    opened = Pages(browser)
    yield opened
    opened.close()
    assert not opened.errors, f"the console has errors: {opened.errors}"
    away = sorted({address for address in opened.requests if is_elsewhere(address)})
    assert not away, f"requests left the site: {away}"


@pytest.fixture
def page(pages: Pages) -> Page:
    """One watched page, 1280 by 800, light."""
    return pages.new()


def is_elsewhere(address: str) -> bool:
    """Whether a browser would go to another machine for `address`."""
    parts = urlsplit(address)
    return parts.scheme not in ("file", "data", "blob", "about") and parts.hostname != "127.0.0.1"

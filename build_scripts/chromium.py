"""Finds a Chromium for the tests and for `make bench`, and starts it cut off from the network.

`python -m build_scripts.chromium` makes sure that there is one: it downloads Playwright's
own where the machine has none, and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chrome")
"""What a Chromium is called on PATH. Not chromium-browser: on Ubuntu that is a script that
only says how to install one."""

ADVICE = "Install one (Debian: apt install chromium), or name one: CHROMIUM=/path/to/chrome"


def find_chromium(playwright: Playwright) -> str | None:
    """Path of $CHROMIUM, else of a Chromium on PATH, else of Playwright's own; None without any."""
    named = os.environ.get("CHROMIUM")
    on_path = (shutil.which(name) for name in ((named,) if named else NAMES))
    found = next((path for path in on_path if path), None)
    if found or named:
        return found
    own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


def launch_chromium(playwright: Playwright, executable: str) -> Browser:
    """A headless Chromium that resolves no name but the loopback's: nothing it opens leaves the machine."""
    return playwright.chromium.launch(
        executable_path=executable,
        args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
    )


def main() -> int:
    """0 when there is a Chromium or the tests can run without one; 1 under CI when there is none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        if find_chromium(playwright):
            return 0
        if not os.environ.get("CHROMIUM"):
            print("No Chromium on this machine; downloading Playwright's own (about 150 MB) ...", flush=True)
            subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"])
            if find_chromium(playwright):
                return 0
    ci = bool(os.environ.get("CI"))
    so = "and continuous integration needs one" if ci else "so what needs a browser is not run"
    print(f"There is no Chromium, {so}. {ADVICE}", file=sys.stderr)
    return 1 if ci else 0


if __name__ == "__main__":
    sys.exit(main())

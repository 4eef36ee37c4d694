"""The README's picture, taken of the built site: python -m build_scripts.picture"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from build_scripts.chromium import ADVICE, find_chromium, launch_chromium

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "site" / "index.html"
PICTURE = ROOT / ".github" / "screenshot.png"


def main() -> int:
    if not PAGE.is_file():
        print("There is no built site. Run: make site", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        executable = find_chromium(playwright)
        if executable is None:
            print(f"There is no Chromium. {ADVICE}", file=sys.stderr)
            return 1
        browser = launch_chromium(playwright, executable)
        page = browser.new_page(viewport={"width": 900, "height": 1000}, reduced_motion="reduce")
        page.goto(PAGE.as_uri() + "#step=3")
        page.wait_for_selector("html[data-lesson-ready]")
        page.add_style_tag(content=".md-header { display: none }")
        page.locator("#diagram").evaluate("heading => window.scrollTo(0, heading.offsetTop - 10)")
        page.screenshot(path=PICTURE)
        browser.close()
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())

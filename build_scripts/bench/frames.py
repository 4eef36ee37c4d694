"""How long the frames of a replay take: one recorded run, played from its start to its end."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from build_scripts.bench.serving import served
from build_scripts.chromium import find_chromium, launch_chromium

PAGE = "measured.html"
SLOWDOWNS = (1, 4)
"""Of the CPU, as Chromium's DevTools emulate it."""
LONGEST_S = 120

WATCH = """() => {
  window.frameMs = [];
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => ask((now) => {
    const started = performance.now();
    callback(now);
    document.body.getBoundingClientRect();
    window.frameMs.push(performance.now() - started);
  });
}"""
"""Asking for a size makes the browser do its style and layout at once, within what is timed."""


@dataclass(frozen=True)
class FrameTimes:
    """Milliseconds of script, style and layout of each frame."""

    trace: str
    slowdown: int
    ms: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def p95(self) -> float:
        return sorted(self.ms)[int(0.95 * (len(self.ms) - 1))]

    @property
    def longest(self) -> float:
        return max(self.ms)


def replay_frames(site: Path) -> list[FrameTimes]:
    """For each slowdown; none without a recorded run, or without a Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if not list((site / "traces").glob("*.js")):
        return []
    measured = []
    with sync_playwright() as playwright, served(site) as url:
        executable = find_chromium(playwright)
        if not executable:
            return []
        browser = launch_chromium(playwright, executable)
        for slowdown in SLOWDOWNS:
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(f"{url}{PAGE}#at=replay")
            tab.locator(".replay [data-act=open]").click()
            play = tab.locator(".replay [data-act=play]")
            play.wait_for()
            trace = tab.locator("[name=replay-run]:checked").input_value()
            tab.locator(".replay-scrub").evaluate(
                "slider => { slider.value = 0; slider.dispatchEvent(new Event('input', {bubbles: true})); }"
            )
            tab.context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
            tab.evaluate(WATCH)
            play.click()
            tab.wait_for_function(
                "(() => { const s = document.querySelector('.replay-scrub'); return Number(s.value) >= Number(s.max) - 0.01; })()",
                timeout=1000 * LONGEST_S,
            )
            measured.append(FrameTimes(trace, slowdown, tab.evaluate("frameMs")))
            tab.close()
        browser.close()
    return measured

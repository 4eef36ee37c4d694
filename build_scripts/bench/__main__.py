"""`python -m build_scripts.bench`: prints what building and reading the lesson cost.

Times depend on the machine, so each stands beside an empty Material site's, built in turn
with ours: the ratio carries over where the seconds do not.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from build_scripts.bench.project import Build, build_site, copy_project, edit_title, remove_generated
from build_scripts.bench.frames import FrameTimes, replay_frames
from build_scripts.bench.serving import live_site
from build_scripts.bench.transfer import PLOTLY, first_view, measure

CLEAN_BUILD_S = 3.0
REBUILD_S = 1.0
FIRST_VIEW_KB = 150.0
FRAME_MS = 16.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_scripts.bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="builds of each kind (default: 5)")
    runs = max(1, parser.parse_args().runs)
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    print(f"Python {platform.python_version()}, {machine}; medians of {runs}\n")
    with tempfile.TemporaryDirectory(prefix="lesson-bench-") as folder:
        try:
            _bench(Path(folder), runs)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


def _bench(folder: Path, runs: int) -> None:
    project, site = copy_project(folder / "project"), folder / "site"
    ours, empty = _clean_builds(project, site, _empty_project(folder / "empty"), runs)
    _print_builds(ours, empty)
    _print_rebuilds(*_rebuilds(project, runs))
    _print_transfer(site)
    _print_frames(replay_frames(site))


# --- building ----------------------------------------------------------------------------


def _empty_project(folder: Path) -> Path:
    """The smallest site with the same theme: what MkDocs and Material cost by themselves."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "index.md").write_text("# Empty\n", encoding="utf-8")
    settings = "site_name: Empty\ntheme:\n  name: material\n  font: false\nplugins: []\n"
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    return folder


def _clean_builds(project: Path, site: Path, empty: Path, runs: int) -> tuple[list[Build], list[Build]]:
    ours, others = [], []
    for _ in range(runs):
        remove_generated(project)
        ours.append(_built(project, site))
        others.append(_built(empty, empty / "site"))
    return ours, others


def _built(project: Path, site: Path) -> Build:
    build = build_site(project, site)
    if build.status:
        raise RuntimeError(f"The build failed:\n{build.output}")
    return build


def _rebuilds(project: Path, runs: int) -> tuple[list[float], list[float]]:
    """After one edited word: seconds that MkDocs says it built, and seconds until the page shows it."""
    shown = []
    with live_site(project) as live:
        live.wait_for(lambda html: "</html>" in html)
        before = len(_build_times(live.log()))
        for run in range(runs):
            word = f"Edit{run}"
            edit_title(project, word)
            shown.append(live.wait_for(lambda html: word in html))
        built = _build_times(live.log())[before:]
    return built, shown


def _build_times(log: str) -> list[float]:
    return [float(seconds) for seconds in re.findall(r"Documentation built in ([\d.]+) seconds", log)]


# --- the tables --------------------------------------------------------------------------


def _print_builds(ours: Sequence[Build], empty: Sequence[Build]) -> None:
    seconds, empty_s = (statistics.median(build.seconds for build in builds) for builds in (ours, empty))
    peak, empty_mb = (statistics.median(build.peak_mb for build in builds) for builds in (ours, empty))
    print(f"{'':34}{'lesson':>10}{'empty site':>12}{'ratio':>8}   target")
    target = f"< {CLEAN_BUILD_S:g} s: {_judge(seconds < CLEAN_BUILD_S)}"
    name = "clean build, whole process"
    print(f"{name:34}{seconds:8.2f} s{empty_s:10.2f} s{seconds / empty_s:7.1f}×   {target}")
    print(f"{'peak memory':34}{peak:7.0f} MB{empty_mb:9.0f} MB{peak / empty_mb:7.1f}×")


def _print_rebuilds(built: Sequence[float], shown: Sequence[float]) -> None:
    """The wait until a page shows an edit has MkDocs' polling of files in it: up to half a second."""
    if built:
        seconds = statistics.median(built)
        target = f"< {REBUILD_S:g} s: {_judge(seconds < REBUILD_S)}"
        print(f"{'rebuild after an edited word':34}{seconds:8.2f} s{'':23}{target}")
    note = "(MkDocs looks for edits every 0.5 s)"
    print(f"{'from saving to the new page':34}{statistics.median(shown):8.2f} s{'':23}{note}\n")


def _print_transfer(site: Path) -> None:
    assets, how = first_view(site)
    print(f"First view of index.html, {how}:\n{'':50}{'file':>12}{'gzip -6':>12}")
    for asset in assets:
        print(f"  {asset.path:48}{asset.raw / 1000:9.1f} kB{asset.sent / 1000:9.1f} kB")
    total = sum(asset.sent for asset in assets) / 1000
    target = f"≤ {FIRST_VIEW_KB:g} kB: {_judge(total <= FIRST_VIEW_KB)}"
    print(f"  {'all of it':48}{'':12}{total:9.1f} kB   target {target}")
    plotly = measure(site, PLOTLY)
    name = f"later, for a chart: {Path(PLOTLY).name}"
    print(f"  {name:48}{plotly.raw / 1000:9.1f} kB{plotly.sent / 1000:9.1f} kB")


def _print_frames(measured: Sequence[FrameTimes]) -> None:
    if not measured:
        print("\nReplay: no run is recorded, or there is no Chromium; nothing was timed")
        return
    print(f"\nReplay of {measured[0].trace} in real time, script, style and layout of each frame:")
    print(f"{'':34}{'frames':>10}{'median':>10}{'p95':>10}{'longest':>10}")
    for times in measured:
        target = f"   p95 ≤ {FRAME_MS:g} ms: {_judge(times.p95 <= FRAME_MS)}" if times.slowdown == 1 else ""
        name = "CPU as it is" if times.slowdown == 1 else f"CPU slowed down {times.slowdown} times"
        figures = "".join(f"{value:7.1f} ms" for value in (times.median, times.p95, times.longest))
        print(f"{name:34}{len(times.ms):10}{figures}{target}")


def _judge(met: bool) -> str:
    return "met" if met else "missed"


if __name__ == "__main__":
    sys.exit(main())

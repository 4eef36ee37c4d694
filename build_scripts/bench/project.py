"""A throw-away copy of the project, and its build: the working tree is left as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PARTS = ("lesson.yaml", "mkdocs.yml", "overrides", "build_scripts", "docs")
"""What a build reads."""

EPOCH = "1767225600"
"""2026-01-01 00:00 UTC, as SOURCE_DATE_EPOCH: with it, the same source gives the same bytes."""


@dataclass(frozen=True)
class Build:
    """What one `mkdocs build` did: seconds by the clock, peak resident memory in MB."""

    status: int
    output: str
    seconds: float
    peak_mb: float


def copy_project(destination: Path) -> Path:
    """Copy what a build reads, without what builds wrote, to `destination`; return it."""
    destination.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, destination / name, ignore=ignored)
        elif source.exists():
            shutil.copy2(source, destination / name)
    remove_generated(destination)
    return destination


def remove_generated(project: Path) -> None:
    """Remove the pages, charts and traces' scripts that a build writes below docs/."""
    for page in (project / "docs").glob("*.md"):
        page.unlink()
    for folder in ("charts", "traces"):
        shutil.rmtree(project / "docs" / folder, ignore_errors=True)


def build_site(project: Path, site: Path, **environment: str) -> Build:
    """Run `mkdocs build` of `project` into `site`, in its own process; a failed build raises nothing."""
    log = site.with_name(f"{site.name}.log")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)]
    started = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=project, env=build_environment(**environment), stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS, in kB elsewhere
    text = log.read_text(encoding="utf-8", errors="replace")
    return Build(process.returncode, text, seconds, usage.ru_maxrss * unit / 1e6)


def build_environment(**more: str) -> dict[str, str]:
    """This process's environment, less what would change a build, plus `more`."""
    kept = {name: value for name, value in os.environ.items() if name not in ("SITE_URL", "SOURCE_DATE_EPOCH")}
    return {**kept, "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": EPOCH, **more}


def edit_title(project: Path, word: str) -> None:
    """Put `word` before the lesson's title in lesson.yaml, as an author would who edits one word."""
    path = project / "lesson.yaml"
    lines = path.read_text(encoding="utf-8").split("\n")
    number = next(n for n, line in enumerate(lines) if line.startswith("title: "))
    value = lines[number].removeprefix("title: ")
    quote = value[0] if value[0] in "\"'" else ""
    lines[number] = f"title: {quote}{word} {value.removeprefix(quote)}"
    # Aside and renamed, as editors save: nobody ever reads half a file.
    aside = path.with_name(".lesson.yaml.new")
    aside.write_text("\n".join(lines), encoding="utf-8")
    os.replace(aside, path)

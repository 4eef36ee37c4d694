"""lesson.yaml and the records -> the files that MkDocs reads: Markdown pages, charts as JSON.

Nothing is written before everything is rendered, so a fault leaves the last good files.
"""

from __future__ import annotations

import html
import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from build_scripts.records.agreement import check_traces
from build_scripts.records.schema import TracesRecord
from build_scripts.records.store import Records, load_records
from build_scripts.records.trace import Trace, load_traces
from build_scripts.records.training import TrainingRecord, read_training
from build_scripts.render.palette import read_palette
from build_scripts.render.richtext import RichTextRenderer
from build_scripts.render.traces import FOLDER as TRACES
from build_scripts.render.traces import shown_traces, trace_scripts
from build_scripts.write import write_all
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Block, Lesson, Page
from build_scripts.views import VIEWS
from build_scripts.views.base import PageContext, Rendered

TEMPLATES = Path(__file__).parent / "templates"
STYLESHEET = "assets/lesson/lesson.css"
MEASUREMENTS = "measurements"
"""Where below docs/ the records lie."""
MARK = "generated_from"
"""Stands in every generated file, so that none that was written by hand is ever removed."""


def build_site_sources(spec_path: Path, docs_dir: Path) -> list[Path]:
    """Build the pages and charts of `spec_path` into `docs_dir`; return the files that changed.

    Raises SpecError when the lesson is not valid, and RecordError when a record or a trace is not,
    each with every fault; then no file is touched.
    """
    lesson = load_lesson(spec_path)
    records = load_records(docs_dir / MEASUREMENTS)
    traces = read_traces(docs_dir / MEASUREMENTS, records)
    files = render_lesson(lesson, docs_dir / STYLESHEET, records, traces, read_training())
    files |= trace_scripts(traces, MARK)
    return write_all(docs_dir, files, owned=["*.md", "charts/*.json", f"{TRACES}/*.js"], mark=MARK)


def read_traces(folder: Path, records: Records) -> list[Trace]:
    """The traces that the site shows. RecordError for one that is broken, that its record does not
    tell of, or that does not add up to it."""
    traces = load_traces(folder / "traces")
    own = {name: record for name, record in records.files.items() if isinstance(record, TracesRecord)}
    check_traces(traces, own, folder)
    return shown_traces(records, traces)


def render_lesson(
    lesson: Lesson,
    stylesheet: Path,
    records: Records,
    traces: Sequence[Trace] = (),
    training: TrainingRecord | None = None,
) -> dict[str, str]:
    """The lesson's pages and charts, as relative path -> text; measured figures are drawn from the
    records, runs from the traces."""
    environment = _environment()
    rich = RichTextRenderer(lesson)
    context = PageContext(
        lesson=lesson,
        rich=rich.block,
        rich_inline=rich.inline,
        template=lambda name, **variables: environment.get_template(f"views/{name}").render(
            lesson=lesson, labels=lesson.labels, rich=rich.block, rich_inline=rich.inline, **variables
        ),
        palette=read_palette(stylesheet),
        records=records,
        traces=traces,
        training=training,
    )
    files: dict[str, str] = {}
    for page in lesson.pages:
        files[f"{page.id}.md"] = _render_page(page, context, environment, files)
    return files


@functools.cache
def _environment() -> Environment:
    """One for all builds of a process: it keeps the templates that it has compiled, and sees when
    one changes."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["heading"] = heading_text
    return environment


def _render_page(page: Page, context: PageContext, environment: Environment, files: dict[str, str]) -> str:
    """One page's Markdown; adds the page's charts to `files`."""
    opening = [VIEWS[block.view](block, context) for block in page.opening]
    rendered = [[VIEWS[block.view](block, context) for block in part.blocks] for part in page.parts]
    everything = [*opening, *(view for views in rendered for view in views)]
    for view in everything:
        for name, figure in view.charts.items():
            files[f"charts/{name}.json"] = _chart_json(figure)
    parts = [
        {"part": part, "blocks": [_place(block, view) for block, view in zip(part.blocks, views)]}
        for part, views in zip(page.parts, rendered)
    ]
    settings = None
    if any(view.data is not None for view in everything):
        own = [entry for view in everything for entry in view.parameters]
        settings = script_json(_page_settings(context.lesson, own))
    return environment.get_template("page.md").render(
        lesson=context.lesson,
        labels=context.lesson.labels,
        page=page,
        is_first=page is context.lesson.pages[0],
        opening=[_place(block, view) for block, view in zip(page.opening, opening) if view.html],
        parts=parts,
        rich=context.rich,
        rich_inline=context.rich_inline,
        settings=settings,
        styles=sorted({view.stylesheet for view in everything if view.stylesheet}),
    )


def _chart_json(figure: dict[str, Any]) -> str:
    layout = figure["layout"]
    marked = figure | {"layout": layout | {"meta": layout["meta"] | {MARK: "lesson.yaml"}}}
    return json.dumps(marked, sort_keys=True, ensure_ascii=False) + "\n"


def _place(block: Block, rendered: Rendered) -> dict[str, Any]:
    """What the page template needs of one block.

    A block with a title gets a heading, and the heading the block's id: a link to the
    figure then shows its title. A block without one carries the id itself.
    """
    title = getattr(block, "title", None) if hasattr(block, "id") else None
    return {
        "view": block.view,
        "id": getattr(block, "id", None),
        "title": title,
        "html": Markup(rendered.html),
        "scripts": " ".join(rendered.scripts),
        "wakes": rendered.wakes,
        "keys": " ".join(entry["key"] for entry in rendered.parameters),
        "data": None if rendered.data is None else script_json(rendered.data),
    }


def _page_settings(lesson: Lesson, own: list[dict[str, Any]]) -> dict[str, Any]:
    """What main.js and state.js read: the table of parameters, and the words of every page."""
    shared = [_parameter(name, getattr(lesson.parameters, name)) for name in type(lesson.parameters).model_fields]
    return {"parameters": shared + own, "labels": lesson.labels.model_dump()}


def _parameter(name: str, parameter: Any) -> dict[str, Any]:
    entry = {"name": name, **parameter.model_dump(exclude={"help", "kind", "label", "symbol"})}
    default = parameter.default
    entry["type"] = (
        "switch" if isinstance(default, bool) else "integer" if isinstance(default, int) else "number"
    )
    return entry


def heading_text(words: str) -> Markup:
    """Plain words for a heading, which MkDocs' Markdown reads: every character stands for itself."""
    return Markup(re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", html.escape(words, quote=False)))


def script_json(data: Any) -> Markup:
    """JSON that may stand inside a <script> element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))

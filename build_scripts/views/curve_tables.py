"""The curves' numbers as tables, for who reads better than looks.

Every cell is a number of the page that follows the sliders like those in prose do
(main.js, `data-number`), so the tables need no script of their own.
"""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup, escape

from build_scripts.render.numbers import format_number, number
from build_scripts.spec.schema import Calculator, Lesson
from build_scripts.views.base import PageContext
from build_scripts.views.curve_data import EXPECTED, OVER_ACCEPTANCE, OVER_DRAFT_TOKENS

ACCEPTANCES = [i / 10 for i in range(11)]


def render_tables(block: Calculator, page: PageContext) -> str:
    """One table over acceptance and one over k, in a closed box; empty without charts."""
    lesson = page.lesson
    words = {entry.chart: entry for entry in block.charts}
    k = lesson.parameters.draft_tokens
    tables = []
    over_h = [words[name] for name in (EXPECTED, OVER_ACCEPTANCE) if name in words]
    if over_h:
        readouts = ["expected_tokens" if entry.chart == EXPECTED else "speedup" for entry in over_h]
        tables.append(_table(lesson, over_h, readouts, "acceptance", ACCEPTANCES))
    if OVER_DRAFT_TOKENS in words:
        over_k = words[OVER_DRAFT_TOKENS]
        tables.append(_table(lesson, [over_k], ["speedup"], "draft_tokens", range(k.min, k.max + 1)))
    return page.template("curve-tables.html", tables=tables)


def _table(lesson: Lesson, charts: list[Any], readouts: list[str], name: str, values: Any) -> dict[str, Any]:
    columns = [
        (f"{words.y_title}, {label}", readout, bonus)
        for words, readout in zip(charts, readouts)
        for label, bonus in ((words.without_label, False), (words.with_label, True))
    ]
    return {
        "head": [charts[0].x_title, *(title for title, _, _ in columns)],
        "rows": [
            [
                format_number(name, value, ""),
                *(_cell(lesson, readout, {name: value, "bonus": bonus}) for _, readout, bonus in columns),
            ]
            for value in values
        ],
    }


def _cell(lesson: Lesson, readout: str, at: dict[str, Any]) -> Markup:
    settings = escape(json.dumps(at, separators=(",", ":")))
    text = number(lesson, readout, at).text
    return Markup('<data data-number="{}" data-at="{}">{}</data>').format(readout, settings, text)

"""What every view takes and gives: one block of the lesson in, HTML and data out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from build_scripts.records.store import Records
from build_scripts.records.trace import Trace
from build_scripts.records.training import TrainingRecord

if TYPE_CHECKING:
    from build_scripts.render.palette import Palette
    from build_scripts.spec.schema import Lesson


@dataclass(frozen=True)
class Rendered:
    """A view's block, ready to stand in a page.

    `html` is complete without JavaScript; an opening block without any is left out, title and all. `data` is what the view's script needs
    (None: the view has no script). `charts` are plain Plotly figures by name; each
    is also written to docs/charts/NAME.json.
    """

    html: str
    data: dict[str, Any] | None = None
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    """Entries that the view adds to the page's table of parameters (state.js): its own
    choices, such as the step that a diagram shows, which the address restores too."""
    stylesheet: str | None = None
    """A stylesheet that only pages with this view load, below docs/."""
    scripts: Sequence[str] = ()
    """Scripts below docs/ that only this view needs, in order. main.js fetches them when `wakes` says;
    where that fails it shows the view's .view-failed."""
    wakes: Literal["near", "used"] = "near"
    """near: when the view comes near the window; used: when the reader first presses or changes
    something in it. Either way at once where the address sets one of its parameters to other than
    its default."""


@dataclass(frozen=True)
class PageContext:
    """What a view may ask of the page it stands in."""

    lesson: Lesson
    rich: Callable[[str], Markup]
    """Rich text -> block HTML."""
    rich_inline: Callable[..., Markup]
    """Rich text -> inline HTML, without a paragraph around it; with Settings as a second argument,
    its numbers are those of these settings."""
    template: Callable[..., str]
    """template(name, **variables) -> HTML, from templates/views/."""
    palette: Palette
    records: Records = Records({})
    """What was measured."""
    traces: Sequence[Trace] = ()
    """Recorded runs, to be raced and replayed; those that `records` has the record of."""
    training: TrainingRecord | None = None
    """How the head that is shipped was trained."""

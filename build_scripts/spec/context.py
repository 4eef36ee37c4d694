"""What the checks know of a lesson, valid or not, and where they put what they find."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from build_scripts.model.speculation import Outcome, Round, evaluate
from build_scripts.spec.faults import DataPath, Document, Fault
from build_scripts.spec.schema import Lesson, Panel, Parameters, Preset, QuestionBase, Settings, Step
from build_scripts.spec.walk import Leaf, Part, valid, walk


class Context:
    """One lesson under check. `parts` and `leaves` are in the file's order."""

    def __init__(self, document: Document, lesson: Lesson | None) -> None:
        self.document = document
        self.lesson = lesson
        self.faults: list[Fault] = []
        places = list(walk(Lesson, document.data, lesson))
        self.parts = [place for place in places if isinstance(place, Part)]
        self.leaves = [place for place in places if isinstance(place, Leaf)]

    def note(self, path: DataPath, message: str) -> None:
        """A fault of the value at `path`."""
        self.faults.append(self.document.fault(path, message))

    def note_within(self, leaf: Leaf, start: int, end: int, message: str) -> None:
        """A fault of a part of a text."""
        span = self.document.within(leaf.path, leaf.text, start, end)
        self.faults.append(self.document.fault(leaf.path, message, span))

    def list_at(self, name: str) -> list[Any]:
        data = self.document.data.get(name)
        return data if isinstance(data, list) else []

    @cached_property
    def source_ids(self) -> list[str]:
        return _ids(self.list_at("sources"))

    @cached_property
    def term_ids(self) -> list[str]:
        return _ids(self.list_at("terms"))

    @cached_property
    def page_ids(self) -> dict[str, int]:
        """The number of each page by its id."""
        return {
            page["id"]: i
            for i, page in enumerate(self.list_at("pages"))
            if isinstance(page, dict) and isinstance(page.get("id"), str)
        }

    @cached_property
    def entry_anchors(self) -> dict[int, list[str]]:
        """The ids that a glossary and a list of sources give to their entries, by page."""
        anchors: dict[int, list[str]] = {}
        entries = {
            "glossary": [f"term-{name}" for name in self.term_ids],
            "sources": [f"source-{name}" for name in self.source_ids],
        }
        for part in self.parts:
            if _may_be_block(part.path):
                anchors.setdefault(int(part.path[1]), []).extend(entries.get(str(part.data.get("view")), []))
        return anchors

    def anchors(self, page: int) -> list[str]:
        """Every id that a link to that page may name."""
        own = [anchor_of(part) for part in self.parts if part.path[:2] == ("pages", page)]
        return ["top", *filter(None, own), *self.entry_anchors.get(page, [])]

    def has_block(self, page_id: str | None, view: str) -> bool:
        """Whether that page, or any with None, has a block with that view."""
        return any(
            part.data.get("view") == view and (page_id is None or self.page_ids.get(page_id) == part.path[1])
            for part in self.parts
            if _may_be_block(part.path)
        )

    @cached_property
    def parameters(self) -> Parameters | None:
        """The lesson's parameters, where they are valid by themselves."""
        return valid(Parameters, self.document.data.get("parameters"))

    def outcome(self, settings: Settings) -> Outcome | str | None:
        """The model's results at these settings; a text where it refuses them, None without parameters."""
        if self.parameters is None:
            return None
        inputs = {name: getattr(self.parameters, name).default for name in Settings.model_fields}
        inputs |= settings.model_dump(exclude_none=True)
        try:
            return evaluate(Round(**inputs))
        except ValueError as error:
            return str(error)


def anchor_of(part: Part) -> str | None:
    """The part's address on its page, None where it has none."""
    name = part.data.get("id")
    if not isinstance(name, str) or len(part.path) < 3 or part.path[0] != "pages":
        return None
    if issubclass(part.type, (Panel, Preset, Step)):
        return None  # a name in its own list
    return f"quiz-{name}" if issubclass(part.type, QuestionBase) else name


def _may_be_block(path: DataPath) -> bool:
    """pages[i].opening[j], or pages[i].parts[j].blocks[k]."""
    return path[:1] == ("pages",) and (len(path) == 6 or len(path) == 4 and path[2] == "opening")


def _ids(entries: list[Any]) -> list[str]:
    ids = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return list(dict.fromkeys(name for name in ids if isinstance(name, str)))

"""lesson.yaml -> a typed Lesson, or every fault in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from build_scripts.spec.checks import check
from build_scripts.spec.faults import DataPath, Document, Fault, SpecError
from build_scripts.spec.schema import Lesson
from build_scripts.spec.source import read_bytes, read_document
from build_scripts.spec.walk import discriminator, unwrap
from build_scripts.spec.wording import close_match, kind_of, one_of, plain_schema_error, unknown


def load_lesson(path: str | Path) -> Lesson:
    """The lesson in the file at `path`. SpecError, with every fault at once, when there is one."""
    return parse_lesson(read_bytes(path), str(path))


def parse_lesson(data: bytes, file: str = "lesson.yaml") -> Lesson:
    """The lesson in `data`; `file` is its name in faults. SpecError as above."""
    document = read_document(data, file)
    lesson = None
    found: list[Fault] = []
    try:
        lesson = Lesson.model_validate(document.data)
    except ValidationError as error:
        found += [_schema_fault(one, document) for one in error.errors(include_url=False)]
    found += check(document, lesson)
    faults = document.faults + [fault for fault in found if fault.path not in document.broken]
    if lesson is None or faults:
        raise SpecError(faults)
    return lesson


def _schema_fault(error: Mapping[str, Any], document: Document) -> Fault:
    """One of pydantic's errors, placed and reworded."""
    path, owner, keys = _place(error["loc"], document.data)
    kind = error["type"]
    fields = list(owner.model_fields) if owner is not None else []
    if keys is not None:
        return document.fault(path, unknown("name here", path[-1], keys), document.keys.get(path))
    if kind == "missing":
        return document.fault(path, "this field is missing")
    if kind == "extra_forbidden":
        name = path[-1]
        message = f"there is no such field here{close_match(name, fields) or f'; allowed: {one_of(fields)}'}"
        return document.fault(path, message, document.keys.get(path))
    if kind == "literal_error":
        # pydantic hands the values over as text: 'a', 'b' or 'c'.
        allowed = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        if not isinstance(error["input"], str):
            return document.fault(path, f"must be one of {one_of(allowed)}, not {kind_of(error['input'])}")
        return document.fault(path, unknown("value of this field", error["input"], allowed))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _tag_fault(path, error, document)
    return document.fault(path, plain_schema_error(error))


def _tag_fault(path: DataPath, error: Mapping[str, Any], document: Document) -> Fault:
    field = error["ctx"]["discriminator"].strip("'")
    at = (*path, field)
    if not isinstance(error["input"], dict) or field not in error["input"]:
        return document.fault(at, "this field is missing")
    tag = error["input"][field]
    if not isinstance(tag, str):
        return document.fault(at, f"must be text, not {kind_of(tag)}")
    allowed = re.findall(r"'([^']*)'", error["ctx"]["expected_tags"])
    return document.fault(at, unknown(field, tag, allowed))


def _place(
    loc: tuple[str | int, ...], data: Any
) -> tuple[DataPath, type[BaseModel] | None, list[str] | None]:
    """Where one of pydantic's errors stands: its path, the type that has its last field, and, where
    the last name of the path is what is wrong, the names that may stand there.

    pydantic names the member of a union as if it were a field; that name is no part of the path.
    """
    kind: Any = Lesson
    marks: list[Any] = []
    path: DataPath = ()
    owner = None
    names: Any = None
    tagged = False
    for part in loc:
        if tagged:
            tagged = False
            continue
        if part == "[key]":
            return path, None, _literals(names)
        kind, marks = unwrap(kind, marks, data)
        path = (*path, part)
        data = _item(data, part)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            owner = kind
            field = kind.model_fields.get(str(part))
            kind, marks = (field.annotation, list(field.metadata)) if field else (None, [])
        elif get_origin(kind) in (list, dict):
            owner = None
            names = get_args(kind)[0]
            kind, marks = get_args(kind)[-1], []
            tagged = _is_tagged(kind)
    return path, owner, None


def _literals(kind: Any) -> list[str]:
    """The texts of a Literal, or of a union of them."""
    return [text for one in get_args(kind) for text in ([one] if isinstance(one, str) else _literals(one))]


def _is_tagged(kind: Any) -> bool:
    return discriminator(get_args(kind)[1:]) is not None


def _item(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    return data[part] if isinstance(data, list) and isinstance(part, int) and part < len(data) else None

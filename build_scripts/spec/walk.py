"""The data of a lesson beside its types: every place, whether or not the whole lesson is valid.

A fault in one question must not hide the fault in the next, so the checks do not wait for
a valid `Lesson`: they look at every part that is valid by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from build_scripts.spec.faults import DataPath

AnyModel = TypeVar("AnyModel", bound=BaseModel)


@dataclass(frozen=True)
class Part:
    """A mapping of the lesson: `data` as written, and `value`, None where it is not valid by itself."""

    path: DataPath
    type: type[BaseModel]
    data: dict[str, Any]
    value: Any


@dataclass(frozen=True)
class Leaf:
    """A text of the lesson, and what its type is marked with (`RICH`, `Names(…)`, …)."""

    path: DataPath
    text: str
    marks: tuple[Any, ...]


Place = Union[Part, Leaf]


def walk(model: type[BaseModel], data: Any, value: BaseModel | None = None) -> Iterator[Place]:
    """Every part and text of `data`, which is meant as a `model`, outer before inner, in the file's order."""
    return _walk(model, (), data, value, ())


def _walk(kind: Any, marks: Sequence[Any], data: Any, value: Any, path: DataPath) -> Iterator[Place]:
    kind, marks = unwrap(kind, marks, data)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not isinstance(data, dict):
            return
        if value is None:
            value = valid(kind, data)
        yield Part(path, kind, data, value)
        for name, item in data.items():
            if name in kind.model_fields:
                field = kind.model_fields[name]
                inner = None if value is None else getattr(value, name)
                yield from _walk(field.annotation, field.metadata, item, inner, (*path, name))
    elif get_origin(kind) is list:
        if isinstance(data, list):
            values = value if isinstance(value, list) else [None] * len(data)
            for i, item in enumerate(data):
                yield from _walk(get_args(kind)[0], (), item, values[i], (*path, i))
    elif get_origin(kind) is dict:
        if isinstance(data, dict):
            for name, item in data.items():
                yield from _walk(get_args(kind)[1], (), item, None, (*path, name))
    elif isinstance(data, str):
        yield Leaf(path, data, tuple(marks))


def valid(kind: type[AnyModel], data: Any) -> AnyModel | None:
    """`data` as a `kind`, or None where it is not one."""
    try:
        return kind.model_validate(data)
    except ValidationError:
        return None


def unwrap(kind: Any, marks: Sequence[Any], data: Any) -> tuple[Any, list[Any]]:
    """The type itself: without marks, without None, and the one of a union that `data` says it is."""
    marks = list(marks)
    while True:
        origin = get_origin(kind)
        if origin is Annotated:
            kind, *more = get_args(kind)
            marks += more
        elif origin in (Union, UnionType):
            members = [member for member in get_args(kind) if member is not type(None)]
            kind = members[0] if len(members) == 1 else _member(members, discriminator(marks), data)
        else:
            return kind, marks


def discriminator(marks: Sequence[Any]) -> str | None:
    """The field that says which of a union a mapping is."""
    for mark in marks:
        if isinstance(mark, FieldInfo) and isinstance(mark.discriminator, str):
            return mark.discriminator
    return None


def tag_of(member: type[BaseModel], field: str) -> str:
    return str(get_args(member.model_fields[field].annotation)[0])


def _member(members: list[Any], field: str | None, data: Any) -> Any:
    if field is None or not isinstance(data, dict):
        return None
    return next((member for member in members if tag_of(member, field) == data.get(field)), None)

"""The bytes of lesson.yaml -> text, data, and where every key and value stands."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NoReturn

from build_scripts.spec.compose import UNPRINTABLE, Stop, compose, unprintable
from build_scripts.spec.faults import Document, Fault, SpecError

MAX_BYTES = 2_000_000


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a lesson. SpecError when it cannot be read, or is too large to be one."""

    def refuse(message: str) -> NoReturn:
        raise SpecError([Fault(str(path), 1, 1, "file", message)])

    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        refuse("there is no such file")
    except IsADirectoryError:
        refuse("this is a folder, not a file")
    except PermissionError:
        refuse("this file may not be read")
    except (OSError, ValueError) as error:
        refuse(f"cannot be read: {getattr(error, 'strerror', None) or error}")
    if len(data) > MAX_BYTES:
        refuse(f"larger than {MAX_BYTES // 1_000_000} MB, which no lesson is")
    return data


def read_document(data: bytes, file: str) -> Document:
    """The document in `data`; `file` is its name in faults. SpecError when it cannot be read to its end."""
    document = Document(file, _decode(data, file))
    stray = [
        Fault(file, *_line_and_column(document.text, match.start()), "file", unprintable(match[0]))
        for match in islice(UNPRINTABLE.finditer(document.text), 20)
    ]
    if stray:
        raise SpecError(stray)
    try:
        compose(document)
    except Stop as stop:
        raise SpecError([*document.faults, stop.fault]) from None
    return document


# --- bytes to text -----------------------------------------------------------------------


def _decode(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SpecError([Fault(file, 1, 1, "file", "this is UTF-16; save it as UTF-8")])
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _newlines(data[: error.start].decode("utf-8"))
        where = _line_and_column(before, len(before))
        raise SpecError(
            [Fault(file, *where, "file", f"byte 0x{data[error.start]:02x} is not UTF-8")]
        ) from None
    return _newlines(text)


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)

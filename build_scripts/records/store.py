"""The folder of records: docs/measurements/EXPERIMENT-DEVICE[-quick].json."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from build_scripts.records.faults import RecordError, fault_lines
from build_scripts.records.schema import AnyRecord, Device, Record
from build_scripts.write import write_if_changed

R = TypeVar("R", bound=Record)

_ADAPTER: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)


@dataclass(frozen=True)
class Records:
    """All records of a folder, in the order of their file names."""

    files: dict[str, Record]

    def of(self, kind: type[R]) -> list[R]:
        """The records of one experiment, one a device, CPUs first: the full run where there is
        one, else the quick one."""
        found: dict[tuple[str, str], R] = {}
        for record in self.files.values():
            if isinstance(record, kind):
                key = (record.device.kind, record.device.name)
                if key not in found or found[key].quick:
                    found[key] = record
        return [found[key] for key in sorted(found, key=lambda key: (key[0] != "cpu", key))]

    def file_of(self, record: Record) -> str:
        """The name of the file that the record was read from. StopIteration for another's record."""
        return next(name for name, own in self.files.items() if own is record)


def load_records(folder: Path) -> Records:
    """Every record in `folder`; none where there is no such folder. RecordError with every fault."""
    files: dict[str, Record] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            files[path.name] = record = read_record(path)
            if path.name != file_name(record):
                faults.append(f"{path}: this record belongs in a file named {file_name(record)}")
        except RecordError as error:
            faults.append(str(error))
    if faults:
        raise RecordError("\n".join(faults))
    return Records(files)


def read_record(path: Path) -> Record:
    """RecordError, with the file and the field, for what is not a record of this version."""
    try:
        return _parsed(path.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: this is not JSON: {error}") from None
    except ValidationError as error:
        # The first step is the experiment, by which pydantic chose the class.
        raise RecordError(fault_lines(path, error, "the record", skip=1)) from None


@lru_cache(maxsize=64)
def _parsed(text: str) -> Record:
    """Once for each text, as for traces."""
    return _ADAPTER.validate_json(json.dumps(json.loads(text)))


def write_record(record: Record, folder: Path) -> Path:
    """Write it aside and rename it; the path. It is read back first, so that what was written can
    be read."""
    text = record.model_dump_json(indent=1) + "\n"
    _ADAPTER.validate_json(text)
    path = folder / file_name(record)
    write_if_changed(path, text)
    return path


def file_name(record: Record) -> str:
    return file_name_of(getattr(record, "experiment"), record.device, record.quick)


def file_name_of(experiment: str, device: Device, quick: bool) -> str:
    """The name of the file in which an experiment's record on a device is kept."""
    return f"{experiment}-{device_slug(device)}{'-quick' if quick else ''}.json"


def device_slug(device: Device) -> str:
    """The device in letters, digits and hyphens: cpu-2-cores-amd-epyc."""
    words = f"{device.kind} {device.cores} cores {device.name}" if device.kind == "cpu" else device.name
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

"""Traces on their way to the reader: a script for each, which holds the whole run in few bytes."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from some_traces import a_record, a_trace

from build_scripts.build import build_site_sources
from build_scripts.records.faults import RecordError
from build_scripts.records.schema import TracesRecord
from build_scripts.records.store import Records, write_record
from build_scripts.records.trace import TRACE_BYTES, Trace, load_traces, write_trace
from build_scripts.render.traces import shown_traces, trace_script

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = re.compile(r'/\* generated_from [^*]*\*/\nLesson\.traces\.register\("([a-z0-9-]+)",(\{.*\})\);\n', re.DOTALL)


def traces() -> list[Trace]:
    return [Trace.model_validate_json(json.dumps(a_trace(temperature))) for temperature in (0.0, 1.0)]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A docs/ folder with two traces and their record."""
    folder = tmp_path / "docs"
    shutil.copytree(ROOT / "docs" / "assets" / "lesson", folder / "assets" / "lesson")
    measurements = folder / "measurements"
    (measurements / "traces").mkdir(parents=True)
    for trace in traces():
        write_trace(trace, measurements / "traces")
    write_record(TracesRecord.model_validate_json(json.dumps(a_record(traces()))), measurements)
    return folder


def build(docs: Path) -> None:
    build_site_sources(ROOT / "lesson.yaml", docs)


def test_each_trace_becomes_a_script_that_registers_itself(docs: Path) -> None:
    build(docs)
    for trace in traces():
        found = SCRIPT.fullmatch((docs / "traces" / f"{trace.id}.js").read_text("utf-8"))
        assert found and found[1] == trace.id
        assert json.loads(found[2])["id"] == trace.id


def test_a_script_is_small_enough_to_fetch_while_a_reader_waits() -> None:
    """The committed ones; in a copy without any this holds of the two made by hand."""
    for trace in [*traces(), *load_traces(ROOT / "docs" / "measurements" / "traces").values()]:
        assert len(gzip.compress(trace_script(trace, "m").encode(), 6)) <= TRACE_BYTES, trace.id


def test_a_stale_script_is_removed_and_a_strangers_stays(docs: Path) -> None:
    """Else a trace that was measured anew under another k would be published for ever."""
    build(docs)
    stale = (docs / "traces" / "chat-model-k2.js").rename(docs / "traces" / "chat-model-k9.js")
    own = docs / "traces" / "by-hand.js"
    own.write_text("/* mine */")
    build(docs)
    assert not stale.exists() and own.exists() and (docs / "traces" / "chat-model-k2.js").exists()


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda folder: (folder / "chat-model-k2.json").write_text("{"), "chat-model-k2.json: this is not JSON"),
        (lambda folder: (folder / "chat-model-k2.json").rename(folder / "other.json"), "other.json: id:"),
        (lambda folder: (folder / "chat-model-k2.json").unlink(), "traces.0.id: there is no trace chat-model-k2"),
    ],
)
def test_a_broken_foreign_or_missing_trace_is_a_fault_with_file_and_field(docs: Path, break_it: Any, says: str) -> None:
    break_it(docs / "measurements" / "traces")
    with pytest.raises(RecordError) as raised:
        build(docs)
    assert says in str(raised.value)
    assert not list(docs.glob("*.md")), "nothing was written"


def test_a_trace_without_a_record_is_foreign(docs: Path) -> None:
    next((docs / "measurements").glob("traces-*.json")).unlink()
    with pytest.raises(RecordError, match="traces: no record tells of the 2 traces in it"):
        build(docs)


def test_a_record_whose_folder_of_traces_is_gone_says_so_once(docs: Path) -> None:
    shutil.rmtree(docs / "measurements" / "traces")
    with pytest.raises(RecordError, match=r"traces-\S+\.json: traces: none of its 2 is in \S+traces$") as raised:
        build(docs)
    assert len(str(raised.value).splitlines()) == 1


def test_quick_runs_are_shown_only_where_there_is_no_full_one() -> None:
    """A quick run is for looking; beside the real one it would be a second, worse truth."""
    full, quick = a_record(traces()), a_record(traces())
    quick["quick"] = True
    quick["traces"] = [entry | {"id": entry["id"] + "-quick"} for entry in quick["traces"]]
    both = {name: TracesRecord.model_validate_json(json.dumps(data)) for name, data in (("a", quick), ("b", full))}
    every = {trace.id: trace for trace in traces()}
    assert shown_traces(Records(both), every) == traces()

"""The format of a trace: what is written can be read, and what does not add up is told by its field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build_scripts.records.agreement import check_traces, disagreements
from build_scripts.records.faults import RecordError
from build_scripts.records.schema import TracesRecord
from build_scripts.records.trace import Trace, load_traces, read_trace, write_trace
from some_traces import a_record, a_trace


def sampled() -> dict[str, Any]:
    return a_trace(temperature=1.0)


def greedy() -> dict[str, Any]:
    return a_trace(temperature=0.0)


def parsed(data: dict[str, Any]) -> Trace:
    return Trace.model_validate_json(json.dumps(data))


@pytest.mark.parametrize("make", [sampled, greedy])
def test_what_is_written_is_read_back(make: Callable[[], dict[str, Any]], tmp_path: Path) -> None:
    trace = parsed(make())
    path = write_trace(trace, tmp_path)
    assert path.name == f"{trace.id}.json"
    assert read_trace(path) == trace
    assert load_traces(tmp_path) == {trace.id: trace}


def test_no_folder_is_no_trace(tmp_path: Path) -> None:
    assert load_traces(tmp_path / "traces") == {}


def test_the_rounds_give_the_text() -> None:
    """First token, then each round's accepted drafts and the target's own; what is beyond the end
    is left out. A character may be spread over tokens: it comes with its last byte."""
    trace = parsed(sampled())
    pieces = trace.pieces(trace.speculative.tokens)
    assert pieces == ["A", " sn", "", "ö", " dog", " cat"]
    assert "".join(pieces) == "A snö dog cat"


def test_an_answer_that_ends_within_a_character_says_so() -> None:
    trace = parsed(sampled())
    cut = trace.speculative.tokens[:3]
    assert trace.pieces(cut) == ["A", " sn", "\ufffd"]


def test_the_counts_are_those_of_the_rounds() -> None:
    counts = parsed(sampled()).counts
    assert counts.histogram == [0, 1, 1] and counts.empty == 1
    assert (counts.offered, counts.examined, counts.accepted) == ([2, 2], [2, 2], [2, 1])
    assert (counts.recovered, counts.bonus, counts.first, counts.discarded) == (1, 1, 1, 1)
    assert counts.committed == 6


# --- faults -----------------------------------------------------------------------------------


Change = Callable[[dict[str, Any]], None]


def rounds(data: dict[str, Any]) -> list[dict[str, Any]]:
    return data["speculative"]["rounds"]


FAULTS: dict[str, tuple[Change, str]] = {
    "another version": (lambda d: d.update(schema_version=2), "schema_version: Input should be 1"),
    "a field that there is not": (lambda d: d.update(speed=3), "speed: Extra inputs are not permitted"),
    "a missing field": (lambda d: d.pop("drafter"), "drafter: Field required"),
    "text for a number": (lambda d: d.update(k="2"), "k: Input should be a valid integer"),
    "a probability above 1": (lambda d: rounds(d)[0]["drafts"][0].update(p=1.5), "speculative.rounds.0.drafts.0.p"),
    "a verdict that the draw does not give": (
        lambda d: rounds(d)[0]["drafts"][0].update(accepted=False), "speculative.rounds.0.drafts.0: accepted is False"
    ),
    "a draft looked at after the miss": (
        lambda d: rounds(d)[2]["drafts"][0].update(accepted=False, u=0.99, q=1.0),
        "speculative.rounds.2: drafts after the first rejected",
    ),
    "a bonus where a draft was rejected": (
        lambda d: rounds(d)[2].update(kind="bonus"), "speculative.rounds.2: the token is recovered, not bonus"
    ),
    "a rejection without a residual": (lambda d: rounds(d)[2].update(residual=None), "speculative.rounds.2: there is a"),
    "a residual that is not whole": (
        lambda d: rounds(d)[2]["residual"].update(rest=0.5), "speculative.rounds.2.residual: the likeliest and the rest"
    ),
    "a law too few": (lambda d: rounds(d)[0]["target"].pop(), "speculative.rounds.0: 2 drafts need 3 laws"),
    "a law out of order": (lambda d: rounds(d)[0]["target"][0].reverse(), "speculative.rounds.0: "),
    "a law that is not the draft's": (
        lambda d: rounds(d)[0]["target"][0][0].__setitem__(1, 0.75), "the trace: round 0, draft 0: p is not the 0.75"
    ),
    "a token that has no text": (lambda d: d["plain"]["tokens"].__setitem__(0, 99), "the trace: a token is not among"),
    "a time too few": (lambda d: d["plain"]["ms"].pop(), "plain: 3 tokens need 2 times"),
    "an empty last round": (lambda d: d["speculative"].update(discarded=3), "the trace: the last round gave nothing"),
    "greedy with draws": (lambda d: d.update(temperature=0.0), "the trace: round 0 has a draw at T = 0.0"),
    "two texts for one token": (lambda d: d["vocabulary"]["ids"].__setitem__(1, 10), "vocabulary: an id is here twice"),
    "more drafts than k": (lambda d: d.update(k=1), "the trace: round 0 has 2 drafts where k = 1"),
    "a time below zero": (lambda d: rounds(d)[0]["ms"].update(draft=-1.0), "speculative.rounds.0.ms.draft"),
    "a date in words": (lambda d: d.update(date="yesterday"), "date: String should match"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_by_file_and_field(name: str, tmp_path: Path) -> None:
    change, told = FAULTS[name]
    data = sampled()
    change(data)
    path = tmp_path / f"{data['id']}.json"
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(RecordError) as raised:
        load_traces(tmp_path)
    assert f"{path}: {told}" in str(raised.value)


def test_the_same_texts_are_compared_not_claimed(tmp_path: Path) -> None:
    data = greedy()
    data["plain"]["tokens"][1] = data["plain"]["tokens"][0]
    with pytest.raises(ValueError, match="same_tokens is True, and the tokens say False"):
        parsed(data)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\ufeffx", "null", "[" * 5000])
def test_what_is_no_trace_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    with pytest.raises(RecordError) as raised:
        read_trace(path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def test_a_trace_is_in_the_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps(sampled()), "utf-8")
    with pytest.raises(RecordError, match="id: chat-model-k2-t1 does not belong"):
        load_traces(tmp_path)


# --- against the measurement ------------------------------------------------------------------


def record(*traces: dict[str, Any]) -> TracesRecord:
    return TracesRecord.model_validate_json(json.dumps(a_record([parsed(data) for data in traces])))


def test_traces_that_add_up_pass() -> None:
    both = {data["id"]: parsed(data) for data in (sampled(), greedy())}
    check_traces(both, {"traces-x.json": record(sampled(), greedy())}, Path("m"))


DIFFERENCES: dict[str, tuple[Change, str]] = {
    "a time of one round": (lambda d: rounds(d)[0]["ms"].update(verify=31.0), "speculative_seconds.verify: the trace adds"),
    "a time of one token": (lambda d: d["plain"]["ms"].__setitem__(0, 31.0), "plain_ms.median: the trace adds up to"),
    "the prompt's time": (lambda d: d["plain"].update(prefill_ms=1.0), "plain_seconds.prefill"),
    "a token more": (lambda d: d["speculative"].update(discarded=0), "speculative_tokens: the trace says 7, the record 6"),
    "another k": (lambda d: d.update(k=3), "k: the trace says 3, the record 2"),
    "another drafter": (lambda d: d.update(drafter="other"), "drafter: the trace says other"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_trace_that_does_not_add_up_is_told(name: str) -> None:
    change, told = DIFFERENCES[name]
    measured = record(sampled())
    data = copy.deepcopy(sampled())
    change(data)
    assert any(fault.startswith(told) for fault in disagreements(parsed(data), measured.traces[0]))


def test_every_trace_has_a_record_and_every_record_its_traces() -> None:
    traces = {"chat-model-k2-t1": parsed(sampled())}
    with pytest.raises(RecordError) as raised:
        check_traces(traces, {"traces-x.json": record(greedy())}, Path("m"))
    assert str(raised.value).split("\n") == [
        "m/traces-x.json: traces.0.id: there is no trace chat-model-k2",
        "m/traces/chat-model-k2-t1.json: id: no record tells of it",
    ]

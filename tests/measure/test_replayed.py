"""Measuring without the model's weights: random ones of its shapes, and drafts that are accepted as in
recorded runs. The runs replayed here are a tiny model's; another random model of its shapes plays
the part of the machine that has no weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.decoding import decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.experiments import REPLAYED, curve, module, speedup, traces  # noqa: E402
from build_scripts.measure.experiments.context import Context, Outcome  # noqa: E402
from build_scripts.measure.experiments.replayed import (  # noqa: E402
    NotReplayable,
    recorded_in,
    replayed_settings,
    replayed_subject,
    spare_measured,
)
from build_scripts.measure.experiments.subject import Subject  # noqa: E402
from build_scripts.measure.predicting import pooled  # noqa: E402
from build_scripts.measure.sampling import Sampling  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.records.schema import AcceptanceRecord, BatchRecord, CurveRecord, SpeedupRecord  # noqa: E402
from build_scripts.records.store import write_record  # noqa: E402
from tests.measure.tiny import tiny_context, tiny_subject  # noqa: E402

WANTED = (
    traces.Wanted("context_ngram", "quoting", 3, 0.0),
    traces.Wanted("context_ngram", "chat", 1, 0.0),
    traces.Wanted("int8_copy", "quoting", 2, 0.0),
    traces.Wanted("context_ngram", "chat", 2, 1.0),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of the model that has its weights were recorded."""
    subject = tiny_subject()
    subject.ends = frozenset()  # or some answers would end at once
    subject.makers = {**subject.makers, "int8_copy": lambda: _int8_copy(subject)}
    settings = {"traces": traces.Settings(tokens=40, repeats=1, wanted=WANTED)}
    context = tiny_context(tmp_path_factory.mktemp("recorded"), settings, subject)
    traces.run(context)
    return context.out / "traces"


def _int8_copy(subject: Subject):  # noqa: ANN202
    from build_scripts.measure.drafters.int8_copy import for_target

    return for_target(subject.target)


@pytest.fixture(scope="module")
def subject(folder: Path) -> Subject:
    return replayed_subject("cpu", recorded_in(folder), seed=11, shapes=tiny_subject().target.shapes)


@pytest.fixture(scope="module")
def finished(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> tuple[Context, dict[str, Outcome]]:
    settings = replayed_settings(subject, "cpu", quick=True)
    own = curve.settings("cpu", quick=True)
    settings["curve"] = curve.Settings(**{**vars(own), "random": (), "repeats": 1, "at_least": 0.0, "torch_dtypes": ()})
    context = tiny_context(tmp_path_factory.mktemp("replayed"), settings, subject)
    return context, {name: module(name).run(context) for name in REPLAYED}


@pytest.mark.parametrize("wanted", [each for each in WANTED if each.temperature == 0], ids=lambda each: f"{each.drafter} {each.kind}")
def test_every_round_goes_as_it_was_recorded(subject: Subject, folder: Path, wanted: traces.Wanted) -> None:
    """The random target accepts in each round what the recorded one accepted, and the text is its
    own, as if nothing had been drafted."""
    trace = next(
        trace for trace in recorded_in(folder).greedy
        if (trace.drafter, trace.kind, trace.k) == (wanted.drafter, wanted.kind, wanted.k)
    )  # fmt: skip
    text = next(text for text in subject.texts if text.kind == wanted.kind)
    assert len(text.tokens) == trace.prompt_tokens
    limits, rounds = Limits(len(trace.speculative.tokens)), []
    decoded = decode_speculative(
        subject.target, subject.drafter(wanted.drafter), [text.tokens], wanted.k, limits,
        watch=lambda round_: rounds.append((int(round_.proposal.counts[0]), int(round_.verdict.accepted[0]))),
    )  # fmt: skip
    recorded = [(len(entry.drafts), entry.accepted) for entry in trace.speculative.rounds]
    assert rounds[: len(recorded)] == recorded
    assert decoded.answers[0].tokens == decode_plain(subject.target, [text.tokens], limits).answers[0].tokens


def test_the_rows_of_a_batch_begin_at_rounds_of_their_own(subject: Subject) -> None:
    """They would otherwise all accept as many drafts at once, as no batch does."""
    [text] = [text for text in subject.texts if text.kind == "quoting"]
    seen = []
    decode_speculative(
        subject.target, subject.drafter("context_ngram"), [text.tokens] * 3, 3, Limits(30),
        watch=lambda round_: seen.append(tuple(round_.verdict.accepted.tolist())) if len(round_.requests) == 3 else None,
    )  # fmt: skip
    script = subject.recorded.scripts("context_ngram")["quoting", 3] if subject.recorded else []
    accepted = [script[n % len(script)][1] for n in range(len(seen) + 2)]
    assert seen == [tuple(accepted[n : n + 3]) for n in range(len(seen))]


def test_other_texts_are_drafted_by_the_drafter_itself(subject: Subject) -> None:
    """As where the curve times it; a batch of both kinds would be neither."""
    drafter = subject.drafter("context_ngram")
    text = [1, 2, 3, 4, 1, 2, 3]
    drafter.reset([text], torch.zeros(1, 7, 16), 20)
    assert drafter.propose(2, Sampling(0.0), None).tokens.tolist() == [[4, 1]]
    drafter.update([[4, 1, 2]], torch.zeros(1, 3, 16))
    assert drafter.propose(1, Sampling(0.0), None).tokens.tolist() == [[3]]
    known = [*subject.texts[0].tokens, 0]
    with pytest.raises(ValueError, match="only some of the texts"):
        drafter.reset([known, text], torch.zeros(2, 7, 16), 20)


def test_what_is_drawn_at_random_is_not_replayed(subject: Subject) -> None:
    drafter = subject.drafter("context_ngram")
    drafter.reset([[*subject.texts[0].tokens, 0]], torch.zeros(1, 7, 16), 20)
    with pytest.raises(ValueError, match="greedy"):
        drafter.propose(1, Sampling(1.0), torch.zeros(1, 1))


def test_the_records_say_that_acceptance_was_replayed(
    finished: tuple[Context, dict[str, Outcome]], folder: Path
) -> None:
    """Acceptance is the recorded runs', theirs at a temperature too; what is timed was decoded here,
    with those drafts accepted."""
    records = {name: outcome.record for name, outcome in finished[1].items()}
    accepted, sped, served, cost = (records[name] for name in ("acceptance", "speedup", "batch", "curve"))
    assert isinstance(accepted, AcceptanceRecord) and isinstance(sped, SpeedupRecord)
    assert isinstance(served, BatchRecord) and isinstance(cost, CurveRecord)
    assert accepted.replayed and sped.replayed and served.replayed
    assert [model.trained for model in cost.models] == [False]
    assert accepted.prompts_sha256 is None
    recorded = recorded_in(folder).traces
    found = {(cell.drafter, cell.kind, cell.k, cell.temperature): pooled(one.counts for one in cell.prompts) for cell in accepted.cells}
    assert found == {(trace.drafter, trace.kind, trace.k, trace.temperature): trace.counts for trace in recorded}
    decoded = [(cell.drafter, cell.kind, cell.k) for cell in sped.cells]
    assert sorted(decoded) == sorted((each.drafter, each.kind, each.k) for each in WANTED if each.temperature == 0)
    assert all(cell.counts.rounds for cell in sped.cells)
    assert {cell.kind for cell in served.cells} == {"quoting", "chat"}
    assert all(cell.predicted_speedup for cell in served.cells)


def test_what_has_its_weights_is_not_called_replayed() -> None:
    assert tiny_subject().recorded is None
    assert not speedup.SpeedupRecord.model_fields["replayed"].default


def test_a_measured_record_is_not_replaced(finished: tuple[Context, dict[str, Outcome]], tmp_path: Path) -> None:
    """One slip would put random weights in the place of half an hour's measuring."""
    context, outcomes = finished
    spare_measured(context.out, context.device, context.quick, REPLAYED)  # its own may be
    write_record(outcomes["curve"].record.model_copy(update={"prompts_sha256": "f" * 64}), tmp_path)
    with pytest.raises(NotReplayable, match="curve-.*own weights.*--out"):
        spare_measured(tmp_path, context.device, context.quick, REPLAYED)


def test_a_run_of_another_model_is_not_replayed(folder: Path, tmp_path: Path) -> None:
    """Told by its file, before any model is made."""
    trace = json.loads((folder / "quoting-context-ngram-k3.json").read_text())
    for name, value in (("prompt_tokens", 5000), ("vocabulary", {**trace["vocabulary"], "ids": [10**9, *trace["vocabulary"]["ids"][1:]]})):
        (tmp_path / "quoting-context-ngram-k3.json").write_text(json.dumps(trace | {name: value}))
        with pytest.raises(NotReplayable, match="quoting-context-ngram-k3.json is no run of a model of 49152 tokens"):
            recorded_in(tmp_path)


def test_without_recorded_runs_there_is_nothing_to_replay(tmp_path: Path) -> None:
    with pytest.raises(NotReplayable, match="no greedy run to replay"):
        recorded_in(tmp_path)


"""Every experiment from end to end, on a random model that takes milliseconds: the record loads, says
what was asked for, adds up, and an interrupted run loses nothing."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import machine, rejection  # noqa: E402
from build_scripts.measure.decoding import decode_plain  # noqa: E402
from build_scripts.measure.experiments import (  # noqa: E402
    ALL,
    acceptance,
    batch,
    curve,
    lossless,
    module,
    speedup,
    traces,
)
from build_scripts.measure.experiments import context as context_module  # noqa: E402
from build_scripts.measure.experiments.context import (  # noqa: E402
    UNKNOWN_COMMIT,
    Context,
    Outcome,
    source_version,
)
from build_scripts.measure.experiments.journal import Journal  # noqa: E402
from build_scripts.measure.experiments.running import Runner  # noqa: E402
from build_scripts.measure.experiments.subject import Subject  # noqa: E402
from build_scripts.measure.prompts import KINDS  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.records.agreement import check_traces  # noqa: E402
from build_scripts.records.schema import (  # noqa: E402
    AcceptanceRecord,
    CurveRecord,
    LosslessRecord,
    SpeedupRecord,
    TracesRecord,
    hash_of,
)
from build_scripts.records.store import file_name, read_record, write_record  # noqa: E402
from build_scripts.records.trace import load_traces  # noqa: E402
from tests.measure.tiny import tiny_context, tiny_subject  # noqa: E402

SETTINGS = {
    "curve": curve.Settings(
        target=curve.Grid((1, 2, 4, 5), (1, 2), (8, 16)),
        long=(32,),
        torch_dtypes=("float32", "bfloat16"),
        torch_grid=curve.Grid((1, 2), (1,), (8,)),
        random=("stories15M",),
        random_grid=curve.Grid((1, 2), (1,), (4,)),
        draft_ks=(1, 3),
        few_ks=(1, 3),
        draft_batches=(1, 2),
        draft_context=12,
        draft_rounds=2,
        repeats=2,
        at_least=0.0,
    ),
    "acceptance": acceptance.Settings(KINDS, ((0.0, 1), (0.0, 3), (1.0, 3)), prompts=3, tokens=16),
    "speedup": speedup.Settings(
        KINDS, {"context_ngram": (1, 3), "ngram_table": (1, 3)}, prompts=2, tokens=16, repeats=2
    ),
    "batch": batch.Settings(
        (("quoting", (("context_ngram", 3),)), ("mix", (("ngram_table", 1), ("context_ngram", 3)))),
        batches=(1, 2), tokens=16, repeats=2, prompts=2, large=2,
    ),
    "lossless": lossless.Settings(
        KINDS, (1, 3), prompts=2, tokens=16, alone_ks=(3,), alone_prompts=1,
        flip_dtypes=("bfloat16",), flip_prompts=2, draws=2_000,
    ),
    "traces": traces.Settings(
        tokens=12, repeats=3,
        wanted=(traces.Wanted("context_ngram", "quoting", 3, 0.0), traces.Wanted("ngram_table", "chat", 2, 1.0)),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def subject() -> Subject:
    return tiny_subject()


@pytest.fixture
def context(subject: Subject, tmp_path: Path) -> Context:
    return tiny_context(tmp_path, SETTINGS, subject)


@pytest.fixture(scope="module")
def finished(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> tuple[Context, dict[str, Outcome]]:
    """Every experiment of `all`, in its order, into one folder."""
    context = tiny_context(tmp_path_factory.mktemp("finished"), SETTINGS, subject)
    with pytest.MonkeyPatch.context() as patch:  # how fast the machine is matters to no test
        patch.setattr(machine, "BUFFER", {"cpu": 2**20})
        patch.setattr(machine, "SIDE", {"cpu": 64})
        patch.setattr(machine, "OPERATIONS", 10**6)
        return context, {name: module(name).run(context) for name in ALL}


# --- the record ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_an_experiment_ends_with_its_record(finished: tuple[Context, dict[str, Outcome]], name: str) -> None:
    """What is on disk is what was returned, it names its run, and no journal is left."""
    context, outcomes = finished
    outcome = outcomes[name]
    record = outcome.record
    assert read_record(context.out / file_name(record)) == record
    assert outcome.holds and outcome.headline and "\n" not in outcome.headline
    assert (record.seed, record.command, record.dtype, record.quick) == (5, "a test", "float32", False)
    assert len(record.commit) == 40 and record.prompts_sha256 and record.weights_sha256 == "1" * 64
    assert record.drafter_sha256 == {"ngram_table": "2" * 64}
    assert record.seconds > 0 and record.discarded_repeats == 0
    assert not list(context.work.glob(f"{name}-*/journal.jsonl"))


def test_the_traces_are_those_that_their_record_tells_of(finished: tuple[Context, dict[str, Outcome]]) -> None:
    """The site's build refuses a trace that does not add up to the record of its measurement."""
    context, outcomes = finished
    record = outcomes["traces"].record
    assert isinstance(record, TracesRecord)
    check_traces(load_traces(context.out / "traces"), {file_name(record): record}, context.out)


def test_traces_that_are_not_recorded_again_go(context: Context) -> None:
    """What was best before may not be now, and the site shows no trace that no record tells of. What
    nobody's record tells of is not ours to remove."""
    few = SETTINGS["traces"]
    before = traces.run(context).record
    ours = context.out / "traces"
    (ours / "somebodys.json").write_text("{}")
    other = replace(few, wanted=(few.wanted[0], traces.Wanted("ngram_table", "chat", 3, 0.0)))
    elsewhere = replace(context, settings={"traces": other})
    after = traces.run(elsewhere).record
    assert isinstance(before, TracesRecord) and isinstance(after, TracesRecord)
    assert {entry.id for entry in before.traces} != {entry.id for entry in after.traces}
    assert {path.stem for path in ours.glob("*.json")} == {entry.id for entry in after.traces} | {"somebodys"}


def test_the_curve_holds_every_sample(finished: tuple[Context, dict[str, Outcome]]) -> None:
    """Each m of a grid has as many samples as the others, twice in each repeat at the least."""
    record = finished[1]["curve"].record
    assert isinstance(record, CurveRecord)
    chosen = SETTINGS["curve"]
    own = [cost for cost in record.passes if (cost.model, cost.kernel) == ("tiny", record.kernel)]
    asked = {(b, c, m) for b in (1, 2) for c in (8, 16) for m in (1, 2, 4, 5)} | {(1, 32, m) for m in (1, 2, 4, 5)}
    assert {(cost.batch, cost.context, cost.m) for cost in own} == asked
    assert {cost.dtype for cost in record.passes} == {"float32", "bfloat16"}
    assert {cost.model for cost in record.passes} == {"tiny", "stories15M"}
    for cost in own:
        alike = {len(other.ms.samples) for other in own if (other.batch, other.context) == (cost.batch, cost.context)}
        assert len(alike) == 1 and len(cost.ms.samples) >= 2 * chosen.repeats
    assert all(len(cost.ms.samples) == chosen.repeats for cost in record.drafts)
    assert len(record.read_gbps.samples) == len(record.peak_gflops.samples) == chosen.repeats
    # Of each repeat, so that a slow minute of the memory weighs on both sides.
    [alone] = [cost for cost in own if (cost.batch, cost.context, cost.m) == (1, 8, 1)]
    fastest, slowest = (record.models[0].matrix_bytes / ms / 1e6 for ms in (min(alone.ms.samples), max(alone.ms.samples)))
    assert len(record.pass_gbps.samples) == chosen.repeats
    assert all(slowest <= sample <= fastest for sample in record.pass_gbps.samples)


# --- counts -------------------------------------------------------------------------------------


def test_what_rounds_committed_is_what_was_written(finished: tuple[Context, dict[str, Outcome]], subject: Subject) -> None:
    """Σ (j + 1) · histogram[j], and one for each round without drafts: with the first token, and
    without what an end threw away, that is the length of the plain answer, decoded anew here."""
    record = finished[1]["acceptance"].record
    assert isinstance(record, AcceptanceRecord)
    tokens = {text.id: text.tokens for text in subject.texts}
    limits = Limits(SETTINGS["acceptance"].tokens, subject.ends)
    seen = 0
    for cell in record.cells:
        for entry in cell.prompts:
            counts = entry.counts
            by_hand = sum((j + 1) * rounds for j, rounds in enumerate(counts.histogram)) + counts.empty
            assert counts.committed == by_hand
            if cell.temperature == 0:
                answer = decode_plain(subject.target, [tokens[entry.prompt]], limits).answers[0].tokens
                assert counts.first + by_hand - counts.discarded == len(answer)
                seen += 1
    assert seen == 2 * 2 * 4 * 3  # drafters, k, kinds, prompts


def test_rounds_without_drafts_are_counted_apart(finished: tuple[Context, dict[str, Outcome]]) -> None:
    """S_j is over the rounds that proposed; that the others are counted can be seen here, as prompt
    lookup has some of both."""
    record = finished[1]["acceptance"].record
    assert isinstance(record, AcceptanceRecord)
    counts = [
        entry.counts for cell in record.cells if cell.drafter == "context_ngram" for entry in cell.prompts
    ]  # fmt: skip
    assert any(one.empty for one in counts) and any(one.proposing for one in counts)
    for one in counts:
        assert one.proposing == sum(one.histogram) and one.rounds == one.proposing + one.empty
        assert one.offered[0] == one.proposing


# --- predictions --------------------------------------------------------------------------------


def test_predictions_are_frozen_before_the_first_run(
    finished: tuple[Context, dict[str, Outcome]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the first token of the experiment is decoded, the predictions and their hash are on disk,
    and no sample is."""
    context, _ = finished
    seen: list[dict[str, Any]] = []

    def look(*_: object) -> None:
        [path] = tmp_path.glob("speedup-*/journal.jsonl")
        [line] = path.read_text().splitlines()
        seen.append(json.loads(line)["what"])

    monkeypatch.setattr(speedup, "warm_up", look)
    record = speedup.run(replace(context, work=tmp_path)).record
    assert isinstance(record, SpeedupRecord)
    assert seen[0]["predictions_sha256"] == record.predictions_sha256 == hash_of(seen[0]["predictions"])
    assert seen[0]["predictions"] == [prediction.model_dump() for prediction in record.predictions]


def test_what_is_predicted_was_not_seen(finished: tuple[Context, dict[str, Outcome]], subject: Subject) -> None:
    """Acceptance comes from other prompts than those that are timed, and the records by their hash."""
    outcomes = finished[1]
    accepted, record = outcomes["acceptance"].record, outcomes["speedup"].record
    assert isinstance(accepted, AcceptanceRecord) and isinstance(record, SpeedupRecord)
    part = {text.id: text.part for text in subject.texts}
    assert {part[entry.prompt] for cell in accepted.cells for entry in cell.prompts} == {"acceptance"}
    assert {text.part for kind in KINDS for text in subject.prompts(kind, "speedup")} == {"speedup"}
    assert record.acceptance_sha256 == hash_of(accepted) and record.curve_sha256 == hash_of(outcomes["curve"].record)


def test_both_predictions_follow_from_the_records(finished: tuple[Context, dict[str, Outcome]]) -> None:
    """By hand, for k = 1: E / (c + 1), and E / (c + v) where every round has a draft; a round without
    one costs a plain pass."""
    outcomes = finished[1]
    curve_, accepted, record = (outcomes[name].record for name in ("curve", "acceptance", "speedup"))
    assert isinstance(curve_, CurveRecord) and isinstance(accepted, AcceptanceRecord)
    assert isinstance(record, SpeedupRecord)
    for prediction in record.predictions:
        if prediction.k != 1:
            continue
        [cell] = [
            c for c in accepted.cells
            if (c.drafter, c.kind, c.k, c.temperature) == (prediction.drafter, prediction.kind, 1, 0.0)
        ]  # fmt: skip
        rounds = sum(entry.counts.rounds for entry in cell.prompts)
        drafted = sum(entry.counts.offered[0] for entry in cell.prompts)
        stood = sum(entry.counts.accepted[0] for entry in cell.prompts)
        h = stood / drafted if drafted else 0.0
        [draft] = [d for d in curve_.drafts if (d.drafter, d.batch, d.k) == (prediction.drafter, 1, 1)]
        plain = [cost.ms.median for cost in curve_.passes if (cost.model, cost.batch, cost.m) == ("tiny", 1, 1)]
        c = prediction.textbook.cost_ratio
        assert draft.ms.median / max(plain) <= c <= draft.ms.median / min(plain)
        assert prediction.textbook.speedup == pytest.approx((1 + h) / (c + 1))
        assert prediction.full.expected_tokens == pytest.approx(1 + stood / rounds)
        v = prediction.full.verify_cost
        assert prediction.full.speedup == pytest.approx((1 + stood / rounds) / (c + v))
        assert drafted or v == pytest.approx(1)


def test_the_same_prompts_are_timed_both_ways(finished: tuple[Context, dict[str, Outcome]]) -> None:
    """Every prompt and repeat is a sample of its cell, unless its answer has no rounds."""
    record = finished[1]["speedup"].record
    assert isinstance(record, SpeedupRecord)
    chosen = SETTINGS["speedup"]
    most = chosen.prompts * chosen.repeats
    assert len(record.cells) == len(KINDS) * sum(map(len, chosen.drafters.values()))
    assert all(0 < len(cell.speedup.samples) <= most for cell in record.cells)
    assert any(len(cell.speedup.samples) == most for cell in record.cells)


def test_speedup_without_what_it_predicts_from_says_what_to_run(
    context: Context, finished: tuple[Context, dict[str, Outcome]]
) -> None:
    with pytest.raises(speedup.Missing, match=r"curve-cpu-2-cores-a-tiny-one.json; run this first, with the same --out: .* measure curve$"):
        speedup.run(context)
    write_record(finished[1]["curve"].record, context.out)
    with pytest.raises(speedup.Missing, match=r"run this first, with the same --out: .* measure acceptance$"):
        batch.run(context)


def test_a_record_of_other_weights_predicts_nothing(
    context: Context, finished: tuple[Context, dict[str, Outcome]]
) -> None:
    write_record(finished[1]["curve"].record, context.out)
    other = replace(context.subject, weights_sha256="3" * 64)
    with pytest.raises(speedup.Missing, match="is of other weights or of another kernel; run this first"):
        speedup.run(replace(context, subject=other))


# --- proofs -------------------------------------------------------------------------------------


def test_the_proof_holds_every_drafter_and_k(finished: tuple[Context, dict[str, Outcome]]) -> None:
    record = finished[1]["lossless"].record
    assert isinstance(record, LosslessRecord)
    names = {"context_ngram", "ngram_table", "oracle", "adversary"}
    assert {(cell.drafter, cell.k) for cell in record.cells if cell.batch > 1} == {(n, k) for n in names for k in (1, 3)}
    assert {cell.batch for cell in record.cells} == {1, 2}
    assert {flips.dtype for flips in record.flips} == {"float32", "bfloat16"}
    assert all(flips.positions >= len(flips.margins) for flips in record.flips)
    assert [law.right for law in record.sampled] == [True, True, False]


def test_a_drafter_that_changes_the_text_is_found_out(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the greedy proof: a rule that lets every draft stand must not hold."""

    def lenient(logits: Any, proposal: Any, sampling: Any, uniforms: Any) -> Any:
        verdict = rejection.judge(logits, proposal, sampling, uniforms)
        return replace(verdict, accepted=proposal.counts)

    monkeypatch.setattr("build_scripts.measure.decoding.judge", lenient)
    chosen = replace(SETTINGS["lossless"], ks=(3,), alone_prompts=1, draws=2_000, flip_prompts=1)
    outcome = lossless.run(replace(context, settings={"lossless": chosen}))
    assert not outcome.holds and "NOT PROVEN" in outcome.headline


# --- interrupted, and gone on with --------------------------------------------------------------


UNLIKE = {"date", "seconds", "load_average", "commit", "clean"}
"""What two runs of the same thing differ in."""


@pytest.mark.parametrize("after", [1, 9])
def test_an_interrupted_run_goes_on_to_the_same_record(
    finished: tuple[Context, dict[str, Outcome]], context: Context, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Counts do not depend on when they were taken: no sample is lost, and none is there twice."""
    add, kept = Journal.add, []

    def tired(journal: Journal, key: str, sample: Any) -> None:
        if len(kept) == after:
            raise KeyboardInterrupt
        kept.append(key)
        add(journal, key, sample)

    monkeypatch.setattr(Journal, "add", tired)
    with pytest.raises(KeyboardInterrupt):
        run_and_leave(acceptance, context)
    assert not (context.out / file_name(finished[1]["acceptance"].record)).exists()
    again: list[str] = []
    monkeypatch.setattr(Journal, "add", lambda journal, key, sample: (again.append(key), add(journal, key, sample)))
    record = acceptance.run(context).record
    assert not set(again) & set(kept) and len(set(again)) == len(again)
    assert record.model_dump(exclude=UNLIKE) == finished[1]["acceptance"].record.model_dump(exclude=UNLIKE)


def run_and_leave(experiment: Any, context: Context) -> None:
    """Run it; its journal is closed afterwards, as the end of a process does."""
    runners: list[Runner] = []
    begin = context.begin

    def noted(*arguments: Any) -> Runner:
        runners.append(begin(*arguments))
        return runners[-1]

    context.begin = noted  # type: ignore[method-assign]
    try:
        experiment.run(context)
    finally:
        del context.begin
        for runner in runners:
            runner.journal.close()


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_only_a_gpu_needs_a_rehearsal(context: Context, kind: str) -> None:
    """There the first pass of each size captures its graph."""
    device = context.device.model_copy(update={"kind": kind})
    runner = replace(context, device=device).begin("batch", SETTINGS["batch"])
    assert runner.rehearse == (kind == "cuda")
    runner.journal.remove()


def test_a_run_of_other_settings_begins_afresh(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of another seed are no samples of this run; they are set aside, not lost."""
    monkeypatch.setattr(context, "finish", stop)
    with pytest.raises(KeyboardInterrupt):
        run_and_leave(acceptance, context)
    [path] = context.work.glob("acceptance-*/journal.jsonl")
    before = path.read_bytes()
    runner = replace(context, seed=6).begin("acceptance", SETTINGS["acceptance"])
    assert runner.journal.begun_afresh and not runner.journal.samples
    assert path.with_name("journal.other.jsonl").read_bytes() == before
    runner.journal.close()


def test_a_run_of_other_code_begins_afresh(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who edits a drafter and runs it again must not read what it did before."""
    monkeypatch.setattr(context, "finish", stop)
    with pytest.raises(KeyboardInterrupt):
        run_and_leave(acceptance, context)
    monkeypatch.setattr(context_module, "code_sha256", lambda: "4" * 64)
    runner = context.begin("acceptance", SETTINGS["acceptance"])
    assert runner.journal.begun_afresh and not runner.journal.samples
    runner.journal.close()


def test_the_headline_tells_of_samples_that_were_disturbed(context: Context) -> None:
    """A number that other programs made is not to be believed for its place at the end."""
    calm = acceptance.run(context)
    runner = context.begin("acceptance", SETTINGS["acceptance"])
    disturbed = calm.record.model_copy(update={"kept_under_load": 35})
    assert context.finish(runner, disturbed, "fast").headline.startswith("fast — kept although something else used the machine: 35")
    assert "although" not in calm.headline


def stop(*_: object) -> Outcome:
    raise KeyboardInterrupt


def test_a_record_that_cannot_be_written_leaves_the_one_before(
    finished: tuple[Context, dict[str, Outcome]], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the last moment: the old record stands, nothing half-written lies there,
    and the samples are kept for another try."""
    name = file_name(finished[1]["acceptance"].record)
    context.out.mkdir()
    (context.out / name).write_text("the record before")

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            run_and_leave(acceptance, context)
    assert [path.name for path in context.out.iterdir()] == [name]
    assert (context.out / name).read_text() == "the record before"
    record = acceptance.run(context).record
    assert read_record(context.out / name) == record
    assert record.model_dump(exclude=UNLIKE) == finished[1]["acceptance"].record.model_dump(exclude=UNLIKE)


def test_code_outside_git_has_no_commit_and_is_not_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy without history, on a rented GPU, must not pass for a committed version."""
    monkeypatch.setattr(context_module, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("SOURCE_COMMIT", raising=False)
    assert source_version(tmp_path / "out") == (UNKNOWN_COMMIT, False)
    monkeypatch.setenv("SOURCE_COMMIT", "a" * 40)
    assert source_version(tmp_path / "out") == ("a" * 40, False)

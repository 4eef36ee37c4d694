"""The Measured page: a figure is drawn from a record or not at all.

Records made up for tests (records.py) stand in for real ones; no test knows a real record's values.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from records import accept_none, altered, quicken, scale, synthetic_records, write_synthetic

from build_scripts.build import build_site_sources, read_traces, render_lesson
from build_scripts.cli import main
from build_scripts.model.speculation import Round, speedup
from build_scripts.records.schema import (
    AcceptanceRecord,
    BatchRecord,
    CurveRecord,
    LosslessRecord,
    PeersRecord,
    Record,
    SpeedupRecord,
)
from build_scripts.records.store import RecordError, Records, file_name, load_records, write_record
from build_scripts.records.summaries import acceptance_by_position, foreseen, beside_others, comparisons, speedup_of, times_as_fast
from build_scripts.records.training import TrainingRecord, read_training
from build_scripts.render.numbers import fixed
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Calculator, Lesson, Numbers
from build_scripts.views.blocks import blocks_of
from build_scripts.views.measured.presets import acceptance_for, measured_presets
from build_scripts.views.number_rows import number_groups

ROOT = Path(__file__).resolve().parents[1]
STYLES = ROOT / "docs" / "assets" / "lesson" / "lesson.css"
FIGURES = {
    "measured-cost": CurveRecord,
    "measured-acceptance": AcceptanceRecord,
    "measured-speedup": SpeedupRecord,
    "measured-prediction": SpeedupRecord,
    "measured-batch": BatchRecord,
}
TABLES = {"measured-lossless": LosslessRecord, "measured-peers": PeersRecord}


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


def together(*records: Record) -> Records:
    return Records({file_name(record): record for record in records})


made = cache(synthetic_records)


def one(kind: type[Record], **how: Any) -> Any:
    return next(record for record in made(**how) if isinstance(record, kind))


@dataclass(frozen=True)
class View:
    """A block as a reader finds it: its HTML, its charts by name, its captions and its tables."""

    html: str
    charts: dict[str, dict[str, Any]]

    @property
    def captions(self) -> str:
        return " ".join(_words(part) for part in re.findall(r'<p class="cap[^"]*">.*?</p>', self.html, re.DOTALL))

    @property
    def tables(self) -> str:
        return " ".join(_words(part) for part in re.findall(r"<table.*?</table>", self.html, re.DOTALL))

    @property
    def words(self) -> str:
        return _words(self.html)


def _words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).replace("\u00a0", " ").split())


def view(lesson: Lesson, name: str, *records: Record, training: TrainingRecord | None = None) -> View:
    """The block of that view alone, on a page of its own."""
    page, part, block = next(
        (page, part, block) for page in lesson.pages for part in page.parts for block in part.blocks if block.view == name
    )
    alone = page.model_copy(update={"parts": [part.model_copy(update={"blocks": [block]})], "opening": []})
    files = render_lesson(lesson.model_copy(update={"pages": [alone]}), STYLES, together(*records), training=training)
    charts = {path.removeprefix("charts/").removesuffix(".json"): json.loads(text) for path, text in files.items() if ".json" in path}
    return View(files[f"{page.id}.md"], charts)


# --- a record, or nothing ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FIGURES, *TABLES, "measured-training", "measured-records"])
def test_without_a_record_there_is_no_figure_but_the_way_to_one(lesson: Lesson, name: str) -> None:
    """Also where other experiments have records: theirs say nothing about this one."""
    kind = {**FIGURES, **TABLES}.get(name, Record)
    shown = view(lesson, name, *(record for record in made() if not isinstance(record, kind)))
    assert not shown.charts and "<svg" not in shown.html and "<table" not in shown.html
    assert "not measured yet" in shown.words
    command = "make bench-peers" if name == "measured-peers" else "python -m build_scripts measure"
    assert f"<code>{command}" in shown.html


def test_the_card_without_a_record_says_so_and_how_to_make_one(lesson: Lesson) -> None:
    shown = view(lesson, "measured-card")
    assert "No run of this project is committed yet" in shown.words and "make measure" in shown.words
    assert "headline" not in shown.html


def test_without_a_record_the_calculator_has_no_measured_presets(lesson: Lesson) -> None:
    assert "measured-" not in view(lesson, "calculator").html


@pytest.mark.parametrize("name", [*FIGURES, *TABLES, "measured-card"])
def test_under_each_figure_stands_where_how_and_when(lesson: Lesson, name: str) -> None:
    kind = {**FIGURES, **TABLES}.get(name, SpeedupRecord)
    record = one(kind)
    shown = view(lesson, name, record)
    assert "Measured on a 2-core AMD EPYC 9B14 CPU, fp32, packed AVX-512 kernel, 2026-11-30, commit abc1234." in shown.words
    assert f'href="measurements/{file_name(record)}"' in shown.html
    assert "H200" not in shown.words, "a GPU stands under a figure that was measured on a CPU"


@pytest.mark.parametrize("name", [*FIGURES, *TABLES, "measured-card"])
def test_a_quick_run_is_called_one_and_gives_way_to_the_full_run(lesson: Lesson, name: str) -> None:
    kind = {**FIGURES, **TABLES}.get(name, SpeedupRecord)
    quick, full = one(kind, quick=True), one(kind)
    assert "Quick run" in view(lesson, name, quick).words
    both = view(lesson, name, quick, full)
    assert "Quick run" not in both.words and both.html == view(lesson, name, full).html


def test_repeats_kept_under_load_are_told_under_the_figure(lesson: Lesson) -> None:
    noisy = altered(one(CurveRecord), lambda data: data.update(kept_under_load=3))
    assert "although something else used the machine: 3" in view(lesson, "measured-cost", noisy).words
    assert "although something else" not in view(lesson, "measured-cost", one(CurveRecord)).words


# --- one number altered, and what is drawn and said with it -------------------------------------


def a_pass(batch: int, factor: float) -> Callable[[Any], None]:
    """The pass that checks four drafts of `batch` rows, dearer by `factor`."""

    def change(data: Any) -> None:
        found = [
            cost for cost in data["passes"]
            if (cost["kernel"], cost["context"], cost["batch"], cost["m"]) == (data["kernel"], 128, batch, 5)
            and cost["model"].startswith("SmolLM2")
        ]  # fmt: skip
        assert len(found) == 1
        scale(found[0]["ms"], factor)

    return change


def v_of(record: CurveRecord, batch: int) -> str:
    ms = {
        cost.m: cost.ms.median for cost in record.passes
        if (cost.kernel, cost.context, cost.batch) == (record.kernel, 128, batch) and cost.model.startswith("SmolLM2")
    }  # fmt: skip
    return fixed(ms[5] / ms[1], 2)


def test_the_cost_of_one_pass(lesson: Lesson) -> None:
    record = one(CurveRecord)
    for batch, chart, other in ((1, "verification-kernels", None), (32, "verification-batches", "verification-kernels")):
        dearer = altered(record, a_pass(batch, 1.4))
        before, after = view(lesson, "measured-cost", record), view(lesson, "measured-cost", dearer)
        assert before.charts[chart] != after.charts[chart]
        assert other is None or before.charts[other] == after.charts[other]
        for said in (before.captions, before.tables):
            assert v_of(record, batch) in said
        for said in (after.captions, after.tables, after.charts[chart]["layout"]["meta"]["alt"]):
            assert v_of(dearer, batch) in said


def test_the_read_bandwidth(lesson: Lesson) -> None:
    """The share of the bandwidth is a quotient: it must follow either number."""
    record = one(CurveRecord)
    faster = altered(record, lambda data: scale(data["read_gbps"], 1.5))
    before, after = (re.findall(r'readout">([^<]+)', view(lesson, "measured-cost", each).html) for each in (record, faster))
    assert before[0] != after[0] and before[1] == after[1]


def test_the_cost_of_one_draft(lesson: Lesson) -> None:
    """c is said for the k that the captions speak of, and the table has every k and batch."""

    def draft(data: Any) -> Any:
        return next(cost for cost in data["drafts"] if (cost["drafter"], cost["batch"], cost["k"]) == ("int8_copy", 1, 4))

    def c_of(record: CurveRecord) -> str:
        plain = next(cost.ms.median for cost in record.passes if (cost.batch, cost.m, cost.context) == (1, 1, 128))
        return fixed(draft(record.model_dump())["ms"]["median"] / 4 / plain, 2)

    record = one(CurveRecord)
    dearer = altered(record, lambda data: scale(draft(data)["ms"], 2))
    before, after = view(lesson, "measured-cost", record), view(lesson, "measured-cost", dearer)
    assert f"{c_of(record)} for int8 copy" in before.captions and f"{c_of(dearer)} for int8 copy" in after.captions
    assert before.tables != after.tables and before.charts == after.charts


def test_the_warning_about_batches_is_not_given_where_the_record_does_not_bear_it(lesson: Lesson) -> None:
    def flat(data: Any) -> None:
        own = {cost["m"]: cost["ms"] for cost in data["passes"] if (cost["batch"], cost["context"]) == (1, 128)
               and cost["kernel"] == data["kernel"] and cost["model"].startswith("SmolLM2")}  # fmt: skip
        for cost in data["passes"]:
            if cost["batch"] > 1:
                cost["ms"] = own[cost["m"]]

    record = one(CurveRecord)
    warning = "the lesson's warning about large batches"
    assert warning in view(lesson, "measured-cost", record).captions
    assert warning not in view(lesson, "measured-cost", altered(record, flat)).captions


def test_what_was_accepted_of_one_prompt(lesson: Lesson) -> None:
    def refuse(data: Any) -> None:
        cell = next(
            cell for cell in data["cells"]
            if (cell["drafter"], cell["kind"], cell["temperature"], cell["k"]) == ("eagle_head", "chat", 0, 8)
        )  # fmt: skip
        accept_none(cell["prompts"][0]["counts"])

    record = one(AcceptanceRecord)
    less = altered(record, refuse)
    before, after = view(lesson, "measured-acceptance", record), view(lesson, "measured-acceptance", less)
    changed = {name for name in before.charts if before.charts[name] != after.charts[name]}
    assert changed == {"by-position-eagle-head"}, "the other drafters' charts show other numbers"

    def a_1(record: AcceptanceRecord) -> str:
        cell = next(c for c in record.cells if (c.drafter, c.kind, c.temperature, c.k) == ("eagle_head", "chat", 0, 8))
        first = acceptance_by_position(cell)[0]
        assert first is not None
        return f"{fixed(first.value, 2)} ({fixed(first.low, 2)}–{fixed(first.high, 2)})"

    assert a_1(record) != a_1(less)
    assert a_1(record) in before.tables and a_1(less) in after.tables
    assert a_1(less) in after.charts["by-position-eagle-head"]["layout"]["meta"]["alt"]
    assert before.captions != after.captions


def test_drawing_is_compared_with_greedy_decoding_at_the_same_k(lesson: Lesson) -> None:
    """h depends on k: 8 drafts at temperature 0 beside 4 at temperature 1 would be two changes in one."""
    captions = view(lesson, "measured-acceptance", one(AcceptanceRecord)).captions
    assert captions.count("At temperature 1,") == captions.count("(k = 4)") == 4
    greedy_only = altered(
        one(AcceptanceRecord), lambda data: data.update(cells=[c for c in data["cells"] if (c["temperature"], c["k"]) != (0, 4)])
    )
    assert "At temperature 1," not in view(lesson, "measured-acceptance", greedy_only).captions


def cell_of(record: SpeedupRecord, drafter: str, kind: str, k: int) -> Any:
    return next(cell for cell in record.cells if (cell.drafter, cell.kind, cell.k) == (drafter, kind, k))


def faster(drafter: str, kind: str, k: int, factor: float) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        quicken(next(c for c in data["cells"] if (c["drafter"], c["kind"], c["k"]) == (drafter, kind, k)), factor)

    return change


def test_one_speedup(lesson: Lesson) -> None:
    """In its chart, caption and table, and on the lesson's own card, where it is now the best."""
    case = ("eagle_head", "prose", 2)
    record = one(SpeedupRecord)
    better = altered(record, faster(*case, 5.0))
    before, after = view(lesson, "measured-speedup", record), view(lesson, "measured-speedup", better)
    old, new = (f"{fixed(speedup_of(cell_of(each, *case)).value, 2)}×" for each in (record, better))
    assert after.tables.count(old) == before.tables.count(old) - 1, "another setting may have the same speedup"
    for said in (after.captions, after.tables, after.charts["speedup-eagle-head"]["layout"]["meta"]["alt"]):
        assert new in said and new not in before.html
    assert before.charts["speedup-eagle-head"]["data"] != after.charts["speedup-eagle-head"]["data"]
    assert new in view(lesson, "measured-card", better).words
    assert new not in view(lesson, "measured-card", record).words


def test_a_loss_is_drawn_down_named_in_the_caption_and_shown_on_the_card(lesson: Lesson) -> None:
    """A page that shows its wins only is an advertisement."""
    case = ("int8_copy", "code", 4)
    worse = altered(one(SpeedupRecord), faster(*case, 0.1))
    shown = view(lesson, "measured-speedup", worse)
    value = speedup_of(cell_of(worse, *case)).value
    heights = [y for trace in shown.charts["speedup-int8-copy"]["data"] for y in trace["y"]]
    assert min(heights) < -1
    assert re.search(r"\d+ lose: [^.]*code with k = [\d, ]*4", shown.captions)
    assert f"▼ {fixed(value, 2)}×" in shown.tables
    assert f"{fixed(value, 2)}×" in view(lesson, "measured-card", worse).words


def test_where_nothing_loses_the_card_says_that_instead(lesson: Lesson) -> None:
    def win(data: Any) -> None:
        for cell in data["cells"]:
            quicken(cell, 30.0)

    shown = view(lesson, "measured-card", altered(one(SpeedupRecord), win))
    assert "None of our settings lost" in shown.words and "headline-slower" not in shown.html


def test_a_loss_in_a_batch_only_is_on_the_card_too(lesson: Lesson) -> None:
    """A reader of the card alone must not take away that nothing was lost."""

    def win(data: Any) -> None:
        for cell in data["cells"]:
            quicken(cell, 30.0)

    def lose(data: Any) -> None:
        scale(next(c for c in data["cells"] if (c["drafter"], c["batch"]) == ("int8_copy", 16))["speedup"], 0.2)

    speedups, batches = altered(one(SpeedupRecord), win), altered(one(BatchRecord), lose)
    value = next(speedup_of(c).value for c in batches.cells if (c.drafter, c.batch) == ("int8_copy", 16))
    shown = view(lesson, "measured-card", speedups, batches)
    assert f"▼ {fixed(value, 2)}×" in shown.words and "16 sequences" in shown.words
    assert "None of our settings" not in shown.words
    assert f'href="measurements/{file_name(batches)}"' in shown.html


def test_one_error_of_the_prediction(lesson: Lesson) -> None:
    case = ("ngram_table", "code", 8)
    record = one(SpeedupRecord)
    off = altered(record, faster(*case, 2.5))
    before, after = view(lesson, "measured-prediction", record), view(lesson, "measured-prediction", off)
    point = next(p for p in comparisons(off) if (p.cell.drafter, p.cell.kind, p.cell.k) == case)
    error = f"−{fixed(-100 * point.full_error, 1)} %"
    assert before.charts["prediction-chart"]["data"] != after.charts["prediction-chart"]["data"]
    assert error in after.captions and error in after.tables and error not in before.html


def test_the_scatter_has_a_point_for_every_setting_and_both_formulas(lesson: Lesson) -> None:
    record = one(SpeedupRecord)
    traces = view(lesson, "measured-prediction", record).charts["prediction-chart"]["data"]
    assert sum(len(trace["x"]) for trace in traces) == 2 * len(record.cells)


def test_how_often_a_formula_called_the_outcome() -> None:
    """Counted by hand, and a setting that comes out the other way round is one less."""
    record, served = one(SpeedupRecord), one(BatchRecord)
    said = [(point.prediction.full.speedup, speedup_of(point.cell)) for point in comparisons(record)]
    said += [(cell.predicted_speedup, speedup_of(cell)) for cell in served.cells]
    decided = [(predicted, ratio) for predicted, ratio in said if ratio.outcome != "equal"]
    right = [predicted for predicted, ratio in decided if (predicted > 1) == (ratio.value > 1)]
    assert foreseen(comparisons(record), served.cells) == (len(right), len(decided))
    case = ("int8_copy", "code", 4)
    assert cell_of(record, *case).pooled_speedup.low > 1.02
    other_way = altered(record, faster(*case, 0.1))
    assert foreseen(comparisons(other_way), served.cells) == (len(right) - 1, len(decided))


def test_one_batch(lesson: Lesson) -> None:
    def slower(data: Any) -> None:
        cell = next(c for c in data["cells"] if (c["drafter"], c["batch"]) == ("int8_copy", 32))
        scale(cell["speedup"], 0.5)

    record = one(BatchRecord)
    less = altered(record, slower)
    before, after = view(lesson, "measured-batch", record), view(lesson, "measured-batch", less)
    new = next(f"{fixed(c.speedup.median, 2)}×" for c in less.cells if (c.drafter, c.batch) == ("int8_copy", 32))
    assert before.charts["in-a-batch-chart"]["data"] != after.charts["in-a-batch-chart"]["data"]
    assert new in after.captions and new in after.tables and new not in before.tables


def test_a_machine_that_ran_at_another_speed_is_told_beside_the_errors(lesson: Lesson) -> None:
    """Costs counted in passes do not hold at another speed of the memory; the reader must know."""
    def at_speed(factor: float) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            for cost in data["passes"]:
                scale(cost["ms"], factor)

        return change

    record, curve = one(SpeedupRecord), one(CurveRecord)
    plain = statistics.median(sample for cell in record.cells for sample in cell.plain_ms_per_token.samples)
    own = next(cost for cost in curve.passes if (cost.batch, cost.m) == (1, 1)).ms.median
    same = view(lesson, "measured-prediction", record, altered(curve, at_speed(plain / own))).captions
    other = view(lesson, "measured-prediction", record, altered(curve, at_speed(1.2 * plain / own))).captions
    assert f"took {fixed(plain, 1)} ms while the costs were measured; in these runs plain decoding took {fixed(plain, 1)}" in same
    assert "another speed" not in same
    assert f"took {fixed(1.2 * plain, 1)} ms" in other and "machine ran at another speed" in other
    assert "while the costs were measured" not in view(lesson, "measured-prediction", record).captions


def test_one_repeat_of_the_bandwidth(lesson: Lesson) -> None:
    """Each repeat against its own limit: memory that is half as fast in one repeat, for reading alone
    and for the pass, changes nothing about the share."""
    def both(data: Any) -> None:
        for name in ("read_gbps", "pass_gbps"):
            rate = data[name]
            samples = [rate["samples"][0] / 2, *rate["samples"][1:]]
            rate.update(samples=samples, median=statistics.median(samples), low=min(samples), high=max(samples))

    def faster(data: Any) -> None:
        scale(data["pass_gbps"], 1.1)

    record = one(CurveRecord)
    shares = [reached / limit for reached, limit in zip(record.pass_gbps.samples, record.read_gbps.samples)]
    said = f"{fixed(100 * statistics.median(shares), 0)} %"
    tile = re.compile(r"of the read bandwidth, one token at a time (\d+ %)")
    for change, expected in ((lambda data: None, said), (both, said), (faster, f"{fixed(110 * statistics.median(shares), 0)} %")):
        found = tile.search(view(lesson, "measured-cost", altered(record, change)).words)
        assert found is not None and found[1] == expected


@pytest.mark.parametrize("value", [0.0, -5.0, 1e300])
@pytest.mark.parametrize("name", ["read_gbps", "pass_gbps", "peak_gflops"])
def test_what_cannot_have_been_measured_is_told_with_its_field(tmp_path: Path, name: str, value: float) -> None:
    """A time or a rate that is not above 0, or that no page could show."""
    path = write_record(one(CurveRecord), tmp_path)
    data = json.loads(path.read_text())
    data[name]["samples"] = [value] * len(data[name]["samples"])
    data[name].update(median=value, low=value, high=value)
    path.write_text(json.dumps(data))
    with pytest.raises(RecordError, match=rf"{path.name}: {name}.*: (every sample must be above 0|Input should be (greater|less) than)"):
        load_records(tmp_path)


def test_a_record_under_another_name_is_refused(tmp_path: Path) -> None:
    """There would be two of one run."""
    path = write_record(one(CurveRecord), tmp_path)
    path.rename(tmp_path / "mine.json")
    with pytest.raises(RecordError, match=f"mine.json: this record belongs in a file named {path.name}"):
        load_records(tmp_path)


def test_a_long_training_has_its_ticks(lesson: Lesson) -> None:
    curve = [point.model_dump() for point in a_training().curve]
    curve[-1]["elapsed_s"] = 5e6
    assert view(lesson, "measured-training", training=a_training(curve=curve)).charts["training-chart"]["data"]


def a_training(**changes: Any) -> TrainingRecord:
    """Five points of a curve over two passes through a text of a million tokens."""
    shares = (0.25, 0.5, 0.5, 0.625, 0.75)
    data: dict[str, Any] = {
        "weights_sha256": "1" * 64, "corpus": "some.npz", "corpus_sha256": "2" * 64, "corpus_rows": 9, "rows_used": 9,
        "training_rows": 8, "training_tokens": 1_000_000, "held_out_rows": [3], "held_out_answer_tokens": 1234,
        "held_out_reachable": 0.9, "seed": 0, "minutes": 10.0, "settings": {}, "parameters": 4_200_000, "steps": 50,
        "tokens_seen": 2_000_000, "seconds": 600.0, "sittings": 1, "date": "2026-11-30T00:00:00Z", "commit": "a" * 40,
        "command": "measure head", "device": "cpu", "processor": "Some CPU", "threads": 1, "dtype": "bfloat16",
        "versions": {"torch": "2"}, "final": [{"top1": 0.74, "overlap": 0.7}, {"top1": 0.4, "overlap": 0.4}],
        "curve": [
            {
                "elapsed_s": 120.0 * n, "step": 10 * n, "tokens": 400_000 * n, "epochs": 0.4 * n, "unroll": 1,
                "train_cross_entropy": 5.0 - n,
                "held_out": [{"top1": share, "overlap": share}, {"top1": share / 2, "overlap": share / 2}],
            }
            for n, share in enumerate(shares, start=1)
        ],
    }  # fmt: skip
    return TrainingRecord.model_validate(data | changes)


def test_one_point_of_the_training(lesson: Lesson) -> None:
    """Position by position over time; what the last pass over the text brought follows from the curve."""
    one_training = a_training()
    curve = [point.model_dump() for point in one_training.curve]
    curve[1]["held_out"][0]["top1"] = 0.7
    before, after = (view(lesson, "measured-training", training=each) for each in (one_training, a_training(curve=curve)))
    chart = "training-chart"
    assert [list(trace["y"]) for trace in before.charts[chart]["data"]][-1] == [0.25, 0.5, 0.5, 0.625, 0.75]
    assert before.charts[chart]["data"] != after.charts[chart]["data"]
    assert "70.0 %" in after.tables and "70.0 %" not in before.tables
    # At 2.0 passes 75 %; one pass before, the last point is that at 0.8: 50 %, and then 70 %.
    assert "The last 1.2 passes over the text brought 25.0 points" in before.captions
    assert "brought 5.0 points" in after.captions
    assert "74 % of the cases at position 1 and in 40 % at position 2" in before.captions
    assert "1234 held-out tokens" in before.captions and "90 %" in before.captions
    assert "Trained on a CPU (Some CPU; threads: 1), bf16, 2026-11-30, commit aaaaaaa." in before.words


def test_a_head_that_became_worse_is_not_praised(lesson: Lesson) -> None:
    curve = [point.model_dump() for point in a_training().curve]
    curve[-1]["held_out"][0]["top1"] = 0.45
    assert "brought −5.0 points" in view(lesson, "measured-training", training=a_training(curve=curve)).captions


def test_what_the_head_does_on_prompts_is_from_the_record_of_acceptance(lesson: Lesson) -> None:
    record = one(AcceptanceRecord)
    cell = max((c for c in record.cells if (c.drafter, c.kind, c.temperature) == ("eagle_head", "chat", 0)), key=lambda c: c.k)
    accepted, examined = (sum(getattr(entry.counts, name)[0] for entry in cell.prompts) for name in ("accepted", "examined"))
    said = f"On {len(cell.prompts)} chat prompts written by hand for this project, {fixed(100 * accepted / examined, 0)} % of"
    assert said in view(lesson, "measured-training", record, training=a_training()).captions
    assert "written by hand" not in view(lesson, "measured-training", training=a_training()).captions
    replayed = record.model_copy(update={"replayed": True})
    assert "written by hand" not in view(lesson, "measured-training", replayed, training=a_training()).captions


def test_the_training_that_is_shown_is_that_of_the_weights(tmp_path: Path) -> None:
    """The committed record is of the committed file; a broken one, or another's, is told with the field."""
    shipped = read_training()
    assert shipped is not None and shipped.curve[-1].held_out[0].top1 > shipped.curve[0].held_out[0].top1
    path = tmp_path / "head.json"
    assert read_training(path) is None
    path.write_text(shipped.model_dump_json())
    with pytest.raises(RecordError, match=r"head\.json: weights_sha256: head\.npz is not the file that was trained"):
        read_training(path)
    data = shipped.model_dump()
    data["curve"][0]["held_out"][0]["top1"] = 1.5
    path.write_text(json.dumps(data))
    with pytest.raises(RecordError, match=r"head\.json: curve\.0\.held_out\.0\.top1: Input should be less than or equal to 1"):
        read_training(path)
    data = shipped.model_dump()
    data["curve"][0]["elapsed_s"] = data["curve"][1]["elapsed_s"]
    path.write_text(json.dumps(data))
    with pytest.raises(RecordError, match="not in the order of their times"):
        read_training(path)
    path.with_suffix(".npz").write_bytes(b"weights")
    path.unlink()
    with pytest.raises(RecordError, match=r"head\.json: there is no such file, and head\.npz has no record"):
        read_training(path)
    data = shipped.model_dump()
    data["curve"].reverse()
    path.write_text(json.dumps(data))
    with pytest.raises(RecordError, match="not in the order of their steps"):
        read_training(path)
    path.write_text("{")
    with pytest.raises(RecordError, match="this is not JSON"):
        read_training(path)


def test_one_answer_that_differs(lesson: Lesson) -> None:
    def differ(data: Any) -> None:
        cell = data["cells"][0]
        cell["identical"] -= 1
        cell["differences"].append({"prompt": "prose-07", "position": 3, "plain": 1, "speculative": 2, "margin": 4e-4})

    record = one(LosslessRecord)
    worse = altered(record, differ)
    before, after = view(lesson, "measured-lossless", record), view(lesson, "measured-lossless", worse)
    assert "39 / 40" in after.tables and after.tables.count("39 / 40") == before.tables.count("39 / 40") + 1
    prompts = sum(cell.prompts for cell in record.cells)
    assert f"{prompts - 2} of {prompts}" in after.captions and "4.0e-4" in after.captions


def test_a_difference_that_rounding_does_not_explain_is_called_so(lesson: Lesson) -> None:
    def apart(data: Any) -> None:
        data["cells"][5]["differences"][0]["margin"] = 0.3

    record = one(LosslessRecord)
    says = "Further apart than 1.0e-3, which rounding does not explain: 1 of them."
    assert says not in view(lesson, "measured-lossless", record).captions
    assert says in view(lesson, "measured-lossless", altered(record, apart)).captions


def test_answers_one_at_a_time_and_in_a_batch_stand_in_rows_of_their_own(lesson: Lesson) -> None:
    """They share drafter and k: keyed by these alone, one proof would hide the other."""
    tables = view(lesson, "measured-lossless", one(LosslessRecord)).tables
    assert "int8 copy, one prompt at a time" in tables and "int8 copy, 10 at a time" in tables


def test_one_peer(lesson: Lesson) -> None:
    def faster_lookup(data: Any) -> None:
        scale(next(row for row in data["rows"] if row["mode"] == "prompt lookup")["tokens_per_s"], 1.9)

    record = one(PeersRecord)
    better = altered(record, faster_lookup)
    before, after = view(lesson, "measured-peers", record), view(lesson, "measured-peers", better)
    rate = next(row.tokens_per_s for row in better.rows if row.mode == "prompt lookup")
    said = f"{fixed(rate.median, 0)} ({fixed(rate.low, 1)}"
    assert said in after.tables and said not in before.tables
    factors = [
        next(pair.factor for pair in beside_others(each.rows, "this project") if pair.theirs.mode == "prompt lookup")
        for each in (record, better)
    ]
    assert f"{fixed(factors[0], 2)}×" in before.captions and f"{fixed(factors[1], 2)}×" in after.captions
    assert factors[0] > 1 > factors[1], "the page says it too where another engine is faster"


def test_a_faster_arithmetic_elsewhere_is_told_on_the_page_and_on_the_card(lesson: Lesson) -> None:
    """And only where the peers' record holds it."""
    peers = one(PeersRecord)
    plain = {row.engine: row for row in peers.rows if row.mode == "plain"}
    says = f"at {fixed(times_as_fast(plain['llama.cpp'], plain['this project']), 2)}× our rate"
    assert says in view(lesson, "measured-peers", peers).captions
    card = view(lesson, "measured-card", one(SpeedupRecord), peers)
    assert "llama.cpp" in card.words and says in card.words
    without = altered(peers, lambda data: data.update(rows=[r for r in data["rows"] if r["engine"] != "llama.cpp"]))
    assert "llama.cpp" not in view(lesson, "measured-card", one(SpeedupRecord), without).words


# --- for everybody -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_its_values_in_words_and_in_a_table(lesson: Lesson, name: str) -> None:
    shown = view(lesson, name, one(FIGURES[name]))
    assert shown.charts
    for chart in shown.charts.values():
        assert len(re.findall(r"\d", chart["layout"]["meta"]["alt"])) > 10
    assert shown.html.count('role="img"') >= len(shown.charts)
    assert re.findall(r'<div class="measured-table" tabindex="0" role="region" aria-label="[^"]+">', shown.html)
    assert '<th scope="col">' in shown.html and '<th scope="row">' in shown.html
    assert re.search(r'<p class="cap', shown.html), "no caption"


def test_every_line_and_bar_is_labelled_where_it_stands(lesson: Lesson) -> None:
    """Kernels and lengths are named on the chart: a reader need not match colours with a key."""
    charts = view(lesson, "measured-cost", one(CurveRecord)).charts

    def words(name: str) -> str:
        return " ".join(note["text"] for note in charts[name]["layout"]["annotations"])

    assert "packed AVX-512 kernel" in words("verification-kernels") and "torch.matmul" in words("verification-kernels")
    assert all(f"k = {k}" in words("verification-batches") for k in (1, 2, 4, 8))


# --- several devices ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_two_devices_stand_side_by_side_on_one_scale(lesson: Lesson, name: str) -> None:
    """On scales of their own the better device would look like the worse one."""
    cpu, gpu = one(FIGURES[name]), one(FIGURES[name], device="cuda")
    shown = view(lesson, name, cpu, gpu)
    assert "is-beside" in shown.html and shown.html.count('class="measured-device"') == 2
    assert "a 2-core AMD EPYC 9B14 CPU, fp32" in shown.words and "one NVIDIA H200 GPU, bf16" in shown.words
    assert shown.words.index("AMD EPYC 9B14") < shown.words.index("NVIDIA H200")
    firsts = [chart for chart in shown.charts if not chart.endswith("-2")]
    assert {f"{chart}-2" for chart in firsts} == set(shown.charts) - set(firsts)
    for chart in firsts:
        one_axis, other_axis = (shown.charts[each]["layout"]["yaxis"]["range"] for each in (chart, f"{chart}-2"))
        assert one_axis == other_axis, chart


def test_acceptance_that_was_replayed_is_called_so(lesson: Lesson) -> None:
    assert "replayed from another's record" in view(lesson, "measured-acceptance", one(AcceptanceRecord, device="cuda")).words
    assert "replayed from" not in view(lesson, "measured-acceptance", one(AcceptanceRecord)).words


def test_with_a_cpu_only_the_page_says_that_no_gpu_was_measured(lesson: Lesson) -> None:
    says = "No GPU run is committed yet. How to add one"
    assert says in view(lesson, "measured-cost", one(CurveRecord)).words
    assert says in view(lesson, "measured-records", *made()).words
    assert says not in view(lesson, "measured-cost", one(CurveRecord), one(CurveRecord, device="cuda")).words
    assert "gpu_run.sh" in str(lesson.model_dump()), "and how to add one"


# --- the calculator and the table of numbers ----------------------------------------------------


def test_each_drafter_has_a_preset_whose_calculator_says_what_the_full_formula_says(lesson: Lesson) -> None:
    """Up to the steps of its sliders. With v left out it would promise gains that nobody measured."""
    record = one(SpeedupRecord)
    calculator = blocks_of(lesson, Calculator)[0]
    presets = measured_presets(calculator, lesson, together(record))
    assert [preset.drafter for preset in presets] == ["context_ngram", "ngram_table", "int8_copy", "eagle_head"]
    shown = view(lesson, "calculator", record)
    for preset in presets:
        full = preset.cell.counts.tokens_per_round / (preset.costs.draft_cost + preset.costs.verify_cost)
        said = speedup(Round(**preset.settings))
        assert said == pytest.approx(full, rel=0.03)
        assert f"It then says {fixed(said, 2)}×" in shown.words
        assert f"{fixed(speedup_of(preset.cell).value, 2)}× was measured with k = {preset.cell.k}" in shown.words


def test_the_preset_takes_the_best_k_of_those_measured(lesson: Lesson) -> None:
    better = altered(one(SpeedupRecord), faster("eagle_head", "chat", 8, 4.0))
    [calculator] = blocks_of(lesson, Calculator)
    found = {preset.drafter: preset for preset in measured_presets(calculator, lesson, together(better))}
    assert found["eagle_head"].settings["draft_tokens"] == 8


def test_a_preset_beyond_the_sliders_is_left_out(lesson: Lesson) -> None:
    """A pass of the synthetic GPU takes less than the slider's one millisecond."""
    [calculator] = blocks_of(lesson, Calculator)
    assert measured_presets(calculator, lesson, together(one(SpeedupRecord, device="cuda"))) == []


@pytest.mark.parametrize(("tokens", "k", "h"), [(1.0, 4, 0.0), (1.5, 1, 0.5), (1.75, 2, 0.5), (5.0, 4, 1.0)])
def test_the_h_that_gives_an_expected_number_of_tokens(tokens: float, k: int, h: float) -> None:
    """1 + h, 1 + h + h²; and the ends."""
    assert acceptance_for(tokens, k) == pytest.approx(h, abs=1e-6)


def test_the_measured_numbers_stand_in_the_table_with_their_kind_and_record(lesson: Lesson) -> None:
    record = one(SpeedupRecord)
    [block] = blocks_of(lesson, Numbers)
    case = ("eagle_head", "prose", 2)

    def rows(*records: Record) -> list[Any]:
        return [row for group in number_groups(lesson, block, together(*records)) for row in group.rows if row.record]

    assert rows() == []
    assert len({row.what for row in rows(*made())}) == len(rows(*made())), "one name for two numbers"
    before = {row.what: row for row in rows(record)}
    after = {row.what: row for row in rows(altered(record, faster(*case, 5.0)))}
    name = next(what for what in before if what.startswith("EAGLE-style head, prose, k = 2"))
    assert before[name].text != after[name].text
    assert before[name].kind == "measured" and before[name].record == file_name(record)


# --- records that do not hold -------------------------------------------------------------------


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A docs/ folder with the records of a CPU, built once."""
    folder = tmp_path / "docs"
    shutil.copytree(ROOT / "docs" / "assets" / "lesson", folder / "assets" / "lesson")
    write_synthetic(folder / "measurements")
    build_site_sources(ROOT / "lesson.yaml", folder)
    return folder


def test_a_record_that_does_not_hold_is_one_line_and_the_last_good_pages_stay(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With file and field, since a record is a thousand lines long."""
    page = (docs / "measured.md").read_text("utf-8")
    path = docs / "measurements" / file_name(one(SpeedupRecord))
    good = path.read_text("utf-8")
    data = json.loads(good)
    data["cells"][3]["speedup"]["median"] *= 1.1
    for broken, says in ((json.dumps(data), "cells.3.speedup: "), (good[:500], "this is not JSON: ")):
        path.write_text(broken, "utf-8")
        with pytest.raises(RecordError) as raised:
            build_site_sources(ROOT / "lesson.yaml", docs)
        assert str(raised.value).startswith(f"{path}: {says}") and "\n" not in str(raised.value)
        assert (docs / "measured.md").read_text("utf-8") == page
    assert main(["build", "--docs", str(docs), str(ROOT / "lesson.yaml")]) == 1
    error = capsys.readouterr().err
    assert str(path) in error and "Traceback" not in error


# --- what is committed --------------------------------------------------------------------------


def test_the_committed_records_load_and_are_drawn(lesson: Lesson) -> None:
    records = load_records(ROOT / "docs" / "measurements")
    if not records.files:
        pytest.skip("no record is committed")
    traces = read_traces(ROOT / "docs" / "measurements", records)
    page = render_lesson(lesson, STYLES, records, traces)["measured.md"]
    for name, kind in {**FIGURES, **TABLES}.items():
        html = page.split(f'data-view="{name}"')[1].split("</section>")[0]
        assert ("measured-none" in html) == (not records.of(kind)), name

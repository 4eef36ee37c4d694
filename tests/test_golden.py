"""The golden vectors: what Python computes now, and what model.js and format.js make of them."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from build_scripts.model.speculation import Round, evaluate, expected_tokens, survival
from build_scripts.render.numbers import format_number

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "speculation.json"
SCRIPTS = ROOT / "docs" / "assets" / "lesson"
RELATIVE = 1e-12


def writer() -> ModuleType:
    """tests/golden/write.py, which is a program and in no package."""
    spec = importlib.util.spec_from_file_location("golden_write", GOLDEN.with_name("write.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A blank page with the model and the formats, and nothing else of the lesson."""
    page = browser.new_page()
    page.set_content("<!doctype html><title>blank</title>")
    for script in ("model.js", "format.js"):
        page.add_script_tag(path=SCRIPTS / script)
    yield page
    page.close()


# --- Python --------------------------------------------------------------------------------


def test_the_committed_vectors_are_what_python_computes_now() -> None:
    """If this fails after a wanted change of the model: python tests/golden/write.py."""
    assert GOLDEN.read_text(encoding="utf-8") == writer().text()


def test_the_vectors_cover_the_edges(golden: dict[str, Any]) -> None:
    """An edge that nobody evaluates cannot fail in the browser."""
    rounds = [dict(zip(golden["inputs"], inputs, strict=True)) for inputs, _ in golden["rounds"]]
    single = [r for r in rounds if not isinstance(r["acceptance"], list)]
    assert len(rounds) >= 1000
    assert GOLDEN.stat().st_size < 600_000
    assert {0, 1, 1 - 1e-9} <= {r["acceptance"] for r in single}
    assert {0, 1, 12, 32, 1000} <= {r["draft_tokens"] for r in single}
    assert 0 in {r["draft_ms"] for r in single}
    assert {True, False} == {r["bonus"] for r in single}
    assert sum(isinstance(r["acceptance"], list) for r in rounds) >= 100
    outcomes = [dict(zip(golden["outputs"], outputs, strict=True)) for _, outputs in golden["rounds"]]
    assert {o["verdict"] for o in outcomes} == {"net win", "break-even", "net loss"}
    assert None in {o["break_even_acceptance"] for o in outcomes}
    assert {o["best_draft_tokens"] for o in outcomes} >= set(range(13)) | {32}


# --- the browser -----------------------------------------------------------------------------


def error_of(got: Any, wanted: Any) -> float:
    """Relative error; infinite where two values are not even of the same kind."""
    if isinstance(wanted, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        return 0.0 if got == wanted else abs(got - wanted) / max(abs(wanted), 5e-324)
    return 0.0 if type(got) is type(wanted) and got == wanted else math.inf


def as_read(value: Any) -> Any:
    """A number as Playwright hands it over: JavaScript has no integers of its own."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def test_the_browser_computes_every_vector(page: Page, golden: dict[str, Any]) -> None:
    """Every output of every round, to 1e-12 relative; words, counts and null exactly."""
    outcomes = page.evaluate(
        """({inputs, rounds}) => rounds.map(([values]) =>
            Lesson.model.evaluate(Object.fromEntries(inputs.map((name, i) => [name, values[i]]))))""",
        golden,
    )
    assert len(outcomes) == len(golden["rounds"])
    worst, where = 0.0, None
    for (inputs, outputs), outcome in zip(golden["rounds"], outcomes, strict=True):
        assert sorted(outcome) == sorted(golden["outputs"])
        for name, wanted in zip(golden["outputs"], outputs, strict=True):
            error = error_of(as_read(outcome[name]), as_read(wanted))
            if where is None or error > worst:
                worst, where = error, f"{name}: {outcome[name]!r}, not {wanted!r}, for {str(inputs)[:200]}"
    count = len(outcomes) * len(golden["outputs"])
    print(f"\nmodel.js: worst relative error of {count} results: {worst:.3g}")
    assert worst <= RELATIVE, where


def test_each_function_of_the_model_gives_its_part(page: Page, golden: dict[str, Any]) -> None:
    """Views call the functions one by one; they must say what evaluate says."""
    differing = page.evaluate(
        """({inputs, rounds}) => rounds.filter(([values]) => {
            const round = Object.fromEntries(inputs.map((name, i) => [name, values[i]]));
            const all = Lesson.model.evaluate(round);
            const parts = {
                expected_tokens: Lesson.model.expectedTokens(round.acceptance, round.draft_tokens, round.bonus),
                round_ms: Lesson.model.roundMs(round),
                tpot_ms: Lesson.model.tpotMs(round),
                throughput_tps: Lesson.model.throughputTps(round),
                speedup: Lesson.model.speedup(round),
                verdict: Lesson.model.verdict(Lesson.model.speedup(round)),
                best_draft_tokens: Lesson.model.bestDraftTokens(round),
                break_even_acceptance: Lesson.model.breakEvenAcceptance(round),
                operations_factor: Lesson.model.operationsFactor(round),
                burst_gap_ms: Lesson.model.burstGapMs(round),
            };
            return JSON.stringify(parts) !== JSON.stringify(all);
        })""",
        golden,
    )
    assert differing == []


def test_the_browser_agrees_on_survival(page: Page) -> None:
    acceptances = [0.67, 0.65, 0.64, 0.66, 0.63, 0.0, 1.0]
    assert page.evaluate("a => Lesson.model.survival(a)", acceptances) == list(survival(acceptances))
    assert page.evaluate("a => Lesson.model.expectedTokens(a, 5, true)", acceptances) == expected_tokens(
        acceptances, 5, True
    )


def test_other_keys_are_ignored_and_the_operations_ratio_may_be_missing(page: Page) -> None:
    """The page hands over all its parameters, the service's targets too."""
    inputs = {"acceptance": 0.75, "draft_tokens": 3, "target_ms": 45, "draft_ms": 3, "bonus": True}
    outcome = page.evaluate("inputs => Lesson.model.evaluate(inputs)", inputs | {"slo_itl_ms": 25})
    assert outcome == asdict(evaluate(Round(**inputs)))


@pytest.mark.parametrize(
    "change",
    [
        "acceptance: -0.01", "acceptance: 1.01", "acceptance: NaN", "acceptance: '0.5'", "acceptance: null",
        "acceptance: [0.5, 0.5]", "acceptance: [0.5, 0.5, 1.5]", "acceptance: undefined",
        "draft_tokens: -1", "draft_tokens: 1001", "draft_tokens: 2.5", "draft_tokens: NaN", "draft_tokens: '3'",
        "target_ms: 0", "target_ms: -45", "target_ms: NaN", "target_ms: Infinity", "target_ms: 1e10",
        "draft_ms: -1", "draft_ms: NaN", "draft_ms: Infinity",
        "bonus: 1", "bonus: undefined",
        "operations_ratio: -1", "operations_ratio: NaN",
    ],
)  # fmt: skip
def test_the_browser_refuses_what_python_refuses(page: Page, change: str) -> None:
    """A RangeError in one line that names the input, never a NaN on the page."""
    message = page.evaluate(
        """() => {
            const inputs = {acceptance: 0.75, draft_tokens: 3, target_ms: 45, draft_ms: 3, bonus: false, CHANGE};
            try { return "computed " + JSON.stringify(Lesson.model.evaluate(inputs)); }
            catch (error) { return error instanceof RangeError ? error.message : "thrown " + error; }
        }""".replace("CHANGE", change)
    )
    assert change.split(":")[0] in message and "computed" not in message and "thrown" not in message
    assert "\n" not in message


def test_the_browser_writes_every_number_as_python_does(page: Page, golden: dict[str, Any]) -> None:
    """Ties, trailing zeros, signs and units; also every result of every round."""
    numbers = list(golden["numbers"])
    for _, outputs in golden["rounds"]:
        for name, value in zip(golden["outputs"], outputs, strict=True):
            numbers.append([name, value, format_number(name, value, golden["none"])])
    texts = page.evaluate(
        "({numbers, none}) => numbers.map(([name, value]) => Lesson.format.number(name, value, none))",
        {"numbers": numbers, "none": golden["none"]},
    )
    wrong = [(number, text) for number, text in zip(numbers, texts, strict=True) if number[2] != text]
    assert wrong == []


@pytest.mark.parametrize(
    "call", ["number('speedup', NaN, '')", "number('speedup', 1e21, '')", "number('no', 1, '')"]
)
def test_the_browser_shows_no_number_that_is_none(page: Page, call: str) -> None:
    kind = page.evaluate(f"() => {{ try {{ return Lesson.format.{call}; }} catch (e) {{ return e.name; }} }}")
    assert kind == "RangeError"

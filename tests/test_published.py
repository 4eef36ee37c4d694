"""Published numbers: what was read off, what follows from it, and that all of it follows a change."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from build_scripts.build import TEMPLATES
from build_scripts.model.readings import latency_ratio
from build_scripts.render.palette import Palette, read_palette
from build_scripts.render.richtext import RichTextRenderer
from build_scripts.spec import load_lesson
from build_scripts.spec.schema import Lesson, PublishedBenchmark, PublishedResult, PublishedResults
from build_scripts.views import published_benchmark, published_results
from build_scripts.views.base import PageContext
from build_scripts.views.blocks import blocks_of

ROOT = Path(__file__).parents[1]
STYLESHEET = ROOT / "docs" / "assets" / "lesson" / "lesson.css"


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return load_lesson(ROOT / "lesson.yaml")


@pytest.fixture(scope="module")
def palette() -> Palette:
    return read_palette(STYLESHEET)


@pytest.fixture(scope="module")
def context(lesson: Lesson, palette: Palette) -> PageContext:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rich = RichTextRenderer(lesson)

    def template(name: str, **variables: Any) -> str:
        words = {"labels": lesson.labels, "rich": rich.block, "rich_inline": rich.inline}
        return environment.get_template(f"views/{name}").render(**words, **variables)

    return PageContext(lesson, rich.block, rich.inline, template, palette)


@pytest.fixture(scope="module")
def benchmark(lesson: Lesson) -> PublishedBenchmark:
    return blocks_of(lesson, PublishedBenchmark)[0]


@pytest.fixture(scope="module")
def results(lesson: Lesson) -> PublishedResults:
    return blocks_of(lesson, PublishedResults)[0]


def altered(benchmark: PublishedBenchmark, panel: int, bar: int, **reading: float) -> PublishedBenchmark:
    """The benchmark with one reading changed."""
    changed = benchmark.panels[panel].readings[bar].model_copy(update=reading)
    readings = [changed if n == bar else old for n, old in enumerate(benchmark.panels[panel].readings)]
    panels = list(benchmark.panels)
    panels[panel] = panels[panel].model_copy(update={"readings": readings})
    return benchmark.model_copy(update={"panels": panels})


def words_of(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def table_rows(markup: str) -> list[str]:
    return [words_of(row) for row in re.findall(r"<tr.*?</tr>", markup, re.DOTALL)][1:]


# --- ratios and their words ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "speculative", "off", "outcome"),
    [
        (2.55, 1.65, 0.03, "faster"),
        (3.40, 4.76, 0.03, "slower"),
        (3.47, 3.38, 0.03, "equal"),  # 1.01 to 1.04: it may be no gain at all
        (3.47, 3.38, 0.0, "faster"),  # as read, 1.027 is a gain
        (1.0, 1.0, 0.0, "equal"),
        (1.02, 1.0, 0.0, "faster"),
        (0.98, 1.0, 0.0, "slower"),
        (1.02, 1.0, 0.001, "equal"),
    ],
)
def test_a_bar_is_a_win_or_a_loss_only_where_its_whole_range_says_so(
    plain: float, speculative: float, off: float, outcome: str
) -> None:
    """The bounds are those of the model's verdict, 1.02 and 0.98."""
    assert latency_ratio(plain, speculative, off).outcome == outcome


def test_the_uncertainty_is_carried_into_the_ratio() -> None:
    ratio = latency_ratio(5.75, 10.7, 0.1)
    assert (ratio.low, ratio.high) == pytest.approx((5.65 / 10.8, 5.85 / 10.6))


# --- the bars ------------------------------------------------------------------------------


def test_the_lesson_shows_all_nine_published_bars(benchmark: PublishedBenchmark) -> None:
    """The source's gains and its losses; the seed showed only a gain."""
    rows = published_benchmark.bars(benchmark)
    assert [bar.qps for bar in rows] == ["1", "2", "4", "8", "10", "1", "2", "4", "8"]
    assert [bar.factor for bar in rows] == [
        "1.55×", "1.49×", "1.30×", "1.03×", "0.71×", "2.82×", "2.39×", "2.08×", "0.54×",
    ]  # fmt: skip


def test_the_four_headline_factors_are_in_words(context: PageContext, benchmark: PublishedBenchmark) -> None:
    shown = words_of(published_benchmark.render(benchmark, context).html)
    for factor in ("1.5× faster", "2.8× faster", "1.4× slower", "1.8× slower"):
        assert factor in shown


def test_wins_go_up_losses_go_down_and_the_halves_match(benchmark: PublishedBenchmark, palette: Palette) -> None:
    """On a logarithmic axis twice as fast is as tall as twice as slow is deep."""
    twice = altered(altered(benchmark, 0, 0, plain_s=2.0, speculative_s=1.0), 0, 1, plain_s=1.0, speculative_s=2.0)
    heights = published_benchmark.figure(twice, palette)["data"][0]["y"]
    assert heights[:2] == [1, -1]


def test_colour_is_never_the_only_sign(benchmark: PublishedBenchmark, palette: Palette) -> None:
    labels = [label["text"] for label in published_benchmark.figure(benchmark, palette)["layout"]["annotations"]]
    assert {"▲<br>1.55×", "=<br>1.03×", "0.71×<br>▼"} <= set(labels)


def test_the_error_bars_are_the_range_of_the_ratio(benchmark: PublishedBenchmark, palette: Palette) -> None:
    trace = published_benchmark.figure(benchmark, palette)["data"][1]
    ratio = latency_ratio(5.75, 10.7, 0.1)
    low = 2 ** (trace["y"][3] - trace["error_y"]["arrayminus"][3])
    high = 2 ** (trace["y"][3] + trace["error_y"]["array"][3])
    assert (low, high) == pytest.approx((ratio.low, ratio.high), rel=1e-4)


@pytest.mark.parametrize(
    "part",
    [
        lambda block, context: published_benchmark.figure(block, context.palette)["data"],
        lambda block, context: published_benchmark.figure(block, context.palette)["layout"]["meta"]["alt"],
        lambda block, context: published_benchmark.caption(block),
        lambda block, context: table_rows(published_benchmark.render(block, context).html),
    ],
    ids=["bars", "description", "caption", "table"],
)
def test_a_changed_reading_changes_the(
    part: Callable[[PublishedBenchmark, PageContext], Any], context: PageContext, benchmark: PublishedBenchmark
) -> None:
    """What is typed twice contradicts itself one day."""
    assert part(altered(benchmark, 1, 0, speculative_s=4.0), context) != part(benchmark, context)


def test_the_caption_counts_and_names_the_extremes(benchmark: PublishedBenchmark) -> None:
    block = benchmark.model_copy(
        update={"caption": "{bars} {wins} {equals} {losses} {best} {best_dataset} {best_qps} {worst} {worst_dataset} {worst_qps}"}
    )
    assert published_benchmark.caption(block) == "9 6 1 2 2.82× CNN/DailyMail 1 0.54× CNN/DailyMail 8"
    worse = altered(block, 0, 4, speculative_s=10.0)
    assert published_benchmark.caption(worse).endswith("0.34× ShareGPT 10")


def test_the_table_has_the_latencies_and_their_ratio(context: PageContext, benchmark: PublishedBenchmark) -> None:
    rows = table_rows(published_benchmark.render(benchmark, context).html)
    assert len(rows) == 9
    assert rows[8] == "CNN/DailyMail · n-gram draft 8 5.75 10.70 ± 0.10 0.54× 0.52–0.55 ▼ slower"


def test_the_source_is_linked_and_the_figure_is_its_own_file(context: PageContext, benchmark: PublishedBenchmark) -> None:
    rendered = published_benchmark.render(benchmark, context)
    assert 'href="https://blog.vllm.ai/2024/10/17/spec-decode.html"' in rendered.html
    assert rendered.charts == rendered.data["figures"] == {benchmark.id: published_benchmark.figure(benchmark, context.palette)}


def test_one_panel_and_three_are_drawn_too(benchmark: PublishedBenchmark, palette: Palette) -> None:
    """A second lesson may have another number of them."""
    panel = benchmark.panels[0]
    for count in (1, 3):
        panels = [panel.model_copy(update={"id": f"p{n}"}) for n in range(count)]
        figure = published_benchmark.figure(benchmark.model_copy(update={"panels": panels}), palette)
        ends = [figure["layout"][f"xaxis{n or ''}"]["domain"] for n in [0, *range(2, count + 1)]]
        assert len(figure["data"]) == count
        assert ends[0][0] == 0 and ends[-1][1] == pytest.approx(1)
        narrow = figure["layout"]["meta"]["narrow"]
        assert narrow["yaxis.domain"][1] == pytest.approx(1)


# --- the table of results ------------------------------------------------------------------


def test_results_go_from_the_largest_gain_to_the_losses(results: PublishedResults) -> None:
    factors = [result.speedup for result in published_results.in_order(results.results) if result.speedup]
    assert factors == sorted(factors, reverse=True)
    assert published_results.in_order(results.results)[-1].loss


def test_the_losing_results_are_there(context: PageContext, results: PublishedResults) -> None:
    """A table of gains alone would teach that speculation always pays."""
    rows = table_rows(published_results.render(results, context).html)
    lost = [row for row in rows if "▼" in row]
    assert len(rows) >= 12
    assert any("0.93× slower" in row and "batch 24" in row for row in lost)
    assert any("0.99×" in row and "batch 64" in row for row in rows if row not in lost), "break-even is no loss"
    assert len(lost) == sum(map(published_results.is_loss, results.results)) >= 3


def test_the_best_acceptance_among_the_drafts_is_the_slowest(results: PublishedResults) -> None:
    """T5-large: 0.82 accepted, and still only half of the speedup of T5-small."""
    large = [result for result in results.results if result.draft == "T5-large"]
    small = [result for result in results.results if result.draft == "T5-small"]
    assert large[0].speedup == 1.7 < min(result.speedup for result in small)


def test_every_result_cites_a_primary_source(context: PageContext, results: PublishedResults, lesson: Lesson) -> None:
    shown = published_results.render(results, context).html
    for result in results.results:
        assert f"#source-{result.source}" in shown
    urls = {source.id: source.url for source in lesson.sources}
    assert all(urls[result.source].startswith("https://") for result in results.results)


def test_a_loss_without_a_factor_is_marked(context: PageContext, results: PublishedResults) -> None:
    lost = PublishedResult(target="T", draft="D", setup="S", result="slower than without", loss=True, source=results.results[0].source)
    rows = table_rows(published_results.render(results.model_copy(update={"results": [lost]}), context).html)
    assert f"▼ {results.loss_label}" in rows[0]


def test_words_of_an_author_are_no_markup(context: PageContext, results: PublishedResults) -> None:
    row = results.results[0].model_copy(update={"target": "<b>T</b>"})
    shown = published_results.render(results.model_copy(update={"results": [row]}), context).html
    assert "<b>T</b>" not in shown and Markup.escape("<b>T</b>") in shown

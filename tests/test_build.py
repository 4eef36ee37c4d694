"""From lesson.yaml to the files that MkDocs reads."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import markdown
import pytest

from build_scripts.build import build_site_sources, heading_text, script_json
from build_scripts.write import write_all, write_if_changed
from build_scripts.spec import SpecError
from build_scripts.spec.schema import Block
from build_scripts.views import VIEWS
from lesson_text import SMALL_LESSON

ROOT = Path(__file__).parents[1]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A docs folder with the stylesheet, which owns the palette, and nothing else."""
    target = tmp_path / "docs" / "assets" / "lesson"
    target.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "assets" / "lesson" / "lesson.css", target)
    return tmp_path / "docs"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "lesson.yaml", tmp_path))


def built(spec: Path, docs: Path) -> dict[str, str]:
    build_site_sources(spec, docs)
    return {
        path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8")
        for path in docs.rglob("*")
        if path.suffix in (".md", ".json")
    }


def replace(spec: Path, old: str, new: str) -> None:
    text = spec.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"lesson.yaml has no {old!r}"
    spec.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_changed_cost_changes_every_number_that_follows_from_it(spec: Path, docs: Path) -> None:
    """Prose, readouts, chart, card, diagram and table: none of them was typed."""
    before = built(spec, docs)
    assert "1.93×" in before["index.md"] and "54 ms a round" in before["index.md"]
    text = spec.read_text(encoding="utf-8")
    at = text.index("  draft_ms:\n")
    changed = text[:at] + text[at:].replace("default: 3\n", "default: 6\n", 1)
    spec.write_text(changed, encoding="utf-8")
    after = built(spec, docs)
    page = after["index.md"]
    assert "45 + 3 × 6 = 63 ms a round" in page
    assert 'data-readout="speedup">1.65×<' in page
    assert "in 18 ms. The target has not looked yet" in page
    assert "gives <data" in page and ">1.65×</data> at" in page, "the caption"
    assert before["charts/speedup-over-acceptance.json"] != after["charts/speedup-over-acceptance.json"]
    assert before["method.md"] != after["method.md"]


def test_a_changed_word_changes_the_diagram_and_what_it_commits(spec: Path, docs: Path) -> None:
    replace(spec, "target: [jumps, over, the, lazy]", "target: [jumps, over, a, lazy]")
    replace(spec, "alternatives: [leaps, across, a]", "alternatives: [leaps, across, the]")
    page = built(spec, docs)["index.md"]
    assert "All 3 guesses accepted." in page


def test_a_second_build_writes_nothing(spec: Path, docs: Path) -> None:
    """`mkdocs serve` rebuilds on every write below docs/: a build that always writes never ends."""
    assert build_site_sources(spec, docs)
    assert build_site_sources(spec, docs) == []


def test_a_faulty_lesson_leaves_the_last_good_pages(spec: Path, docs: Path) -> None:
    good = built(spec, docs)
    replace(spec, "default: 0.75", "default: 1.75")
    with pytest.raises(SpecError) as raised:
        build_site_sources(spec, docs)
    assert "parameters.acceptance.default" in str(raised.value.faults[0])
    assert {name: (docs / name).read_text(encoding="utf-8") for name in good} == good


def test_another_lesson_is_built_by_the_same_code(docs: Path, spec: Path) -> None:
    """The course has more lessons: pages, words and charts come from the spec, and no file stays behind."""
    first = built(spec, docs)
    second = built(SMALL_LESSON, docs)
    assert second["index.md"] != first["index.md"]
    assert "Speculative decoding" not in second["index.md"]
    assert all((docs / name).is_file() for name in second)


def test_what_an_older_lesson_left_behind_is_removed(tmp_path: Path) -> None:
    owned = ["*.md", "charts/*.json"]
    write_all(tmp_path, {"old.md": "made", "charts/old.json": "made"}, owned, mark="made")
    (tmp_path / "by-hand.css").write_text("x")
    (tmp_path / "by-hand.md").write_text("an author's own page")
    write_all(tmp_path, {"new.md": "made"}, owned, mark="made")
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["by-hand.css", "by-hand.md", "new.md"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.md"
    write_if_changed(path, "good")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("build_scripts.write.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_if_changed(path, "half")
    assert path.read_text() == "good"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.md"]


def test_a_heading_says_what_its_author_wrote() -> None:
    """Headings pass through Markdown: an author's * or _ or { must not start anything there."""
    words = "k_max * 2 {x} [y] #1 <b> & `z`"
    shown = markdown.markdown(f"## {heading_text(words)} {{: #id }}", extensions=["attr_list"])
    assert shown == '<h2 id="id">k_max * 2 {x} [y] #1 &lt;b&gt; &amp; `z`</h2>'


def test_data_cannot_end_the_script_that_holds_it() -> None:
    """A word of the lesson such as </script> would end the element and spill the rest into the page."""
    text = str(script_json({"word": "</script><!--"}))
    assert "<" not in text
    assert json.loads(text) == {"word": "</script><!--"}


def test_charts_are_plain_plotly_figures(spec: Path, docs: Path) -> None:
    """charts/*.json opens in any Plotly: it validates, and has no template and no packed arrays."""
    from plotly import graph_objects

    files = built(spec, docs)
    charts = {name: json.loads(text) for name, text in files.items() if name.startswith("charts/")}
    assert len(charts) == 5, "three of the calculator, one published, and the training of the head"
    for name, figure in charts.items():
        graph_objects.Figure(data=figure["data"], layout=figure["layout"])
        assert "template" not in figure["layout"], name
        assert "bdata" not in files[name], name


def test_every_block_that_the_spec_knows_has_its_view() -> None:
    """Else `check` finds no fault and the build ends in a KeyError."""
    kinds = [get_args(kind.model_fields["view"].annotation)[0] for kind in get_args(get_args(Block)[0])]
    assert sorted(kinds) == sorted(VIEWS)


def test_a_preset_speaks_of_its_own_settings(spec: Path, docs: Path) -> None:
    """The text of a preset stands beside readouts that its settings give: they must not disagree."""
    replace(spec, "text: \"The teaching case: ", "text: \"Gives {{ speedup }}. The teaching case: ")
    replace(spec, "settings: {}", "settings: {acceptance: 0.9, draft_tokens: 5}")
    page = built(spec, docs)["index.md"]
    assert re.search(r"Gives <data[^>]*>3\.07×</data>", page)


def test_a_page_written_by_hand_stays(spec: Path, docs: Path) -> None:
    (docs / "notes.md").write_text("mine")
    built(spec, docs)
    assert (docs / "notes.md").read_text() == "mine"

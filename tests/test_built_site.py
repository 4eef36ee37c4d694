"""The built site as files: the same every time, whole, and on its own."""

from __future__ import annotations

import hashlib
import html
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from build_scripts.bench.project import build_site, copy_project, edit_title
from build_scripts.bench.references import References, read_references
from build_scripts.bench.serving import live_site
from conftest import Pages, is_elsewhere

BASE = "/speculative-decoding-lesson/"
"""The path of the address in mkdocs.yml: 404.html may be shown anywhere, so it links from there."""


def tree(site: Path) -> dict[str, str]:
    """The sha256 of each file of a site."""
    files = (path for path in sorted(site.rglob("*")) if path.is_file())
    return {path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def references(built_site: Path) -> dict[str, References]:
    """Each page of the site, and what it refers to."""
    return {
        path.relative_to(built_site).as_posix(): read_references(path.read_text(encoding="utf-8"))
        for path in sorted(built_site.rglob("*.html"))
    }


def resolve(page: str, address: str) -> tuple[str, str]:
    """The file of the site, and the place in it, that `address` in `page` leads to."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if path.startswith(BASE):
        target = path.removeprefix(BASE)
    elif path:
        target = Path("/", page).parent.joinpath(path).resolve().relative_to("/").as_posix()
    else:
        target = page
    return ("index.html" if target in ("", ".") else target), unquote(parts.fragment)


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    """Else each publication changes every page, and nobody can check what was built from what."""
    one = copy_project(tmp_path / "one")
    two = shutil.copytree(one, tmp_path / "elsewhere" / "two")
    results = [
        build_site(one, tmp_path / "first", PYTHONHASHSEED="1"),
        build_site(two, tmp_path / "second", PYTHONHASHSEED="2", TZ="Asia/Tokyo", LANG="C"),
    ]
    assert [result.status for result in results] == [0, 0], results
    assert tree(tmp_path / "first") == tree(tmp_path / "second")


def test_the_site_has_its_pages(built_site: Path) -> None:
    assert {"index.html", "method.html", "404.html"} <= {path.name for path in built_site.glob("*.html")}


def test_every_link_leads_somewhere(built_site: Path, references: dict[str, References]) -> None:
    """Files and places in them. An address with = in its fragment sets the page's parameters."""
    dead = []
    for page, found in references.items():
        for address in [*found.links, *found.loads]:
            if urlsplit(address).scheme or address.startswith("//"):
                continue
            target, place = resolve(page, address)
            state = re.search(r"(?:^|&)at=([^&]+)", place) if "=" in place else None
            place = (state.group(1) if state else "") if "=" in place else place
            if not (built_site / target).is_file() or (place and place not in references[target].ids):
                dead.append(f"{page}: {address}")
    assert not dead


def test_no_page_repeats_an_id(references: dict[str, References]) -> None:
    """A link, a label or a description that names a repeated id goes to the wrong one."""
    for page, found in references.items():
        assert sorted(found.ids) == sorted(set(found.ids)), page


def test_no_page_loads_from_elsewhere(references: dict[str, References]) -> None:
    """The lesson is read on a plane, and tells no third party who reads it. Links to sources stay."""
    for page, found in references.items():
        for address in found.loads:
            assert not urlsplit(address).scheme and not address.startswith("//"), f"{page}: {address}"


def test_no_style_loads_from_elsewhere(built_site: Path) -> None:
    for path in built_site.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", path.read_text(encoding="utf-8"))
        assert not [address for address in loaded if urlsplit(address).scheme in ("http", "https")], path.name


@pytest.mark.parametrize("name", ["index.html", "method.html"])
def test_a_page_opens_clean_from_a_server_and_from_disk(
    name: str, site_url: str, file_url: str, pages: Pages
) -> None:
    """The watched page fails the test on any error in its console and any request that leaves."""
    for base in (site_url, file_url):
        page = pages.new()
        page.goto(base + name, wait_until="networkidle")
        assert page.locator("h1").count() == 1


def test_the_charting_library_is_not_in_the_first_view(site_url: str, pages: Pages) -> None:
    """Half a megabyte must not stand between a reader and the text."""
    pages.new().goto(site_url + "index.html", wait_until="networkidle")
    assert not [address for address in pages.requests if "plotly" in address]


def test_a_project_site_works_below_its_path(subpath_url: str, pages: Pages) -> None:
    """GitHub Pages serves a project below /NAME/: each asset must be found there, also by 404.html."""
    page = pages.new()
    for name in ("index.html", "method.html"):
        page.goto(subpath_url + name, wait_until="networkidle")
    assert not [address for address in pages.requests if not address.startswith(subpath_url)]
    page.goto(subpath_url + "deeper/nothing-here.html", wait_until="networkidle")
    pages.expect_error("404 .*nothing-here")
    assert not [address for address in pages.requests if not address.startswith(subpath_url)]
    header = page.locator(".md-header").evaluate("element => getComputedStyle(element).position")
    assert header in ("sticky", "fixed"), "404.html has no styles"


def test_the_watch_on_pages_tells_the_site_from_elsewhere() -> None:
    """The guard of the tests above: an address elsewhere is seen as one."""
    assert is_elsewhere("https://example.org/font.woff2") and is_elsewhere("wss://127.0.0.2/")
    assert not is_elsewhere("http://127.0.0.1:8000/index.html") and not is_elsewhere("data:,")


# --- an author at work ----------------------------------------------------------------------


def break_lesson(project: Path) -> str:
    """Put a fault into lesson.yaml; return how it is reported."""
    path = project / "lesson.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\nno_such_field: 1\n", encoding="utf-8")
    return f"lesson.yaml:{text.count(chr(10)) + 2}:1: no_such_field"


def test_an_edited_word_is_in_the_built_page(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    edit_title(project, "Reworded")
    result = build_site(project, tmp_path / "site")
    assert result.status == 0, result.output
    assert re.search(r"<h1[^>]*>Reworded ", (tmp_path / "site" / "index.html").read_text(encoding="utf-8"))


def test_a_failed_build_says_where_and_leaves_the_last_good_site(tmp_path: Path) -> None:
    """A fault names its line, without a traceback, and takes no page away."""
    project, site = copy_project(tmp_path / "project"), tmp_path / "site"
    assert build_site(project, site).status == 0
    pages_before, site_before = tree(project / "docs"), tree(site)
    fault = break_lesson(project)
    result = build_site(project, site)
    assert result.status == 1
    assert fault in result.output and "Traceback" not in result.output
    assert tree(project / "docs") == pages_before
    assert tree(site) == site_before


def test_a_fault_shows_in_the_served_page_and_goes_with_the_next_save(tmp_path: Path) -> None:
    """Under `make serve` the author looks at the browser, not at the terminal."""
    project = copy_project(tmp_path / "project")
    good = (project / "lesson.yaml").read_bytes()
    with live_site(project) as live:
        live.wait_for(lambda page: "<h1" in page)
        fault = break_lesson(project)
        live.wait_for(lambda page: fault in html.unescape(page) and "<h1" in page)
        (project / "lesson.yaml").write_bytes(good)
        live.wait_for(lambda page: fault not in html.unescape(page))
        edit_title(project, "Onwards")
        live.wait_for(lambda page: "Onwards" in page)


def test_serving_starts_on_a_faulty_lesson(tmp_path: Path) -> None:
    """An author who starts with a fault sees it, mends it, and need not start again."""
    project = copy_project(tmp_path / "project")
    good = (project / "lesson.yaml").read_bytes()
    fault = break_lesson(project)
    with live_site(project) as live:
        live.wait_for(lambda page: fault in html.unescape(page))
        (project / "lesson.yaml").write_bytes(good)
        live.wait_for(lambda page: "<h2" in page and fault not in html.unescape(page))

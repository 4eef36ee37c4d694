"""The project's own files: what is vendored, what may stand in them, and what the commands do."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from build_scripts.bench.project import ROOT

VENDOR = ROOT / "docs" / "assets" / "vendor"
PLOTLY_SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project_files() -> list[Path]:
    """The files that git tracks or would: what a commit of everything publishes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # not a git checkout: an unpacked archive holds what was tracked, and what was built
        built = (".venv", "site", ".pytest_cache", ".hypothesis")
        files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = [str(name) for name in files if name.parts[0] not in built and "__pycache__" not in name.parts]
    return [path for path in (ROOT / name for name in names) if path.is_file()]


# --- what is vendored, and the licences ----------------------------------------------------


def test_the_vendored_files_are_the_released_ones() -> None:
    """An edited bundle, or a line ending that git changed, would no longer be what NOTICE.md says."""
    sums = dict(reversed(line.split()) for line in text_of("docs/assets/vendor/SHA256SUMS").splitlines())
    assert sums["plotly-cartesian.min.js"] == PLOTLY_SHA256
    assert {path.name for path in VENDOR.iterdir()} == {"SHA256SUMS", *sums}
    for name, expected in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected, name


def test_the_notice_names_each_vendored_file_with_its_licence() -> None:
    """Whoever copies the site passes the bundle on, and must pass its licence on with it."""
    notice = text_of("NOTICE.md")
    assert PLOTLY_SHA256 in notice and "MIT" in notice
    for path in VENDOR.iterdir():
        assert path.name in notice, path.name
    assert "MIT License" in text_of("docs/assets/vendor/plotly-LICENSE.txt")


def test_the_project_is_under_the_mit_licence() -> None:
    assert text_of("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 the authors of")
    assert tomllib.loads(text_of("pyproject.toml"))["project"]["license"] == "MIT"


# --- what may stand in the files ------------------------------------------------------------


def test_no_file_names_a_machine_or_a_registry() -> None:
    """A path of the machine where it was written, or a registry's host, works for nobody else."""
    registry = r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs|deb[.]debian[.]org|index[-]url"
    machine = r"(?:^|[^\w.:/-])/(?:home|root|Users|work)/"
    forbidden = re.compile(rf"{registry}|{machine}", re.MULTILINE)
    found = []
    for path in project_files():
        if VENDOR in path.parents:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{path.relative_to(ROOT)}: {match.group().strip()}" for match in forbidden.finditer(text)]
    assert not found


def test_every_package_is_pinned() -> None:
    """A release of some dependency must not change the site, or break it, on another day."""
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    direct = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    pins = {}
    for line in text_of("constraints.txt").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            pins[name.lower().replace("_", "-")] = version
    for requirement in direct:
        name, version = requirement.split("==")
        assert pins[name] == version, requirement


def test_the_tests_run_with_the_pinned_packages() -> None:
    """What passed here is what `make site` installs elsewhere."""
    frozen = subprocess.run([sys.executable, "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
    pinned = {line.lower() for line in text_of("constraints.txt").splitlines() if "==" in line}
    # What follows a + names the build of a version, such as torch's for the CPU, not another version.
    installed = {line.lower().split("+")[0] for line in frozen.stdout.splitlines() if "==" in line}
    names = {line.split("==")[0] for line in pinned}
    assert {line for line in installed if line.split("==")[0] in names} <= pinned


def test_the_pinned_packages_run_on_the_oldest_python_that_will_do() -> None:
    """Debian 12 has Python 3.11.2: a pin that asks for 3.11.5 cannot be installed there."""
    oldest = tomllib.loads(text_of("pyproject.toml"))["project"]["requires-python"].removeprefix(">=") + ".0"
    pinned = [line.split("==")[0] for line in text_of("constraints.txt").splitlines() if "==" in line]
    asks = {name: requires_python(name) for name in pinned}
    assert not {name: needs for name, needs in asks.items() if needs and oldest not in SpecifierSet(needs)}


def requires_python(name: str) -> str | None:
    """What an installed package asks for. `make test` does not install llama.cpp: what that brings
    along is judged where somebody compares with it."""
    try:
        return importlib.metadata.metadata(name)["Requires-Python"]
    except importlib.metadata.PackageNotFoundError:
        return None


def test_each_script_of_the_lesson_is_loaded_and_deferred() -> None:
    """A script that neither mkdocs.yml nor its view names leaves a figure static, and nobody sees an error."""
    settings = re.findall(r"\{path: assets/lesson/([\w/]+[.]js), defer: true\}", text_of("mkdocs.yml"))
    folder = ROOT / "docs" / "assets" / "lesson"
    views = "".join(path.read_text("utf-8") for path in (ROOT / "build_scripts" / "views").rglob("*.py"))
    later = re.findall(r'"assets/lesson/([\w/]+[.]js)"', views)
    assert sorted([*settings, *later]) == sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.js"))
    assert settings[-1] == "main.js"


# --- the commands ---------------------------------------------------------------------------


def makefile_targets() -> dict[str, str]:
    """What `make help` lists: the name of each target, and what it does."""
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", text_of("Makefile"), re.MULTILINE))


def test_the_readme_shows_each_make_target_and_no_other() -> None:
    """A command in the README that does not exist is a reader lost on the first screen."""
    targets = set(makefile_targets())
    shown = set(re.findall(r"(?:^|`)make ([a-z-]+)", text_of("README.md"), re.MULTILINE))
    assert shown <= targets
    assert targets - {"help"} <= shown
    assert {"site", "serve", "test", "bench", "clean"} <= targets


def test_the_first_screen_of_the_readme_has_the_commands_and_a_picture() -> None:
    first = "\n".join(text_of("README.md").splitlines()[:40])
    for command in ("make site", "make serve", "make test"):
        assert command in first
    picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", first)
    assert picture and (ROOT / picture.group(1)).is_file()


def test_what_the_readme_says_a_command_prints_is_what_it_prints() -> None:
    """Each `$ python -m build_scripts ...` of a console block is run and its output compared."""
    blocks = re.findall(r"```console\n(.+?)```", text_of("README.md"), re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    examples = [part.split("\n", 1) for part in parts]
    ours = [(command, output) for command, output in examples if command.startswith("python -m build_scripts")]
    assert len(ours) >= 3
    for command, output in ours:
        arguments = command.removeprefix("python ").split()
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
        assert (done.stdout + done.stderr).strip() == output.strip(), command


@pytest.fixture
def bare_project(tmp_path: Path) -> Path:
    """The Makefile on a machine where nothing was made yet."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_make_alone_lists_the_targets(bare_project: Path) -> None:
    done = make(bare_project)
    assert done.returncode == 0
    for target, what in makefile_targets().items():
        assert f"make {target}" in done.stdout and what in done.stdout


def test_a_machine_without_python_is_told_in_one_line(bare_project: Path) -> None:
    done = make(bare_project, "site", "PYTHON=no-such-python")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode == 2
    assert len(said) == 1 and said[0].startswith("There is no 'no-such-python' here. Python 3.11 or newer is")


@pytest.mark.parametrize(
    ("pretend", "says"),
    [
        ("import sys; sys.version_info = (3, 9, 18)", "is 3.9."),
        ("import sys; sys.modules['ensurepip'] = None", "apt install python3-venv"),
    ],
)
def test_a_python_that_will_not_do_is_told_in_one_line(bare_project: Path, pretend: str, says: str) -> None:
    """Too old, or Debian's without python3-venv: no traceback, and no half-made .venv."""
    python = bare_project / "some-python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{pretend}\n$2"\n', encoding="utf-8")
    python.chmod(0o755)
    done = make(bare_project, "site", f"PYTHON={python}")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode == 2
    assert len(said) == 1 and says in said[0]
    assert not (bare_project / ".venv").exists()


def test_an_interrupted_install_is_done_again(bare_project: Path) -> None:
    """A stamp without its packages would leave `make site` broken until someone deletes .venv."""
    steps = make(bare_project, "--dry-run", "site").stdout
    assert steps.index("pip install") < steps.index("touch .venv/.site-packages") < steps.index("mkdocs")
    venv = bare_project / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    (venv / ".made").touch()
    assert "pip install" in make(bare_project, "--dry-run", "site").stdout
    (venv / ".site-packages").touch()
    done = make(bare_project, "--dry-run", "site").stdout
    assert "pip install" not in done
    assert "pip install" in make(bare_project, "--dry-run", "test").stdout


def test_a_venv_whose_python_is_gone_is_made_again(bare_project: Path) -> None:
    """After an upgrade of Python, .venv/bin/python points nowhere."""
    venv = bare_project / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(bare_project / "uninstalled")
    (venv / ".made").touch()
    (venv / ".site-packages").touch()
    assert "-m venv --clear .venv" in make(bare_project, "--dry-run", "site").stdout


def test_the_site_needs_no_test_packages(bare_project: Path) -> None:
    """`make site` on a fresh machine does not wait for a browser driver."""
    assert ".test-packages" not in make(bare_project, "--dry-run", "site", "serve").stdout


# --- continuous integration and publishing --------------------------------------------------


def test_ci_runs_the_readmes_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert re.search(r"^(exec )?make test$", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_the_workflow_tests_every_change_and_publishes_main_only() -> None:
    workflow = yaml.safe_load(text_of(".github/workflows/site.yml"))
    triggers = workflow[True]  # YAML 1.1 reads the key `on` as true
    assert "pull_request" in triggers and triggers["push"]["branches"] == ["main"]
    jobs = workflow["jobs"]
    commands = {name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in jobs.items()}
    assert "make test" in commands["test"] and "make site" in commands["build"]
    assert workflow["permissions"] == {"contents": "read"}
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert jobs["deploy"]["environment"]["name"] == "github-pages"
    assert jobs["build"]["needs"] == "test" and jobs["deploy"]["needs"] == "build"
    for name in ("build", "deploy"):
        assert jobs[name]["if"] == "github.ref == 'refs/heads/main' && github.event_name != 'pull_request'"
    used = {step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used


@pytest.mark.skipif(not os.environ.get("CI"), reason="only continuous integration must have all that measuring needs")
def test_continuous_integration_skips_no_measuring() -> None:
    """The tests of measuring skip where torch, the model's wheel or transformers is absent; there they
    must run."""
    from build_scripts.measure.smollm2 import find_weights

    needed = ("torch", "gguf", "tokenizers", "transformers", "accelerate")
    assert not [name for name in needed if importlib.util.find_spec(name) is None]
    assert find_weights().is_file()

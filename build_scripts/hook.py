"""The hook that mkdocs.yml names: it builds the generated pages before MkDocs reads docs/.

It holds no logic of the lesson. Under `mkdocs build` a fault in lesson.yaml or in a record ends
the build with its lines. Under `mkdocs serve` the last good pages stay, with the faults on top of
each, and the next good save takes them away.
"""

from __future__ import annotations

import html
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # MkDocs loads a hook by its path alone

from build_scripts.build import MEASUREMENTS, build_site_sources  # noqa: E402
from build_scripts.records.store import RecordError  # noqa: E402
from build_scripts.spec import SpecError  # noqa: E402

SPEC_FILE = "lesson.yaml"
PANEL_TITLE = "This does not build. Behind this is the last good page; the next good save brings the new one."

_serving = False
_faults: list[str] = []


def on_startup(*, command: str, dirty: bool) -> None:
    global _serving
    _serving = command == "serve"


def on_config(config: Any) -> Any:
    """Write the pages here: MkDocs collects the files of docs/ right after."""
    root = Path(config.config_file_path).parent
    spec = Path(os.path.relpath(root / SPEC_FILE))
    _faults.clear()
    try:
        build_site_sources(spec, Path(os.path.relpath(config.docs_dir)))
    except (SpecError, RecordError) as error:
        has = f"{SPEC_FILE} has" if isinstance(error, SpecError) else "The records have"
        lines = str(error).splitlines()
        if not _serving:
            raise PluginError("\n".join([f"{has} faults; nothing was written.", *lines])) from None
        _faults.extend(lines)
        for line in lines:
            print(line, file=sys.stderr)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}"
        if not _serving:
            raise PluginError(message) from None
        _faults.append(message)
    except Exception as error:  # a fault of the code: while serving, MkDocs would hang every request
        if not _serving:
            raise
        traceback.print_exc()
        _faults.append(f"{type(error).__name__}: {error} (the terminal says where)")
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """A first build that fails has no last good page to show the faults on: give it one."""
    if _faults and files.get_file_from_path("index.md") is None:
        files.append(File.generated(config, "index.md", content="# \n"))
    return files


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    if not _faults:
        return output
    lines = "".join(f"<li><code>{html.escape(line)}</code></li>" for line in _faults)
    banner = f'<div class="lesson-faults" role="alert"><p>{PANEL_TITLE}</p><ul>{lines}</ul></div>'
    return output.replace("</main>", f"{banner}</main>", 1)


def on_serve(server: Any, *, config: Any, builder: Any) -> Any:
    """Watch what is written by hand only, so that writing the pages starts no second build."""
    server.unwatch(config.docs_dir)
    server.watch(str(Path(config.config_file_path).parent / SPEC_FILE))
    for name in ("assets", MEASUREMENTS):
        folder = Path(config.docs_dir) / name
        if folder.is_dir():
            server.watch(str(folder))
    return server

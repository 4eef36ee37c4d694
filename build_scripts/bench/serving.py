"""Web servers on the loopback: a built site's files, and a real `mkdocs serve`."""

from __future__ import annotations

import http.server
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from build_scripts.bench.project import build_environment


@contextmanager
def served(site: Path, prefix: str = "/") -> Iterator[str]:
    """Serve `site` below `prefix` as GitHub Pages does, with its 404.html; yield the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, directory=str(site), **options)

        def translate_path(self, path: str) -> str:
            if not path.startswith(prefix):
                return str(site / "nothing-outside-the-prefix")
            return super().translate_path("/" + path.removeprefix(prefix))

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            page = site / "404.html"
            if code != 404 or not page.is_file():
                return super().send_error(code, message, explain)
            body = page.read_bytes()
            self.send_response(code, message)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Nothing: a test's output is the test's."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()


class LiveSite:
    """A running `mkdocs serve` of a project."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.url = url
        self._process = process
        self._log = log

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, holds: Callable[[str], bool], page: str = "index.html", seconds: float = 60) -> float:
        """Ask for `page` until what comes back holds; return how many seconds that took.

        Raises TimeoutError, and RuntimeError when the server has ended; both with its log.
        """
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            if self._process.poll() is not None:
                raise RuntimeError(f"mkdocs serve ended:\n{self.log()}")
            try:
                with urllib.request.urlopen(self.url + page, timeout=seconds) as answer:
                    if holds(answer.read().decode("utf-8")):
                        return time.perf_counter() - started
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass  # not up yet
            time.sleep(0.02)
        raise TimeoutError(f"{page} was not as expected after {seconds} s. mkdocs serve said:\n{self.log()}")


@contextmanager
def live_site(project: Path) -> Iterator[LiveSite]:
    """Run what `make serve` runs, on a free port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = project / ".serve.log"
    command = [sys.executable, "-m", "mkdocs", "serve", "--livereload", "--no-strict", "--dev-addr", address]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=project,
            env=build_environment(SITE_URL=f"http://{address}/", PYTHONUNBUFFERED="1"),
            stdout=output,
            stderr=output,
        )
        try:
            yield LiveSite(process, f"http://{address}/", log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

"""python -m build_scripts check | build | model

Exit status: 0 done, 1 faults in the lesson (or a file that cannot be read or written),
2 bad arguments; what is wrong goes to stderr. Each command imports what it needs when it
runs, so that `model` works without the packages that building takes.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from build_scripts.model.speculation import MAX_DRAFT_TOKENS, Outcome, Round, evaluate

PROGRAM = "python -m build_scripts"
LESSON = "lesson.yaml"

FAULTS, BAD_ARGUMENTS, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
"""The last two are what a shell reports for a program ended by SIGINT and by SIGPIPE."""

MEANINGS = {
    "expected_tokens": "tokens committed per target pass, on average",
    "round_ms": "milliseconds of one round: every draft step and one target pass",
    "tpot_ms": "mean milliseconds per output token",
    "throughput_tps": "tokens a second of one sequence",
    "speedup": "times the throughput of plain decoding",
    "verdict": "net win from 1.02 times up, net loss from 0.98 times down",
    "best_draft_tokens": "drafted tokens a round, of 0 to 32, with the largest speedup",
    "break_even_acceptance": "smallest acceptance at which the speedup reaches 1",
    "operations_factor": "times the arithmetic per token of plain decoding",
    "burst_gap_ms": "milliseconds between two deliveries to the client",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status. A user's mistake never ends in a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may be any bytes
    try:
        status = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"{where}{error.strerror or error}", file=sys.stderr)
        return FAULTS


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:  # argparse ends the program on --help and on bad arguments
        return int(stop.code or 0)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


# --- the commands ------------------------------------------------------------------------


def _check(options: argparse.Namespace) -> int:
    from build_scripts.spec import SpecError, load_lesson

    try:
        load_lesson(options.file)
    except SpecError as error:
        return _print_faults(error)
    print(f"{options.file}: no faults")
    return 0


def _build(options: argparse.Namespace) -> int:
    from build_scripts.build import build_site_sources
    from build_scripts.records.store import RecordError
    from build_scripts.spec import SpecError

    try:
        changed = build_site_sources(options.file, options.docs)
    except SpecError as error:
        return _print_faults(error)
    except RecordError as error:
        print(error, file=sys.stderr)
        return FAULTS
    print(f"{options.file}: {len(changed)} files changed in {options.docs}")
    return 0


def _model(options: argparse.Namespace) -> int:
    try:
        round_ = Round(
            acceptance=options.acceptance,
            draft_tokens=options.draft_tokens,
            target_ms=options.target_ms,
            draft_ms=options.draft_ms,
            bonus=options.bonus,
            operations_ratio=options.operations_ratio,
        )
    except ValueError as error:
        print(f"{PROGRAM} model: {error}", file=sys.stderr)
        return BAD_ARGUMENTS
    outcome = evaluate(round_)
    print(json.dumps(asdict(outcome), indent=2) if options.json else _as_text(outcome))
    return 0


def _print_faults(error: Exception) -> int:
    for fault in error.faults:  # type: ignore[attr-defined]
        print(fault, file=sys.stderr)
    return FAULTS


def _as_text(outcome: Outcome) -> str:
    """One `name: value` line for each result, and what it means."""
    lines = []
    for name, value in asdict(outcome).items():
        text = "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        lines.append(f"{name + ': ' + text:34}  {MEANINGS[name]}")
    return "\n".join(lines)


# --- the arguments -----------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """An argparse parser that says what is wrong in one line, without its usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_ARGUMENTS, f"{self.prog}: {' '.join(message.split())}\n")


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description="Check, build and compute the lesson.", allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[argparse.Namespace], int], what: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=what, description=what, allow_abbrev=False)
        added.set_defaults(command=command)
        return added

    file_help = f"the lesson's source (default: {LESSON})"
    check = add("check", _check, "Print every fault of a lesson as FILE:LINE:COLUMN: PATH: what is wrong.")
    check.add_argument("file", metavar="FILE", nargs="?", type=Path, default=Path(LESSON), help=file_help)

    build = add("build", _build, "Write the pages and charts that MkDocs reads.")
    build.add_argument("file", metavar="FILE", nargs="?", type=Path, default=Path(LESSON), help=file_help)
    build.add_argument(
        "--docs", metavar="DIR", type=Path, default=Path("docs"), help="where they go (default: docs)"
    )

    model = add("model", _model, "Say what a round of speculative decoding costs and yields.")
    model.add_argument(
        "--acceptance",
        metavar="H",
        type=_decimal,
        required=True,
        help="probability, 0 to 1, that a drafted token is accepted once it is examined",
    )
    model.add_argument(
        "--draft-tokens",
        metavar="K",
        type=_whole,
        required=True,
        help=f"tokens drafted a round, 0 (plain decoding) to {MAX_DRAFT_TOKENS}",
    )
    model.add_argument(
        "--target-ms", metavar="MS", type=_decimal, required=True, help="time of one target pass, above 0"
    )
    model.add_argument(
        "--draft-ms", metavar="MS", type=_decimal, required=True, help="time of one draft step, 0 or more"
    )
    model.add_argument(
        "--bonus", action="store_true", help="commit the target's extra token after a round without a miss"
    )
    model.add_argument(
        "--operations-ratio",
        metavar="RATIO",
        type=_decimal,
        help="arithmetic of a draft step over that of the target for one token (default: DRAFT_MS / TARGET_MS)",
    )
    model.add_argument("--json", action="store_true", help="print one JSON object")
    return parser

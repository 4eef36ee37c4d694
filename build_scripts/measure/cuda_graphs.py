"""A target whose passes on a GPU are replayed: one CUDA graph for each size of pass.

A small pass is hundreds of kernels, and telling the GPU of each takes longer than the kernel
itself. A graph is told of all at once, but it reads and writes the memory that it was captured
with, and its shapes are fixed. So tokens and positions are copied into buffers of the graph;
caches are handed out from a stock that is kept; and how far back attention looks is rounded
up, what lies beyond a row's end being masked.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from build_scripts.measure.cache import Cache
from build_scripts.measure.target import Target

Pass = Callable[[Tensor, Tensor], Tensor]
"""Tokens and positions, both [B, m], to features [B, m, d]."""

LONGEST = 32
"""Tokens of a row in a pass that is worth a graph: prompts come in too many lengths."""
MOST_GRAPHS = 128
"""For the memory of one cache."""
MOST_UNUSED = 8 * 2**30
"""Bytes of caches that nobody uses: more are given back before another is made."""
EXTENT_STEP = 128
CAPACITY_STEP = 256


class Capture(Protocol):
    """What makes a `Pass` that can be replayed of one that cannot, given inputs of its shapes."""

    def __call__(self, compute: Pass, tokens: Tensor, positions: Tensor) -> Pass: ...


@dataclass
class _Memory:
    """Of one cache, with the graphs that were captured with it, by rows, tokens of a row and
    extent; user: the cache that has it now, if it still exists."""

    whole: Cache
    user: weakref.ref[Cache]
    graphs: dict[tuple[int, int, int], Pass] = field(default_factory=dict)


class GraphTarget(Target):
    """The same model. A cache of it reaches a little further than was asked for."""

    def __init__(self, original: Target, capture: Capture | None = None) -> None:
        """capture: how a graph comes about; CUDA's way unless a test has another."""
        super().__init__(original.shapes, original.weights, original.positions, original.multiply)
        self._capture = capture or CudaCapture()
        self._stock: dict[int, _Memory] = {}  # by the address of its keys

    def new_cache(self, rows: int, capacity: int) -> Cache:
        if capacity <= self.positions:
            capacity = min(_rounded_up(capacity, CAPACITY_STEP), self.positions)
        unused = {address: memory for address, memory in self._stock.items() if memory.user() is None}
        fitting = [m for m in unused.values() if (m.whole.rows, m.whole.capacity) == (rows, capacity)]
        if fitting:
            whole, graphs = fitting[0].whole, fitting[0].graphs
        else:
            if sum(m.whole.keys.nbytes + m.whole.values.nbytes for m in unused.values()) > MOST_UNUSED:
                for address in unused:
                    del self._stock[address]
                unused.clear()
            whole, graphs = super().new_cache(rows, capacity), {}
        # A copy of its own, which may drop rows; its keys and values are the same memory.
        cache = copy.copy(whole)
        cache.lengths = [0] * rows
        self._stock[whole.keys.data_ptr()] = _Memory(whole, weakref.ref(cache), graphs)
        return cache

    @torch.inference_mode()
    def features(self, tokens: Tensor, cache: Cache) -> Tensor:
        rows, m = tokens.shape
        positions = cache.advance(m)
        extent = min(_rounded_up(max(cache.lengths), EXTENT_STEP), cache.capacity)
        keys, values = cache.keys, cache.values

        def compute(tokens: Tensor, positions: Tensor) -> Tensor:
            x = F.embedding(tokens, self.weights.embedding)
            return self._pass_over(x, positions, keys, values, extent, masked=True)

        if m > LONGEST:
            return compute(tokens, positions)
        graphs = self._stock[keys.data_ptr()].graphs
        if (rows, m, extent) not in graphs:
            if len(graphs) >= MOST_GRAPHS:
                del graphs[next(iter(graphs))]  # the oldest
            graphs[rows, m, extent] = self._capture(compute, tokens, positions)
        return graphs[rows, m, extent](tokens, positions)


class CudaCapture:
    """Graphs that share one pool of memory. None of them runs while another does, and nothing in
    the pool is needed after a replay but the output, which stays referenced and is copied at once."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, compute: Pass, tokens: Tensor, positions: Tensor) -> Pass:
        inputs = tokens.clone(), positions.clone()
        # Libraries set themselves up in their first calls, which must not be captured. To do it
        # on another stream is what torch's notes on CUDA graphs ask for. The cache is written to
        # as the replay will write to it.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                compute(*inputs)
        torch.cuda.current_stream().wait_stream(side)

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            output = compute(*inputs)

        def replay(tokens: Tensor, positions: Tensor) -> Tensor:
            inputs[0].copy_(tokens)
            inputs[1].copy_(positions)
            graph.replay()
            return output.clone()

        return replay


def _rounded_up(count: int, step: int) -> int:
    return -(-count // step) * step

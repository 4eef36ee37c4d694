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
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from build_scripts.measure.cache import Cache
from build_scripts.measure.target import Target

Pass = Callable[[Tensor, Tensor], Tensor]
"""Tokens and positions, both [B, m], to features [B, m, d]."""

LONGEST = 32
"""Tokens of a row in a pass that is worth a graph: prompts come in too many lengths."""
MEETINGS = 2
"""A size is captured when it is met for this time: many batch sizes occur just once."""
MOST_GRAPHS = 512
EXTENT_STEP = 64
CAPACITY_STEP = 256


class Capture(Protocol):
    """What makes a `Pass` that can be replayed of one that cannot, given inputs of its shapes."""

    def __call__(self, compute: Pass, tokens: Tensor, positions: Tensor) -> Pass: ...


class GraphTarget(Target):
    """The same model. A cache of it reaches a little further than was asked for."""

    def __init__(self, original: Target, capture: Capture | None = None) -> None:
        """capture: how a graph comes about; CUDA's way unless a test has another."""
        super().__init__(original.shapes, original.weights, original.positions, original.multiply)
        self._capture = capture or CudaCapture()
        self._graphs: dict[tuple[int, ...], Pass] = {}
        self._met: Counter[tuple[int, ...]] = Counter()
        # Each cache's memory, by its size, and who has it now.
        self._stock: dict[tuple[int, int], list[tuple[Cache, weakref.ref[Cache]]]] = {}

    def new_cache(self, rows: int, capacity: int) -> Cache:
        if capacity <= self.positions:
            capacity = min(_rounded_up(capacity, CAPACITY_STEP), self.positions)
        stock = self._stock.setdefault((rows, capacity), [])
        for place, (memory, user) in enumerate(stock):
            if user() is None:
                break
        else:
            place, memory = len(stock), super().new_cache(rows, capacity)
            stock.append((memory, lambda: None))
        # A copy of its own, which may drop rows; the keys and values are the same memory.
        cache = copy.copy(memory)
        cache.lengths = [0] * rows
        stock[place] = memory, weakref.ref(cache)
        return cache

    @torch.inference_mode()
    def features(self, tokens: Tensor, cache: Cache) -> Tensor:
        rows, m = tokens.shape
        positions = cache.advance(m)
        extent = min(_rounded_up(max(cache.lengths), EXTENT_STEP), cache.capacity)
        keys, values = cache.keys, cache.values

        def compute(tokens: Tensor, positions: Tensor) -> Tensor:
            return self._read(tokens, positions, keys, values, extent, masked=True)

        size = (keys.data_ptr(), rows, m, extent)
        if size not in self._graphs:
            self._met[size] += 1
            if m > LONGEST or self._met[size] < MEETINGS:
                return compute(tokens, positions)
            if len(self._graphs) >= MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]  # the oldest
            self._graphs[size] = self._capture(compute, tokens, positions)
        return self._graphs[size](tokens, positions)


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

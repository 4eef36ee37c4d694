"""Replayed passes give what the model gives. A capture that can be had on any machine stands in
for CUDA's: like a graph it has fixed shapes and buffers, and computes from what is in them."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

from build_scripts.measure import cuda_graphs
from build_scripts.measure.cuda_graphs import GraphTarget, Pass
from build_scripts.measure.decoding import decode_plain, decode_speculative
from build_scripts.measure.kernels import choose
from build_scripts.measure.stopping import Limits
from tests.measure.tiny import answers, make_drafter, some_prompts, tiny_target

LIMITS = Limits(30)


class FakeCapture:
    """captured: the shapes, in order; replays: how often any of them ran."""

    def __init__(self) -> None:
        self.captured: list[tuple[int, int]] = []
        self.replays = 0

    def __call__(self, compute: Pass, tokens: Tensor, positions: Tensor) -> Pass:
        self.captured.append(tuple(tokens.shape))
        inputs = tokens.clone(), positions.clone()
        output = torch.zeros_like(compute(*inputs))

        def replay(tokens: Tensor, positions: Tensor) -> Tensor:
            self.replays += 1
            assert tokens.shape == inputs[0].shape
            inputs[0].copy_(tokens)
            inputs[1].copy_(positions)
            output.copy_(compute(*inputs))
            return output.clone()

        return replay


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the few tokens of a test cross them."""
    monkeypatch.setattr(cuda_graphs, "EXTENT_STEP", 8)
    monkeypatch.setattr(cuda_graphs, "CAPACITY_STEP", 16)


@pytest.mark.parametrize("name", ["adversary", "context_ngram"])
def test_replayed_passes_decode_the_same_texts(name: str) -> None:
    """Ragged rows that leave, rollbacks, blocks of several widths: no graph is used for another's."""
    target, capture = tiny_target(), FakeCapture()
    replayed = GraphTarget(target, capture)
    prompts = some_prompts(8)
    plain = answers(decode_plain(target, prompts, LIMITS))
    for _ in range(2):
        assert answers(decode_plain(replayed, prompts, LIMITS)) == plain
        drafter = make_drafter(name, target, prompts, 30, 3)
        assert answers(decode_speculative(replayed, drafter, prompts, 3, LIMITS)) == plain
    assert capture.replays > len(capture.captured) > 0, "some graph was used again"


def test_what_was_returned_is_not_overwritten() -> None:
    """The output of a graph is one buffer; a drafter may keep its features over rounds."""
    replayed = GraphTarget(tiny_target(), FakeCapture())
    cache = replayed.new_cache(1, 8)
    found = []
    for token in (1, 2, 3, 4):
        cache.lengths = [0]
        found.append(replayed.features(torch.tensor([[token]]), cache))
    assert not torch.equal(found[-1], found[-2])
    cache.lengths = [0]
    assert torch.equal(found[-2], replayed.features(torch.tensor([[3]]), cache))


def test_the_next_cache_has_the_memory_of_the_last_and_nothing_of_its_text() -> None:
    """Graphs are bound to memory: they outlive a request, its keys do not."""
    target, capture = tiny_target(), FakeCapture()
    replayed = GraphTarget(target, capture)
    for text in ([3, 1, 4, 1, 5, 9], [2, 7, 1]):
        cache = replayed.new_cache(1, 9)
        address = cache.keys.data_ptr()
        parts = [replayed.features(torch.tensor([[token]]), cache) for token in text]
        whole = target.features(torch.tensor([text]), target.new_cache(1, 9))
        torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-12)
        del cache
        gc.collect()
    assert replayed.new_cache(1, 10).keys.data_ptr() == address
    assert len(capture.captured) == 1


def test_two_caches_at_once_are_two() -> None:
    replayed = GraphTarget(tiny_target(), FakeCapture())
    one, other = replayed.new_cache(2, 8), replayed.new_cache(2, 8)
    assert one.keys.data_ptr() != other.keys.data_ptr()


def test_prompts_are_not_captured() -> None:
    """There would be a graph for every length, and capturing takes longer than a pass."""
    capture = FakeCapture()
    replayed = GraphTarget(tiny_target(), capture)
    replayed.features(torch.zeros(1, cuda_graphs.LONGEST + 1, dtype=torch.int64), replayed.new_cache(1, 50))
    assert capture.captured == []


def test_memory_that_nobody_uses_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large batch after another would not fit on the device beside it; one in use stays."""
    monkeypatch.setattr(cuda_graphs, "MOST_UNUSED", 0)
    replayed = GraphTarget(tiny_target(), FakeCapture())
    mine, dropped = replayed.new_cache(1, 8), replayed.new_cache(2, 8)
    for cache in (mine, dropped):
        replayed.features(torch.zeros(cache.rows, 1, dtype=torch.int64), cache)
    memory = weakref.ref(dropped.keys)
    del dropped, cache
    replayed.new_cache(3, 8)
    gc.collect()
    assert memory() is None, "its graphs hold it no longer"
    replayed.features(torch.tensor([[1]]), mine)


def test_old_graphs_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graphs, "MOST_GRAPHS", 2)
    capture = FakeCapture()
    replayed = GraphTarget(tiny_target(), capture)
    cache = replayed.new_cache(1, 16)
    for m in (1, 2, 2, 3, 1):
        cache.lengths = [0]
        replayed.features(torch.zeros(1, m, dtype=torch.int64), cache)
    assert capture.captured == [(1, 1), (1, 2), (1, 3), (1, 1)]


def test_a_cache_beyond_the_positions_is_refused() -> None:
    with pytest.raises(ValueError, match="reaches 256 positions"):
        GraphTarget(tiny_target(), FakeCapture()).new_cache(1, 257)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_on_a_gpu_graphs_decode_the_same_texts() -> None:
    """In double precision, so that no tie is close."""
    target = tiny_target()
    replayed, name = choose(target, "cuda")
    assert isinstance(replayed, GraphTarget) and name == "cuBLAS fp64, CUDA graphs"
    prompts = some_prompts(8)
    plain = answers(decode_plain(target, prompts, LIMITS))
    drafter = make_drafter("context_ngram", target, prompts, 30, 3)
    assert answers(decode_plain(replayed, prompts, LIMITS)) == plain
    for _ in range(3):
        assert answers(decode_speculative(replayed, drafter, prompts, 3, LIMITS)) == plain

"""The target: its arithmetic against a slow textbook version, and its cache."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.target import Shapes, Target, matrix_bytes, random_model  # noqa: E402
from tests.measure.tiny import SHAPES, VOCABULARY, some_prompts, tiny_target  # noqa: E402


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)


def fresh(target: Target, text: list[int]) -> torch.Tensor:
    """Features of every position of one text, by one pass over an empty cache."""
    return target.features(torch.tensor([text]), target.new_cache(1, len(text)))[0]


def textbook(target: Target, text: list[int]) -> torch.Tensor:
    """The logits after each token, [m, V], token by token and head by head, without a cache.

    The rotation is written as the multiplication by exp(i·position·angle) that it is.
    """
    shapes, weights = target.shapes, target.weights
    width = shapes.head_width
    angles = shapes.rope_base ** (-torch.arange(width // 2, dtype=torch.float64) * 2 / width)

    def norm(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return x / math.sqrt(float((x * x).mean()) + shapes.norm_epsilon) * gain

    def turned(head: torch.Tensor, position: int) -> torch.Tensor:
        pairs = torch.complex(head[: width // 2], head[width // 2 :]) * torch.exp(1j * position * angles)
        return torch.cat([pairs.real, pairs.imag])

    states = [weights.embedding[token] for token in text]
    for layer in weights.layers:
        heads = [(norm(x, layer.attention_norm) @ layer.qkv).view(-1, width) for x in states]
        after = []
        for place, x in enumerate(states):
            mixed = []
            for h in range(shapes.heads):
                group = shapes.heads + h * shapes.kv_heads // shapes.heads
                query = turned(heads[place][h], place)
                keys = torch.stack([turned(heads[seen][group], seen) for seen in range(place + 1)])
                values = torch.stack([heads[seen][group + shapes.kv_heads] for seen in range(place + 1)])
                mixed.append(torch.softmax(keys @ query / math.sqrt(width), 0) @ values)
            x = x + torch.cat(mixed) @ layer.out
            gate, up = (norm(x, layer.ffn_norm) @ layer.gate_up).chunk(2)
            after.append(x + (gate * torch.sigmoid(gate) * up) @ layer.down)
        states = after
    return torch.stack([norm(x, weights.final_norm) @ weights.head for x in states])


@pytest.mark.parametrize("tied", [False, True], ids=["own head", "tied head"])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (4, 4), (4, 1)])
def test_a_pass_is_the_textbooks(heads: int, kv_heads: int, tied: bool) -> None:
    """Norms, rotation, grouping and SwiGLU, against a version without any of the shortcuts."""
    shapes = Shapes(2, 16, 24, heads, kv_heads, VOCABULARY, tied)
    target = random_model(shapes, 3, torch.float64, positions=16)
    # Gains other than 1, or a wrong norm would go unseen.
    for layer in target.weights.layers:
        layer.attention_norm.uniform_(0.5, 1.5)
        layer.ffn_norm.uniform_(0.5, 1.5)
    text = [5, 3, 3, 17, 0, 22, 9]
    close(target.logits(fresh(target, text)), textbook(target, text))


def test_a_text_may_come_in_any_pieces() -> None:
    """m tokens at once or one by one: the verifying pass says what plain decoding would."""
    target = tiny_target()
    text = some_prompts(3, longest=30)[0][:20]
    whole = fresh(target, text)
    for size in (1, 2, 3, 7):
        cache = target.new_cache(1, len(text))
        pieces = [
            target.features(torch.tensor([text[at : at + size]]), cache) for at in range(0, len(text), size)
        ]
        close(torch.cat(pieces, dim=1)[0], whole)


def test_a_row_does_not_see_its_neighbours() -> None:
    """Rows of different lengths, padded: each as if it were alone."""
    target = tiny_target()
    prompts = some_prompts(7)
    longest = max(map(len, prompts))
    cache = target.new_cache(len(prompts), longest + 4)
    padded = torch.tensor([prompt + [23] * (longest - len(prompt)) for prompt in prompts])
    first = target.features(padded, cache)
    cache.roll_back([len(prompt) for prompt in prompts])
    second = target.features(torch.tensor([[1, 2, 3]] * len(prompts)), cache)
    for row, prompt in enumerate(prompts):
        alone = fresh(target, [*prompt, 1, 2, 3])
        close(first[row, : len(prompt)], alone[: len(prompt)])
        close(second[row], alone[len(prompt) :])


def test_a_token_does_not_see_the_future() -> None:
    target = tiny_target()
    close(fresh(target, [1, 2, 3, 4])[:2], fresh(target, [1, 2, 9, 8])[:2])


def test_what_was_rolled_back_is_never_read() -> None:
    """Bug 2 of the list: bit for bit the same, whatever the forgotten part of the cache holds."""
    target = tiny_target()
    results = []
    for rubbish in (0.0, 1e6):
        cache = target.new_cache(2, 12)
        target.features(torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]), cache)
        cache.roll_back([4, 2])
        cache.keys[:, 0, 4:] = cache.keys[:, 1, 2:4] = rubbish
        cache.values[:, 0, 4:] = cache.values[:, 1, 2:4] = rubbish
        cache.keys[:, 1, 4:] = cache.values[:, 1, 4:] = rubbish
        results.append(target.features(torch.tensor([[9], [9]]), cache))
    assert torch.equal(*results)


def test_rolling_back_gives_the_cache_of_a_fresh_prefill() -> None:
    """Each length by itself: off by one in either direction is another cache."""
    target = tiny_target()
    text = [4, 8, 15, 16, 23, 4, 2]
    for kept in range(len(text)):
        cache = target.new_cache(1, 16)
        target.features(torch.tensor([text]), cache)
        cache.roll_back([kept])
        after = target.features(torch.tensor([[11, 12]]), cache)
        other = target.new_cache(1, 16)
        expected = target.features(torch.tensor([[*text[:kept], 11, 12]]), other)
        close(after, expected[:, -2:])
        assert cache.lengths == other.lengths == [kept + 2]
        close(cache.keys[:, :, : kept + 2], other.keys[:, :, : kept + 2])
        close(cache.values[:, :, : kept + 2], other.values[:, :, : kept + 2])


def test_rows_that_stay_go_on_as_if_alone() -> None:
    target = tiny_target()
    cache = target.new_cache(3, 8)
    target.features(torch.tensor([[1, 2], [3, 4], [5, 6]]), cache)
    cache.roll_back([2, 1, 2])
    cache.keep_rows([1, 2])
    after = target.features(torch.tensor([[7], [7]]), cache)
    close(after[0, 0], fresh(target, [3, 7])[-1])
    close(after[1, 0], fresh(target, [5, 6, 7])[-1])
    cache.keep_rows([])
    assert cache.rows == 0


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda t, c: t.features(torch.tensor([[1] * 5] * 2), c),
            "the cache holds 4 positions a row, and 7 are",
        ),
        (lambda t, c: c.roll_back([0]), "the cache has 2 rows, not 1"),
        (lambda t, c: c.roll_back([0, 3]), "row 1 holds 2 positions and cannot be rolled back to 3"),
        (lambda t, c: c.roll_back([-1, 0]), "row 0 holds 2 positions and cannot be rolled back to -1"),
        (lambda t, c: c.keep_rows([1, 0]), "of 2 rows, .1, 0. cannot be kept"),
        (lambda t, c: c.keep_rows([2]), "of 2 rows, .2. cannot be kept"),
        (lambda t, c: t.new_cache(1, 257), "the model reaches 256 positions, and 257 are asked for"),
    ],
)
def test_the_cache_refuses_what_it_cannot_hold(act: Callable[..., object], message: str) -> None:
    target = tiny_target()
    cache = target.new_cache(2, 4)
    target.features(torch.tensor([[1, 2], [3, 4]]), cache)
    cache.roll_back([2, 2])
    with pytest.raises(ValueError, match=message):
        act(target, cache)


def test_heads_must_divide() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Shapes(1, 18, 8, 4, 2, 10)
    with pytest.raises(ValueError, match="do not fit"):
        Shapes(1, 16, 8, 4, 3, 10)


def test_a_seed_is_a_model() -> None:
    one, same, other = (random_model(SHAPES, seed).weights.layers[1].qkv for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_the_kernel_is_replaceable() -> None:
    """Every product with a weight goes through `multiply`: a record can name what ran."""
    calls: list[tuple[int, ...]] = []

    def counted(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        calls.append(tuple(x.shape))
        return x @ weight

    target = random_model(SHAPES, 1, torch.float64, positions=8, multiply=counted)
    target.logits(target.features(torch.tensor([[1, 2], [3, 4]]), target.new_cache(2, 4)))
    assert len(calls) == 4 * SHAPES.layers + 1
    assert {rows for rows, _ in calls} == {4}


def test_the_bytes_of_a_pass() -> None:
    """By hand, for the shapes of the tests: two layers, norms and head, of 8 bytes a weight."""
    layer = 16 * 32 + 16 * 16 + 16 * 64 + 32 * 16 + 2 * 16
    assert matrix_bytes(tiny_target().weights) == 8 * (2 * layer + 16 + 16 * VOCABULARY)

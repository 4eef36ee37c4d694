"""From logits to tokens: the filters against a slow version, and the exact law of a draw."""

from __future__ import annotations

import math
import random

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure.sampling import GREEDY, Sampling, draw, probabilities  # noqa: E402


def slow_law(logits: list[float], sampling: Sampling) -> list[float]:
    """Temperature, then top-k with ties, then the smallest nucleus, on plain lists."""
    if sampling.temperature == 0:
        return [float(index == logits.index(max(logits))) for index in range(len(logits))]
    scaled = [x / sampling.temperature for x in logits]
    least = (
        sorted(scaled, reverse=True)[sampling.top_k - 1] if 0 < sampling.top_k < len(logits) else -math.inf
    )
    shares = [math.exp(x) if x >= least else 0.0 for x in scaled]
    total = sum(shares)
    shares = [share / total for share in shares]
    if sampling.top_p == 1:
        return shares
    kept, mass = set(), 0.0
    for token in sorted(range(len(shares)), key=lambda t: (-shares[t], t)):
        if mass >= sampling.top_p:
            break
        kept.add(token)
        mass += shares[token]
    return [share / mass if token in kept else 0.0 for token, share in enumerate(shares)]


@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.4, 1e-9])
@pytest.mark.parametrize("top_k", [0, 1, 3, 99])
@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, 2.0])
def test_the_filters(temperature: float, top_k: int, top_p: float) -> None:
    sampling = Sampling(temperature, top_k, top_p)
    dice = random.Random(5)
    rows = [[dice.gauss(0, 2) for _ in range(8)] for _ in range(20)]
    laws = probabilities(torch.tensor(rows, dtype=torch.float64), sampling)
    for row, law in zip(rows, laws):
        assert law.tolist() == pytest.approx(slow_law(row, sampling), abs=1e-12)
        assert float(law.sum()) == pytest.approx(1, abs=1e-12)


def test_equals_are_treated_alike_by_top_k() -> None:
    """The law depends on the logits' values, not on where they stand."""
    law = probabilities(torch.tensor([[1.0, 2.0, 1.0, 0.0]]), Sampling(1.0, top_k=2))
    assert law[0, 0] == law[0, 2] > 0 and law[0, 3] == 0


def test_greedy_takes_the_first_of_equals() -> None:
    assert probabilities(torch.tensor([[0.0, 3.0, 3.0]]), GREEDY).tolist() == [[0, 1, 0]]


def test_a_tiny_temperature_is_no_division_by_zero() -> None:
    law = probabilities(torch.tensor([[1.0, 300.0, 2.0]]), Sampling(1e-38))
    assert law.tolist() == [[0, 1, 0]]


def test_half_precision_logits_get_a_law_in_single() -> None:
    assert probabilities(torch.zeros(1, 4, dtype=torch.bfloat16), Sampling(1.0)).dtype == torch.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": -1}, "temperature must be 0 or more, not -1"),
        ({"temperature": math.nan}, "temperature must be 0 or more, not nan"),
        ({"temperature": math.inf}, "temperature must be 0 or more, not inf"),
        ({"top_k": -1}, "top_k must be 0 or more, not -1"),
        ({"top_p": 0}, "top_p must be above 0 and at most 1, not 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, not 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**arguments)


def test_the_law_of_a_draw_is_its_weights() -> None:
    """Each token is drawn from an interval of uniforms as long as its share, and from no other."""
    weights = torch.tensor([0.0, 0.5, 0.0, 1.25, 0.25, 0.0], dtype=torch.float64)
    edges = (weights.cumsum(0) / weights.sum()).tolist()
    for token, (low, high) in enumerate(zip([0.0, *edges], edges)):
        inside = [low, (low + high) / 2, math.nextafter(high, 0)] if high > low else []
        for uniform in inside:
            assert draw(weights[None], torch.tensor([uniform], dtype=torch.float64)).tolist() == [token]


def test_the_last_uniform_draws_the_last_token_that_has_weight() -> None:
    """The product of the largest uniform and the sum must not round up to the sum."""
    dice = random.Random(2)
    for _ in range(2_000):
        weights = [dice.random() * 10 ** dice.randint(-30, 3) for _ in range(4)]
        row = torch.tensor([[*weights, 0.0]], dtype=torch.float64)
        last = max(index for index in range(4) if sum(weights[:index]) < sum(weights))
        assert draw(row, torch.tensor([math.nextafter(1.0, 0.0)], dtype=torch.float64)).item() == last

"""Sampled speculative decoding draws from the target's law: chi-square through the whole loop.

A tiny model's law over three tokens is computed exactly, context by context; the loop writes
20,000 answers. The right rule must fit, and each of four wrong ones, seen in other people's
code, must not: a test that cannot fail proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from torch import Tensor  # noqa: E402

from build_scripts.measure import rejection  # noqa: E402
from build_scripts.measure.counts import Counts  # noqa: E402
from build_scripts.measure.decoding import decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.drafting import Proposal, TextDrafter  # noqa: E402
from build_scripts.measure.sampling import Sampling, draw  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.measure.target import Shapes, random_model  # noqa: E402
from tests.measure.tiny import answers, law_after  # noqa: E402

SIZE, LENGTH, ANSWERS, BATCH, K = 6, 3, 20_000, 2_000, 2
TARGET = random_model(Shapes(1, 16, 16, 2, 1, SIZE, tied=False), 5, torch.float64, positions=16)
PROMPT = [4, 1]
WARM = Sampling(1.0)
FILTERED = Sampling(0.8, top_k=5, top_p=0.95)


class Bigram(TextDrafter):
    """Draws each draft from a fixed law given the token before, or, wrongly, takes the likeliest
    and reports that law all the same. Tokens 2 and 5 it cannot propose, as a head with a smaller vocabulary."""

    def __init__(self, greedily: bool = False) -> None:
        super().__init__()
        noise = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
        noise[:, [2, 5]] = float("-inf")
        self.law = noise.softmax(-1)
        self.greedily = greedily

    def continuation(self, row: int, k: int) -> list[int]:
        raise NotImplementedError("it draws for all rows at once")

    def propose(self, k: int, sampling: Sampling, uniforms: Tensor | None) -> Proposal:
        token = torch.tensor([text[-1] for text in self.texts])
        tokens, laws = [], []
        for step in range(k):
            law = self.law[token]
            token = law.argmax(-1) if self.greedily else draw(law, uniforms[:, step])
            tokens.append(token)
            laws.append(law)
        return Proposal(torch.stack(tokens, 1), torch.full((len(self.texts),), k), torch.stack(laws, 1))


class Fixed(TextDrafter):
    """Proposes without drawing, and for every other row nothing: rows of different widths."""

    def continuation(self, row: int, k: int) -> list[int]:
        return [1, 3][: (row + len(self.texts[row])) % (k + 1)]


def exact_law(sampling: Sampling) -> Tensor:
    """The target's law over LENGTH tokens after the prompt, [SIZE^LENGTH]."""
    shares = []
    for text in product(range(SIZE), repeat=LENGTH):
        share = 1.0
        for place, token in enumerate(text):
            share *= float(law_after(TARGET, [*PROMPT, *text[:place]], sampling)[token])
        shares.append(share)
    return torch.tensor(shares, dtype=torch.float64)


def sampled(sampling: Sampling, drafter: TextDrafter | None, seed: int = 0) -> tuple[Tensor, Counts]:
    """How often each text came, and the pooled counts."""
    texts, counts = torch.zeros(SIZE**LENGTH), None
    for first in range(0, ANSWERS, BATCH):
        prompts, limits = [PROMPT] * BATCH, Limits(LENGTH)
        if drafter is None:
            decoded = decode_plain(TARGET, prompts, limits, sampling, seed + first)
        else:
            decoded = decode_speculative(TARGET, drafter, prompts, K, limits, sampling, seed + first)
        numbers = [(a * SIZE + b) * SIZE + c for a, b, c in answers(decoded)]
        texts += torch.bincount(torch.tensor(numbers), minlength=SIZE**LENGTH)
        for answer in decoded.answers:
            counts = answer.counts if counts is None else counts + answer.counts
    return texts, counts


def z_score(observed: Tensor, law: Tensor) -> float:
    """Chi-square in standard deviations from its mean; cells that expect below 5 are merged."""
    expected = law * float(observed.sum())
    small = expected < 5
    cells = torch.cat([observed[~small], observed[small].sum()[None]])
    means = torch.cat([expected[~small], expected[small].sum()[None]])
    if float(means[-1]) == 0:
        if float(cells[-1]) > 0:
            return math.inf
        cells, means = cells[:-1], means[:-1]
    freedom = len(cells) - 1
    return (float(((cells - means) ** 2 / means).sum()) - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("sampling", [WARM, FILTERED], ids=["warm", "filtered"])
@pytest.mark.parametrize("drafter", [None, Bigram(), Fixed()], ids=["plain", "drawing", "not drawing"])
def test_what_comes_out_follows_the_target(drafter: TextDrafter | None, sampling: Sampling) -> None:
    """Bugs 6, 7, 8, 9 and 14: also where only the target filters, and where q is 0 for some tokens."""
    observed, counts = sampled(sampling, drafter)
    assert abs(z_score(observed, exact_law(sampling))) < 4
    if drafter is not None:
        # All three ways to commit a token took part, or the fit would say little.
        assert min(sum(counts.accepted), counts.recovered, counts.bonus) > ANSWERS / 100


def wrong_residual(patch: pytest.MonkeyPatch) -> TextDrafter:
    """The replacement is drawn from p, which counts twice what acceptance already served."""
    patch.setattr(rejection, "residual", lambda p, q: p)
    return Bigram()


def accepts_all(patch: pytest.MonkeyPatch) -> TextDrafter:
    """Bug 6: every draft is accepted."""
    patch.setattr(rejection, "leading", lambda stands: torch.full((len(stands),), stands.shape[1]))
    return Bigram()


def misreported(patch: pytest.MonkeyPatch) -> TextDrafter:
    """Bug 7: drafts are the likeliest tokens, reported as if drawn from the whole law."""
    return Bigram(greedily=True)


def unfiltered(patch: pytest.MonkeyPatch) -> TextDrafter:
    """Bug 8: the verdict forgets the request's top-k and top-p."""
    real = rejection.probabilities
    patch.setattr(
        rejection, "probabilities", lambda logits, sampling: real(logits, Sampling(sampling.temperature))
    )
    return Bigram()


@pytest.mark.parametrize("mistake", [wrong_residual, accepts_all, misreported, unfiltered])
def test_the_test_would_see(mistake: Callable[..., TextDrafter], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative controls: each mistake is far outside of what the right rule gives."""
    observed, _ = sampled(FILTERED, mistake(monkeypatch))
    assert z_score(observed, exact_law(FILTERED)) > 20


def test_a_draft_without_the_filters_is_accepted_less_often() -> None:
    """Bug 9: filtering the target alone costs acceptance, and nothing else (see above)."""
    shares = []
    for sampling in (WARM, Sampling(1.0, top_k=1)):
        _, counts = sampled(sampling, Bigram())
        shares.append(counts.acceptance()[0])
    assert shares[1] < shares[0]

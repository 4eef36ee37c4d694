"""Sampled speculative decoding draws from the target's law: chi-square through the whole loop.

A tiny model's law over three tokens is computed exactly, context by context; the loop writes
20,000 answers. The right rule must fit, and each of four wrong ones, seen in other people's
code, must not: a test that cannot fail proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from torch import Tensor  # noqa: E402

from build_scripts.measure import rejection  # noqa: E402
from build_scripts.measure.counts import Counts  # noqa: E402
from build_scripts.measure.drafting import TextDrafter  # noqa: E402
from build_scripts.measure.sampling import Sampling  # noqa: E402
from build_scripts.measure.toy_law import Bigram, chi_square, drawn, exact_law, toy_target  # noqa: E402

ANSWERS = 20_000
TARGET = toy_target()
WARM = Sampling(1.0)
FILTERED = Sampling(0.8, top_k=5, top_p=0.95)


class Fixed(TextDrafter):
    """Proposes without drawing, and for every other row nothing: rows of different widths."""

    def continuation(self, row: int, k: int) -> list[int]:
        return [1, 3][: (row + len(self.texts[row])) % (k + 1)]


def sampled(sampling: Sampling, drafter: TextDrafter | None) -> tuple[Tensor, Counts]:
    return drawn(TARGET, sampling, drafter, ANSWERS)


def z_score(observed: Tensor, sampling: Sampling) -> float:
    return chi_square(observed, exact_law(TARGET, sampling)).z


@pytest.mark.parametrize("sampling", [WARM, FILTERED], ids=["warm", "filtered"])
@pytest.mark.parametrize("drafter", [None, Bigram(), Fixed()], ids=["plain", "drawing", "not drawing"])
def test_what_comes_out_follows_the_target(drafter: TextDrafter | None, sampling: Sampling) -> None:
    """Bugs 6, 7, 8, 9 and 14: also where only the target filters, and where q is 0 for some tokens."""
    observed, counts = sampled(sampling, drafter)
    assert abs(z_score(observed, sampling)) < 4
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
    assert z_score(observed, FILTERED) > 20


def test_a_draft_without_the_filters_is_accepted_less_often() -> None:
    """Bug 9: filtering the target alone costs acceptance, and nothing else (see above)."""
    shares = []
    for sampling in (WARM, Sampling(1.0, top_k=1)):
        _, counts = sampled(sampling, Bigram())
        shares.append(counts.acceptance()[0])
    assert shares[1] < shares[0]

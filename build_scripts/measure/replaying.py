"""What a drafter would have had accepted, where what the target writes is known already.

Greedy speculative decoding writes what plain decoding writes (the experiment `lossless` proves it),
so which drafts stand follows from the plain answer alone: those that say what it says. The target
then reads each text once, and not once for every drafter and k; the drafters draft as ever,
through the same seam. Counts are those of `decode_speculative`, round by round.

No times come of it. Where a kernel rounds otherwise in a wider pass, a near-tie that would have
fallen the other way is counted as plain decoding decided it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from build_scripts.measure.counts import Counts
from build_scripts.measure.decoding import decode_plain
from build_scripts.measure.drafting import Drafter
from build_scripts.measure.sampling import GREEDY
from build_scripts.measure.stopping import Limits, cut
from build_scripts.measure.target import Target


@dataclass(frozen=True)
class Known:
    """Prompts with what the target writes after each, on beyond any end of the answer; features:
    [B, longest text, d], those of every position."""

    prompts: list[list[int]]
    answers: list[list[int]]
    features: Tensor


@torch.inference_mode()
def write(target: Target, prompts: Sequence[Sequence[int]], tokens: int) -> list[list[int]]:
    """What the target writes greedily: `tokens` tokens after each prompt, whatever they are."""
    return [answer.tokens for answer in decode_plain(target, prompts, Limits(tokens)).answers]


@torch.inference_mode()
def read(target: Target, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Known:
    """The features of texts that are known, by one pass over them."""
    texts = [[*prompt, *answer] for prompt, answer in zip(prompts, answers)]
    longest = max(map(len, texts))
    padded = torch.tensor([text + [0] * (longest - len(text)) for text in texts], device=target.device)
    features = target.features(padded, target.new_cache(len(texts), longest))
    return Known([list(prompt) for prompt in prompts], [list(answer) for answer in answers], features)


@torch.inference_mode()
def replay(drafter: Drafter, known: Known, k: int, limits: Limits) -> list[Counts]:
    """The counts of greedy decoding with up to k drafts a round, prompt by prompt.

    ValueError for answers that are not known as far as a last round may reach: the cap and k more.
    """
    if any(len(answer) < limits.max_tokens + k for answer in known.answers):
        raise ValueError(f"answers must be known for {limits.max_tokens + k} tokens")
    counts = [Counts.zero(k) for _ in known.prompts]
    written: list[list[int]] = [[] for _ in known.prompts]

    def commit(row: int, new: Sequence[int]) -> bool:
        """Whether the answer goes on."""
        kept, reason = cut(written[row], new, limits)
        written[row] += kept
        counts[row].discarded += len(new) - len(kept)
        return reason is None

    for count in counts:
        count.first = 1
    active = [row for row, answer in enumerate(known.answers) if commit(row, answer[:1])]
    if active:
        longest = max(map(len, known.prompts))
        texts = [[*known.prompts[row], *written[row]] for row in active]
        drafter.reset(texts, known.features[active, :longest], limits.max_tokens + k)
    while active:
        proposal = drafter.propose(k, GREEDY, None)
        committed, features = [], []
        for row, drafts, drafted in zip(active, proposal.tokens.tolist(), proposal.counts.tolist()):
            begun = len(written[row])
            following = known.answers[row][begun : begun + drafted + 1]
            accepted = matching(drafts[:drafted], following)
            counts[row].add_round(drafted, accepted)
            committed.append(following[: accepted + 1])
            # Those of the pass that would have read the last token and the drafts.
            place = len(known.prompts[row]) + begun - 1
            features.append(_from(known.features[row], place, len(drafts) + 1))
        going = [place for place, row in enumerate(active) if commit(row, committed[place])]
        active = [active[place] for place in going]
        if active:
            drafter.keep_rows(going)
            drafter.update([committed[place] for place in going], torch.stack([features[place] for place in going]))
    return counts


def matching(drafts: Sequence[int], following: Sequence[int]) -> int:
    """How many leading drafts say what follows."""
    for place, (draft, token) in enumerate(zip(drafts, following)):
        if draft != token:
            return place
    return len(drafts)


def _from(features: Tensor, place: int, count: int) -> Tensor:
    """`count` rows from `place` on, the last one again where there are no more: beyond what was
    committed nobody may look."""
    places = torch.arange(place, place + count, device=features.device).clamp(max=len(features) - 1)
    return features[places]

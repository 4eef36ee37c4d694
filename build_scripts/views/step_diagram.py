"""One round of speculative decoding over a handful of words, step by step.

The static HTML shows the last step, complete. `step_diagram.js` plays the steps in the
same elements, so the two look alike.
"""

from __future__ import annotations

from typing import Any

from build_scripts.model.speculation import Round, expected_tokens, speedup
from build_scripts.model.teaching_round import PlayedRound, play_round
from build_scripts.render.numbers import fixed, format_number
from build_scripts.spec.schema import Lesson, StepDiagram
from build_scripts.views.base import PageContext, Rendered

PASSES_ON_CLOCK = 5
"""How many passes of plain decoding the two lanes span."""

SCRIPT = "assets/lesson/views/step_diagram.js"

MARKS = {"accepted": "✓", "rejected": "✗", "unexamined": "·", "recovered": "●", "bonus": "●"}


def render(block: StepDiagram, page: PageContext) -> Rendered:
    parameters = page.lesson.parameters
    k = len(block.drafted)
    bonus = parameters.bonus.default
    played = play_round(block.drafted, block.target, bonus)
    times = Times(page.lesson, k)
    rows = k + 1 if bonus else k
    html = page.template(
        "step-diagram.html",
        block=block,
        words=block.labels,
        marks=MARKS,
        tokens=block.prompt + block.drafted,
        positions=_positions(block, played),
        committed=played.committed,
        rows=rows,
        triangle_caption=_triangle_caption(block, rows),
        bonus=bonus,
        kind=parameters.target_ms.kind,
        says=_says(block, played, times, bonus),
        counters=_counters(times, played),
        lanes=_lanes(times, played, k),
        lines=_lines(block, page.lesson, played, times, k, bonus),
        last=len(block.steps),
    )
    data = block.model_dump(exclude={"view", "id", "title", "disclaimer", "draft_role", "target_role", "caption"})
    for step in data["steps"]:
        del step["text"]  # stands in the page
    data |= {
        "acceptance": parameters.acceptance.default,
        "target_ms": parameters.target_ms.default,
        "draft_ms": parameters.draft_ms.default,
        "passes_on_clock": PASSES_ON_CLOCK,
        "marks": MARKS,
    }
    own = [
        {"name": "diagram_step", "key": "step", "type": "integer", "default": 1, "min": 0, "max": len(block.steps)},
        {"name": "diagram_drafts", "key": "words", "type": "integer", "default": k, "min": 1, "max": k},
        {"name": "diagram_flips", "key": "flips", "type": "flags", "default": "", "max": k},
    ]
    return Rendered(html, data, parameters=own, scripts=[SCRIPT])


class Times:
    """The round's milliseconds, from the lesson's assumed costs."""

    def __init__(self, lesson: Lesson, k: int) -> None:
        self.target = lesson.parameters.target_ms.default
        self.draft = lesson.parameters.draft_ms.default
        self.drafted = k * self.draft
        self.round = self.drafted + self.target

    def of_plain(self, words: int) -> float:
        return words * self.target


def _positions(block: StepDiagram, played: PlayedRound) -> list[dict[str, Any]]:
    return [
        {"word": word, "target": block.target[i], "outcome": played.outcomes[i], "flip": block.alternatives[i]}
        for i, word in enumerate(block.drafted)
    ]


def _count(block: StepDiagram, n: int) -> str:
    return (block.labels.count_one if n == 1 else block.labels.count_many).format(n=n)


def _triangle_caption(block: StepDiagram, rows: int) -> str:
    return block.labels.triangle_caption_one if rows == 1 else block.labels.triangle_caption.format(rows=rows)


def _ms(value: float) -> str:
    return fixed(value, 1, trim=True)


def _says(block: StepDiagram, played: PlayedRound, times: Times, bonus: bool) -> list[str]:
    """Each step in one sentence, for the lesson's own verdicts."""
    k = len(block.drafted)
    missed = played.accepted < k
    words = {
        "prompt": " ".join(block.prompt),
        "drafted": " ".join(block.drafted),
        "k": k,
        "draft_ms": _ms(times.drafted),
        "rows": k + 1 if bonus else k,
        "target": ", ".join(block.target[: k + 1 if bonus else k]),
        "accepted": played.accepted,
        "rejected": block.drafted[played.accepted] if missed else "",
        "word": block.target[played.accepted],
        "committed": " ".join(word for word, _ in played.committed),
        "words": _count(block, len(played.committed)),
        "ms": _ms(times.round),
        "plain_ms": _ms(times.of_plain(len(played.committed))),
    }
    sentences = []
    for step in block.steps:
        all_accepted = (step.says_bonus if bonus else step.says_all) or step.says
        sentences.append((step.says if missed else all_accepted).format(**words))
    return sentences


def _counters(times: Times, played: PlayedRound) -> dict[str, Any]:
    """Both at the moment at which the round ends."""
    done = int(times.round // times.target)
    return {
        "plain": {"passes": done, "words": done, "ms": _ms(times.round)},
        "speculative": {"passes": 1, "words": len(played.committed), "ms": _ms(times.round)},
    }


def _lines(
    block: StepDiagram, lesson: Lesson, played: PlayedRound, times: Times, k: int, bonus: bool
) -> dict[str, str]:
    """What this round gave, beside what the average round gives."""
    words = len(played.committed)
    acceptance = lesson.parameters.acceptance.default
    average = Round(acceptance, k, times.target, times.draft, bonus)
    expected = expected_tokens(acceptance, k, bonus)
    gap = words - expected
    luck = block.labels.lucky if gap >= 0.5 else block.labels.unlucky if gap <= -0.5 else block.labels.usual
    clock = PASSES_ON_CLOCK * times.target
    return {
        "round": block.labels.round_says.format(
            committed=_count(block, words),
            ms=_ms(times.round),
            plain_ms=_ms(times.of_plain(words)),
            speedup=format_number("speedup", times.of_plain(words) / times.round, ""),
        ),
        "luck": luck,
        "average": block.labels.average_says.format(
            acceptance=format_number("acceptance", acceptance, ""),
            expected=format_number("expected_tokens", expected, ""),
            speedup=format_number("speedup", speedup(average), ""),
        ),
        "lanes": block.labels.lanes_says.format(
            words=_count(block, words * int(clock // times.round)),
            ms=_ms(int(clock // times.round) * times.round),
            plain_ms=_ms(times.target),
            plain_words=int(int(clock // times.round) * times.round // times.target),
        ),
    }


def _lanes(times: Times, played: PlayedRound, k: int) -> dict[str, Any]:
    """Segments of the two lanes, as shares of one clock; a round that does not fit is cut."""
    clock = max(PASSES_ON_CLOCK * times.target, times.round)
    plain: list[dict[str, Any]] = []
    speculative: list[dict[str, Any]] = []

    def add(lane: list[dict[str, Any]], kind: str, start: float, length: float, words: list[str]) -> None:
        end = min(start + length, clock)
        if end > start:
            whole = start + length <= clock + 1e-9
            lane.append(
                {
                    "kind": kind,
                    "left": fixed(100 * start / clock, 3),
                    "width": fixed(100 * (end - start) / clock, 3),
                    "dots": words if whole else [],
                }
            )

    for i in range(int(clock // times.target) + 1):
        add(plain, "target", i * times.target, times.target, ["recovered"])
    rounds = int(clock // times.round) + 1
    for r in range(rounds):
        start = r * times.round
        for j in range(k):
            add(speculative, "draft", start + j * times.draft, times.draft, [])
        add(speculative, "target", start + times.drafted, times.target, [kind for _, kind in played.committed])
    ticks = [
        {"left": fixed(100 * i * times.target / clock, 3), "ms": _ms(i * times.target)}
        for i in range(int(clock // times.target) + 1)
    ]
    return {"plain": plain, "speculative": speculative, "ticks": ticks}

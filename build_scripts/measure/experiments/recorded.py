"""What recorded runs say of which drafts were accepted, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from build_scripts.records.schema import AcceptanceCell, PromptCounts
from build_scripts.records.trace import Trace

Script = Sequence[tuple[int, int]]
"""Of each round, how many tokens were drafted and how many of them stood."""


@dataclass(frozen=True)
class Recorded:
    """The runs of one target on one device."""

    traces: Sequence[Trace]

    @property
    def greedy(self) -> list[Trace]:
        """Those that have rounds: an answer of one token comes from the prefill."""
        return [trace for trace in self.traces if trace.temperature == 0 and trace.speculative.rounds]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(trace.kind for trace in self.greedy))

    def ks(self, drafter: str, kind: str) -> tuple[int, ...]:
        """Those that greedy runs were recorded with."""
        return tuple(sorted({trace.k for trace in self.greedy if (trace.drafter, trace.kind) == (drafter, kind)}))

    def scripts(self, drafter: str) -> dict[tuple[str, int], Script]:
        """Of its greedy runs, by kind and k."""
        return {
            (trace.kind, trace.k): [(len(entry.drafts), entry.accepted) for entry in trace.speculative.rounds]
            for trace in self.greedy
            if trace.drafter == drafter
        }

    def cells(self, drafters: Sequence[str]) -> list[AcceptanceCell]:
        """What was accepted in every run of these drafters, those at a temperature too."""
        return [
            AcceptanceCell(
                drafter=trace.drafter, kind=trace.kind, temperature=trace.temperature, k=trace.k,
                prompts=[PromptCounts(prompt=trace.prompt_id, counts=trace.counts)],
            )
            for trace in self.traces
            if trace.drafter in drafters
        ]  # fmt: skip

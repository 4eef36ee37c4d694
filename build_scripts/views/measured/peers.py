"""Other engines on the same prompts, in the same run."""

from __future__ import annotations

from collections.abc import Sequence

from build_scripts.records.schema import PeerRow, PeersRecord
from build_scripts.records.summaries import beside_others, other_arithmetic, own_plain, times_as_fast
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredPeers, MeasuredWords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredPeers, page: PageContext) -> Rendered:
    words = page.lesson.measured

    def show(record: PeersRecord, records: Sequence[PeersRecord], suffix: str) -> frame.Shown:
        return frame.Shown(captions=captions(block, record, words), tables=tables(block, record, words))

    return frame.render(block, page, PeersRecord, "peers", show, beside=False)


def tables(block: MeasuredPeers, record: PeersRecord, words: MeasuredWords) -> list[frame.Table]:
    """One for each kind of text, the fastest first; beside each rate, how many times our plain one."""
    tokens = {True: block.same, False: block.differs, None: block.need_not}
    found = []
    for kind in frame.distinct([row.kind for row in record.rows]):
        own = [row for row in record.rows if row.kind == kind]
        plain = own_plain(own, words.own_engine, kind)
        rows = [
            [
                f"{row.engine} {row.version}",
                mode(block, row, words),
                f"{frame.rate(row.tokens_per_s.median)} ({frame.rate(row.tokens_per_s.low)}–{frame.rate(row.tokens_per_s.high)})",
                "–" if plain is None else frame.times(times_as_fast(row, plain)),
                "; ".join([tokens[row.same_tokens], *([row.note] if row.note else [])]),
            ]
            for row in sorted(own, key=lambda row: -row.tokens_per_s.median)
        ]
        found.append(frame.Table(frame.kind_name(kind, words), block.table_titles, rows, opened=True, notes=True))
    return found


def mode(block: MeasuredPeers, row: PeerRow, words: MeasuredWords) -> str:
    name = frame.drafter_name(row.mode, words)
    return name if row.k is None else block.mode.format(mode=name, k=row.k)


def captions(block: MeasuredPeers, record: PeersRecord, words: MeasuredWords) -> list[str]:
    said = []
    for kind in frame.distinct([row.kind for row in record.rows]):
        row = max((row for row in record.rows if row.kind == kind), key=lambda row: row.tokens_per_s.median)
        said.append(
            block.fastest.format(
                kind=frame.kind_name(kind, words), engine=row.engine, mode=mode(block, row, words),
                rate=frame.rate(row.tokens_per_s.median),
            )
        )  # fmt: skip
        for pair in beside_others(record.rows, words.own_engine):
            if pair.ours.kind == kind:
                said.append(
                    block.beside.format(
                        kind=frame.kind_name(kind, words), ours=mode(block, pair.ours, words),
                        theirs=f"{pair.theirs.engine}, {mode(block, pair.theirs, words)}", factor=frame.times(pair.factor),
                    )
                )  # fmt: skip
    compared = [row for row in record.rows if row.same_tokens is not None]
    said.append(block.caption.format(same=sum(row.same_tokens is True for row in compared), compared=len(compared)))
    for row, factor in other_arithmetic(record.rows, words.own_engine):
        said.append(
            block.other_arithmetic.format(
                engine=row.engine, note=row.note or row.version, kind=frame.kind_name(row.kind, words), factor=frame.times(factor)
            )
        )
    if record.logits is not None:
        template = block.logits if record.logits.same_argmax else block.logits_differ
        said.append(
            template.format(
                prompts=record.logits.prompts, positions=record.logits.positions,
                difference=f"{record.logits.largest_difference:.1e}".replace("e-0", "e-"),
            )
        )  # fmt: skip
    return [" ".join(said)]

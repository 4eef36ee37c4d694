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
    """A paragraph for each kind of text, and one on whether the engines say the same."""
    kinds = frame.distinct([row.kind for row in record.rows])
    return [*(caption_of_kind(block, record, kind, words) for kind in kinds), sameness(block, record)]


def caption_of_kind(block: MeasuredPeers, record: PeersRecord, kind: str, words: MeasuredWords) -> str:
    """Who is fastest, ours over others' of the same sort, and what another arithmetic reaches."""
    name = frame.kind_name(kind, words)
    row = max((row for row in record.rows if row.kind == kind), key=lambda row: row.tokens_per_s.median)
    said = [
        block.fastest.format(
            kind=name, engine=row.engine, mode=mode(block, row, words), rate=frame.rate(row.tokens_per_s.median)
        )
    ]
    for pair in beside_others(record.rows, words.own_engine):
        if pair.ours.kind == kind:
            theirs = f"{pair.theirs.engine}, {mode(block, pair.theirs, words)}"
            said.append(
                block.beside.format(
                    kind=name, ours=mode(block, pair.ours, words), theirs=theirs, factor=frame.times(pair.factor)
                )
            )
    for row, factor in other_arithmetic(record.rows, words.own_engine):
        if row.kind == kind:
            said.append(
                block.other_arithmetic.format(
                    engine=row.engine, note=row.note or row.version, kind=name, factor=frame.times(factor)
                )
            )
    return " ".join(said)


def sameness(block: MeasuredPeers, record: PeersRecord) -> str:
    compared = [row for row in record.rows if row.same_tokens is not None]
    said = [block.caption.format(same=sum(row.same_tokens is True for row in compared), compared=len(compared))]
    if record.logits is not None:
        template = block.logits if record.logits.same_argmax else block.logits_differ
        said.append(
            template.format(
                prompts=record.logits.prompts,
                positions=record.logits.positions,
                difference=f"{record.logits.largest_difference:.1e}".replace("e-0", "e-"),
            )
        )
    return " ".join(said)

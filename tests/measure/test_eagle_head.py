"""The EAGLE-style head: it drafts as it was trained to, forgets what was rejected, and its file, its
training and its training text are what their records say.

That its drafts leave the text as it is, is proven with every other drafter's in test_lossless.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from torch import Tensor  # noqa: E402

from build_scripts.measure.decoding import decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.drafters import eagle_head  # noqa: E402
from build_scripts.measure.drafters.eagle_head import EagleHead  # noqa: E402
from build_scripts.measure.head.chance import dice  # noqa: E402
from build_scripts.measure.head.corpus import (  # noqa: E402
    ASSISTANT,
    BATCH,
    LONGEST_QUESTION,
    TEMPLATE,
    USER,
    Frame,
    Turns,
    read_corpus,
    write_corpus,
)
from build_scripts.measure.head.features import reading  # noqa: E402
from build_scripts.measure.files import sha256  # noqa: E402
from build_scripts.measure.head.model import GAINS, MATRICES, Frozen, Head  # noqa: E402
from build_scripts.measure.head.quantised import (  # noqa: E402
    SHIPPED,
    quantise,
    read_head,
    write_head,
)
from build_scripts.records.training import read_training  # noqa: E402
from build_scripts.measure.head.training import Settings, default_scratch, split_rows, train_head  # noqa: E402
from build_scripts.measure.sampling import GREEDY, Sampling  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from tests.measure.tiny import SHAPES, VOCABULARY, answers, some_prompts, tiny_target, untrained_head  # noqa: E402

TARGET = tiny_target()
TRAINED = untrained_head(TARGET)
DRAWN = Sampling(temperature=1.0)
FRAME = Frame(opening=(5, 3, 1), answer=(4, 6), question=(4, 7), end=2)


def features_of(text: list[int]) -> Tensor:
    """[m, d], by a pass of its own."""
    return TARGET.features(torch.tensor([text]), TARGET.new_cache(1, len(text)))[0]


def begun(texts: list[list[int]]) -> EagleHead:
    """A head that has read these texts, of which the last token is committed and not yet read by the
    target."""
    head = eagle_head.create(TARGET, TRAINED)
    features = torch.zeros(len(texts), max(map(len, texts)) - 1, SHAPES.width, dtype=torch.float64)
    for row, text in enumerate(texts):
        features[row, : len(text) - 1] = features_of(text[:-1])
    head.reset(texts, features, room=60)
    return head


def uniforms(rows: int, k: int, seed: int = 0) -> Tensor:
    return torch.rand(rows, k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- drafting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
def test_it_drafts_as_its_training_saw_it(k: int) -> None:
    """The law of every draft is that of `Head.unroll`, step for step: what was trained is what
    drafts. Two implementations: there whole rows without a cache, here one token after another."""
    frozen = Frozen.of(TARGET, TRAINED.tokens, torch.float64)
    for text in some_prompts(6, seed=2, longest=20):
        text = [*text, 9]
        proposal = begun([text]).propose(k, DRAWN, uniforms(1, k))
        known = features_of(text[:-1])
        # Beyond what the target has read there are no features: no step may look at them.
        unread = torch.full((k - 1, SHAPES.width), 1e3, dtype=torch.float64)
        following = [*text[1:], *proposal.tokens[0, : k - 1].tolist()]
        made = Head(TARGET, frozen, len(following)).unroll(
            TRAINED.parameters, torch.cat([known, unread])[None], torch.tensor([following]), k
        )
        for step in range(k):
            foreseen = made[step][0, len(known) - 1 + step]
            expected = torch.softmax(foreseen @ frozen.head, -1)
            assert proposal.probabilities is not None
            found = proposal.probabilities[0, step, TRAINED.tokens]
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_a_row_drafts_the_same_in_company(sampling: Sampling) -> None:
    """Rows of 2 to 20 tokens at once: padding is nobody's context."""
    texts = [[*prompt, 9] for prompt in some_prompts(8, longest=10)]
    dice = None if sampling.greedy else uniforms(len(texts), 4)
    together = begun(texts).propose(4, sampling, dice).tokens.tolist()
    for row, text in enumerate(texts):
        own = None if dice is None else dice[row : row + 1]
        assert begun([text]).propose(4, sampling, own).tokens.tolist() == [together[row]]


@pytest.mark.parametrize("accepted", [[0, 3], [3, 1], [2, 2]])
def test_its_cache_after_a_rollback_is_a_fresh_one(accepted: list[int]) -> None:
    """Bug 2, for the head: whatever part of a round stood, the cache holds what reading the target's
    features makes, and nothing of what the head itself had foreseen."""
    texts = [[5, 8, 9], [7, 6, 5, 4, 9]]
    head = begun(texts)
    for _ in range(2):
        drafts = head.propose(3, GREEDY, None).tokens.tolist()
        committed = [[*row[:stood], 11] for row, stood in zip(drafts, accepted)]
        longer = [text + new for text, new in zip(texts, committed)]
        features = torch.full((2, 4, SHAPES.width), 1e3, dtype=torch.float64)
        for row, (text, new) in enumerate(zip(longer, committed)):
            features[row, : len(new)] = features_of(text[:-1])[-len(new) :]
        head.update(committed, features)
        texts = longer
        fresh = begun(texts)
        assert head.cache.lengths == fresh.cache.lengths == [len(text) - 1 for text in texts]
        for row, text in enumerate(texts):
            for held, expected in ((head.cache.keys, fresh.cache.keys), (head.cache.values, fresh.cache.values)):
                torch.testing.assert_close(
                    held[:, row, : len(text) - 1], expected[:, row, : len(text) - 1], rtol=0, atol=1e-10
                )


def test_rows_leave_with_their_caches() -> None:
    texts = [[5, 8, 9], [7, 6, 5, 4, 9], [10, 12]]
    head = begun(texts)
    head.propose(2, GREEDY, None)
    head.keep_rows([0, 2])
    rest = [texts[0] + [13], texts[2] + [13]]
    features = torch.stack([features_of(text[:-1])[-1:] for text in rest])
    head.update([[13], [13]], features)
    assert head.propose(4, GREEDY, None).tokens.tolist() == begun(rest).propose(4, GREEDY, None).tokens.tolist()


@pytest.mark.parametrize(
    "sampling", [DRAWN, Sampling(0.7), Sampling(1.0, top_k=5), Sampling(1.0, top_p=0.6)], ids=str
)
def test_its_law_is_one_and_over_the_whole_vocabulary(sampling: Sampling) -> None:
    """The rule needs q for every token of the target; where the head cannot propose, q is 0. The
    filters apply to the head's own law."""
    texts = [[*prompt, 9] for prompt in some_prompts(8)]
    proposal = begun(texts).propose(3, sampling, uniforms(len(texts), 3))
    q = proposal.probabilities
    assert q is not None and q.shape == (len(texts), 3, VOCABULARY)
    torch.testing.assert_close(q.sum(-1), torch.ones(len(texts), 3, dtype=torch.float64))
    unknown = [token for token in range(VOCABULARY) if token not in TRAINED.tokens.tolist()]
    assert len(unknown) == 4 and float(q[:, :, unknown].abs().max()) == 0
    assert float(q.gather(2, proposal.tokens[:, :, None]).min()) > 0  # nothing drawn that is not in it
    if sampling.top_k:
        assert int((q > 0).sum(-1).max()) == sampling.top_k
    if sampling.top_p < 1:
        assert int((q > 0).sum(-1).min()) < VOCABULARY - 4


def test_a_head_of_one_token_drafts_it() -> None:
    """Places in the reduced vocabulary are not ids."""
    head = eagle_head.create(TARGET, replace(TRAINED, tokens=torch.tensor([17])))
    head.reset([[5, 8, 9]], features_of([5, 8])[None], room=9)
    assert head.propose(3, GREEDY, None).tokens.tolist() == [[17] * 3]


def test_in_single_precision_it_is_as_lossless() -> None:
    """There the head may be computed by a kernel in 8-bit integers: other drafts, the same text."""
    from build_scripts.measure.target import random_model

    target = random_model(SHAPES, 1, torch.float32, positions=256)
    head = eagle_head.create(target, untrained_head(target))
    prompts = some_prompts(10)
    for prompt in prompts:
        plain = answers(decode_plain(target, [prompt], Limits(20)))
        assert answers(decode_speculative(target, head, [prompt], 3, Limits(20))) == plain


def test_a_head_for_another_target_is_refused() -> None:
    wide = replace(TRAINED, parameters=TRAINED.parameters | {"fc": torch.zeros(64, 32)})
    with pytest.raises(ValueError, match=r"^this head is not for this target: its fc is \(64, 32\), and must be \(32, 16\)$"):
        eagle_head.create(TARGET, wide)
    with pytest.raises(ValueError, match="^this head is not for this target: it proposes the token 24$"):
        eagle_head.create(TARGET, replace(TRAINED, tokens=torch.tensor([3, 24])))


# --- the file ---------------------------------------------------------------------------------


def test_rounding_loses_half_a_step_at_most() -> None:
    """Of each column's own step, its largest magnitude over 127; a column of zeros stays one."""
    matrix = torch.randn(40, 7, generator=torch.Generator().manual_seed(0)) * torch.logspace(-4, 3, 7)
    matrix[:, 3] = 0
    values, scale = quantise(matrix)
    assert values.dtype == torch.int8 and values.abs().max() == 127
    assert bool(((values * scale - matrix).abs() <= scale / 2 * (1 + 1e-5)).all())
    assert bool((values[:, 3] == 0).all())


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "head.npz"
    digest = write_head(path, TRAINED.parameters, TRAINED.tokens, TRAINED.embedding_scale)
    path.with_suffix(".json").write_text(json.dumps({"weights_sha256": digest}))
    return path


def test_what_is_written_is_read(written: Path) -> None:
    read = read_head(written)
    assert read.tokens.tolist() == TRAINED.tokens.tolist()
    assert read.embedding_scale == pytest.approx(TRAINED.embedding_scale)
    for name in MATRICES:
        values, scale = quantise(TRAINED.parameters[name].float())
        assert torch.equal(read.parameters[name], values * scale)
    for name in GAINS:
        assert torch.equal(read.parameters[name], TRAINED.parameters[name].float())


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _not_a_head(path: Path) -> None:
    path.write_bytes(b"none of ours")
    path.with_suffix(".json").write_text(json.dumps({"weights_sha256": sha256(path)}))


def _half_a_head(path: Path) -> None:
    np.savez(path, tokens=np.arange(3))
    path.with_suffix(".json").write_text(json.dumps({"weights_sha256": sha256(path)}))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (_flip, "is not the file that head.json describes: its sha256 is [0-9a-f]{64}$"),
        (lambda path: path.unlink(), "the head's weights .* are not there$"),
        (lambda path: path.with_suffix(".json").unlink(), "the head's record .* is not there$"),
        (lambda path: path.with_suffix(".json").write_text("{}"), "is not the record of a head: it names no weights_sha256$"),
        (lambda path: path.with_suffix(".json").write_text("{"), "is not the record of a head: it names no weights_sha256$"),
        (_not_a_head, "does not hold the weights of a head$"),
        (_half_a_head, "does not hold the weights of a head$"),
    ],
    ids=["changed", "no file", "no record", "empty record", "broken record", "no head", "half a head"],
)  # fmt: skip
def test_a_head_that_is_not_whole_is_refused_in_one_line(
    written: Path, harm: Callable[[Path], Any], message: str
) -> None:
    harm(written)
    with pytest.raises(ValueError, match=message) as refused:
        read_head(written)
    assert "\n" not in str(refused.value)


# --- the shipped head -------------------------------------------------------------------------


def test_the_shipped_head_is_its_records() -> None:
    """Hash, sizes and what was trained agree; it is small; and no folder of its maker is in it."""
    trained = read_head()  # checks the hash
    record = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    assert SHIPPED.stat().st_size <= 6_000_000
    assert record["parameters"] == sum(value.numel() for value in trained.parameters.values())
    assert record["settings"]["vocabulary"] == len(trained.tokens)
    tokens = trained.tokens.tolist()
    assert tokens == sorted(set(tokens)) and tokens[-1] < 49_152
    assert record["training_rows"] + len(record["held_out_rows"]) <= record["rows_used"] <= record["corpus_rows"]
    row = record["training_tokens"] // record["training_rows"]
    assert record["tokens_seen"] == record["steps"] * record["settings"]["rows_per_step"] * row
    assert "/" not in record["command"] and "/" not in record["corpus"]


def test_the_shipped_heads_curve_is_a_run() -> None:
    """Time and tokens go forward, the last point is the end, and rounding to 8 bits cost less than
    half a percent of agreement."""
    record = json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    curve = record["curve"]
    for before, after in zip(curve, curve[1:]):
        assert before["elapsed_s"] < after["elapsed_s"] and before["tokens"] < after["tokens"]
    assert (curve[-1]["step"], curve[-1]["tokens"]) == (record["steps"], record["tokens_seen"])
    assert curve[-1]["elapsed_s"] == record["seconds"] >= 60 * record["minutes"]
    for unrounded, shipped in zip(curve[-1]["held_out"], record["final"], strict=True):
        assert abs(unrounded["top1"] - shipped["top1"]) < 0.005


# --- training ---------------------------------------------------------------------------------

TINY_SETTINGS = Settings(
    vocabulary=16, rows_per_step=4, warm_up_steps=4, held_out_rows=8, evaluate_every=10, checkpoint_every=3
)


@pytest.fixture(scope="module")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tiny target wrote itself."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.npz"
    write_corpus(path, 64 * 40, 0, lambda done, what: None, target=TARGET, frame=FRAME, length=40)
    return path


def train(corpus: Path, out: Path, stop_at: int | None = None, **options: Any) -> dict[str, Any]:
    """30 steps of a second each, for a clock that ticks when it is looked at; `stop_at`: the step at
    which the user presses Ctrl-C."""
    ticks = count()
    calls = count(1)

    def progress(done: float, what: str) -> None:
        if what.startswith("step") and next(calls) == stop_at:
            raise KeyboardInterrupt

    return train_head(
        corpus, out, 0.5, 0, progress, target=TARGET, settings=TINY_SETTINGS, scratch=out.parent / "scratch",
        clock=lambda: float(next(ticks)), **options,
    )  # fmt: skip


def test_training_goes_on_where_it_was_interrupted(tiny_corpus: Path, tmp_path: Path) -> None:
    """The same weights, to the byte, as those of a run that was left alone; twice interrupted, in
    the first stage and while it unrolls, between two checkpoints each time."""
    whole = train(tiny_corpus, tmp_path / "whole" / "head.npz")
    parted = tmp_path / "parted" / "head.npz"
    for stop_at in (8, 16):
        with pytest.raises(KeyboardInterrupt):
            train(tiny_corpus, parted, stop_at)
        assert not parted.exists()
    record = train(tiny_corpus, parted)
    assert (whole["sittings"], record["sittings"], record["steps"]) == (1, 3, 30)
    assert record["weights_sha256"] == whole["weights_sha256"]
    assert record["curve"] == whole["curve"]


def test_it_learns(tiny_corpus: Path, tmp_path: Path) -> None:
    """The loss falls, and the head agrees with its target more often than it did."""
    record = train(tiny_corpus, tmp_path / "head.npz", command="python -m build_scripts measure head")
    first, last = record["curve"][0], record["curve"][-1]
    assert last["train_cross_entropy"] < first["train_cross_entropy"]
    assert last["held_out"][0]["overlap"] > first["held_out"][0]["overlap"]
    assert record["command"] == "python -m build_scripts measure head"
    # As the page reads it.
    written = read_training(tmp_path / "head.json")
    assert written is not None and written.model_dump(mode="json") == json.loads(json.dumps(record))
    assert read_head(tmp_path / "head.npz").tokens.shape == (16,)
    assert json.loads((tmp_path / "head.json").read_text()) == json.loads(json.dumps(record))


def test_training_leaves_the_smallest_numbers_to_others(tiny_corpus: Path, tmp_path: Path) -> None:
    """It rounds them to nothing, for speed, by a switch of the processor that Python obeys too."""
    train(tiny_corpus, tmp_path / "head.npz")
    assert float("1e-310") * float(torch.ones(())) > 0


def test_conversations_that_begin_as_one_held_out_are_not_trained_on() -> None:
    """The target's likeliest openings come again and again; learnt by heart they would count as
    foreseen."""
    tokens = torch.arange(30).view(30, 1).expand(30, 64) % 10  # each beginning three times
    training, held = split_rows(tokens, 4, seed=0)
    assert not {int(tokens[row, 0]) for row in training} & {int(tokens[row, 0]) for row in held}
    assert len(held) == 4 and len(training) == 30 - 3 * len({int(tokens[row, 0]) for row in held})


def test_every_seed_and_place_draws_its_own() -> None:
    """Torch's generator drops all but 32 bits of a seed: shifted together, all seeds were one."""
    pairs = [(seed, place) for seed in range(3) for place in range(3)]
    assert len({float(torch.rand(1, generator=dice(*pair), dtype=torch.float64)) for pair in pairs}) == 9
    assert torch.equal(torch.rand(3, generator=dice(1, 2)), torch.rand(3, generator=dice(1, 2)))


def test_features_in_bulk_are_those_of_decoding() -> None:
    """The head learns from `reading` and drafts from `Target.features`."""
    tokens = torch.tensor(some_prompts(1, longest=20)[0] * 4)[:16].view(2, 8)
    expected = TARGET.features(tokens, TARGET.new_cache(2, 8))
    torch.testing.assert_close(reading(TARGET, tokens), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("minutes", "rows", "message"),
    [(0, None, "minutes must be above 0, not 0"), (1, 9, "has 64 rows; of 9, at least 12 are needed"),
     (1, 65, "has 64 rows; of 65, at least 12 are needed")],
)  # fmt: skip
def test_a_training_that_cannot_be_is_refused(
    tiny_corpus: Path, tmp_path: Path, minutes: float, rows: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        train_head(
            tiny_corpus, tmp_path / "head.npz", minutes, 0, lambda done, what: None, rows=rows, target=TARGET,
            settings=TINY_SETTINGS, scratch=tmp_path,
        )  # fmt: skip


def test_each_corpus_has_a_scratch_of_its_own(tiny_corpus: Path) -> None:
    text = read_corpus(tiny_corpus, VOCABULARY)
    assert text.sha256[:16] in str(default_scratch(text))


# --- the training text ------------------------------------------------------------------------


def test_an_interrupted_corpus_is_the_whole_one(tmp_path: Path) -> None:
    """Stopped in its second batch it keeps the first, and ends with the same file, to the byte."""
    options: dict[str, Any] = {"target": TARGET, "frame": FRAME, "length": 12}
    tokens = 12 * (2 * BATCH + 5)
    whole = write_corpus(tmp_path / "whole.npz", tokens, 4, lambda done, what: None, **options)

    def stop(done: float, what: str) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    parted = tmp_path / "parted.npz"
    with pytest.raises(KeyboardInterrupt):
        write_corpus(parted, tokens, 4, stop, **options)
    assert not parted.exists()
    told: list[float] = []
    again = write_corpus(parted, tokens, 4, lambda done, what: told.append(done), **options)
    assert told[0] > 1 / 3  # the first batch is not written anew
    assert again == whole == sha256(parted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parted.npz", "whole.npz"]
    text = read_corpus(parted, VOCABULARY)
    assert text.tokens.shape == (2 * BATCH + 5, 12) and text.sha256 == whole
    assert write_corpus(tmp_path / "other.npz", tokens, 5, lambda done, what: None, **options) != whole


def test_answers_are_the_targets_own(tiny_corpus: Path) -> None:
    """Greedy in even rows: each answer token is the target's likeliest after what is before it. In
    odd rows they are drawn, so that some are not."""
    text = read_corpus(tiny_corpus, VOCABULARY)
    tokens = torch.from_numpy(text.tokens.astype(np.int64))
    choices = TARGET.logits(reading(TARGET, tokens)).argmax(-1)[:, :-1].numpy()
    answered = text.role[:, 1:] == ASSISTANT
    agrees = choices == text.tokens[:, 1:]
    assert answered[::2].sum() > 200 and agrees[::2][answered[::2]].all()
    assert 0.02 < agrees[1::2][answered[1::2]].mean() < 0.9
    assert agrees[text.role[:, 1:] == USER].mean() < 0.9


def test_roles_follow_the_template(tiny_corpus: Path) -> None:
    """What the template forces is marked as its own, and every turn is begun and ended by it."""
    text = read_corpus(tiny_corpus, VOCABULARY)
    ends = 0
    for tokens, role in zip(text.tokens.tolist(), text.role.tolist()):
        assert tuple(tokens[:3]) == FRAME.opening and role[:3] == [TEMPLATE] * 3
        speaker, place = USER, 3
        while place < len(tokens):
            ended = tokens[place] == FRAME.end
            assert role[place] == speaker
            place += 1
            if ended:
                ends += 1
                forced = FRAME.answer if speaker == USER else FRAME.question
                assert tokens[place : place + 2] == list(forced)[: len(tokens) - place]
                assert set(role[place : place + 2]) <= {TEMPLATE}
                place, speaker = place + 2, ASSISTANT if speaker == USER else USER
    assert ends > 20


def test_a_question_comes_to_an_end() -> None:
    """A user turn that never ends would leave no room for the answers that the head is to learn."""
    turns = Turns(FRAME)
    said = [turns.next(9) for _ in range(LONGEST_QUESTION + 4)]
    assert said[:LONGEST_QUESTION] == [(9, USER)] * LONGEST_QUESTION
    assert said[LONGEST_QUESTION:] == [(2, TEMPLATE), (4, TEMPLATE), (6, TEMPLATE), (9, ASSISTANT)]


@pytest.mark.parametrize(
    ("tokens", "length", "message"),
    [(0, 40, "a corpus needs at least 1 token, not 0"), (9, 3, "a row of 3 tokens has no room after an opening of 3")],
)
def test_a_corpus_that_cannot_be_is_refused(tmp_path: Path, tokens: int, length: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_corpus(
            tmp_path / "c.npz", tokens, 0, lambda done, what: None, target=TARGET, frame=FRAME, length=length
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"tokens": np.zeros((2, 3), np.uint16)}, "is no corpus: it needs the arrays"),
        ({"tokens": np.zeros((2, 3), np.int64), "role": np.zeros((2, 3), np.int8)}, "must be uint16"),
        ({"tokens": np.zeros((2, 3), np.uint16), "role": np.zeros((2, 4), np.int8)}, "must be uint16"),
        ({"tokens": np.full((2, 3), 24, np.uint16), "role": np.zeros((2, 3), np.int8)}, "has the token 24"),
        ({"tokens": np.zeros((2, 3), np.uint16), "role": np.full((2, 3), 3, np.int8)}, "has a role other than"),
        ({"tokens": np.zeros((0, 3), np.uint16), "role": np.zeros((0, 3), np.int8)}, "is an empty corpus"),
        (None, "there is no corpus at"),
    ],
)
def test_a_file_that_is_no_corpus_is_refused_in_one_line(
    tmp_path: Path, arrays: dict[str, np.ndarray] | None, message: str
) -> None:
    path = tmp_path / "corpus.npz"
    if arrays is not None:
        np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message) as refused:
        read_corpus(path, VOCABULARY)
    assert "\n" not in str(refused.value)

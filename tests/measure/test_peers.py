"""The comparison with other engines: alike where the arithmetic is, in turns, one line a fault.

What needs transformers or llama.cpp is skipped where they are not installed; `make test` installs
the first of them.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import drafters  # noqa: E402
from build_scripts.measure.decoding import decode_plain  # noqa: E402
from build_scripts.measure.experiments import peers  # noqa: E402
from build_scripts.measure.experiments.context import Context  # noqa: E402
from build_scripts.measure.experiments.peers import Bench, Settings  # noqa: E402
from build_scripts.measure.experiments.subject import Subject, Text  # noqa: E402
from build_scripts.measure.peers import ours, with_llama_cpp, with_transformers  # noqa: E402
from build_scripts.measure.peers.agreement import (  # noqa: E402
    Disagreement,
    all_logits,
    compare,
    compare_logits,
    first_difference,
    margin_after,
)
from build_scripts.measure.peers.engine import Engine  # noqa: E402
from build_scripts.measure.prompts import KINDS  # noqa: E402
from build_scripts.measure.smollm2 import NotInstalled, load_chat, load_smollm2  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.measure.target import Target, random_model  # noqa: E402
from build_scripts.records.schema import Device, PeersRecord  # noqa: E402
from build_scripts.records.store import file_name, read_record  # noqa: E402
from tests.measure.tiny import SHAPES, VOCABULARY, some_prompts, tiny_chat  # noqa: E402

SETTINGS = Settings(prompts=2, repeats=2, tokens=10, logit_prompts=2)
END = VOCABULARY  # no token: the tiny model goes on to the cap

needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None or importlib.util.find_spec("accelerate") is None,
    reason="comparing needs transformers and accelerate: install the extra [peers]",
)


def single_target(seed: int = 1) -> Target:
    return random_model(SHAPES, seed, torch.float32, positions=256)


def subject_of(target: Target) -> Subject:
    prompts = iter(some_prompts(4 * 3))
    texts = [Text(f"{kind}-{n}", kind, "speedup", "words", tuple(next(prompts))) for kind in KINDS for n in range(3)]
    return Subject(
        name="tiny",
        trained=False,
        target=target,
        kernel="torch.matmul fp32",
        plain=target,
        chat=tiny_chat(),
        ends=frozenset({END}),
        texts=texts,
        prompts_sha256="0" * 64,
        weights_sha256="1" * 64,
        drafter_sha256={},
        makers={"context_ngram": lambda: drafters.create("context_ngram")},
    )


def context_of(subject: Subject, folder: Path) -> Context:
    return Context(
        subject=subject,
        device=Device(kind="cpu", name="a machine", cores=2, memory_gib=4.0, driver=None),
        versions={"torch": "2"},
        out=folder / "out",
        work=folder / "work",
        command="a test",
        quick=True,
        reader=lambda: None,
        settings={"peers": SETTINGS},
    )


def peer(decode: Callable[[Sequence[int], int], list[int]], exact: bool = True) -> Engine:
    return Engine("another", "1.0", "plain", None, exact, None, decode)


def plainly(target: Target) -> Callable[[Sequence[int], int], list[int]]:
    return lambda prompt, most: decode_plain(target, [prompt], Limits(most)).answers[0].tokens


# --- what counts as the same --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "other", "place"),
    [([1, 2], [1, 2], None), ([1, 2], [1, 3], 1), ([1, 2, 3], [1, 2], 2), ([1], [1, 2], 1), ([], [], None)],
)
def test_an_answer_that_ends_earlier_is_another_answer(
    mine: list[int], other: list[int], place: int | None
) -> None:
    assert first_difference(mine, other) == place


def test_logits_are_compared_at_every_position() -> None:
    """A difference in the middle of a prompt counts, though only the last row is decoded from."""
    mine = torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    theirs = mine.clone()
    theirs[1, 0] = 1.5
    found = compare(mine, theirs)
    assert (found.texts, found.positions, found.largest, found.flips) == (1, 3, 1.5, 1)


def test_other_weights_are_no_rounding() -> None:
    """The check must be able to fail: a model that differs in one weight is found out."""
    target, texts = single_target(), some_prompts(3)
    assert compare_logits(target, lambda text: all_logits(target, text), texts).flips == 0
    other = single_target()
    other.weights.layers[1].down[3, 5] += 1.0
    with pytest.raises(Disagreement, match="the logits differ by up to"):
        compare_logits(target, lambda text: all_logits(other, text), texts)


def test_a_difference_beyond_rounding_ends_the_run(tmp_path: Path) -> None:
    """An engine that says something else is no peer; nothing is recorded of it."""
    target = single_target()
    subject = subject_of(target)
    wrong = peer(lambda prompt, most: [(token + 1) % VOCABULARY for token in plainly(target)(prompt, most)])
    with pytest.raises(Disagreement, match="another plain: chat-0 differs from token 0 on") as caught:
        peers.run(context_of(subject, tmp_path), Bench([*ours.engines(subject, "x"), wrong], {}, None))
    assert "\n" not in str(caught.value) and not (tmp_path / "out").exists()


def test_a_difference_at_a_tie_is_noted_and_no_fault() -> None:
    """Two tokens with the same logits: which of them comes first is a matter of rounding."""
    target = single_target()
    text = subject_of(target).texts[0]
    first = plainly(target)(text.tokens, 1)[0]
    twin = (first + 1) % VOCABULARY
    target.weights.head[:, twin] = target.weights.head[:, first]
    assert margin_after(target, text.tokens) == 0
    engines = [peer(lambda prompt, most: []), peer(lambda prompt, most: [], exact=True)]
    found = peers.differences(target, text, {engines[0]: [first], engines[1]: [twin]})
    assert found == {engines[1]: "chat-0 differs from token 0 on, where the likeliest two are 0 apart"}


# --- taking turns -------------------------------------------------------------------------------


def test_every_engine_decodes_every_prompt_and_another_begins_each_time(tmp_path: Path) -> None:
    """In a fixed order one engine would always run after the same other one, in its warm caches."""
    target = single_target()
    subject = subject_of(target)
    calls: list[tuple[str, tuple[int, ...]]] = []

    def watched(name: str) -> Engine:
        def decode(prompt: Sequence[int], most: int) -> list[int]:
            calls.append((name, tuple(prompt)))
            return plainly(target)(prompt, most)

        return replace(peer(decode), name=name)

    engines = [replace(watched(ours.NAME)), watched("one"), watched("two")]
    outcome = peers.run(context_of(subject, tmp_path), Bench(engines, {"one": "1"}, None))
    timed = [calls[place : place + 3] for place in range(len(engines), len(calls), 3)]
    assert len(timed) == len(SETTINGS.kinds) * SETTINGS.prompts * SETTINGS.repeats
    assert all({name for name, _ in turn} == {ours.NAME, "one", "two"} for turn in timed)
    assert all(len({prompt for _, prompt in turn}) == 1 for turn in timed)
    assert {turn[0][0] for turn in timed} == {ours.NAME, "one", "two"}

    record = outcome.record
    assert isinstance(record, PeersRecord)
    assert all(len(row.tokens_per_s.samples) == SETTINGS.prompts * SETTINGS.repeats for row in record.rows)
    assert record.versions["one"] == "1"


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A sample that is on disk is not taken again, and the record can be read."""
    target = single_target()
    subject = subject_of(target)
    calls: list[int] = []

    def tired(prompt: Sequence[int], most: int) -> list[int]:
        calls.append(most)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return plainly(target)(prompt, most)

    bench = Bench([*ours.engines(subject, "x"), peer(tired)], {}, lambda text: all_logits(target, text))
    stopped = context_of(subject, tmp_path)
    runner = stopped.begin("peers", SETTINGS, peers.definition(bench))
    stopped.begin = lambda *_: runner
    with pytest.raises(KeyboardInterrupt):
        peers.run(stopped, bench)
    runner.journal.close()  # as the end of the process does
    outcome = peers.run(context_of(subject, tmp_path), bench)
    # Two warm-ups, the call that was interrupted, and each sample once.
    assert len(calls) == 2 + 1 + len(SETTINGS.kinds) * SETTINGS.prompts * SETTINGS.repeats
    record = read_record(tmp_path / "out" / file_name(outcome.record))
    assert isinstance(record, PeersRecord) and record.logits is not None
    assert record.logits.prompts == len(KINDS) * SETTINGS.logit_prompts
    assert record.logits.largest_difference == 0 and record.logits.same_argmax


def test_only_what_computes_alike_must_say_alike(tmp_path: Path) -> None:
    """Of a 4-bit engine nothing is claimed, neither sameness nor its absence."""
    target = single_target()
    subject = subject_of(target)
    other = peer(lambda prompt, most: [0] * most, exact=False)
    bench = Bench([*ours.engines(subject, "x"), other], {}, None)
    record = peers.run(context_of(subject, tmp_path), bench).record
    assert isinstance(record, PeersRecord) and record.logits is None
    said = {row.engine: row.same_tokens for row in record.rows}
    assert said == {ours.NAME: True, "another": None}
    assert {(row.mode, row.k) for row in record.rows if row.engine == ours.NAME} == {
        ("plain", None), *(("context_ngram", k) for k in ours.DRAFTS["context_ngram"]),
    }  # fmt: skip


# --- in words -----------------------------------------------------------------------------------


def rows() -> list[Any]:
    def row(engine: str, mode: str, kind: str, speeds: list[float], k: int | None = None) -> Any:
        made = Engine(engine, "1", mode, k, True, None, lambda prompt, most: [])
        return peers.row(made, kind, speeds, [])

    return [
        row(ours.NAME, "plain", "chat", [10.0, 20.0, 40.0]),
        row(ours.NAME, "context_ngram", "chat", [30.0, 40.0, 120.0], 3),
        row(ours.NAME, "context_ngram", "chat", [20.0, 30.0, 40.0], 8),
        row("transformers", "plain", "chat", [8.0, 20.0, 20.0]),
        row("transformers", "prompt lookup", "chat", [20.0, 20.0, 30.0], 5),
    ]


def test_engines_are_compared_prompt_by_prompt() -> None:
    """A ratio of medians would compare one prompt of one engine with another prompt of the other."""
    ours_plain, ours_3, _, theirs_plain, theirs_5 = rows()
    assert peers.ratio(ours_plain, theirs_plain) == 1.25
    assert peers.ratio(ours_3, theirs_5) == 2
    assert peers.headline(rows()) == (
        "ours over transformers: chat: plain 1.25×, best drafter over prompt lookup 2.00×"
    )


def test_the_table_has_a_line_for_each_way() -> None:
    lines = peers.table(rows()).splitlines()
    assert len(lines) == 1 + len(rows())
    assert lines[2].split() == ["this", "project", "context_ngram,", "k", "=", "3", "40.0", "3.00×"]
    assert lines[5].split()[-2:] == ["20.0", "1.00×"]


def test_a_run_without_peers_says_so() -> None:
    assert peers.headline(rows()[:3]) == "no peer took part"


# --- transformers -------------------------------------------------------------------------------


@pytest.mark.parametrize("lacking", ["transformers", "accelerate"])
def test_what_is_not_installed_is_told_in_one_line(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == lacking:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(with_transformers, "metadata", SimpleNamespace(
        version=version, PackageNotFoundError=metadata.PackageNotFoundError
    ))  # fmt: skip
    with pytest.raises(NotInstalled, match=f"^Comparing with .* the package {lacking}: make bench-peers.*$"):
        with_transformers.version()


def in_transformers(target: Target) -> Any:
    """The same weights in transformers' own Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    shapes, weights = target.shapes, target.weights
    config = LlamaConfig(
        vocab_size=shapes.vocabulary,
        hidden_size=shapes.width,
        intermediate_size=shapes.ffn_width,
        num_hidden_layers=shapes.layers,
        num_attention_heads=shapes.heads,
        num_key_value_heads=shapes.kv_heads,
        max_position_embeddings=256,
        rms_norm_eps=shapes.norm_epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": shapes.rope_base},
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=END,
    )
    model = LlamaForCausalLM(config).eval()
    state = {"model.embed_tokens": weights.embedding, "model.norm": weights.final_norm, "lm_head": weights.head.t()}
    sides = [shapes.heads * shapes.head_width, *[shapes.kv_heads * shapes.head_width] * 2]
    for index, layer in enumerate(weights.layers):
        name = f"model.layers.{index}"
        for side, part in zip("qkv", layer.qkv.t().split(sides)):
            state[f"{name}.self_attn.{side}_proj"] = part
        gate, up = layer.gate_up.t().chunk(2)
        state[f"{name}.self_attn.o_proj"] = layer.out.t()
        state |= {f"{name}.mlp.gate_proj": gate, f"{name}.mlp.up_proj": up, f"{name}.mlp.down_proj": layer.down.t()}
        state[f"{name}.input_layernorm"] = layer.attention_norm
        state[f"{name}.post_attention_layernorm"] = layer.ffn_norm
    model.load_state_dict({f"{name}.weight": value for name, value in state.items()})
    return model


@needs_transformers
def test_transformers_says_what_we_say_in_every_mode(tmp_path: Path) -> None:
    """Logits at every position, and the whole experiment: every answer of every engine is ours."""
    target = single_target()
    subject, model = subject_of(target), in_transformers(target)
    engines = [*ours.engines(subject, "x"), *with_transformers.engines(model, END)]
    assert [engine.mode for engine in engines].count("assisted") == 2
    bench = Bench(engines, {}, lambda text: with_transformers.logits(model, text))
    record = peers.run(context_of(subject, tmp_path), bench).record
    assert isinstance(record, PeersRecord)
    assert all(row.same_tokens for row in record.rows)
    assert record.logits is not None and 0 < record.logits.largest_difference < 1e-4


@needs_transformers
def test_assisted_generation_is_asked_for_k_drafts_and_no_other_number() -> None:
    """By default the number is 20, and drafting stops below a confidence: rounds of another k."""
    model = in_transformers(single_target())
    fixed = next(
        engine for engine in with_transformers.engines(model, END) if (engine.mode, engine.k) == ("assisted", 3)
    )
    draft = fixed.decode.__closure__  # the options that the engine calls with
    assistant = next(
        cell.cell_contents["assistant_model"] for cell in draft if isinstance(cell.cell_contents, dict)
    )
    passes = ""

    def note(letter: str) -> Callable[..., None]:
        def hook(*_: object) -> None:
            nonlocal passes
            passes += letter

        return hook

    model.register_forward_pre_hook(note("T"))
    assistant.register_forward_pre_hook(note("d"))
    fixed.decode(some_prompts(1)[0], 40)
    rounds = passes.split("T")[:-1]
    assert len(rounds) > 5 and {len(drafted) for drafted in rounds[:-2]} == {3}


@needs_transformers
def test_both_read_the_same_weights_from_the_file() -> None:
    """The real model: transformers' own reading of the file, and ours."""
    pytest.importorskip("gguf", reason="reading the weights needs gguf: install the extra [measure]")
    try:
        target, chat = load_smollm2(), load_chat()
    except NotInstalled as error:
        pytest.skip(str(error))
    model = with_transformers.load_model(torch.float32, "cpu")
    texts = [chat.prompt("What is the capital of France?"), chat.prompt("Sort these: 3, 1, 2.")]
    found = compare_logits(target, lambda text: with_transformers.logits(model, text), texts)
    assert found.texts == 2 and 0 < found.largest


# --- llama.cpp ----------------------------------------------------------------------------------


def test_without_llama_cpp_it_takes_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_llama_cpp.importlib.util, "find_spec", lambda name: None)
    assert with_llama_cpp.engines(END, threads=1) == []
    assert "\n" not in with_llama_cpp.ADVICE


def test_llama_cpp_reads_every_prompt_anew() -> None:
    """It keeps the keys and values of what it read last: asked twice, it would skip the prompt."""
    pytest.importorskip("llama_cpp", reason="llama.cpp takes part where its package is installed")
    try:
        chat = load_chat()
    except NotInstalled as error:
        pytest.skip(str(error))
    plain, *lookups = with_llama_cpp.engines(chat.end, threads=1)
    prompt = chat.prompt("What is the capital of France?")
    answer = plain.decode(prompt, 16)
    assert chat.text(answer) == "The capital of France is Paris." and answer[-1] == chat.end
    assert plain.decode(prompt, 16) == answer
    assert [lookup.k for lookup in lookups] == list(with_llama_cpp.LOOKUP_DRAFTS)
    assert all(lookup.decode(prompt, 4) == answer[:4] for lookup in lookups)

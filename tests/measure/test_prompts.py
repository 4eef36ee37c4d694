"""The prompts of the experiments: enough of each kind, two parts drawn alike, and one hash."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from build_scripts.measure.prompts import FOLDER, KINDS, BadPrompts, load_prompts, of, prompts_sha256

SORTS = 4
"""Within a kind, as many sorts of question take turns."""


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_enough_of_each_kind(kind: str) -> None:
    """Below 20 prompts the interval of an acceptance is too wide to compare drafters by."""
    prompts = load_prompts()
    assert len(of(prompts, kind, "acceptance")) >= 20
    assert len(of(prompts, kind, "speedup")) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_both_parts_are_drawn_alike(kind: str) -> None:
    """A prediction from stories would rightly fail on letters: each part has the same mix of sorts."""
    prompts = of(load_prompts(), kind)
    for part, each in (("acceptance", 5), ("speedup", 2)):
        mix = Counter(index % SORTS for index, prompt in enumerate(prompts) if prompt.part == part)
        assert mix == {sort: each for sort in range(SORTS)}


def test_no_prompt_stands_twice() -> None:
    """The parts must be other prompts, or the prediction would have seen what it predicts."""
    prompts = load_prompts()
    assert len({prompt.id for prompt in prompts}) == len(prompts)
    texts = [" ".join(prompt.text.lower().split()) for prompt in prompts]
    assert len(set(texts)) == len(texts)
    passages = [prompt.text.split("\n\n", 1)[-1] for prompt in of(prompts, "quoting")]
    assert len(set(passages)) == len(passages)


def test_a_prompt_to_quote_from_holds_what_is_to_be_quoted() -> None:
    for prompt in of(load_prompts(), "quoting"):
        task, passage = prompt.text.split("\n\n", 1)
        assert len(task.split()) <= 40, prompt.id
        assert 40 <= len(passage.split()) <= 150, prompt.id


def test_a_prompt_fits() -> None:
    """Up to 260 tokens in the model's template: with the answer, well within a cache of 512."""
    pytest.importorskip("torch", reason="measuring needs torch: install the extra [measure]")
    pytest.importorskip("gguf", reason="reading the tokenizer needs gguf: install the extra [measure]")
    pytest.importorskip("tokenizers", reason="prompts need tokenizers: install the extra [measure]")
    from build_scripts.measure.smollm2 import NotInstalled, load_chat

    try:
        chat = load_chat()
    except NotInstalled as error:
        pytest.skip(str(error))
    lengths = {prompt.id: len(chat.prompt(prompt.text)) for prompt in load_prompts()}
    assert max(lengths.values()) <= 260, max(lengths, key=lengths.get)


# --- selecting, and the hash -------------------------------------------------------------------


def test_what_there_is_not_cannot_be_selected() -> None:
    """A misspelt kind must not be an experiment over nothing."""
    with pytest.raises(ValueError, match="chat, prose, code, quoting, not of 'chats'"):
        of(load_prompts(), kind="chats")
    with pytest.raises(ValueError, match="acceptance, speedup, not of 'test'"):
        of(load_prompts(), part="test")


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    """A record's hash must tell other prompts, and must not change with a comment or on another
    system's line ends."""
    folder = copy(tmp_path)
    rewrite(folder / "chat.yaml", lambda text: "# a comment\n" + text)
    prompts = load_prompts()
    known = prompts_sha256(prompts)
    assert re.fullmatch("[0-9a-f]{64}", known)
    assert prompts_sha256(load_prompts(folder)) == known
    first = prompts[0]
    for changed in (
        [replace(first, text=f"{first.text}?"), *prompts[1:]],
        [replace(first, part="speedup"), *prompts[1:]],
        [prompts[1], first, *prompts[2:]],
        prompts[1:],
    ):
        assert prompts_sha256(changed) != known


# --- files that cannot be used -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("id: chat-02", "id: chat-01", "the id chat-01 is taken"),
        ("id: chat-02", "id: prose-99", "the id must be chat- and a number, not 'prose-99'"),
        ("id: chat-02", "name: chat-02", "a prompt has the fields id, part and text, and no other"),
        ("part: acceptance", "part: training", "must be acceptance or speedup, not 'training'"),
        ("id: chat-02", "id: [chat-02", "expected"),
    ],
)
def test_a_bad_entry_is_told_in_one_line_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    folder = copy(tmp_path)
    rewrite(folder / "chat.yaml", lambda text: text.replace(old, new))
    message = refusal(folder)
    assert re.match(rf"{re.escape(str(folder / 'chat.yaml'))}:\d+: ", message)
    assert says in message and "\n" not in message


def test_an_entry_without_text_or_with_anothers_is_told(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    entry = "- id: prose-{}\n  part: acceptance\n  text: {}\n"
    (folder / "prose.yaml").write_text(entry.format("01", "' '"), encoding="utf-8")
    assert "prose.yaml:1: prose-01 has no text" in refusal(folder)
    both = entry.format("01", "Once.") + entry.format("02", "Once.")
    (folder / "prose.yaml").write_text(both, encoding="utf-8")
    assert "prose.yaml:4: prose-02 asks the same as prose-01" in refusal(folder)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\x00", "special characters are not allowed"),
        (b"", "must be a list of prompts"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, content: bytes | None, says: str) -> None:
    folder = copy(tmp_path)
    (folder / "code.yaml").unlink()
    if content is not None:
        (folder / "code.yaml").write_bytes(content)
    assert f"{folder / 'code.yaml'}:1: " in refusal(folder) and says in refusal(folder)


def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "prompts", ignore=shutil.ignore_patterns("__pycache__")))


def rewrite(path: Path, change) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def refusal(folder: Path) -> str:
    with pytest.raises(BadPrompts) as caught:
        load_prompts(folder)
    return str(caught.value)

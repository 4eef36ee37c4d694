"""What the models are asked in the experiments: four kinds of text, all written for this project.

One YAML file beside this module for each kind. Each kind has two parts, drawn alike: what is
predicted from the acceptance on part "acceptance" is checked by the speed on part "speedup",
which the prediction has not seen. Speculation lives on how well text can be guessed, so no
figure may mix kinds without saying so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import yaml

KINDS = ("chat", "prose", "code", "quoting")
PARTS = ("acceptance", "speedup")
FOLDER = Path(__file__).parent


class BadPrompts(ValueError):
    """A file of prompts cannot be used; the message is one line that begins with file and line."""


@dataclass(frozen=True)
class Prompt:
    """id: "chat-01"; kind: one of KINDS; part: one of PARTS; text: what the user says."""

    id: str
    kind: str
    part: str
    text: str


def load_prompts(folder: Path = FOLDER) -> tuple[Prompt, ...]:
    """All prompts, kind after kind, each kind in the order of its file. BadPrompts as above."""
    prompts: list[Prompt] = []
    texts: dict[str, str] = {}
    for kind in KINDS:
        path = folder / f"{kind}.yaml"
        for line, fields in _entries(path):
            prompt = _checked(f"{path}:{line}", kind, fields)
            if any(prompt.id == other.id for other in prompts):
                raise BadPrompts(f"{path}:{line}: the id {prompt.id} is taken")
            if prompt.text in texts:
                raise BadPrompts(f"{path}:{line}: {prompt.id} asks the same as {texts[prompt.text]}")
            texts[prompt.text] = prompt.id
            prompts.append(prompt)
    return tuple(prompts)


def of(prompts: Iterable[Prompt], kind: str | None = None, part: str | None = None) -> tuple[Prompt, ...]:
    """Those of a kind and of a part; None means all. ValueError for a kind or part there is not."""
    for name, known in ((kind, KINDS), (part, PARTS)):
        if name is not None and name not in known:
            raise ValueError(f"prompts are of {', '.join(known)}, not of {name!r}")
    return tuple(
        prompt for prompt in prompts if kind in (None, prompt.kind) and part in (None, prompt.part)
    )


def prompts_sha256(prompts: Iterable[Prompt]) -> str:
    """SHA-256, in hexadecimal, of what the prompts are: a comment or a line break in a file
    changes nothing, a word, an id, a part or the order does."""
    content = json.dumps([astuple(prompt) for prompt in prompts], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


# --- a file ----------------------------------------------------------------------------------


def _entries(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The entries of a file with their lines."""
    try:
        text = path.read_text(encoding="utf-8")
        node, entries = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except OSError as error:
        raise BadPrompts(f"{path}:1: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadPrompts(f"{path}:1: this is not UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", "this is not YAML")
        raise BadPrompts(f"{path}:{mark.line + 1 if mark else 1}: {reason}") from None
    if not isinstance(entries, list) or not entries:
        raise BadPrompts(f"{path}:1: must be a list of prompts")
    return [(item.start_mark.line + 1, entry) for item, entry in zip(node.value, entries)]


def _checked(where: str, kind: str, fields: Any) -> Prompt:
    if not isinstance(fields, dict) or set(fields) != {"id", "part", "text"}:
        raise BadPrompts(f"{where}: a prompt has the fields id, part and text, and no other")
    name, part, text = fields["id"], fields["part"], fields["text"]
    if not isinstance(name, str) or not name.startswith(f"{kind}-"):
        raise BadPrompts(f"{where}: the id must be {kind}- and a number, not {name!r}")
    if part not in PARTS:
        raise BadPrompts(f"{where}: the part of {name} must be {' or '.join(PARTS)}, not {part!r}")
    if not isinstance(text, str) or not text.strip():
        raise BadPrompts(f"{where}: {name} has no text")
    return Prompt(name, kind, part, text.strip())

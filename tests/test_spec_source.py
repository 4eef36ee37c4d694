"""Reading YAML: a value means what its author meant, or its line is named. Never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lesson_text import TEXT, faults_of

from build_scripts.spec import SpecError, load_lesson, parse_lesson
from build_scripts.spec.compose import MAX_DEPTH
from build_scripts.spec.faults import path_text
from build_scripts.spec.source import MAX_BYTES, read_bytes, read_document


def data_of(text: str | bytes) -> object:
    """The data of a document without faults."""
    document = read_document(text.encode() if isinstance(text, str) else text, "lesson.yaml")
    assert not document.faults
    return document.data


def refusals(text: str | bytes) -> list[str]:
    """What reading says of a document that it cannot read, or not all of."""
    data = text.encode() if isinstance(text, str) else text
    try:
        return [str(fault) for fault in read_document(data, "lesson.yaml").faults]
    except SpecError as error:
        return [str(fault) for fault in error.faults]


# --- what values mean --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("10", 10),
        ("-3", -3),
        ("0", 0),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("4.50", 4.5),
        ("010", "010"),
        ("04", "04"),
        ("0x10", "0x10"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("1:20:30", "1:20:30"),
        ("2024-10-17", "2024-10-17"),
        ("2024-10-17 12:30:00", "2024-10-17 12:30:00"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("=", "="),
        ("٣", "٣"),
        ("'10'", "10"),
        ('"true"', "true"),
        ("!!str 10", "10"),
        ("! 10", "10"),
        ("|\n  10\n", "10\n"),
    ],
)
def test_a_value_means_what_its_author_meant(written: str, meant: object) -> None:
    """YAML 1.1 reads `no` as false, 12:30 as 750, 010 as 8 and 1e-3 as text."""
    found = data_of(f"a: {written}")
    assert found == {"a": meant}
    assert type(found["a"]) is type(meant)  # type: ignore[index]


def test_keys_are_text_whatever_they_look_like() -> None:
    """`on:` is the field "on", not the field true."""
    assert data_of("on: 1\n1: 2\nnull: 3\n2024-10-17: 4\n") == {"on": 1, "1": 2, "null": 3, "2024-10-17": 4}


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert data_of("a: &words [x, 1]\nb: *words\n") == {"a": ["x", 1], "b": ["x", 1]}


def test_every_kind_of_line_end_and_a_byte_order_mark() -> None:
    document = read_document(b"\xef\xbb\xbfa: 1\r\nb: 2\rc: 3\n", "lesson.yaml")
    assert document.data == {"a": 1, "b": 2, "c": 3}
    assert [document.values[key,].line for key in "abc"] == [1, 2, 3]
    assert document.values["a",].column == 4


# --- where things stand ------------------------------------------------------------------


def test_keys_and_values_have_positions() -> None:
    document = read_document(b"quiz:\n  - id: q1\n    answer: 4\n", "lesson.yaml")
    span = document.values["quiz", 0, "answer"]
    assert (span.line, span.column) == (3, 13)
    span = document.keys["quiz", 0, "answer"]
    assert (span.line, span.column) == (3, 5)
    assert path_text(("quiz", 0, "answer")) == "quiz[0].answer"


def test_what_has_no_position_takes_that_of_what_holds_it() -> None:
    document = read_document(b"a:\n  b: 1\n", "lesson.yaml")
    assert document.span(("a", "missing", 3)) == document.values["a",]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a: |\n  one\n  two bad\n", (3, 7)),
        ("a: >-\n  one\n  two bad\n", (3, 7)),
        ("a: one\n  two bad\n", (2, 7)),
        ("a: 'one two bad'\n", (1, 13)),
        ("a: bad bad", (1, 4)),
    ],
)
def test_a_part_of_a_text_is_found_in_every_style(source: str, expected: tuple[int, int]) -> None:
    """A fault in the third line of a paragraph is worth little on the line of its first."""
    document = read_document(source.encode(), "lesson.yaml")
    text = document.data["a"]
    start = text.index("bad")
    span = document.within(("a",), text, start, start + 3)
    assert (span.line, span.column) == expected


def test_the_second_of_two_equal_parts_is_the_second() -> None:
    document = read_document(b"a: bad or\n  bad\n", "lesson.yaml")
    span = document.within(("a",), document.data["a"], 7, 10)
    assert (span.line, span.column) == (2, 3)


# --- what is refused, line by line -------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", "1:1: file: this file is empty"),
        ("# only a remark\n", "1:1: file: this file is empty"),
        ("- a\n", "1:1: lesson: a lesson must be a mapping of fields, such as `title: …`"),
        ("text", "1:1: lesson: a lesson must be a mapping of fields, such as `title: …`"),
        ("a: 1\n---\nb: 2\n", "2:1: YAML: a second document starts here; a lesson is one document"),
        ("a: 1\nb: 'x\nc: 2\n", "2:4: YAML: the quotes that open here are never closed"),
        ('a: "x\n', "1:4: YAML: the quotes that open here are never closed"),
        ("a: 1\nb: 2\na: 3\n", "3:1: a: this field is already set on line 1"),
        ("a:\n  b: 1\n  b: 2\n", "3:3: a.b: this field is already set on line 2"),
        ("a: 1\n<<: {b: 2}\n", "2:1: lesson: merge keys (<<) are not understood here: write the fields out"),
        ("a: &a [*a]\n", "1:8: a[0]: *a stands inside of what it refers to"),
        ("a: &a {b: {c: *a}}\n", "1:15: a.b.c: *a stands inside of what it refers to"),
        ("a: *b\n", "1:4: a: there is no anchor &b above; text that starts with * needs quotes"),
        ("a: &x 1\nb: &x 2\n", "2:4: b: the anchor &x is already used above"),
        ("a: !image x\n", "1:4: a: the tag !image is not understood here: leave it out"),
        (
            "a: !!python/object/apply:os.system ['true']\n",
            "1:4: a: the tag tag:yaml.org,2002:python/object/apply:o… is not understood here: leave it out",
        ),
        ("a: !!int '4'\n", "1:4: a: the tag tag:yaml.org,2002:int is not understood here: leave it out"),
        (
            "? [a]\n: b\n",
            "1:3: lesson: a field's name must be a word; text that starts with { or [ needs quotes",
        ),
        ("a: {{ x }}\n", "1:5: a: a field's name must be a word; text that starts with { or [ needs quotes"),
        ("a: [@id]\n", "1:5: YAML: text cannot start with @ here: put it in quotes"),
        ("a: `x`\n", "1:4: YAML: text cannot start with ` here: put it in quotes"),
        ("a: %x\n", "1:4: YAML: text cannot start with % here: put it in quotes"),
        ("a: **b** c\n", "1:4: YAML: text that starts with * needs quotes"),
        ("a: & c\n", "1:4: YAML: text that starts with & needs quotes"),
        (
            "a: ! !\n",
            "1:6: YAML: no field of the mapping that starts on line 1: mend the indentation or the quotes",
        ),
        ("a: !x!y z\n", "1:4: YAML: text that starts with ! needs quotes"),
        ("%TAG x\n---\na: 1\n", "1:1: YAML: text that starts with % needs quotes"),
        (
            "a: b: c\n",
            "1:5: YAML: a colon that starts no value: put the text in quotes, or mend the indentation",
        ),
        ("a:\n\tb: c\n", "2:1: YAML: a tab: indent with spaces, or put the text in quotes"),
        (
            "a: 1\nb\nc: 2\n",
            "2:1: YAML: a field needs a colon and a space after its name; text must be indented more than its field",
        ),
        (
            'a: "x" y\n',
            "1:8: YAML: no field of the mapping that starts on line 1: mend the indentation or the quotes",
        ),
        (
            "- a\n b: c\n- d\n",
            "2:3: YAML: a colon that starts no value: put the text in quotes, or mend the indentation",
        ),
        (
            "a:\n - b\n c\n",
            "3:2: YAML: a field needs a colon and a space after its name; text must be indented more than its field",
        ),
        (
            "a:\n - b\n -c: d\n",
            "3:2: YAML: no item of the list that starts on line 2: mend the indentation or the quotes",
        ),
        (
            "a: > b\n",
            "1:6: YAML: after | or > nothing may follow on the line; text that starts with > or | needs quotes",
        ),
        (
            "a: - b\n",
            "1:4: YAML: a list's item cannot start here: give it its own line, or put the text in quotes",
        ),
        ("a: [1\nb: 2\n", "2:2: YAML: a comma or the ] that closes line 1 is missing"),
        ("a: {b: 1\nc: 2\n", "2:2: YAML: a comma or the } that closes line 1 is missing"),
        ("a: [1, ", "1:8: YAML: a value is missing before this"),
        (
            "  a: 1\nb: 2\n",
            "2:1: YAML: this stands outside of the mapping that the file starts with: mend the indentation",
        ),
        (
            'a: "\\d"\n',
            "1:6: YAML: an unknown escape after \\ in double quotes: write \\\\, or use single quotes",
        ),
        ('a: "\\UFFFFFFFF"\n', "1:7: YAML: this is no YAML"),
        (
            "%YAML 2.0\n---\na: 1\n",
            "1:1: YAML: this is no YAML: found incompatible YAML document (version 1.* is required)",
        ),
        ('a: "\\0"\n', "1:4: a: this escape makes a control character (U+0000): delete it"),
        ('a: "\\ud800"\n', "1:4: a: this escape makes an invisible character (U+D800): delete it"),
        ("a: 1\nb: x\0y\n", "2:5: file: a control character (U+0000): delete it"),
        ("a: x\x1by\n", "1:5: file: a control character (U+001B): delete it"),
        ("a: x\u2028y\n", "1:5: file: an invisible character (U+2028): delete it"),
        ("a: x\ufeffy\n", "1:5: file: an invisible character (U+FEFF): delete it"),
        (b"a: 1\nb: caf\xe9\n", "2:7: file: byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbfa: \xff\n", "1:4: file: byte 0xff is not UTF-8"),
        (b"\xff\xfea\x00:\x00", "1:1: file: this is UTF-16; save it as UTF-8"),
        ("a: " + "9" * 40, "1:4: a: this number is too large"),
        ("a: " + "9" * 5000, "1:4: a: this number is too large"),
        ("a: 1e999\n", "1:4: a: this number is too large"),
        (
            "a: see #5\n",
            "1:4: a: #5 is left out as a comment: put the text in quotes, or write `# ` before a comment",
        ),
        ("a: " + "[" * 60, f"1:{MAX_DEPTH + 4}: a[0][0]: nested more than {MAX_DEPTH} levels deep"),
        ("- " * 60, f"1:{2 * MAX_DEPTH + 3}: [0][0][0]: nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_each_trap_is_refused_with_its_line(source: str | bytes, expected: str) -> None:
    assert refusals(source) == [f"lesson.yaml:{expected}"]


def test_a_remark_after_a_value_is_no_trap() -> None:
    assert data_of("a: 45  # milliseconds\nb: word # and a remark\n") == {"a": 45, "b": "word"}


def test_faults_that_do_not_stop_the_reading_come_at_once() -> None:
    assert refusals("a: 1\na: 2\nb: !x 3\nc: 'd\n") == [
        "lesson.yaml:2:1: a: this field is already set on line 1",
        "lesson.yaml:3:4: b: the tag !x is not understood here: leave it out",
        "lesson.yaml:4:4: YAML: the quotes that open here are never closed",
    ]


def test_an_alias_bomb_goes_off_nowhere() -> None:
    """Ten aliases of ten aliases of …: ten thousand million values in half a kilobyte."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    (fault,) = refusals("\n".join(lines))
    assert "with its aliases written out, this is more than 50,000 values or 40 levels" in fault


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for() -> None:
    lines = ["a0: &a0 x"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 60)]
    (fault,) = refusals("\n".join(lines))
    assert fault.startswith("lesson.yaml:1:5: a40[0][0]: with its aliases written out")


@pytest.mark.parametrize("source", [b"[" * 1_000_000, b"a: " + b"{" * 1_000_000, b"\0" * 1_000_000])
def test_a_large_file_of_nonsense_is_refused_at_once(source: bytes) -> None:
    assert 1 <= len(refusals(source)) <= 20


# --- files -------------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """The file's name is the one that the author gave."""
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    cases = {
        tmp_path / "none.yaml": "there is no such file",
        tmp_path: "this is a folder, not a file",
        large: "larger than 2 MB, which no lesson is",
        large / "below": "cannot be read: Not a directory",
        Path("nul\0"): "cannot be read: embedded null byte",
    }
    for path, message in cases.items():
        with pytest.raises(SpecError) as caught:
            load_lesson(path)
        assert [str(fault) for fault in caught.value.faults] == [f"{path}:1:1: file: {message}"]


def test_a_file_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SpecError) as caught:
        read_bytes("locked.yaml")
    assert str(caught.value) == "locked.yaml:1:1: file: this file may not be read"


# --- whatever the bytes ------------------------------------------------------------------

FUZZ = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)
PIECES = st.sampled_from(
    ["a: ", "- ", "{", "}", "[", "]", "'", '"', "\n", "\n  ", "\t", "&x ", "*x", "!t ", "? ", ": ", "<<: ", "|\n", ">-\n"]
    + ["#", "%", "@", "`", "---\n", "...\n", "\0", "\ufeff", "\u2028", "é", "pages:", "labels:", "view: quiz", "1e9", "\\x"]
)  # fmt: skip


def returns_or_refuses(data: bytes) -> None:
    """A lesson, or faults with a line, a column and a message on one line each."""
    try:
        parse_lesson(data)
    except SpecError as error:
        assert error.faults
        for fault in error.faults:
            assert fault.line >= 1 and fault.column >= 1 and fault.message
            assert "\n" not in str(fault)


@FUZZ
@given(st.binary(max_size=80))
def test_any_bytes_are_a_lesson_or_refused(data: bytes) -> None:
    returns_or_refuses(data)


@FUZZ
@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_shreds_of_yaml_are_a_lesson_or_refused(text: str) -> None:
    returns_or_refuses(text.encode())


@settings(FUZZ, max_examples=60)
@given(st.integers(0, len(TEXT)), st.integers(0, 400), st.one_of(PIECES, st.text(max_size=8)))
def test_a_damaged_lesson_is_a_lesson_or_refused(start: int, length: int, put: str) -> None:
    """A slip of the keyboard anywhere in a whole lesson."""
    damaged = TEXT[:start] + put + TEXT[start + length :]
    returns_or_refuses(damaged.encode("utf-8", "surrogatepass"))


LINES = TEXT.split("\n")
VALUES = st.sampled_from(
    ["", "0", "-1", "1e9", "true", "~", "x", "[]", "{}", "[x]", "{x: 1}", "'{{ x }}'", "'[@x] $'"]
)


@settings(FUZZ, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), VALUES), min_size=1, max_size=4))
def test_a_lesson_with_other_values_is_a_lesson_or_refused(changes: list[tuple[int, str]]) -> None:
    """Good YAML with values of the wrong kind, where checks would trip over them."""
    lines = list(LINES)
    for i, value in changes:
        name, colon, _ = lines[i].partition(":")
        lines[i] = f"{name}: {value}" if colon else lines[i]
    returns_or_refuses("\n".join(lines).encode())


@pytest.mark.parametrize("fraction", range(1, 12))
def test_a_lesson_that_ends_too_soon_is_refused(fraction: int) -> None:
    assert faults_of(TEXT[: len(TEXT) * fraction // 12])

"""The compiled kernels: the same as torch but for rounding, and the same to the last bit for any
number of rows. Where they cannot be had, something else computes, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from build_scripts.bench.project import ROOT
from build_scripts.measure import kernels
from build_scripts.measure.decoding import decode_plain, decode_speculative
from build_scripts.measure.drafters.int8_copy import Int8Copy
from build_scripts.measure.kernels import compiling
from build_scripts.measure.kernels.int8 import GROUP, multiply_int8, pack_int8, round_matrix, rounded
from build_scripts.measure.kernels.native import NativeTarget, int8_target, packed_target
from build_scripts.measure.kernels.packed import multiply, pack, unpack
from build_scripts.measure.stopping import Limits
from build_scripts.measure.target import Shapes, Target, random_model
from tests.measure.tiny import answers

# Nothing in it is a multiple of 16, 48 or 64: every edge of the kernels is filled up.
ODD = Shapes(layers=2, width=84, ffn_width=149, heads=6, kv_heads=2, vocabulary=131, tied=False)


def _lacking() -> str | None:
    try:
        compiling.library()
    except compiling.Unavailable as error:
        return str(error)
    return None


needs_kernels = pytest.mark.skipif(_lacking() is not None, reason=f"no kernels here: {_lacking()}")
needs_int8 = pytest.mark.skipif(
    _lacking() is not None or compiling.integers() is None, reason="no kernels for integers here"
)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """Two threads: with one, nothing is divided up."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def odd_model(seed: int = 3) -> Target:
    return random_model(ODD, seed, positions=64)


def matrices(rows: int, inner: int, columns: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows * 1000 + inner + columns)
    return torch.randn(rows, inner, generator=generator), torch.randn(inner, columns, generator=generator)


# --- one matrix --------------------------------------------------------------------------------


@needs_kernels
@pytest.mark.parametrize("inner, columns", [(1, 1), (63, 47), (64, 48), (193, 49), (700, 145)])
@pytest.mark.parametrize("rows", [1, 9, 10, 73])
def test_a_packed_product_is_torchs_but_for_rounding(rows: int, inner: int, columns: int) -> None:
    x, w = matrices(rows, inner, columns)
    exact = x.double() @ w.double()
    bound = 1e-6 * (x.double().abs() @ w.double().abs()) + 1e-12  # additions one by one lose this at most
    assert ((multiply(x, pack(w)) - exact).abs() <= bound).all()


@needs_kernels
def test_packing_loses_nothing() -> None:
    _, w = matrices(1, 65, 131)
    assert torch.equal(unpack(pack(w)), w)


@needs_kernels
@pytest.mark.parametrize("product, packed", [(multiply, pack), pytest.param(multiply_int8, pack_int8, marks=needs_int8)])
def test_a_row_does_not_depend_on_other_rows(product: Callable[..., Tensor], packed: Callable[..., object]) -> None:
    """To the last bit: or verification would now and then choose another token than plain decoding."""
    x, w = matrices(80, 200, 100)
    weight = packed(w)
    whole = product(x, weight)
    for rows in (1, 2, 3, 4, 5, 8, 9, 10, 17, 73):
        for first in (0, 7):
            assert torch.equal(product(x[first : first + rows], weight), whole[first : first + rows])


@needs_kernels
def test_a_product_that_does_not_fit_is_refused() -> None:
    """The kernel would read memory that is not the matrix's."""
    x, w = matrices(2, 10, 5)
    with pytest.raises(ValueError, match="float32 rows of 10"):
        multiply(x[:, :9], pack(w))
    with pytest.raises(ValueError, match="float32 rows of 10"):
        multiply(x.double(), pack(w))


# --- integers ----------------------------------------------------------------------------------


@needs_kernels
@pytest.mark.parametrize("threads", [1, 2])
def test_the_loop_that_multiplies_and_adds_does_all_of_it(threads: int) -> None:
    """x ← x/2 + 1 nears 2 in each lane of 24 chains of 16 or 12 of 8, from wherever each thread begins."""
    chains = {"AVX-512": 24 * 16, "AVX2": 12 * 8}[compiling.vectors()]
    assert compiling.library().operate(2 * chains * 64 * threads, threads) == pytest.approx(2 * chains * threads)
    assert compiling.library().operate(0, threads) > 3 * chains * threads, "no step was done: far from 2"


def test_rounding_is_within_half_a_step() -> None:
    """A step is 1/127 of the largest of 64 entries; the largest itself is kept."""
    _, w = matrices(1, 130, 7)
    w[:64, 3] = 0  # a group of zeros has no scale
    whole, scales = round_matrix(w)
    assert whole.abs().max() == 127 and torch.equal(whole, whole.round())
    steps = scales.expand(-1, GROUP, -1).reshape(-1, 7)[:130]
    assert ((rounded(w) - w).abs() <= 0.5001 * steps).all()
    assert torch.equal(rounded(w)[:64, 3], torch.zeros(64))


@needs_int8
@pytest.mark.parametrize("inner, columns", [(1, 1), (64, 48), (193, 49), (700, 145)])
def test_an_integer_product_is_that_of_the_rounded_matrix(inner: int, columns: int) -> None:
    """What is multiplied with it is rounded to 15 bits: half a step of 1/16256 for each entry."""
    x, w = matrices(5, inner, columns)
    exact = x.double() @ rounded(w).double()
    off = x.abs().amax(1, keepdim=True).double() / 16256 * 0.51 * rounded(w).double().abs().sum(0)
    assert ((multiply_int8(x, pack_int8(w)) - exact).abs() <= off + 1e-5).all()
    assert not torch.equal(multiply_int8(x, pack_int8(w)), x @ w)


@needs_int8
def test_the_kernel_and_the_rounded_weights_are_one_model() -> None:
    """Where there is no kernel the copy says the same: the record names what computed it."""
    target = odd_model()
    tokens = torch.arange(12).reshape(2, 6)
    native, plain = int8_target(target), kernels.rounded_target(target)
    mine, theirs = (m.logits(m.features(tokens, m.new_cache(2, 8))) for m in (native, plain))
    torch.testing.assert_close(mine, theirs, rtol=0, atol=2e-3)
    original = target.logits(target.features(tokens, target.new_cache(2, 8)))
    assert (theirs - original).abs().max() > 2e-3, "rounding changes more than the kernel does"


# --- passes ------------------------------------------------------------------------------------


@needs_kernels
def test_a_pass_is_torchs_but_for_rounding() -> None:
    """Rows of several lengths, with keys of their own: the whole pass is in the kernel."""
    target = odd_model()
    native, name = kernels.choose(target, "cpu")
    assert isinstance(native, NativeTarget) and name == f"packed {compiling.vectors()} fp32"
    tokens = torch.randint(ODD.vocabulary, (3, 20), generator=torch.Generator().manual_seed(0))
    caches = [model.new_cache(3, 40) for model in (target, native)]
    for model, cache in zip((target, native), caches):
        model.features(tokens[:, :9], cache)
        cache.roll_back([9, 1, 4])
    mine, theirs = (m.logits(m.features(tokens[:, 9:], c)) for m, c in zip((native, target), reversed(caches)))
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(caches[0].keys, caches[1].keys, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=[pytest.param(packed_target, marks=needs_kernels), pytest.param(int8_target, marks=needs_int8)])
def native(request: pytest.FixtureRequest) -> Target:
    return request.param(odd_model())


def test_a_token_is_the_same_read_alone_or_with_others(native: Target) -> None:
    """m tokens at once, one by one, and in a batch of ragged rows: not one bit differs."""
    text = torch.randint(ODD.vocabulary, (1, 30), generator=torch.Generator().manual_seed(1))

    def read(pieces: list[int]) -> Tensor:
        cache, parts = native.new_cache(1, 30), text.split(pieces, dim=1)
        return torch.cat([native.logits(native.features(part, cache)) for part in parts], dim=1)

    whole = read([30])
    for pieces in ([1] * 30, [17, 13], [9, 9, 9, 3], [5, 1, 8, 16]):
        assert torch.equal(read(pieces), whole)

    cache = native.new_cache(4, 30)
    native.features(text[:, :25].expand(4, -1), cache)
    starts = [25, 3, 11, 18]
    cache.roll_back(starts)
    block = torch.cat([text[:, start : start + 5] for start in starts])
    found = native.logits(native.features(block, cache))
    for row, start in zip(found, starts):
        assert torch.equal(row, whole[0, start : start + 5])


def test_a_rolled_back_cache_is_that_of_a_fresh_prefill(native: Target) -> None:
    """Keys, values and what comes next, to the last bit, after rejected drafts were overwritten."""
    text = torch.arange(20).reshape(1, 20)
    used, fresh = native.new_cache(1, 30), native.new_cache(1, 30)
    native.features(text[:, :10], used)
    native.features(torch.full((1, 9), 77), used)  # drafts, of which none stands
    used.roll_back([10])
    after = native.features(text[:, 10:14], used)
    assert torch.equal(after, native.features(text[:, :14], fresh)[:, 10:])
    for mine, theirs in ((used.keys, fresh.keys), (used.values, fresh.values)):
        assert torch.equal(mine[:, :, :14], theirs[:, :, :14])


def test_a_token_outside_the_vocabulary_is_refused(native: Target) -> None:
    """The compiled code would read beyond the embeddings."""
    with pytest.raises(IndexError, match="outside the vocabulary"):
        native.features(torch.tensor([[ODD.vocabulary]]), native.new_cache(1, 4))


@needs_kernels
@pytest.mark.parametrize("k", [1, 4, 8])
def test_speculative_text_is_the_plain_text_bit_for_bit(k: int) -> None:
    """In single precision, without any margin: the kernels' order of additions is the proof."""
    target = packed_target(odd_model())
    prompts = [[1, 2, 3], [7], list(range(11))]
    limits = Limits(24)
    plain = answers(decode_plain(target, prompts, limits))
    found = decode_speculative(target, Int8Copy(target), prompts, k, limits)
    assert answers(found) == plain
    assert sum(sum(answer.counts.accepted) for answer in found.answers) > 0


# --- where they come from ----------------------------------------------------------------------


@pytest.fixture
def no_library() -> Iterator[None]:
    """The library is looked for anew, in the test and after it."""
    compiling.library.cache_clear()
    yield
    compiling.library.cache_clear()


def test_without_a_compiler_torch_computes(
    no_library: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And the record says so; who asks for the kernel by name is told what is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiling, "cpu_flags", lambda: frozenset({"avx2", "fma"}))
    target = odd_model()
    chosen, name = kernels.choose(target)
    assert chosen is target and name == "torch.matmul fp32"
    assert kernels.int8_copy(target)[1] == "weights rounded to int8, torch.matmul fp32"
    with pytest.raises(compiling.Unavailable, match=r"^there is no compiler, g\+\+$"):
        kernels.choose(target, "cpu", "packed")


def test_without_the_instructions_torch_computes(no_library: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "cpu_flags", lambda: frozenset({"avx"}))
    assert kernels.choose(odd_model())[1] == "torch.matmul fp32"
    with pytest.raises(compiling.Unavailable, match="^the processor has neither AVX-512 nor AVX2$"):
        kernels.choose(odd_model(), "cpu", "packed")


@needs_kernels
def test_a_compiler_that_fails_is_quoted_in_one_line(
    no_library: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiling, "FLAGS", (*compiling.FLAGS, "--no-such-flag"))
    with pytest.raises(compiling.Unavailable, match="no-such-flag") as caught:
        compiling.library()
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*.so")), "what was not finished is removed"


def test_a_kernel_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no kernel is called quick; there are auto"):
        kernels.choose(odd_model(), "cpu", "quick")


@needs_kernels
def test_two_processes_compile_at_once_and_a_broken_library_is_made_anew(tmp_path: Path) -> None:
    code = "from build_scripts.measure.kernels.compiling import library; library().multiply_packed"
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    for process in [start(), start()]:
        assert process.communicate()[1] == "" and process.returncode == 0
    (made,) = tmp_path.rglob("*.so*")
    whole = made.read_bytes()
    made.write_bytes(whole[: len(whole) // 2])
    broken = start()
    assert broken.communicate()[1] == "" and broken.returncode == 0
    assert compiling._is_sound(made) and [*tmp_path.rglob("*.so*")] == [made]


@needs_kernels
@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4", "icelake-server"])
def test_every_kind_of_vector_compiles_without_warnings(processor: str) -> None:
    """AVX2, AVX-512, and that with VNNI: each is what some machine compiles, whatever this one has."""
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-march={processor}", "-fopenmp", "-c"]
    compiled = subprocess.run(
        [*command, str(compiling.SOURCES / compiling.UNIT), "-o", "/dev/null"], capture_output=True, text=True
    )
    assert compiled.returncode == 0, compiled.stderr


@needs_kernels
def test_the_widest_vectors_are_taken_unless_others_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    every = frozenset(flag for needed in compiling.NEEDED.values() for flag in needed)
    monkeypatch.setattr(compiling, "cpu_flags", lambda: every)
    assert compiling.vectors() == "AVX-512" and compiling.integers() is None
    monkeypatch.setenv(compiling.CHOICE, "AVX2")
    assert compiling.vectors() == "AVX2" == compiling.integers()
    monkeypatch.setenv(compiling.CHOICE, "NEON")
    with pytest.raises(compiling.Unavailable, match="^KERNEL_VECTORS is NEON, and the processor has AVX-512 and AVX2$"):
        compiling.vectors()


@pytest.mark.skipif(
    _lacking() is not None or compiling.vectors() == "AVX2", reason="the kernels here are made of AVX2 as it is"
)
def test_the_narrower_vectors_do_the_same() -> None:
    """All tests of products and passes, with them, where the processor would not choose them."""
    chosen = ["-k", "product or row or packing or pass or integer or token or speculative"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, *chosen]
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, compiling.CHOICE: "AVX2"}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout


@needs_kernels
def test_another_compiler_flag_or_processor_is_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library made for another processor would end the process."""
    flags = compiling.FLAGS
    keys = {compiling._key("g++", flags), compiling._key("g++", (*flags, compiling.NARROWER))}
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "cpu_flags", lambda: frozenset({"another"}))
        keys.add(compiling._key("g++", flags))
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "_run", lambda command: "g++ 99.0")
        keys.add(compiling._key("g++", flags))
    assert len(keys) == 4

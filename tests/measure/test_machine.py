"""The machine: what a record says about it, and the limits that decoding is held against."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from build_scripts.measure import machine
from build_scripts.measure.kernels.compiling import Unavailable
from build_scripts.records.schema import Device


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speeds are not judged here, so little is read and multiplied."""
    monkeypatch.setattr(machine, "BUFFER", {"cpu": 2**20})
    monkeypatch.setattr(machine, "SIDE", {"cpu": 64})


def unavailable() -> None:
    raise Unavailable("not here")


def test_a_cpu_is_named_as_the_system_names_it() -> None:
    device = machine.describe_device("cpu")
    assert Device.model_validate(device.model_dump()) == device
    assert device.kind == "cpu" and device.driver is None
    assert device.name == machine.processor() != machine.UNKNOWN


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (("AMD EPYC", 25, 1), "AMD EPYC family 25 model 1"),
        (("AMD EPYC", 25, 17), "AMD EPYC family 25 model 17"),
        (("AMD EPYC 7763 64-Core Processor", 25, 1), "AMD EPYC 7763 64-Core Processor"),
    ],
)
def test_processors_of_one_series_are_different_devices(
    monkeypatch: pytest.MonkeyPatch, told: tuple[str, int, int], name: str
) -> None:
    """Or one with AVX2 would overwrite the records of one with AVX-512: both are called AMD EPYC by
    the machine that they are lent out by."""
    series, family, model = told
    text = f"processor\t: 0\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {series}\nstepping\t: 1\n"
    monkeypatch.setattr(Path, "read_text", lambda path, *_: text if path == Path("/proc/cpuinfo") else "")
    assert machine.processor() == name


def test_the_description_is_the_same_every_time() -> None:
    """It defines a run: with a figure that changes, such as free memory, no run could be resumed."""
    held = torch.zeros(2**24)
    assert machine.describe_device("cpu") == machine.describe_device("cpu")
    assert held.sum() == 0


def test_versions_name_the_compiler_only_where_it_made_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.versions()["torch"] == torch.__version__
    assert all(isinstance(text, str) and text for text in machine.versions().values())
    monkeypatch.setattr(machine, "library", unavailable)
    assert "compiler" not in machine.versions()


def test_the_limit_is_the_fastest_of_all_ways_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that counts: torch's sum takes two ticks, the compiled loop one."""

    class Library:
        def read_memory(self, memory: int, bytes_: int, threads: int) -> None:
            read.append((bytes_, threads))

    read: list[tuple[int, int]] = []
    seconds = iter([2.0, 1.0])
    monkeypatch.setattr(machine, "library", Library)

    def fastest(way: Callable[[], object], device: torch.device) -> float:
        way()
        return next(seconds)

    monkeypatch.setattr(machine, "_fastest", fastest)
    assert machine.read_bandwidth("cpu") == 2**20
    assert read == [(2**20, torch.get_num_threads())], "by all threads, and all of it"


def test_without_the_compiled_loop_torch_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "library", unavailable)
    assert machine.read_bandwidth("cpu") > 0


@pytest.mark.parametrize("product, loop", [(0.5, 4e9), (1.0, 1.0)])
def test_the_peak_is_the_faster_of_the_product_and_the_loop(
    monkeypatch: pytest.MonkeyPatch, product: float, loop: float
) -> None:
    """A product has two operations for each addition; either may be the faster one."""

    class Library:
        def operate(self, operations: int, threads: int) -> None:
            done.append((operations, threads))

    done: list[tuple[int, int]] = []
    seconds = iter([product, loop])
    monkeypatch.setattr(machine, "library", Library)

    def fastest(way: Callable[[], object], device: torch.device) -> float:
        way()
        return next(seconds)

    monkeypatch.setattr(machine, "_fastest", fastest)
    rates = [2 * 64**3 / product, machine.OPERATIONS / loop]
    assert machine.peak_flops("cpu", torch.float32) == max(rates)
    assert done == [(machine.OPERATIONS, torch.get_num_threads())], "by all threads"


def test_the_loop_is_of_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """In another precision torch's product is all there is, as where nothing can be compiled."""
    monkeypatch.setattr(machine, "_fastest", lambda way, device: 0.5)
    assert machine.peak_flops("cpu", torch.bfloat16) == 2 * 64**3 / 0.5
    monkeypatch.setattr(machine, "library", unavailable)
    assert machine.peak_flops("cpu", torch.float32) == 2 * 64**3 / 0.5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_is_described_with_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    device = machine.describe_device("cuda")
    assert device.kind == "cuda" and device.driver != machine.UNKNOWN

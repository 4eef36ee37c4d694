"""The machine that measures: its name for a record, and what it can do at best."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import torch

from build_scripts.measure.kernels.compiling import Unavailable, compiler_version, library
from build_scripts.measure.stopwatch import wait_for
from build_scripts.records.schema import Device

GIB = 2**30
UNKNOWN = "unknown"

BUFFER = {"cpu": GIB, "cuda": 4 * GIB}
"""Bytes, far more than any cache holds."""
SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices whose product is timed."""
OPERATIONS = 10**10
"""Of the loop that multiplies and adds: some tens of milliseconds on two cores."""
REPEATS = 7


# --- names -------------------------------------------------------------------------------------


def describe_device(device: str) -> Device:
    """The CPU or the current GPU; cores are the machine's in both cases."""
    cores = os.cpu_count() or 1
    if device == "cpu":
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return Device(
            kind="cpu", name=processor(), cores=cores, memory_gib=round(memory / GIB, 1), driver=None
        )
    about = torch.cuda.get_device_properties(torch.device(device))
    return Device(
        kind="cuda", name=about.name, cores=cores,
        memory_gib=round(about.total_memory / GIB, 1), driver=driver() or UNKNOWN,
    )  # fmt: skip


def processor() -> str:
    """The CPU's name, as the system tells it.

    Inside a virtual machine that may be the name of a whole series, without a number. Two
    processors of one series are two devices, so their numbers follow it.
    """
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""

    def told(field: str) -> str | None:
        found = re.search(rf"^{field}\s*:\s*(\S.*)$", text, re.MULTILINE)
        return found[1].strip() if found else None

    name, family, model = told("model name"), told("cpu family"), told("model")
    if name is None:
        return platform.processor() or platform.machine() or UNKNOWN
    if family is not None and model is not None and not re.search(r"\d", name):
        return f"{name} family {family} model {model}"
    return name


def driver() -> str | None:
    """The version of the NVIDIA driver; None where there is none."""
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
        return lines[0].strip() or None
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def versions() -> dict[str, str]:
    """Of whatever has a part in the measured times; the compiler where it made the kernel, CUDA where
    torch has it."""
    found = {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
    try:
        library()
        found["compiler"] = compiler_version()
    except Unavailable:
        pass
    return found


# --- limits ------------------------------------------------------------------------------------


def read_bandwidth(device: str | torch.device) -> float:
    """Bytes a second that reading alone reaches, by all threads, over memory that no cache holds.

    The best of several runs, and of two ways where there are two: torch's sum, which is all that a
    GPU needs, and a compiled loop that loads and does nothing else. A limit has to be one.
    """
    device = torch.device(device)
    buffer = torch.ones(BUFFER[device.type] // 4, device=device)
    ways: list[Callable[[], object]] = [buffer.sum]
    if device.type == "cpu":
        try:
            read = library().read_memory
            ways.append(lambda: read(buffer.data_ptr(), buffer.nbytes, torch.get_num_threads()))
        except Unavailable:
            pass
    return buffer.nbytes / min(_fastest(way, device) for way in ways)


def peak_flops(device: str | torch.device, dtype: torch.dtype) -> float:
    """Operations a second, two for each multiplication and addition: the best of several runs, and
    of two ways where there are two.

    The product of two large square matrices, as torch multiplies them, which on a GPU is the peak.
    On a CPU it is what the library behind torch makes of it; there, for float32, a compiled loop
    that multiplies and adds in registers shows what the units can do.
    """
    device = torch.device(device)
    side = SIDE[device.type]
    # Random, as a GPU is faster, and uses less power, where all entries are alike.
    a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    into = torch.empty_like(a)
    rates = [2 * side**3 / _fastest(lambda: torch.matmul(a, b, out=into), device)]
    if device.type == "cpu" and dtype == torch.float32:
        try:
            operate, threads = library().operate, torch.get_num_threads()
            rates.append(OPERATIONS / _fastest(lambda: operate(OPERATIONS, threads), device))
        except Unavailable:
            pass
    return max(rates)


def _fastest(what: Callable[[], object], device: torch.device) -> float:
    """Seconds of the fastest run, after one that does not count."""
    seconds = []
    for _ in range(REPEATS + 1):
        wait_for(device)
        began = time.perf_counter()
        what()
        wait_for(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])

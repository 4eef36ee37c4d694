"""The kernels' C++, compiled on the machine that runs it, once.

The library goes to the user's cache folder, under a name made of everything that it depends on:
the sources, the flags, the compiler and the processor. It is compiled aside and then renamed, so
that any number of processes may do so at once. It ends in its own hash: loading half a library
would end the process.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from ctypes import c_float, c_int, c_int64, c_void_p
from itertools import product
from pathlib import Path

# Before any library of ours is loaded: it then finds torch's OpenMP, and there is one pool of threads.
import torch  # noqa: F401

SOURCES = Path(__file__).parent
UNIT = "pass.cpp"
COMPILER = "g++"
# Without contraction the additions are those that the source says, in every instance of a template.
FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-shared", "-fPIC")
FOLDER = "speculative-decoding-lesson"
NEEDED = {"AVX-512": ("avx512f", "avx512bw", "avx512dq", "avx512vl"), "AVX2": ("avx2", "fma")}
"""By kind of vector (vectors.hpp), the widest first: what the processor must have for it."""
NARROWER = "-mno-avx512f"
CHOICE = "KERNEL_VECTORS"
"""The environment's word for a kind of vector that is not the widest, as in tests of it."""


class Unavailable(RuntimeError):
    """There are no kernels here; the message says why in one line."""


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled kernels, loaded. Unavailable where they cannot be had."""
    flags = FLAGS if vectors() == "AVX-512" else (*FLAGS, NARROWER)
    try:
        loaded = ctypes.CDLL(str(_compiled(_compiler(), flags)))
    except OSError as error:
        raise Unavailable(f"the kernels cannot be compiled or loaded: {_one_line(str(error))}") from None
    signatures = {
        "multiply": (c_void_p, c_int64, c_void_p, c_int64, c_int64, c_void_p, c_int),
        "pass": (c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int),
    }
    kinds = ("packed", "int8") if integers() else ("packed",)
    for name, kind in product(signatures, kinds):
        function = getattr(loaded, f"{name}_{kind}")
        function.argtypes, function.restype = signatures[name], None
    loaded.read_memory.argtypes, loaded.read_memory.restype = (c_void_p, c_int64, c_int), c_float
    loaded.operate.argtypes, loaded.operate.restype = (c_int64, c_int), c_float
    return loaded


def vectors() -> str:
    """The kind of vector that the kernels are made of here. Unavailable where the processor has none."""
    found = [kind for kind, needed in NEEDED.items() if cpu_flags().issuperset(needed)]
    wanted = os.environ.get(CHOICE)
    if wanted and wanted not in found:
        raise Unavailable(f"{CHOICE} is {wanted}, and the processor has {' and '.join(found) or 'neither'}")
    if not found:
        raise Unavailable(f"the processor has neither {' nor '.join(NEEDED)}")
    return wanted or found[0]


def integers() -> str | None:
    """What the kernel for integers is made of here, if there is one: among the processors with
    AVX-512 only those with VNNI have it."""
    if vectors() == "AVX2":
        return "AVX2"
    return "AVX-512 VNNI" if "avx512_vnni" in cpu_flags() else None


def compiler_version() -> str:
    """The first line of what the compiler says of itself. Unavailable without one."""
    return _run([_compiler(), "--version"]).partition("\n")[0].strip()


@functools.cache
def cpu_flags() -> frozenset[str]:
    """What the processor can do, in Linux's words; nothing on other systems and processors."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return frozenset()
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), ":")
    return frozenset(line.split(":", 1)[1].split())


def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / FOLDER


def _compiler() -> str:
    found = shutil.which(COMPILER)
    if found is None:
        raise Unavailable(f"there is no compiler, {COMPILER}")
    return found


def _compiled(compiler: str, flags: Sequence[str]) -> Path:
    """The library's file, compiled if it is not there yet. Unavailable when that fails."""
    name = f"kernels-{_key(compiler, flags)}.so"
    for folder in (cache_folder(), Path(tempfile.gettempdir()) / f"{FOLDER}-{os.getuid()}"):
        found = folder / name
        if _is_sound(found):
            return found
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, aside = tempfile.mkstemp(suffix=".so", dir=folder)
        except OSError:
            continue  # not writable
        os.close(handle)
        try:
            command = [compiler, *flags, str(SOURCES / UNIT), "-o", aside]
            _run(command)
            made = Path(aside).read_bytes()
            Path(aside).write_bytes(made + hashlib.sha256(made).digest())
            os.replace(aside, found)
        finally:
            Path(aside).unlink(missing_ok=True)
        return found
    raise Unavailable(f"no folder for the compiled kernels can be written to, {cache_folder()} among them")


def _is_sound(library: Path) -> bool:
    """Whether it is there, whole, and this user's own."""
    try:
        data, owner = library.read_bytes(), library.stat().st_uid
    except OSError:
        return False
    end = hashlib.sha256().digest_size
    return owner == os.getuid() and hashlib.sha256(data[:-end]).digest() == data[-end:]


def _key(compiler: str, flags: Sequence[str]) -> str:
    parts = [path.name + "\n" + path.read_text() for path in sorted(SOURCES.glob("*.?pp"))]
    parts += [*flags, _run([compiler, "--version"]), " ".join(sorted(cpu_flags()))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def _run(command: list[str]) -> str:
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise Unavailable(f"{command[0]} failed: {_one_line(ended.stderr) or ended.returncode}")
    return ended.stdout


def _one_line(text: str) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "")

"""What one decoding pass of the target is made of: reading weights and doing arithmetic.

Each is the time that the hardware's peak rate would take, so a real pass takes longer.
A pass over one token uses every weight once and is bound by the reading: for the
lesson's 69.5 billion weights of 2 bytes on 4 H100 (3.35 TB/s and 989.5 TFLOP/s each) it
takes about 10.4 ms, the arithmetic about 0.035 ms.
"""

from __future__ import annotations

from build_scripts.model.checks import as_count, as_number

FLOP_PER_WEIGHT = 2
"""One multiplication and one addition for each weight and token."""


def weight_read_ms(
    weights_billion: float, bytes_per_weight: float, devices: int, bandwidth_tbps: float
) -> float:
    """Milliseconds in which `devices` read all weights once, each its share.

    weights_billion: weights used by a pass, in 1e9; bytes_per_weight: 2 for bf16;
    bandwidth_tbps: memory bandwidth of one device, in 1e12 bytes a second.
    ValueError, in one line, for what is not a positive number.
    """
    byte_billion = _size("weights_billion", weights_billion) * _size("bytes_per_weight", bytes_per_weight)
    rate = _devices(devices) * _size("bandwidth_tbps", bandwidth_tbps)
    # 1e9 bytes over 1e12 bytes a second are 1e-3 s: the units cancel to milliseconds.
    return byte_billion / rate


def arithmetic_ms(weights_billion: float, devices: int, peak_tflops: float) -> float:
    """Milliseconds of the arithmetic for one token: two operations a weight, shared by `devices`.

    weights_billion: weights used by a pass, in 1e9; peak_tflops: dense peak of one device,
    in 1e12 operations a second.
    ValueError, in one line, for what is not a positive number.
    """
    operations_billion = FLOP_PER_WEIGHT * _size("weights_billion", weights_billion)
    return operations_billion / (_devices(devices) * _size("peak_tflops", peak_tflops))


def _size(name: str, value: float) -> float:
    return as_number(name, value, 1e-9, 1e9)


def _devices(devices: int) -> int:
    return as_count("devices", devices, 1, 1_000_000)

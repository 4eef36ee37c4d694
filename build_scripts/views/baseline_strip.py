"""Plain decoding on a time axis, and what one of its passes is made of."""

from __future__ import annotations

from build_scripts.model.roofline import arithmetic_ms, weight_read_ms
from build_scripts.render.numbers import fixed, number
from build_scripts.spec.schema import BaselineStrip
from build_scripts.views.base import PageContext, Rendered


def render(block: BaselineStrip, page: PageContext) -> Rendered:
    """One block a pass, drawn to scale; below it the pass of a real model, computed."""
    target = page.lesson.parameters.target_ms
    weights, hardware = block.weights, block.hardware
    read = weight_read_ms(
        weights.weights_billion, weights.bytes_per_weight, hardware.devices, hardware.bandwidth_tbps
    )
    arithmetic = arithmetic_ms(weights.weights_billion, hardware.devices, hardware.peak_tflops)
    sizes = {
        "weights_billion": f"{weights.weights_billion:g}",
        "bytes_per_weight": f"{weights.bytes_per_weight:g}",
        "devices": hardware.devices,
        "bandwidth_tbps": f"{hardware.bandwidth_tbps:g}",
        "peak_tflops": f"{hardware.peak_tflops:g}",
    }
    target_ms = fixed(target.default, 2, trim=True)
    return Rendered(
        page.template(
            "baseline-strip.html",
            block=block,
            kind=target.kind,
            pass_label=block.pass_label.format(ms=target_ms),
            passes=[
                {"word": word, "ends": fixed(target.default * (i + 1), 2, trim=True)}
                for i, word in enumerate(block.words)
            ],
            unit=target.unit or "",
            bars=[
                _bar(block.read_label, read, max(read, arithmetic), block.read_formula, sizes, 2),
                _bar(block.arithmetic_label, arithmetic, max(read, arithmetic), block.arithmetic_formula, sizes, 3),
            ],
            cost_caption=block.cost_caption.format(
                read_ms=fixed(read, 1),
                arithmetic_ms=fixed(arithmetic, 3),
                ratio=fixed(read / arithmetic, 0),
                target_ms=number(page.lesson, "target_ms").text.removesuffix(" ms"),
            ),
        )
    )


def _bar(label: str, ms: float, longest: float, formula: str, sizes: dict[str, object], decimals: int) -> dict[str, str]:
    """A bar's width is its share of the longest: both stand on one scale."""
    text = fixed(ms, decimals)
    return {
        "label": label,
        "ms": text,
        "percent": fixed(100 * ms / longest, 3),
        "formula": formula.format(**sizes, ms=text),
    }

"""A formula: what it says, how it follows, an example, what it assumes, and where it fails."""

from __future__ import annotations

from markupsafe import Markup

from build_scripts.model.roofline import arithmetic_ms, weight_read_ms
from build_scripts.render.numbers import fixed
from build_scripts.spec.latex import to_mathml
from build_scripts.spec.schema import BaselineStrip, Formula, Lesson
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.blocks import blocks_of


def render(block: Formula, page: PageContext) -> Rendered:
    """The formula as MathML in a box that scrolls by itself, then its derivation in steps."""
    steps = [
        {"text": step.text, "math": None if step.latex is None else to_mathml(step.latex, "block")}
        for step in block.steps
    ]
    return Rendered(
        page.template(
            "formula.html",
            block=block,
            math=to_mathml(block.latex, "block"),
            steps=steps,
            pass_example=None if block.pass_example is None else pass_example(block.pass_example, page.lesson),
            citations=[Markup(page.rich_inline(f"[@{source}]")) for source in block.sources],
        )
    )


def pass_example(template: str, lesson: Lesson) -> str:
    """The template filled in for the model and the hardware of the lesson's baseline strip.

    `ratio` is reading over arithmetic: the tokens at which both take as long. `rows` are the
    positions that a round of the lesson scores with the bonus, and `batch` how many such
    rounds make up those tokens. ValueError when the lesson has no baseline strip.
    """
    strips = blocks_of(lesson, BaselineStrip)
    if not strips:
        raise ValueError("pass_example needs a baseline strip in the lesson")
    weights, hardware = strips[0].weights, strips[0].hardware
    read = weight_read_ms(
        weights.weights_billion, weights.bytes_per_weight, hardware.devices, hardware.bandwidth_tbps
    )
    arithmetic = arithmetic_ms(weights.weights_billion, hardware.devices, hardware.peak_tflops)
    rows = lesson.parameters.draft_tokens.default + 1
    return template.format(
        model=weights.name,
        hardware=hardware.name,
        weights_billion=fixed(weights.weights_billion, 2, trim=True),
        bytes_per_weight=fixed(weights.bytes_per_weight, 2, trim=True),
        devices=hardware.devices,
        bandwidth_tbps=fixed(hardware.bandwidth_tbps, 3, trim=True),
        peak_tflops=fixed(hardware.peak_tflops, 1, trim=True),
        read_ms=fixed(read, 1),
        arithmetic_ms=fixed(arithmetic, 3),
        ratio=fixed(read / arithmetic, 0),
        rows=rows,
        batch=fixed(read / arithmetic / rows, 0),
        target_ms=fixed(lesson.parameters.target_ms.default, 2, trim=True),
    )

"""Every record: what ran, on what, when, from which commit; each to be downloaded."""

from __future__ import annotations

from build_scripts.records.schema import Record
from build_scripts.render.numbers import fixed
from build_scripts.spec.measured import MeasuredRecords
from build_scripts.views.base import PageContext, Rendered
from build_scripts.views.measured import frame


def render(block: MeasuredRecords, page: PageContext) -> Rendered:
    words = page.lesson.measured
    entries = [
        {
            "experiment": words.experiments.get(experiment(record), experiment(record)),
            "line": frame.device_line(record, page),
            "facts": list(zip(block.facts, facts(block, record, page), strict=True)),
        }
        for record in page.records.files.values()
    ]
    html = page.template(
        "measured-records.html",
        block=block,
        words=words,
        entries=entries,
        sentence=frame.none_yet(words, "all"),
        command=frame.command("all"),
        no_cuda=not any(record.device.kind == "cuda" for record in page.records.files.values()),
    )
    return Rendered(html, stylesheet=frame.STYLESHEET)


def experiment(record: Record) -> str:
    return str(getattr(record, "experiment"))


def facts(block: MeasuredRecords, record: Record, page: PageContext) -> list[list[str]]:
    """The values beside `block.facts`, each a list of lines."""
    words = page.lesson.measured
    device = record.device
    memory = [block.memory.format(gib=fixed(device.memory_gib, 1))]
    if device.driver is not None:
        memory.append(block.driver.format(driver=device.driver))
    hashes = [f"{block.weights_hash} {record.weights_sha256}"]
    if record.prompts_sha256 is not None:
        hashes.insert(0, f"{block.prompts_hash} {record.prompts_sha256}")
    hashes += [f"{frame.drafter_name(name, words)}: {value}" for name, value in record.drafter_sha256.items()]
    discarded = [str(record.discarded_repeats)]
    if record.kept_under_load:
        discarded.append(block.kept.format(n=record.kept_under_load))
    return [
        [frame.device_name(device, words)],
        memory,
        [f"{name} {version}" for name, version in record.versions.items()],
        [f"{frame.dtype_name(record.dtype, words)}, {frame.kernel_name(record.kernel, words)}"],
        [record.date.replace("T", " ")],
        [record.commit + ("" if record.clean else f" {words.uncommitted}")],
        [record.command],
        [block.load.format(start=fixed(record.load_average.start, 2), end=fixed(record.load_average.end, 2))],
        discarded,
        [block.minutes.format(minutes=fixed(record.seconds / 60, 1))],
        hashes,
    ]

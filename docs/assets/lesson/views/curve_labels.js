/* Where the labels of the calculator's charts stand, at any state and at any width: the
   mirror of build_scripts/views/curve_labels.py. */
(function (Lesson) {
  "use strict";

  const LABEL_HEIGHT = 16;
  const NEAR = [10, 26, 42];
  const BESIDE_LINE = [5, 21];
  const DOT = 8;

  /* A spot for every label, by the names of `texts`. Those with the least choice come first.
     layout: height and margin. widths: the narrowest and the widest box that gets it. */
  function place(curves, texts, bonus, layout, widths) {
    const { spot, around, bestSpot, box, textWidth } = Lesson.labelling;
    const { xRange, yRange } = curves;
    const frames = widths.map((width) => {
      const height = Lesson.charts.heightAt(layout.height, width);
      return Lesson.labelling.frame(width, height, layout.margin, xRange, yRange);
    });
    const step = curves.x.length > 40 ? 4 : 1;
    const sparse = (y) => curves.x.map((x, n) => [x, y[n]]).filter((_, n) => n % step === 0);
    const without = sparse(curves.without);
    const with_ = sparse(curves.with_);
    const lines = [without, with_];
    if (texts.reference) lines.push(xRange.map((x) => [x, 1]));
    if (curves.even) lines.push([[curves.even[0], 0], curves.even]);
    const dots = [curves.point, curves.mark].filter(Boolean);
    const taken = frames.map((frame) =>
      dots.map(([x, y]) => [frame.x(x) - DOT, frame.y(y) - DOT, frame.x(x) + DOT, frame.y(y) + DOT]),
    );
    const small = Lesson.charts.sizes.small;

    const spots = { y_title: spot(xRange[0], yRange[1], -30, 10, "left", "bottom") };
    const titleWidth = textWidth(texts.y_title, small, false);
    taken.forEach((boxes, n) => boxes.push(box(spots.y_title, frames[n], titleWidth, LABEL_HEIGHT)));
    const [x, y] = curves.point;
    const choices = [
      ["point", around(x, y, bonus ? "nw ne se sw n s" : "se sw nw ne s n", NEAR)],
      ["mark", markSpots(curves)],
      ["reference", referenceSpots(xRange)],
      ["with_", lineSpots(with_, "n", xRange)],
      ["without", lineSpots(without, "s", xRange)],
    ];
    for (const [name, candidates] of choices) {
      if (!texts[name]) {
        spots[name] = candidates[0];
        continue;
      }
      const size = [textWidth(texts[name], small, name === "point"), LABEL_HEIGHT];
      spots[name] = bestSpot(candidates, size, frames, lines, taken);
      taken.forEach((boxes, n) => boxes.push(box(spots[name], frames[n], size[0], size[1])));
    }
    return spots;
  }

  function lineSpots(line, side, xRange) {
    const { spot, around } = Lesson.labelling;
    const spots = [];
    for (const way of [side, side === "n" ? "s" : "n"]) {
      for (const distance of BESIDE_LINE) {
        for (const [x, y] of [...line].reverse()) {
          spots.push(...around(x, y, way === "n" ? "nw ne" : "se sw", [distance]));
          if (way === "s") spots.push(spot(xRange[1], y, 0, -distance, "right", "top"));
        }
      }
    }
    return spots;
  }

  function markSpots(curves) {
    const { spot, around } = Lesson.labelling;
    if (!curves.mark) {
      const last = curves.x.length - 1;
      const atRight = curves.best !== null && curves.best[0] > curves.x[last];
      const end = atRight ? last : 0;
      const height = Math.max(curves.with_[end], curves.without[end]);
      return around(curves.x[end], height, atRight ? "nw sw" : "ne se", NEAR);
    }
    if (!curves.even) return around(curves.mark[0], curves.mark[1], "n nw ne s se sw", NEAR);
    const x = curves.even[0];
    return [
      ...[2, 18].map((dy) => spot(x, 0, 6, dy, "left", "bottom")),
      ...[2, 18].map((dy) => spot(x, 0, -6, dy, "right", "bottom")),
      ...around(x, 1, "nw ne se sw n", NEAR),
      ...NEAR.map((dy) => spot(0, 1, 2, dy, "left", "bottom")),
      ...[2, 18].map((dy) => spot(1, 0, -2, dy, "right", "bottom")),
    ];
  }

  function referenceSpots([left, right]) {
    const { spot } = Lesson.labelling;
    const spots = [
      spot(left, 1, 4, 3, "left", "bottom"),
      spot(right, 1, -4, -3, "right", "top"),
      spot(right, 1, -4, 3, "right", "bottom"),
      spot(left, 1, 4, -3, "left", "top"),
    ];
    for (const share of [0.75, 0.5, 0.25]) {
      const x = left + (right - left) * share;
      spots.push(spot(x, 1, 0, -3, "center", "top"), spot(x, 1, 0, 3, "center", "bottom"));
    }
    return spots;
  }

  Lesson.curveLabels = { place };
})((globalThis.Lesson = globalThis.Lesson || {}));

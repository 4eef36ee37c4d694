/* Where a label may stand in a chart: beside its point, and on nothing else.

   The mirror of build_scripts/render/labelling.py, operation by operation, so that both
   find the same spots; see there for what the words mean. No DOM. */
(function (Lesson) {
  "use strict";

  const OUTSIDE = 40;
  const COVERED = 4;
  const CROSSED = 12;

  /* The plot of a figure at one size; x and y turn values into pixels. */
  function frame(width, height, margin, xRange, yRange) {
    return {
      width,
      height,
      left: margin.l,
      bottom: margin.b,
      x: (value) =>
        margin.l + ((value - xRange[0]) / (xRange[1] - xRange[0])) * (width - margin.l - margin.r),
      y: (value) =>
        height -
        margin.b -
        ((value - yRange[0]) / (yRange[1] - yRange[0])) * (height - margin.t - margin.b),
    };
  }

  function spot(x, y, dx, dy, xanchor, yanchor) {
    return { x, y, dx, dy, xanchor, yanchor };
  }

  /* The rectangle [left, top, right, bottom] of a label of that size. */
  function box(place, on, width, height) {
    const left = on.x(place.x) + place.dx - { left: 0, center: width / 2, right: width }[place.xanchor];
    const top = on.y(place.y) - place.dy - { top: 0, middle: height / 2, bottom: height }[place.yanchor];
    return [left, top, left + width, top + height];
  }

  function around(x, y, order, distances) {
    const spots = [];
    for (const distance of distances) {
      for (const way of order.split(" ")) {
        const side = way[way.length - 1];
        spots.push(
          spot(
            x,
            y,
            side === "w" ? -distance / 2 : side === "e" ? distance / 2 : 0,
            way[0] === "n" ? distance : -distance,
            side === "w" ? "right" : side === "e" ? "left" : "center",
            way[0] === "n" ? "bottom" : "top",
          ),
        );
      }
    }
    return spots;
  }

  function bestSpot(spots, size, frames, lines, taken) {
    const drawn = frames.map((on) => lines.map((line) => line.map(([x, y]) => [on.x(x), on.y(y)])));
    let best = spots[0];
    let least = Infinity;
    spots.some((place, index) => {
      /* A spot costs at least its place in the list, so no later one can do better. */
      if (least <= index) return true;
      let cost = index;
      frames.forEach((on, n) => {
        const label = box(place, on, size[0], size[1]);
        cost += OUTSIDE * outside(label, on);
        for (const other of taken[n]) cost += COVERED * overlap(label, other);
        for (const line of drawn[n]) {
          for (let i = 1; i < line.length; i++) cost += CROSSED * inside(label, line[i - 1], line[i]);
        }
      });
      if (cost < least) {
        best = place;
        least = cost;
      }
      return false;
    });
    return best;
  }

  function outside([left, top, right, bottom], on) {
    return (
      Math.max(0, on.left - left) +
      Math.max(0, right - on.width) +
      Math.max(0, -top) +
      Math.max(0, bottom - (on.height - on.bottom))
    );
  }

  function overlap(a, b) {
    const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
    const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    return width > 0 && height > 0 ? width * height : 0;
  }

  /* Pixels of the segment from a to b that lie in the box (Liang and Barsky's clipping). */
  function inside(label, a, b) {
    if (
      Math.max(a[0], b[0]) < label[0] ||
      Math.min(a[0], b[0]) > label[2] ||
      Math.max(a[1], b[1]) < label[1] ||
      Math.min(a[1], b[1]) > label[3]
    ) {
      return 0;
    }
    let start = 0;
    let end = 1;
    const dx = b[0] - a[0];
    const dy = b[1] - a[1];
    const sides = [
      [-dx, a[0] - label[0]],
      [dx, label[2] - a[0]],
      [-dy, a[1] - label[1]],
      [dy, label[3] - a[1]],
    ];
    for (const [step, room] of sides) {
      if (step === 0) {
        if (room < 0) return 0;
      } else if (step < 0) {
        start = Math.max(start, room / step);
      } else {
        end = Math.min(end, room / step);
      }
    }
    return end > start ? (end - start) * Math.sqrt(dx * dx + dy * dy) : 0;
  }

  /* Roughly how many pixels a line of text takes in a system font; never much too few. */
  function textWidth(words, size, bold) {
    return [...words].length * size * (bold ? 0.6 : 0.56);
  }

  Lesson.labelling = { frame, spot, box, around, bestSpot, textWidth };
})((globalThis.Lesson = globalThis.Lesson || {}));

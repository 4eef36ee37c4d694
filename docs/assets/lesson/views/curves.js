/* The calculator's three charts at any state: the mirror of build_scripts/views/curves.py
   and curve_data.py.

   Python draws the default state and owns the look. Here a figure is that one with other
   curves, marks and labels in it; a browser test compares both for several states.
   Uses Lesson.model, Lesson.format, Lesson.curveLabels, and Lesson.charts to show them. */
(function (Lesson) {
  "use strict";

  const EXPECTED = "expected-over-acceptance";
  const OVER_DRAFT_TOKENS = "speedup-over-draft-tokens";
  const SAMPLES = 100;
  const LABELS = ["y_title", "without", "with_", "reference", "mark", "point"];

  const mounted = new Set();

  /* Attaches every chart below `root`; `update(inputs)` of the answer shows another state.
     data: {figures, words, draft_tokens: [first, last], inputs} as curves.py gives them.
     page.labels: the page's words (chart_loading, chart_failed, none). */
  function mount(root, data, page) {
    const { labels } = page;
    const names = Object.keys(data.inputs);
    const charts = Object.keys(data.figures).map((name) => ({
      name,
      chart: Lesson.charts.attach(root.querySelector(`[data-chart="${name}"]`), data.figures[name], labels),
    }));
    let shown = data.inputs;
    const set = {
      update(values) {
        /* The pictures show the defaults already: for those nothing needs to be fetched. */
        if (names.every((name) => values[name] === shown[name])) return;
        shown = Object.fromEntries(names.map((name) => [name, values[name]]));
        for (const { name, chart } of charts) {
          chart.update(figure(data.figures[name], shown, data.words[name], labels, data.draft_tokens));
        }
      },
      destroy() {
        charts.forEach(({ chart }) => chart.destroy());
        mounted.delete(set);
      },
    };
    mounted.add(set);
    return set;
  }

  function update(values) {
    mounted.forEach((set) => set.update(values));
  }

  /* The chart `words.chart` at the state `inputs`. base: the same chart at any state.
     labels.none: the word for a number that does not exist. draftRange: first and last k. */
  function figure(base, inputs, words, labels, draftRange) {
    const curves = traceCurves(words.chart, inputs, draftRange);
    const texts = labelTexts(words, inputs, curves, labels.none);
    const next = JSON.parse(JSON.stringify(base));
    const { data, layout } = next;
    const own = inputs.bonus ? curves.with_ : curves.without;
    const other = inputs.bonus ? curves.without : curves.with_;
    setLine(data[0], curves.x, other);
    setLine(data[1], curves.x, own);
    setDot(data[2], curves.mark);
    setDot(data[3], curves.point);

    const { xRange, yRange } = curves;
    const unit = words.chart === EXPECTED ? "" : "×";
    layout.xaxis.range = xRange.map(significant);
    layout.yaxis.range = yRange.map(significant);
    const [top, step] = curves.top;
    const ticks = Array.from({ length: Math.floor(top / step + 0.5) + 1 }, (_, n) => step * n);
    layout.yaxis.tickvals = ticks.map(significant);
    layout.yaxis.ticktext = ticks.map((tick) => Lesson.format.fixed(tick, 2, true) + unit);

    const even = curves.even ? significant(curves.even[0]) : 0;
    Object.assign(layout.shapes[0], { visible: Boolean(texts.reference) });
    Object.assign(layout.shapes[1], { visible: Boolean(curves.even), x0: even, x1: even });

    const narrow = layout.meta.narrow;
    const sheets = Lesson.charts.sizes;
    const styles = labelStyles(base, inputs.bonus);
    const label = (places) =>
      LABELS.map((name) => ({
        ...styles[name],
        text: escape(texts[name]) || " ",
        visible: Boolean(texts[name]),
        ...position(places[name]),
      }));
    layout.annotations = label(
      Lesson.curveLabels.place(curves, texts, inputs.bonus, layout, sheets.wide),
    );
    narrow.annotations = label(
      Lesson.curveLabels.place(curves, texts, inputs.bonus, narrow, sheets.narrow),
    );
    layout.meta.alt = describe(words, inputs, texts, labels.none);
    return next;
  }

  /* The looks of the labels. The line of the reader's setting and the other one swap theirs. */
  function labelStyles(base, bonus) {
    const styles = {};
    base.layout.annotations.forEach((annotation, index) => (styles[LABELS[index]] = annotation));
    const own = base.data[1].line.color;
    const other = base.data[0].line.color;
    for (const name of ["without", "with_"]) {
      const color = (name === "with_") === bonus ? own : other;
      styles[name] = { ...styles[name], font: { ...styles[name].font, color } };
    }
    return styles;
  }

  function setLine(trace, x, y) {
    trace.x = x.map(significant);
    trace.y = y.map(significant);
  }

  function setDot(trace, at) {
    trace.x = at ? [significant(at[0])] : [];
    trace.y = at ? [significant(at[1])] : [];
  }

  function position(place) {
    return {
      x: significant(place.x),
      y: significant(place.y),
      xshift: significant(place.dx),
      yshift: significant(place.dy),
      xanchor: place.xanchor,
      yanchor: place.yanchor,
    };
  }

  /* Six significant digits, halves away from zero, as figures.py keeps them. */
  function significant(value) {
    return Number(value.toPrecision(6));
  }

  /* --- the values --- */

  function traceCurves(chart, inputs, [first, last]) {
    const speedup = (change) => Lesson.model.speedup({ ...inputs, ...change });
    if (chart === OVER_DRAFT_TOKENS) {
      const x = Array.from({ length: last - first + 1 }, (_, n) => first + n);
      const best = Lesson.model.bestDraftTokens(inputs);
      const onChart = first <= best && best <= last;
      const atBest = [best, speedup({ draft_tokens: best })];
      return finish({
        x,
        without: x.map((k) => speedup({ draft_tokens: k, bonus: false })),
        with_: x.map((k) => speedup({ draft_tokens: k, bonus: true })),
        point: [inputs.draft_tokens, speedup({})],
        even: null,
        best: atBest,
        mark: onChart ? atBest : null,
        pad: 0.5,
      });
    }
    const x = Array.from({ length: SAMPLES + 1 }, (_, step) => step / SAMPLES);
    if (chart === EXPECTED) {
      const expected = (h, bonus) => Lesson.model.expectedTokens(h, inputs.draft_tokens, bonus);
      return finish({
        x,
        without: x.map((h) => expected(h, false)),
        with_: x.map((h) => expected(h, true)),
        point: [inputs.acceptance, expected(inputs.acceptance, inputs.bonus)],
        even: null,
        best: null,
        mark: null,
        pad: 0,
      });
    }
    const h = Lesson.model.breakEvenAcceptance(inputs);
    const even = h === null ? null : [h, 1];
    return finish({
      x,
      without: x.map((at) => speedup({ acceptance: at, bonus: false })),
      with_: x.map((at) => speedup({ acceptance: at, bonus: true })),
      point: [inputs.acceptance, speedup({})],
      even,
      best: null,
      mark: even,
      pad: 0,
    });
  }

  /* Adds the axes: half a step around whole numbers, and a little above the last tick. */
  function finish(curves) {
    const { x, without, with_, pad } = curves;
    const top = Lesson.charts.axisTop(Math.max(1.15, ...without, ...with_));
    return { ...curves, top, xRange: [x[0] - pad, x[x.length - 1] + pad], yRange: [0, top[0] * 1.04] };
  }

  /* --- the words --- */

  /* Plotly reads a little HTML. */
  function escape(words) {
    return words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  function labelTexts(words, inputs, curves, none) {
    const number = (name, value) => Lesson.format.number(name, value, none);
    let mark = "";
    if (curves.even && words.mark_label) {
      const even = number("break_even_acceptance", curves.even[0]);
      mark = Lesson.format.fill(words.mark_label, {
        break_even: even,
        k: inputs.draft_tokens,
        speedup: number("speedup", 1),
      });
    } else if (curves.best && words.mark_label) {
      const template = (!curves.mark && words.mark_beyond_label) || words.mark_label;
      const [k, factor] = curves.best;
      mark = Lesson.format.fill(template, { break_even: "", k, speedup: number("speedup", factor) });
    }
    const atBest = Boolean(mark) && curves.best && curves.best[0] === curves.point[0];
    const { acceptance, draft_tokens: k, bonus } = inputs;
    const point = Lesson.format.fill(words.point_label, {
      acceptance: number("acceptance", acceptance),
      k,
      expected: number("expected_tokens", Lesson.model.expectedTokens(acceptance, k, bonus)),
      speedup: number("speedup", Lesson.model.speedup(inputs)),
    });
    return {
      y_title: words.y_title,
      without: words.without_label,
      with_: words.with_label,
      reference: words.reference_label || "",
      mark,
      point: atBest ? "" : point,
    };
  }

  /* The chart in words: its title, the reader's point, the mark, the other setting's value. */
  function describe(words, inputs, texts, none) {
    const other = { ...inputs, bonus: !inputs.bonus };
    const value =
      words.chart === EXPECTED
        ? Lesson.model.expectedTokens(other.acceptance, other.draft_tokens, other.bonus)
        : Lesson.model.speedup(other);
    const name = words.chart === EXPECTED ? "expected_tokens" : "speedup";
    const labels = [words.without_label, words.with_label];
    const own = labels[inputs.bonus ? 1 : 0];
    const notOwn = labels[inputs.bonus ? 0 : 1];
    const said = [texts.point, texts.mark].filter(Boolean);
    return (
      [
        words.title,
        `${own}: ${said.join("; ")}`,
        `${notOwn}: ${Lesson.format.number(name, value, none)}`,
      ].join(". ") + "."
    );
  }

  Lesson.curves = { mount, update, figure };
})((globalThis.Lesson = globalThis.Lesson || {}));

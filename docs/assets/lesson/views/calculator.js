/* The calculator: sliders and presets set the page's parameters; readouts, objectives and
   curves follow them. What the numbers are is model.js's business, how they look format.js's. */
(function (Lesson) {
  "use strict";

  const OBJECTIVES = {
    ttft: { parameter: "slo_ttft_ms", format: "ttft_ms", most: true },
    itl: { parameter: "slo_itl_ms", format: "tpot_ms", most: true },
    throughput: { parameter: "slo_throughput_tps", format: "throughput_tps", most: false },
  };

  const fill = Lesson.format.fill;

  const power = (exponent) =>
    exponent === 0 ? "1" : exponent === 1 ? "h" : "h" + String(exponent).replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);

  /* The terms 1, h, h², … whose sum is E. */
  function polynomial(inputs) {
    const rows = Math.max(1, inputs.bonus ? inputs.draft_tokens + 1 : inputs.draft_tokens);
    return Array.from({ length: rows }, (_, i) => Math.pow(inputs.acceptance, i));
  }

  function polynomialText(terms, total) {
    if (terms.length === 1) return "E = 1 = " + total;
    const values = terms.map((term) => Lesson.format.fixed(term, 4, true));
    return `E = ${terms.map((_, i) => power(i)).join(" + ")} = ${values.join(" + ")} = ${total}`;
  }

  function mount(root, data, page) {
    const { state } = page;
    const labels = data.labels;
    const find = (selector) => root.querySelector(selector);
    const all = (selector) => [...root.querySelectorAll(selector)];
    const show = (name, value) => Lesson.format.number(name, value, page.labels.none);
    const say = (selector, text) => {
      find(selector).textContent = text;
    };
    const table = Object.fromEntries(state.table.map((parameter) => [parameter.name, parameter]));
    let summaryTimer = 0;

    function draw(values) {
      say(".copy-says", "");
      const outputs = Lesson.model.evaluate(values);
      drawControls(values);
      drawReadouts(values, outputs);
      drawPolynomial(values, outputs);
      drawObjectives(values, outputs);
      drawPresets(values);
      Lesson.curves.update(values);
    }

    function drawControls(values) {
      for (const control of all("[data-parameter]")) {
        const value = values[control.dataset.parameter];
        for (const input of control.querySelectorAll("input")) {
          if (input.type === "checkbox") input.checked = value;
          /* A field that is being typed in is left alone: "0." is on its way to "0.5". */
          else if (input.type === "range" || input !== document.activeElement) input.value = String(value);
          if (input.type === "range") {
            input.setAttribute("aria-valuetext", show(control.dataset.parameter, value));
            const { min, max } = table[control.dataset.parameter];
            input.style.setProperty("--filled", (100 * (value - min)) / (max - min) + "%");
          }
        }
      }
    }

    function drawReadouts(values, outputs) {
      const plain = Lesson.model.evaluate({ ...values, draft_tokens: 0 });
      const words = { "net win": labels.net_win, "break-even": labels.break_even, "net loss": labels.net_loss };
      for (const readout of all("[data-readout]")) {
        const name = readout.dataset.readout;
        readout.textContent = name === "verdict" ? words[outputs.verdict] : show(name, outputs[name]);
      }
      find(".verdict").className = "verdict verdict-" + outputs.verdict.replace(" ", "-");
      for (const was of all("[data-baseline]")) {
        const name = was.dataset.baseline;
        was.textContent = fill(labels.baseline, {
          value: name === "expected_tokens" ? Lesson.format.fixed(plain[name], 0) : show(name, plain[name]),
        });
      }
      say("[data-round-sum]", fill(labels.round_sum, {
        target: Lesson.format.fixed(values.target_ms, 2, true),
        k: values.draft_tokens,
        draft: Lesson.format.fixed(values.draft_ms, 2, true),
        round: show("round_ms", outputs.round_ms),
      }));
      say("[data-burst]", fill(labels.burst, {
        ms: show("burst_gap_ms", outputs.burst_gap_ms),
        words: show("expected_tokens", outputs.expected_tokens),
      }));
      say("[data-best-k]", bestK(values, outputs.best_draft_tokens));
      const never = outputs.break_even_acceptance === null;
      say("[data-break-even]", never
        ? labels.break_even_never
        : fill(labels.break_even_at, { h: show("break_even_acceptance", outputs.break_even_acceptance) }));
      say("[data-operations]", fill(labels.operations, { factor: show("operations_factor", outputs.operations_factor) }));
      for (const other of all("[data-other]")) other.hidden = (other.dataset.other === "on") !== values.bonus;
      for (const caption of all("[data-caption]")) caption.hidden = (caption.dataset.caption === "never") !== never;
      announce(fill(labels.summary, {
        verdict: words[outputs.verdict],
        speedup: show("speedup", outputs.speedup),
        expected: show("expected_tokens", outputs.expected_tokens),
        tpot: show("tpot_ms", outputs.tpot_ms),
      }));
    }

    function bestK(values, k) {
      if (k === 0) return labels.best_k_none;
      const speedup = Lesson.model.speedup({ ...values, draft_tokens: k });
      const template = k === data.most_draft_tokens ? labels.best_k_most : labels.best_k;
      return fill(template, { k, speedup: show("speedup", speedup) });
    }

    /* One sentence once the slider rests, not one at every pixel. */
    function announce(text) {
      window.clearTimeout(summaryTimer);
      summaryTimer = window.setTimeout(() => say("[data-summary]", text), 600);
    }

    function drawPolynomial(values, outputs) {
      const terms = polynomial(values);
      const bars = terms.map((term, i) => {
        const bar = document.createElement("span");
        bar.className = "term";
        bar.style.flexGrow = String(term);
        const symbol = document.createElement("b");
        symbol.textContent = power(i);
        const says = document.createElement("small");
        says.textContent = i === 0 ? labels.polynomial_first : fill(labels.polynomial_term, { n: i });
        bar.append(symbol, says);
        bar.classList.toggle("is-thin", term < data.room_for_words * terms.length);
        return bar;
      });
      const rest = document.createElement("span");
      rest.className = "term-rest";
      rest.style.flexGrow = String(Math.max(0, terms.length - outputs.expected_tokens));
      find(".polynomial-bars").replaceChildren(...bars, rest);
      say("[data-polynomial]", polynomialText(terms, show("expected_tokens", outputs.expected_tokens)));
    }

    function drawObjectives(values, outputs) {
      const reached = { ttft: data.ttft_ms, itl: outputs.tpot_ms, throughput: outputs.throughput_tps };
      for (const row of all("[data-objective]")) {
        const name = row.dataset.objective;
        const { parameter, format, most } = OBJECTIVES[name];
        const limit = values[parameter];
        const difference = reached[name] - limit;
        const passes = most ? difference <= 0 : difference >= 0;
        const unit = table[parameter].unit;
        row.classList.toggle("is-pass", passes);
        row.classList.toggle("is-fail", !passes);
        row.querySelector("[data-reached]").textContent = show(format, reached[name]);
        row.querySelector("[data-limit]").textContent = show(parameter, limit);
        row.querySelector("[data-objective-word]").textContent = passes ? labels.passes : labels.fails;
        row.querySelector("[data-margin]").textContent =
          difference === 0
            ? labels.exactly
            : fill(labels.by, {
                margin: Lesson.format.fixed(Math.abs(difference), 1, true) + " " + unit,
                side: difference < 0 ? labels.below : labels.above,
              });
      }
      say("[data-itl-note]", fill(labels.itl_note, { gap: show("burst_gap_ms", outputs.burst_gap_ms) }));
    }

    function drawPresets(values) {
      const chosen = data.presets.find((preset) =>
        Object.entries(preset.settings).every(([name, value]) => values[name] === value)
      );
      for (const button of all("[data-preset]")) {
        button.setAttribute("aria-pressed", String(Boolean(chosen) && button.dataset.preset === chosen.id));
      }
      for (const text of all("[data-preset-text]")) text.hidden = !chosen || text.dataset.presetText !== chosen.id;
    }

    async function copyLink() {
      const link = state.link(data.figure);
      const field = find(".copy-field");
      try {
        await navigator.clipboard.writeText(link);
        field.hidden = true;
        say(".copy-says", labels.copied);
      } catch (error) {
        /* Pages from disk and old browsers have no clipboard: show the link, ready to copy. */
        field.hidden = false;
        field.value = link;
        field.select();
        say(".copy-says", labels.copy_failed);
      }
    }

    root.addEventListener("input", (event) => {
      const control = event.target.closest("[data-parameter]");
      if (!control) return;
      const input = event.target;
      state.set({ [control.dataset.parameter]: input.type === "checkbox" ? input.checked : input.value });
    });
    /* Leaving a field shows what its text was taken for. */
    root.addEventListener("focusout", (event) => {
      const control = event.target.closest("[data-parameter]");
      if (control && event.target.type === "number") event.target.value = String(state.get()[control.dataset.parameter]);
    });
    /* A swipe that scrolls the page may begin on a slider: what it set by that is taken back. */
    let touched = null;
    root.addEventListener("pointerdown", (event) => {
      const control = event.pointerType === "touch" && event.target.closest("[data-parameter]");
      touched = control ? { [control.dataset.parameter]: state.get()[control.dataset.parameter] } : null;
    });
    root.addEventListener("pointercancel", () => {
      if (touched) state.set(touched);
      touched = null;
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const preset = data.presets.find((entry) => entry.id === button.dataset.preset);
      if (preset) state.set(preset.settings);
      if (button.dataset.act === "link") copyLink();
      if (button.dataset.act === "reset") {
        state.reset(Object.keys(table).filter((name) => find(`[data-parameter="${name}"]`)));
        find(".copy-field").hidden = true;
        say(".copy-says", "");
      }
    });

    Lesson.curves.mount(root, data.curves, page);
    state.subscribe(draw);
    draw(state.get());
  }

  Lesson.calculator = { polynomial, polynomialText };
  Lesson.views = Object.assign(Lesson.views || {}, { calculator: mount });
})((globalThis.Lesson = globalThis.Lesson || {}));

/* The stepped diagram: one round over a handful of words, in the page's own elements.

   `play` and `scene` are pure; the rest writes what they return into the HTML that
   build_scripts/views/step_diagram.py made. */
(function (Lesson) {
  "use strict";

  const STEP_MS = 2200;

  /* The round in which the draft says `drafted` and the target `target`; mirrors
     build_scripts/model/teaching_round.py. */
  function play(drafted, target, bonus) {
    const k = drafted.length;
    let accepted = 0;
    while (accepted < k && drafted[accepted] === target[accepted]) accepted += 1;
    const outcomes = drafted.map((_, i) => (i < accepted ? "accepted" : i === accepted ? "rejected" : "unexamined"));
    const committed = drafted.slice(0, accepted).map((word) => [word, "accepted"]);
    if (accepted < k) committed.push([target[accepted], "recovered"]);
    else if (bonus) committed.push([target[k], "bonus"]);
    return { outcomes, committed, accepted };
  }

  const fill = Lesson.format.fill;

  /* Everything that the picture shows, from the data and the reader's choices. */
  function scene(data, choice) {
    const { step, drafts: k, flips, bonus } = choice;
    const drafted = data.drafted.slice(0, k);
    const says = data.target.map((word, i) => (i < k && flips[i] === "1" ? data.alternatives[i] : word));
    const played = play(drafted, says, bonus);
    const rows = bonus ? k + 1 : k;
    const drafted_ms = k * data.draft_ms;
    const round_ms = drafted_ms + data.target_ms;
    const current = step ? data.steps[step - 1] : null;
    const now = { start: 0, drafted: drafted_ms, verified: round_ms }[current ? current.clock : "start"];
    const shows = new Set(current ? current.shows : ["context"]);
    return { ...choice, drafted, says, ...played, rows, drafted_ms, round_ms, now, shows, current };
  }

  const ms = (value) => Lesson.format.fixed(value, 1, true);
  const count = (data, n) => fill(n === 1 ? data.labels.count_one : data.labels.count_many, { n });

  function sentence(data, s) {
    if (!s.current) return fill(data.ready, { prompt: data.prompt.join(" ") });
    const missed = s.accepted < s.drafts;
    const all = (s.bonus ? s.current.says_bonus : s.current.says_all) || s.current.says;
    return fill(missed ? s.current.says : all, {
      prompt: data.prompt.join(" "),
      drafted: s.drafted.join(" "),
      k: s.drafts,
      draft_ms: ms(s.drafted_ms),
      rows: s.rows,
      target: s.says.slice(0, s.rows).join(", "),
      accepted: s.accepted,
      rejected: missed ? s.drafted[s.accepted] : "",
      word: s.says[s.accepted],
      committed: s.committed.map(([word]) => word).join(" "),
      words: count(data, s.committed.length),
      ms: ms(s.round_ms),
      plain_ms: ms(s.committed.length * data.target_ms),
    });
  }

  /* What this round gave, beside what the average round gives. */
  function lines(data, s) {
    const words = s.committed.length;
    const inputs = {
      acceptance: data.acceptance, draft_tokens: s.drafts, target_ms: data.target_ms, draft_ms: data.draft_ms, bonus: s.bonus,
    };
    const average = Lesson.model.evaluate(inputs);
    const gap = words - average.expected_tokens;
    const clock = data.passes_on_clock * data.target_ms;
    const rounds = Math.floor(clock / s.round_ms);
    const show = (name, value) => Lesson.format.number(name, value, "");
    return {
      round: fill(s.shows.has("verdict") ? data.labels.round_says : data.labels.round_ahead, {
        committed: count(data, words),
        ms: ms(s.round_ms),
        plain_ms: ms(words * data.target_ms),
        speedup: show("speedup", (words * data.target_ms) / s.round_ms),
      }),
      luck: gap >= 0.5 ? data.labels.lucky : gap <= -0.5 ? data.labels.unlucky : data.labels.usual,
      average: fill(data.labels.average_says, {
        acceptance: show("acceptance", data.acceptance),
        expected: show("expected_tokens", average.expected_tokens),
        speedup: show("speedup", average.speedup),
      }),
      lanes: fill(data.labels.lanes_says, {
        words: count(data, words * rounds),
        ms: ms(rounds * s.round_ms),
        plain_ms: ms(data.target_ms),
        plain_words: Math.floor((rounds * s.round_ms) / data.target_ms),
      }),
    };
  }

  /* Segments of the speculative lane as [kind, start ms, length ms, dots]. */
  function lane(data, s) {
    const clock = Math.max(data.passes_on_clock * data.target_ms, s.round_ms);
    const parts = [];
    for (let start = 0; start < clock; start += s.round_ms) {
      for (let j = 0; j < s.drafts; j += 1) parts.push(["draft", start + j * data.draft_ms, data.draft_ms, []]);
      parts.push(["target", start + s.drafted_ms, data.target_ms, s.committed.map(([, how]) => how)]);
    }
    return { clock, parts: parts.filter(([, from, length]) => from < clock && length > 0) };
  }

  function element(tag, className, text) {
    const node = document.createElement(tag);
    node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function chip(word, kind, mark) {
    const node = element("span", "chip chip-" + kind);
    if (mark) {
      const sign = element("span", "chip-mark", mark);
      sign.setAttribute("aria-hidden", "true");
      node.append(sign);
    }
    node.append(element("span", "chip-word", word));
    return node;
  }

  /* The parts of a lane, as `lane` has them, on a clock of that many ms; what does not end on it is cut. */
  function segments(parts, clock) {
    return parts.map(([kind, from, length, dots]) => {
      const part = element("span", "segment segment-" + kind);
      part.style.left = (100 * from) / clock + "%";
      part.style.width = (100 * (Math.min(from + length, clock) - from)) / clock + "%";
      if (from + length <= clock + 1e-9) part.append(...dots.map((how) => element("i", "dot dot-" + how)));
      return part;
    });
  }

  function mount(root, data, page) {
    const state = page.state;
    const find = (selector) => root.querySelector(selector);
    const all = (selector) => [...root.querySelectorAll(selector)];
    const diagram = find(".diagram");
    const stage = find(".stage");
    const total = data.steps.length;
    const playButton = find('[data-act="play"]');
    let timer = 0;
    let shown = null;

    const choice = (values) => ({
      step: values.diagram_step,
      drafts: values.diagram_drafts,
      flips: values.diagram_flips,
      bonus: values.bonus,
    });

    function draw() {
      const s = scene(data, choice(state.get()));
      const before = shown;
      shown = s;
      const fresh = [...s.shows].filter((name) => before && s.step === before.step + 1 && !before.shows.has(name));
      diagram.dataset.shows = [...s.shows].join(" ");
      diagram.dataset.fresh = fresh.join(" ");
      drawControls(s);
      drawChips(s);
      drawTriangle(s);
      drawCommit(s);
      drawClock(s);
      const text = sentence(data, s);
      const status = find(".diagram-says [role=status]");
      if (status.textContent !== text) status.textContent = text;
    }

    function drawControls(s) {
      for (const button of all("[data-go]")) {
        if (Number(button.dataset.go) === s.step) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      }
      for (const item of all("[data-step-text]")) item.classList.toggle("is-current", Number(item.dataset.stepText) === s.step);
      find(".step-count").textContent = fill(page.labels.step_of, { n: s.step, total });
      find('[data-act="back"]').setAttribute("aria-disabled", String(s.step === 0));
      find('[data-act="next"]').setAttribute("aria-disabled", String(s.step === total));
      for (const radio of all(".choice input")) radio.checked = Number(radio.value) === s.drafts;
      find(".diagram-bonus").checked = s.bonus;
    }

    function drawChips(s) {
      const verdict = s.shows.has("verdict");
      all(".row-draft .positions > li").forEach((item, i) => {
        item.hidden = i >= s.drafts;
        if (item.hidden) return;
        const outcome = verdict ? s.outcomes[i] : "waiting";
        item.dataset.outcome = outcome;
        const kind = { accepted: "accepted", rejected: "rejected", unexamined: "unexamined", waiting: "draft" }[outcome];
        item.querySelector(".chip").replaceWith(chip(s.drafted[i], kind, verdict ? data.marks[outcome] : ""));
        item.querySelector(".outcome").textContent = verdict
          ? { accepted: data.labels.accepted, rejected: data.labels.rejected, unexamined: data.labels.not_examined }[outcome]
          : "";
      });
      all(".row-target .positions > li:not(.position-bonus)").forEach((item, i) => {
        item.hidden = i >= s.drafts;
        if (item.hidden) return;
        const outcome = verdict ? s.outcomes[i] : "waiting";
        item.dataset.outcome = outcome;
        item.querySelector(".chip").replaceWith(chip(s.says[i], "target", outcome === "rejected" ? data.marks.recovered : ""));
        item.querySelector(".outcome").textContent = outcome === "rejected" ? data.labels.recovered : "";
      });
      all(".row-flip li").forEach((item, i) => {
        item.hidden = i >= s.drafts;
        const other = s.flips[i] === "1" ? data.target[i] : data.alternatives[i];
        const button = item.firstElementChild;
        button.setAttribute("aria-label", fill(data.labels.flip, { word: other }));
        button.setAttribute("aria-pressed", String(s.flips[i] === "1"));
        button.firstElementChild.textContent = "⇄ " + other;
      });
      const bonus = find(".position-bonus");
      bonus.hidden = !s.bonus;
      bonus.dataset.outcome = verdict && s.accepted < s.drafts ? "unexamined" : "bonus";
      bonus.querySelector(".chip").replaceWith(
        chip(s.says[s.drafts], "target", verdict && s.accepted === s.drafts ? data.marks.bonus : "")
      );
      find(".row-draft .row-empty").hidden = s.shows.has("draft");
      find(".row-target .row-empty").hidden = !s.shows.has("waiting");
    }

    function drawTriangle(s) {
      find(".triangle caption").textContent = s.rows === 1
        ? data.labels.triangle_caption_one
        : fill(data.labels.triangle_caption, { rows: s.rows });
      for (const cell of all(".triangle [data-draft]")) cell.hidden = Number(cell.dataset.draft) > s.drafts;
      for (const row of all(".triangle tbody tr")) {
        const i = Number(row.dataset.row);
        row.hidden = i >= s.rows;
        row.querySelector(".triangle-word").textContent = s.says[i];
      }
    }

    function drawCommit(s) {
      const done = s.shows.has("commit");
      const chips = s.committed.map(([word, how]) => chip(word, how === "accepted" ? "accepted" : "target", data.marks[how]));
      find(".commit-chips").replaceChildren(...chips);
      find(".row-commit .row-empty").hidden = done;
      const added = find(".context-new");
      added.hidden = !done;
      added.replaceChildren(...(done ? s.committed.map(([word]) => chip(word, "context", "")) : []));
    }

    function drawClock(s) {
      const { clock, parts } = lane(data, s);
      find(".lane-speculative").replaceChildren(...segments(parts, clock));
      find(".cursor").style.left = (100 * s.now) / clock + "%";
      const plain = Math.floor(s.now / data.target_ms);
      const verified = s.now >= s.round_ms;
      const counts = {
        plain: { passes: plain, words: plain, ms: ms(s.now) },
        speculative: { passes: verified ? 1 : 0, words: s.shows.has("commit") ? s.committed.length : 0, ms: ms(s.now) },
      };
      for (const row of all(".counters tbody tr")) {
        for (const cell of row.querySelectorAll("[data-count]")) {
          cell.textContent = counts[row.dataset.lane][cell.dataset.count];
        }
      }
      for (const [name, text] of Object.entries(lines(data, s))) find(`[data-line="${name}"]`).textContent = text;
    }

    const go = (step) => state.set({ diagram_step: Math.min(total, Math.max(0, step)) });

    function pause() {
      window.clearInterval(timer);
      timer = 0;
      playButton.textContent = "▶ " + page.labels.play;
    }

    function start() {
      if (state.get().diagram_step === total) go(0);
      playButton.textContent = "❚❚ " + page.labels.pause;
      timer = window.setInterval(() => {
        go(state.get().diagram_step + 1);
        if (state.get().diagram_step === total) pause();
      }, STEP_MS);
    }

    const acts = {
      back: () => go(state.get().diagram_step - 1),
      next: () => go(state.get().diagram_step + 1),
      play: () => (timer ? pause() : start()),
      reset: () => state.reset(["diagram_step", "diagram_drafts", "diagram_flips", "bonus"]),
    };

    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.act !== "play" && timer) pause();
      if (button.dataset.act) acts[button.dataset.act]();
      if (button.dataset.go) go(Number(button.dataset.go));
      if (button.dataset.flip) {
        const i = Number(button.dataset.flip);
        const flips = state.get().diagram_flips.padEnd(data.alternatives.length, "0").split("");
        flips[i] = flips[i] === "1" ? "0" : "1";
        /* The flip is about what is then committed, so the last step shows it. */
        state.set({ diagram_flips: flips.join(""), diagram_step: total });
      }
    });
    root.addEventListener("change", (event) => {
      if (event.target.matches(".choice input")) state.set({ diagram_drafts: Number(event.target.value) });
      if (event.target.matches(".diagram-bonus")) state.set({ bonus: event.target.checked });
    });
    stage.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const steps = { ArrowRight: 1, ArrowLeft: -1 };
      const ends = { Home: 0, End: total };
      if (event.key in steps) go(state.get().diagram_step + steps[event.key]);
      else if (event.key in ends) go(ends[event.key]);
      else return;
      pause();
      event.preventDefault();
    });

    const mine = new Set(["diagram_step", "diagram_drafts", "diagram_flips", "bonus"]);
    state.subscribe((_, changed) => changed.some((name) => mine.has(name)) && draw());
    draw();
  }

  Lesson.diagram = { play, scene, sentence, element, chip, segments };
  Lesson.views = Object.assign(Lesson.views || {}, { "step-diagram": mount });
})((globalThis.Lesson = globalThis.Lesson || {}));

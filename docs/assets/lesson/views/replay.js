/* The replay of a recorded run: rounds to step through, a clock to move along, and the numbers that
   decided each token. The HTML is from build_scripts/views/replay.py, a run from traces.js, what
   there is to say of one round from replay_round.js.

   One moment of the run's clock decides what is on the page. While a round drafts, the round before
   it still stands, complete; then its drafts wait for the target; then the verdict. */
(function (Lesson) {
  "use strict";

  const OUTCOMES = { "net win": "wins", "break-even": "ties", "net loss": "loses" };
  /* A tab that slept goes on where it was. */
  const LONGEST_FRAME_MS = 200;
  const CONTEXT_TOKENS = 8;
  /* Times in a trace have three decimals; sums of them meet no better. */
  const SAME_MS = 0.001;

  const fill = Lesson.format.fill;

  /* What is on the page at that moment: n, how many rounds it shows; shows: what of the last of them;
     waits: whether the first round is still being drafted. */
  function viewAt(trace, ms) {
    const { rounds } = Lesson.traces.clock(trace);
    const complete = { shows: ["context", "draft", "verdict", "commit"], waits: false };
    const ended = rounds.filter((round) => round.end <= ms + SAME_MS).length - 1;
    const next = rounds[ended + 1];
    if (!next || ms < next.drafted - SAME_MS) return { n: ended + 1, ...complete, waits: ended < 0 && ms > 0 };
    const shows = ms < next.verified - SAME_MS ? ["context", "draft"] : ["context", "draft", "verdict"];
    return { n: ended + 2, shows, waits: false };
  }

  /* The next round after number n that rejected a draft; 0 where there is none. */
  function nextRejection(trace, n) {
    return trace.speculative.rounds.findIndex((round, i) => i >= n && round.kind === "recovered") + 1;
  }

  /* What the two lanes are made of: a pass is a part, and so is the drafting of a round. */
  function lanes(trace) {
    const { plain, rounds } = Lesson.traces.clock(trace);
    const passes = plain.slice(1).map((end, i) => ["target", plain[i], end - plain[i], []]);
    const parts = rounds.flatMap(({ start, drafted, end }) => [
      ["draft", start, drafted - start, []],
      ["target", drafted, end - drafted, []],
    ]);
    return { plain: passes, speculative: parts.filter(([, , length]) => length > 0) };
  }

  function mount(root, data, page) {
    const { element } = Lesson.diagram;
    const { milliseconds, tokenChip, count, cards, fillCard, laws, sentence, why, tellingPlace } = Lesson.replay;
    const state = page.state;
    const labels = data.labels;
    const find = (selector) => root.querySelector(selector);
    const all = (selector) => [...root.querySelectorAll(selector)];
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    const figure = find(".replay");
    const box = find(".replay-run");
    const scrub = find(".replay-scrub");
    const strip = find(".round-strip");
    const playButton = find('[data-act="play"]');
    const live = find(".replay-says");
    const status = find(".replay-result [role=status]");
    let trace = null;
    let deck = [];
    let ms = 0;
    let view = null; /* what is drawn: as viewAt has it, and the place that the reader looks at */
    let picked = null;
    let playing = 0;
    let before = 0;

    const write = (node, text) => {
      if (node.textContent !== text) node.textContent = text;
    };

    /* --- a run --- */

    /* The run of that name, or of none: the address of a page on which nobody has chosen. */
    const chosen = () => state.get().replay_trace || data.default;

    /* Asking again for a run that could not be read tries again. */
    function choose(id) {
      if (id === state.get().replay_trace) open(id);
      else state.set({ replay_trace: id, replay_round: 1 });
    }

    /* Shown is what was asked for last, however long the others take to come. */
    async function open(id) {
      pause();
      drawChoice();
      if (trace && trace.id === id) return drawResult();
      write(status, data.loading);
      try {
        const fetched = await Lesson.traces.load(id);
        if (id === chosen()) show(fetched);
      } catch (error) {
        console.warn(error.message);
        if (id !== chosen()) return;
        trace = null;
        hide(true);
        write(find(".replay-check"), "");
        write(status, data.failed);
      }
    }

    function hide(hidden) {
      for (const part of [box, find(".replay-yields"), find(".replay-table")]) part.hidden = hidden;
      const start = find(".replay-start");
      const focused = start.contains(document.activeElement);
      start.hidden = !hidden;
      if (focused && !hidden) find('[data-act="next"]').focus({ preventScroll: true });
    }

    function show(fetched) {
      trace = fetched;
      view = null;
      const { last } = Lesson.traces.clock(trace);
      drawResult();
      drawYields();
      drawStrip();
      drawTable();
      deck = cards(data, trace.k);
      find(".positions").replaceChildren(...deck.map(({ item }) => item));
      const parts = lanes(trace);
      for (const name of ["plain", "speculative"]) {
        find(".lane-" + name).replaceChildren(...Lesson.diagram.segments(parts[name], last || 1));
      }
      scrub.max = last;
      drawAnswer();
      write(find(".replay-prompt-text"), trace.prompt);
      const [line, file] = data.lines[trace.id];
      write(find(".replay-device"), line);
      find(".replay-record").href = "measurements/" + file;
      hide(false);
      goTo(state.get().replay_round);
    }

    function drawResult() {
      const judged = Lesson.traces.judge(trace);
      const temperature = Lesson.format.fixed(trace.temperature, 1, true);
      write(status, fill(data.result, {
        drafter: data.drafters[trace.drafter],
        kind: data.kinds[trace.kind],
        k: trace.k,
        temperature,
        tokens: judged.speculative.tokens,
        rounds: trace.speculative.rounds.length,
        ms: milliseconds(judged.speculative.ms),
        plain_ms: milliseconds(judged.speculative.ms * judged.factor),
        factor: Lesson.format.fixed(judged.factor, 2) + "×",
        verdict: labels[OUTCOMES[judged.verdict]],
      }).replace(/ = /g, "\u00a0=\u00a0"));
      const same = { null: fill(data.drawn, { temperature }), true: fill(data.same, { tokens: judged.plain.tokens }), false: data.differ };
      write(find(".replay-check"), same[judged.same]);
    }

    function drawYields() {
      const yields = Lesson.traces.yields(trace);
      const cell = (name) => find(`[data-yield="${name}"]`);
      const number = (value) => (value === null ? "–" : Lesson.format.fixed(value, 2));
      write(cell("measured"), number(yields.expected));
      write(cell("measured_text"), fill(data.yields.measured_text, yields));
      write(cell("predicted"), yields.h === null ? "–" : number(yields.predicted));
      write(cell("predicted_text"), yields.h === null ? data.yields.predicted_none : fill(data.yields.predicted_text, {
        h: number(yields.h),
        accepted: yields.accepted,
        examined: yields.examined,
        offered: Lesson.format.fixed(yields.offered, 1),
      }));
    }

    /* A column a round, a tile a token: the target's own at the bottom, the accepted drafts on it. */
    function drawStrip() {
      strip.replaceChildren(...trace.speculative.rounds.map((round, i) => {
        const item = element("li", "");
        const button = element("button", "round");
        button.type = "button";
        button.dataset.round = i + 1;
        button.tabIndex = -1;
        button.setAttribute("aria-label", fill(labels.round_tokens, { n: i + 1, tokens: count(labels, round.committed.length) }));
        for (let j = 0; j < round.accepted; j += 1) button.append(element("i", "tile tile-accepted"));
        button.append(element("i", "tile tile-own"));
        item.append(button);
        return item;
      }));
      strip.style.setProperty("--tiles", trace.k + 1);
    }

    function drawTable() {
      const chipText = (token) => Lesson.traces.label(trace, token).text;
      find(".replay-table tbody").replaceChildren(...trace.speculative.rounds.map((round, i) => {
        const row = element("tr", "");
        const head = element("th", "", String(i + 1));
        head.scope = "row";
        const total = round.ms.draft + round.ms.verify + round.ms.overhead;
        const cells = [
          round.drafts.map((draft) => chipText(draft.token)).join(" ") || "–",
          `${round.accepted} / ${round.drafts.length}`,
          chipText(round.token),
          String(round.committed.length),
          Lesson.format.fixed(total, 1),
        ];
        row.append(head, ...cells.map((text) => element("td", "", text)));
        return row;
      }));
    }

    /* Each token of the answer by its kind; a round's are hidden until it is complete. */
    function drawAnswer() {
      const tokens = trace.speculative.tokens;
      const texts = Lesson.traces.texts(trace, tokens);
      const spans = Lesson.traces.clock(trace).rounds;
      const pieces = spans.map(({ before: from, after }, i) => {
        const piece = element("span", "answer-round");
        piece.dataset.round = i + 1;
        for (let j = from; j < after; j += 1) {
          piece.append(element("span", j - from < trace.speculative.rounds[i].accepted ? "token-accepted" : "token-target", texts[j]));
        }
        return piece;
      });
      find(".replay-answer").replaceChildren(element("span", "", texts[0]), ...pieces);
    }

    /* --- one moment of it --- */

    function draw() {
      const next = viewAt(trace, ms);
      const key = next.n + next.shows.join() + next.waits;
      const changed = !view || view.key !== key;
      if (playing && still.matches && !changed) return; /* no motion between two phases */
      drawTime();
      if (!changed) return;
      const other = !view || view.n !== next.n;
      if (other) picked = null;
      view = { ...next, key };
      drawRound();
      drawProgress();
      drawPlace();
      if (other) state.set({ replay_round: view.n });
    }

    function drawTime() {
      const { last, rounds, plain_end, end } = Lesson.traces.clock(trace);
      const now = Lesson.traces.stateAt(trace, ms);
      const total = Math.max(last, 1e-9);
      scrub.value = ms;
      find(".cursor").style.left = (100 * ms) / total + "%";
      write(find(".replay-now"), fill(labels.clock_at, { ms: milliseconds(ms), total: milliseconds(last) }));
      const passes = { plain: now.plain.tokens - 1, speculative: ms >= end ? rounds.length : now.speculative.round };
      for (const row of all(".counters tbody tr")) {
        const lane = now[row.dataset.lane];
        const until = row.dataset.lane === "plain" ? plain_end : end;
        const cells = row.querySelectorAll("[data-count]");
        write(cells[0], String(passes[row.dataset.lane]));
        write(cells[1], String(lane.tokens));
        write(cells[2], milliseconds(Math.min(ms, until)));
        write(cells[3], lane.rate === null ? "–" : Lesson.format.fixed(lane.rate, 1));
      }
    }

    const roundNow = () => (view.n > 0 ? trace.speculative.rounds[view.n - 1] : null);

    /* The stage: the text before the round, its places, and what it committed. */
    function drawRound() {
      const round = roundNow();
      const spans = Lesson.traces.clock(trace).rounds;
      const verdict = view.shows.includes("verdict");
      const committed = view.shows.includes("commit");
      figure.dataset.shows = view.shows.join(" ");
      const upTo = view.n > 0 ? spans[view.n - 1].before : 1;
      const known = trace.speculative.tokens.slice(Math.max(0, upTo - CONTEXT_TOKENS), upTo);
      const ahead = upTo > CONTEXT_TOKENS ? [element("span", "context-more", "…")] : [];
      find(".row-context .chips").replaceChildren(...ahead, ...known.map((token) => tokenChip(trace, token, "context", "")));
      deck.forEach((card, place) => fillCard(card, data, trace, round, place, verdict));
      const note = find(".row-draft .row-empty");
      const nothing = round && round.drafts.length === 0;
      write(note, nothing ? labels.nothing_drafted : view.waits ? labels.drafting : !verdict ? labels.reading : "");
      note.hidden = !note.textContent;
      /* What the last round wrote beyond the answer's end stays pale. */
      const chips = round && committed ? round.committed : [];
      find(".commit-chips").replaceChildren(...chips.map((token, j) => {
        const own = j >= round.accepted;
        if (upTo + j >= spans[view.n - 1].after) return tokenChip(trace, token, "unexamined", "");
        return tokenChip(trace, token, own ? "target" : "accepted", own ? data.marks.bonus : data.marks.accepted);
      }));
      find(".row-commit .row-empty").hidden = chips.length > 0;
      if (!playing || committed) tell();
    }

    /* The screen reader hears a round when it is complete, and not while many go by. */
    function tell() {
      live.setAttribute("aria-live", playing ? "off" : "polite");
      write(live, sentence(data, trace, view.shows.includes("commit") ? view.n : view.n - 1));
    }

    /* Strip, answer and buttons. */
    function drawProgress() {
      const done = view.shows.includes("commit") ? view.n : view.n - 1;
      write(find(".step-count"), fill(labels.round_of, { n: view.n, total: trace.speculative.rounds.length }));
      for (const button of strip.querySelectorAll("button")) {
        const n = Number(button.dataset.round);
        const current = n === Math.max(1, view.n);
        button.tabIndex = current ? 0 : -1;
        button.classList.toggle("is-ahead", n > done);
        if (n === view.n) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      }
      for (const piece of all(".answer-round")) {
        const n = Number(piece.dataset.round);
        piece.classList.toggle("is-there", n <= done);
        piece.classList.toggle("is-new", n === done);
      }
      const total = trace.speculative.rounds.length;
      find('[data-act="back"]').setAttribute("aria-disabled", String(view.n === 0));
      find('[data-act="next"]').setAttribute("aria-disabled", String(view.n === total && done === total));
      find('[data-act="reject"]').setAttribute("aria-disabled", String(!nextRejection(trace, view.n)));
      scrub.setAttribute("aria-valuetext", find(".replay-now").textContent + ", " + find(".step-count").textContent);
    }

    /* The place that the reader looks at, its reason and the laws that stood behind it. */
    function drawPlace() {
      const round = roundNow();
      find(".laws").style.visibility = round && view.shows.includes("verdict") ? "" : "hidden";
      if (!round || !view.shows.includes("verdict")) return;
      const place = picked === null ? tellingPlace(round) : picked;
      deck.forEach(({ button }, i) => button.setAttribute("aria-pressed", String(i === place)));
      write(find(".laws-title"), fill(labels.position, { n: place + 1 }));
      write(find(".laws-why"), why(data, trace, round, place));
      find(".laws-lists").replaceChildren(...laws(data, trace, round, place));
      write(find(".laws-note"), trace.temperature === 0 ? labels.greedy_laws : "");
    }

    function drawChoice() {
      for (const radio of all('[name="replay-run"]')) radio.checked = radio.value === chosen();
      for (const radio of all('[name="replay-speed"]')) radio.checked = radio.value === state.get().replay_speed;
    }

    /* --- the reader moves --- */

    /* To the moment at which round n is complete. */
    function goTo(n) {
      const { rounds } = Lesson.traces.clock(trace);
      const to = Math.min(rounds.length, Math.max(0, n));
      ms = to === 0 ? 0 : rounds[to - 1].end;
      draw();
    }

    function frame(now) {
      const passed = Math.min(LONGEST_FRAME_MS, Math.max(0, now - before)) * Number(state.get().replay_speed);
      before = now;
      const { last } = Lesson.traces.clock(trace);
      ms = Math.min(last, ms + passed);
      if (ms < last) {
        playing = window.requestAnimationFrame(frame);
        draw();
      } else {
        pause();
        draw();
      }
    }

    function pause() {
      const was = playing;
      window.cancelAnimationFrame(playing);
      playing = 0;
      playButton.textContent = "▶ " + page.labels.play;
      if (was && view) tell();
    }

    function play() {
      if (ms >= Lesson.traces.clock(trace).last - SAME_MS) ms = 0;
      before = window.performance.now();
      playButton.textContent = "❚❚ " + page.labels.pause;
      playing = window.requestAnimationFrame(frame);
    }

    /* A round that is not complete is completed by a step forward, and undone by one back. */
    const step = (by) => {
      pause();
      const done = view.shows.includes("commit") ? view.n : view.n - 1;
      goTo(by > 0 ? done + 1 : Math.min(done, view.n - 1));
    };
    const acts = {
      open: () => choose(chosen()),
      back: () => step(-1),
      next: () => step(1),
      reject: () => {
        pause();
        const n = nextRejection(trace, view.n);
        if (n) goTo(n);
      },
      play: () => (playing ? pause() : play()),
    };

    root.addEventListener("click", (event) => {
      /* A click chooses also the run that is marked already, which is no change. */
      if (event.target.name === "replay-run") choose(event.target.value);
      const button = event.target.closest("button");
      if (!button || !(trace || button.dataset.act === "open")) return;
      if (button.dataset.act) acts[button.dataset.act]();
      if (button.dataset.round) {
        pause();
        goTo(Number(button.dataset.round));
      }
      if (button.dataset.place) {
        pause();
        picked = Number(button.dataset.place);
        drawPlace();
      }
    });
    root.addEventListener("change", (event) => {
      const { name, value } = event.target;
      if (name === "replay-speed") state.set({ replay_speed: value });
    });
    scrub.addEventListener("input", () => {
      pause();
      ms = Number(scrub.value);
      draw();
    });
    const keys = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      Home: () => (pause(), goTo(0)),
      End: () => (pause(), goTo(Infinity)),
      PageDown: acts.reject,
    };
    for (const place of [find(".stage"), strip]) {
      place.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || !trace) return;
        if (event.key === " " && event.target === place) acts.play();
        else if (Object.hasOwn(keys, event.key)) keys[event.key]();
        else return;
        event.preventDefault();
        if (place === strip) strip.querySelector('[tabindex="0"]').focus();
      });
    }
    state.subscribe((values, changed) => {
      if (changed.includes("replay_speed")) drawChoice();
      if (changed.includes("replay_trace")) open(chosen());
      else if (changed.includes("replay_round") && trace && values.replay_round !== view.n) {
        pause();
        goTo(values.replay_round);
      }
    });

    if (state.get().replay_trace) open(chosen());
  }

  Object.assign(Lesson.replay, { viewAt, nextRejection, lanes });
  Lesson.views = Object.assign(Lesson.views || {}, { replay: mount });
})((globalThis.Lesson = globalThis.Lesson || {}));

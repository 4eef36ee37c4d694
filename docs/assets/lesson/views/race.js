/* The race: two lanes on one clock. Until the reader starts it, it shows from the page's own data
   how the chosen run ended; the run itself is fetched on the start (traces.js), and its texts then
   appear as they did. The HTML is from build_scripts/views/race.py. */
(function (Lesson) {
  "use strict";

  const OUTCOMES = { "net win": "wins", "break-even": "ties", "net loss": "loses" };
  /* A tab that slept goes on where it was. */
  const LONGEST_FRAME_MS = 200;

  const fill = Lesson.format.fill;
  const milliseconds = (ms) => Lesson.format.fixed(ms, ms >= 100 ? 0 : 1);

  /* How a run ended, as `Lesson.traces.judge` tells it of a fetched one. */
  function ending([, , , , plain_ms, plain_tokens, ms, tokens]) {
    const run = (time, count) => ({ ms: time, tokens: count, rate: time > 0 ? (1000 * (count - 1)) / time : null });
    const plain = run(plain_ms, plain_tokens);
    const speculative = run(ms, tokens);
    const factor = plain.rate && speculative.rate ? speculative.rate / plain.rate : 1;
    return { plain, speculative, factor, verdict: Lesson.model.verdict(factor) };
  }

  /* Who finished first, and by what factor: one sentence. */
  function result(data, run, ended) {
    const [drafter, , , temperature] = run;
    return fill(data.results[(temperature ? "drawn_" : "") + OUTCOMES[ended.verdict]], {
      drafter,
      plain_ms: milliseconds(ended.plain.ms),
      speculative_ms: milliseconds(ended.speculative.ms),
      tokens: ended.plain.tokens,
      plain_tokens: ended.plain.tokens,
      speculative_tokens: ended.speculative.tokens,
      factor: Lesson.format.fixed(ended.factor, 2) + "×",
    });
  }

  /* Whether both texts are the same. n: the first token that differs, 0 for none, null when drawn. */
  function check(words, n, tokens) {
    return n === null ? words.drawn : fill(n ? words.differ : words.same, { n, tokens });
  }

  function parting(trace) {
    if (trace.temperature > 0) return null;
    const [one, other] = [trace.plain.tokens, trace.speculative.tokens];
    for (let i = 0; i < Math.max(one.length, other.length); i += 1) if (one[i] !== other[i]) return i + 1;
    return 0;
  }

  /* Every moment at which something appears, in order. */
  function moments(trace) {
    const clock = Lesson.traces.clock(trace);
    const all = [...clock.plain, ...clock.rounds.map((round) => round.end)].sort((one, other) => one - other);
    return all.filter((ms, i) => i === 0 || ms > all[i - 1]);
  }

  function element(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  /* The plain text: a piece for each token. */
  function plainPieces(trace) {
    return Lesson.traces.texts(trace, trace.plain.tokens).map((text) => element("span", "piece", text));
  }

  /* The speculative text: the first token, then a piece for each round, its tokens by their kind. */
  function speculativePieces(trace) {
    const texts = Lesson.traces.texts(trace, trace.speculative.tokens);
    const { rounds } = Lesson.traces.clock(trace);
    const bursts = trace.speculative.rounds.map(({ accepted }, i) => {
      const burst = element("span", "piece");
      texts.slice(rounds[i].before, rounds[i].after).forEach((text, j) => {
        burst.append(element("span", j < accepted ? "token-accepted" : "token-target", text));
      });
      return burst;
    });
    return [element("span", "piece", texts[0]), ...bursts];
  }

  function mount(root, data, page) {
    const state = page.state;
    const labels = data.labels;
    const find = (selector) => root.querySelector(selector);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    const playButton = find('[data-act="play"]');
    const status = find(".race-says > span");
    const lanes = {};
    for (const name of ["plain", "speculative"]) {
      const lane = find(".race-" + name);
      lanes[name] = { root: lane, bar: lane.querySelector(".race-bar"), pieces: [], shown: 0, newest: null };
      for (const cell of lane.querySelectorAll("[data-says]")) lanes[name][cell.dataset.says] = cell;
    }
    const stage = buildStage();
    let trace = null; /* the one whose texts are on the page */
    let judged = null;
    let ms = 0;
    let playing = 0;
    let before = 0;
    let raced = false;

    const chosen = () => state.get().race_trace;
    const run = () => data.runs[chosen()];

    /* --- what is on the page --- */

    function buildStage() {
      const box = element("div", "race-stage");
      box.hidden = true;
      const scrub = element("input", "race-scrub");
      Object.assign(scrub, { type: "range", min: 0 });
      scrub.setAttribute("aria-label", labels.clock);
      const texts = element("div", "race-texts stage");
      texts.tabIndex = 0;
      texts.setAttribute("role", "group");
      texts.setAttribute("aria-label", labels.clock);
      for (const name of ["plain", "speculative"]) {
        const column = element("div", "race-column");
        lanes[name].heading = element("p", "race-heading");
        lanes[name].text = element("p", "race-text");
        column.append(lanes[name].heading, lanes[name].text);
        texts.append(column);
      }
      const key = element("p", "race-key");
      for (const kind of ["accepted", "target"]) {
        key.append(element("span", "token-" + kind, labels[kind]), " ");
      }
      box.append(scrub, texts, key);
      find(".btn-row").after(box);
      return { box, scrub, texts };
    }

    function drawChoice() {
      const [drafter, kind, k] = run();
      for (const radio of root.querySelectorAll('[name="race-run"]')) {
        radio.checked = radio.value === chosen();
        const more = radio.checked && radio.closest("details");
        if (more) more.open = true;
      }
      for (const radio of root.querySelectorAll('[name="race-speed"]')) radio.checked = radio.value === state.get().race_speed;
      write(lanes.plain.heading, labels.plain_lane);
      for (const node of [lanes.speculative.title, lanes.speculative.heading]) write(node, fill(labels.speculative_lane, { drafter, k }));
      write(lanes.speculative.pace, fill(labels.speculative_pace, { most: k + 1 }));
      write(find(".race-prompt q"), data.prompts[kind]);
      const replay = find(".race-replay");
      if (replay) replay.href = data.replay + chosen() + "&speed=" + state.get().race_speed;
    }

    /* The end of a run: what the bars, the numbers and the sentence say when all is done. */
    function drawEnd(ended) {
      const longest = Math.max(ended.plain.ms, ended.speculative.ms) || 1;
      for (const name of ["plain", "speculative"]) {
        const lane = lanes[name];
        lane.bar.style.width = (100 * ended[name].ms) / longest + "%";
        drawNumbers(lane, ended[name].ms, ended[name].tokens, ended[name].tokens, ended[name].rate);
        drawBar(lane, 1);
      }
      markFirst(ended);
    }

    function drawNumbers(lane, time, tokens, total, rate) {
      write(lane.ms, fill(labels.ms, { ms: milliseconds(time) }));
      write(lane.tokens, fill(labels.tokens, { n: tokens, total }));
      write(lane.rate, rate ? fill(labels.rate, { rate: Lesson.format.fixed(rate, 1) }) : "");
    }

    function drawBar(lane, share) {
      lane.bar.style.clipPath = share >= 1 ? "" : `inset(0 ${100 * (1 - share)}% 0 0)`;
    }

    function markFirst(ended) {
      const outcome = ended && OUTCOMES[ended.verdict];
      lanes.speculative.root.classList.toggle("is-first", outcome === "wins");
      lanes.plain.root.classList.toggle("is-first", outcome === "loses");
    }

    /* Only what is new appears, and only what is ahead goes: the rest is not touched. */
    function reveal(lane, count) {
      for (let i = lane.shown; i < count; i += 1) lane.pieces[i].classList.add("is-there");
      for (let i = count; i < lane.shown; i += 1) lane.pieces[i].classList.remove("is-there");
      lane.shown = count;
      const newest = count < lane.pieces.length ? lane.pieces[count - 1] : null;
      if (newest === lane.newest) return;
      if (lane.newest) lane.newest.classList.remove("is-new");
      if (newest) newest.classList.add("is-new");
      lane.newest = newest;
    }

    function drawNow() {
      const now = Lesson.traces.stateAt(trace, ms);
      const { rounds, plain_end, end } = Lesson.traces.clock(trace);
      const counts = {
        plain: now.plain.tokens,
        speculative: 1 + (now.speculative.done ? rounds.length : Math.min(now.speculative.round, rounds.length)),
      };
      const changed = Object.keys(counts).some((name) => counts[name] !== lanes[name].shown);
      const done = now.plain.done && now.speculative.done;
      if (playing && still.matches && !changed && !done) return; /* no motion between two passes */
      stage.scrub.value = ms;
      for (const name of ["plain", "speculative"]) {
        const lane = lanes[name];
        const until = name === "plain" ? plain_end : end;
        drawBar(lane, until > 0 ? now[name].elapsed / until : 1);
        write(lane.ms, fill(labels.ms, { ms: milliseconds(now[name].elapsed) }));
        if (counts[name] !== lane.shown || now[name].done) {
          reveal(lane, counts[name]);
          drawNumbers(lane, now[name].elapsed, now[name].tokens, judged[name].tokens, now[name].rate);
        }
      }
      markFirst(done ? judged : null);
      say(now, done);
    }

    /* The status changes at the start, when one lane is done, and when both are: no more is heard. */
    function say(now, done) {
      const lane = { plain: labels.plain_lane, speculative: run()[0] };
      const [first, other] = now.plain.done ? ["plain", "speculative"] : ["speculative", "plain"];
      if (done) write(status, result(data, run(), judged));
      else if (now[first].done) {
        write(status, fill(labels.leads, {
          lane: lane[first], other: lane[other], ms: milliseconds(now[first].elapsed),
        }));
      } else write(status, fill(still.matches && !playing ? labels.ready : labels.started, { drafter: lane.speculative }));
    }

    function drawButton() {
      const atEnd = !trace || ms >= Lesson.traces.clock(trace).last;
      const word = playing ? page.labels.pause : atEnd ? (raced ? labels.again : labels.start) : page.labels.play;
      playButton.textContent = (playing ? "❚❚ " : "▶ ") + word;
      if (!trace) return;
      const now = Lesson.traces.stateAt(trace, ms);
      stage.scrub.setAttribute("aria-valuetext", fill(labels.clock_at, {
        ms: milliseconds(ms), plain: now.plain.tokens, speculative: now.speculative.tokens,
      }));
    }

    /* --- the run --- */

    /* The chosen run on the page, at that moment where it is new; null where it could not be read,
       or where another was chosen meanwhile. */
    async function open(at) {
      const id = chosen();
      if (trace && trace.id === id) return trace;
      write(status, data.loading);
      try {
        const fetched = await Lesson.traces.load(id);
        if (id !== chosen()) return null;
        show(fetched, at);
        return trace;
      } catch (error) {
        console.warn(error.message);
        if (id === chosen()) {
          close();
          write(status, data.failed);
        }
        return null;
      }
    }

    function show(fetched, at) {
      trace = fetched;
      judged = Lesson.traces.judge(trace);
      const { last } = Lesson.traces.clock(trace);
      ms = Math.min(at, last);
      stage.scrub.max = last;
      stage.scrub.step = "any";
      const pieces = { plain: plainPieces(trace), speculative: speculativePieces(trace) };
      for (const [name, lane] of Object.entries(lanes)) {
        Object.assign(lane, { pieces: pieces[name], shown: 0, newest: null });
        lane.text.replaceChildren(...lane.pieces);
      }
      drawEnd(judged);
      write(find(".race-check"), check(data.checks, parting(trace), judged.plain.tokens));
      drawPrompt(trace.prompt);
      stage.box.hidden = false;
      drawNow();
    }

    /* Back to what the page says of the chosen run without having fetched it. */
    function close() {
      pause();
      trace = null;
      stage.box.hidden = true;
      drawPrompt("");
      const words = { ...data.checks, same: data.checks.built };
      const ended = ending(run());
      drawEnd(ended);
      write(status, result(data, run(), ended));
      write(find(".race-check"), check(words, run()[8], ended.plain.tokens));
      drawButton();
    }

    function drawPrompt(prompt) {
      const line = find(".race-prompt");
      const old = find(".race-prompt-all");
      if (old) old.remove();
      line.hidden = prompt !== "" && prompt.split(/\s+/).join(" ") !== find(".race-prompt q").textContent;
      if (!line.hidden) return;
      const all = element("details", "race-prompt-all");
      const summary = element("summary");
      summary.append(...[...line.childNodes].map((node) => node.cloneNode(true)));
      all.append(summary, element("div", "race-prompt-text", prompt));
      line.after(all);
    }

    function go(to) {
      ms = Math.min(Lesson.traces.clock(trace).last, Math.max(0, to));
      drawNow();
      drawButton();
    }

    function frame(now) {
      const passed = Math.min(LONGEST_FRAME_MS, Math.max(0, now - before)) * Number(state.get().race_speed);
      before = now;
      const { last } = Lesson.traces.clock(trace);
      ms = Math.min(last, ms + passed);
      drawNow();
      if (ms < last) playing = window.requestAnimationFrame(frame);
      else pause();
    }

    function pause() {
      window.cancelAnimationFrame(playing);
      playing = 0;
      drawButton();
    }

    function play() {
      if (ms >= Lesson.traces.clock(trace).last) ms = 0;
      raced = true;
      before = window.performance.now();
      playing = window.requestAnimationFrame(frame);
      drawNow();
      drawButton();
    }

    /* Where less motion is asked for, the first press gets everything ready and waits. */
    async function toggle() {
      if (playing) return pause();
      const fresh = !trace;
      if (!(await open(0)) || playing) return;
      if (fresh && still.matches) drawButton();
      else play();
    }

    async function step(direction) {
      if (playing) pause();
      const fresh = !trace;
      if (!(await open(0))) return;
      const all = moments(trace);
      const { last } = Lesson.traces.clock(trace);
      raced = true;
      if (direction < 0) return go([...all].reverse().find((moment) => moment < ms) || 0);
      go(fresh || ms >= last ? 0 : all.find((moment) => moment > ms));
    }

    /* --- the reader --- */

    root.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      if (button) ({ play: toggle, step: () => step(1) })[button.dataset.act]();
    });
    root.addEventListener("change", (event) => {
      if (event.target.name === "race-run") state.set({ race_trace: event.target.value });
      if (event.target.name === "race-speed") state.set({ race_speed: event.target.value });
    });
    stage.scrub.addEventListener("input", () => {
      if (playing) pause();
      raced = true;
      go(Number(stage.scrub.value));
    });
    stage.texts.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const acts = {
        " ": toggle,
        ArrowRight: () => step(1),
        ArrowLeft: () => step(-1),
        Home: () => (pause(), go(0)),
        End: () => (pause(), go(Infinity)),
      };
      if (!Object.hasOwn(acts, event.key)) return;
      event.preventDefault();
      acts[event.key]();
    });
    state.subscribe((_, changed) => {
      if (!changed.some((name) => name === "race_trace" || name === "race_speed")) return;
      drawChoice();
      if (!changed.includes("race_trace")) return;
      raced = false;
      const wasOpen = trace !== null;
      close();
      if (wasOpen) open(Infinity).then(drawButton);
    });
    drawChoice();
    close();
  }

  Lesson.race = { ending, result, check, parting, moments };
  Lesson.views = Object.assign(Lesson.views || {}, { race: mount });
})((globalThis.Lesson = globalThis.Lesson || {}));

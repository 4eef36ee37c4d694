/* Recorded runs: fetching them, and what can be said of them. No DOM but the script tag.

   A trace is a script, traces/ID.js (build_scripts/render/traces.py), which calls `register` with
   packed lists. It is fetched when somebody asks for it, once. Which ids there are, the page's
   table of parameters says, the fastest first; what a choice needs stands in each view.

     Lesson.traces.load(id) -> Promise<trace>    rejects with an Error where the script is missing,
                                                 broken or another's; asking again tries again

   A trace has the shape of its file (build_scripts/records/trace.py), without what only a check of
   the measurement needs:

     id, kind, drafter, target, k, temperature, seed, quick, device, commit, date,
     prompt, prompt_id, prompt_tokens
     vocabulary   [text | [byte, …] | {control: name}], by place; tokens below are places in it
     plain        {prefill_ms, tokens, ms, end}             ms: of each token after the first
     speculative  {prefill_ms, reset_ms, first, discarded, end, tokens, rounds}
     a round      {drafts, token, kind, u, target, draft, residual, ms, accepted, committed}
     a draft      {token, p, q, u, accepted}                accepted: null where nobody looked
     a law        [[token, probability], …]                 the likeliest five
     residual     {likeliest: law, rest} | null
     ms           {draft, verify, overhead}

   The rest are pure functions of a trace. Their clock is in ms and starts when both runs have read
   the prompt and have their first token; reading the prompt takes both as long.

     clock(trace) -> {plain, rounds, plain_end, end, last}
         plain: ms at which each token of plain decoding is there, plain[0] = 0;
         rounds: {start, drafted, verified, end, before, after} each: ms, and the tokens on the page
         before and after it; a drafter that reads the prompt first starts its first round later;
         plain_end, end: when each run is done; last: the later of the two
     stateAt(trace, ms) -> {ms, plain, speculative}
         of each {tokens, elapsed, rate, done}: tokens on the page, ms up to now or to its end, tokens
         a second since the first (null at 0 ms); of speculative also
         round: index of the round under way, or of the last, phase: draft | verify | commit | done
     texts(trace, tokens) -> [string]    what each token adds to the text; whole characters only
     label(trace, token) -> {text, kind}  one token for the eye: spaces, ends of lines and lone bytes
         are shown; kind: text | bytes | control
     judge(trace) -> {first, factor, verdict, plain, speculative, same}
         first: plain | speculative | both, by the clock; factor: `Trace.factor`, the quotient of the
         tokens a second; verdict: of it, in the lesson's words; of each run {ms, tokens, rate};
         same: whether both wrote the same tokens, compared here; null when drawn at random
     yields(trace) -> {rounds, committed, expected, accepted, examined, h, offered, predicted}
         expected: E over the run; h: accepted over examined drafts, null where none was;
         offered: drafts a round; predicted: mean over the rounds of the formula's E at this h, with
         as many drafts as the round had */
(function (Lesson) {
  "use strict";

  const VERSION = 1;
  const FOLDER = "../../traces/";

  /* Relative to this script: the site may stand below any path, or on a disk. */
  const here = document.currentScript && document.currentScript.src;

  const waiting = new Map();
  const arrived = new Map();

  function load(id) {
    if (!/^[a-z0-9-]+$/.test(id)) return Promise.reject(new Error("no trace has the id " + id));
    if (!waiting.has(id)) {
      const answer = fetchScript(new URL(FOLDER + id + ".js", here).href).then(() => {
        if (!arrived.has(id)) throw new Error(id + ".js registered no trace of that name");
        return unpack(id, arrived.get(id));
      });
      waiting.set(id, answer);
      answer.catch(() => {
        waiting.delete(id);
        arrived.delete(id);
      });
    }
    return waiting.get(id);
  }

  function fetchScript(address) {
    return new Promise((resolve, reject) => {
      const tag = document.createElement("script");
      tag.src = address;
      tag.onload = resolve;
      tag.onerror = () => reject(new Error("could not load " + address));
      document.head.append(tag);
      tag.addEventListener("load", () => tag.remove());
      tag.addEventListener("error", () => tag.remove());
    });
  }

  function register(id, packed) {
    arrived.set(id, packed);
  }

  /* --- from packed lists to the shape above --- */

  function unpack(id, packed) {
    const refuse = (what) => {
      throw new Error(id + ".js: " + what);
    };
    if (!packed || packed.version !== VERSION) refuse("not a trace of version " + VERSION);
    if (packed.id !== id) refuse("it holds the trace " + packed.id);
    try {
      return built(packed, refuse);
    } catch (error) {
      if (error instanceof TypeError) refuse("a part of it is missing (" + error.message + ")");
      throw error;
    }
  }

  function built(packed, refuse) {
    const { version, speculative: run, rounds: lists, ...trace } = packed;
    const known = (token) => {
      if (!(token in trace.vocabulary)) refuse("token " + token + " is not in its vocabulary");
      return token;
    };
    const time = (ms) => {
      if (!Number.isFinite(ms) || ms < 0) refuse(ms + " is no time");
      return ms;
    };
    const law = (flat) => {
      const pairs = [];
      for (let i = 0; i < flat.length; i += 2) pairs.push([known(flat[i]), flat[i + 1]]);
      return pairs;
    };
    const rounds = lists.map(([accepted, drafts, token, u, target, draft, residual, ms]) => {
      const missed = accepted < drafts.length;
      return {
        accepted,
        drafts: drafts.map(([drafted, p, q, draw], i) => ({
          token: known(drafted), p, q, u: draw, accepted: i < accepted ? true : i === accepted ? false : null,
        })),
        token: known(token),
        kind: drafts.length === 0 ? "plain" : missed ? "recovered" : "bonus",
        u,
        target: target.map(law),
        draft: draft && draft.map(law),
        residual: residual && { likeliest: law(residual[0]), rest: residual[1] },
        ms: { draft: time(ms[0]), verify: time(ms[1]), overhead: time(ms[2]) },
        committed: [...drafts.slice(0, accepted).map(([drafted]) => drafted), token],
      };
    });
    const [prefill_ms, reset_ms, first, discarded, end] = run;
    const written = [known(first), ...rounds.flatMap((round) => round.committed)];
    const tokens = written.slice(0, written.length - discarded);
    trace.plain.tokens.forEach(known);
    trace.plain.ms.forEach(time);
    time(reset_ms);
    return { ...trace, speculative: { prefill_ms, reset_ms, first, discarded, end, tokens, rounds } };
  }

  /* --- what can be said of a trace --- */

  const clocks = new WeakMap();

  function clock(trace) {
    if (!clocks.has(trace)) clocks.set(trace, clockOf(trace));
    return clocks.get(trace);
  }

  function clockOf(trace) {
    const plain = [0];
    for (const ms of trace.plain.ms) plain.push(plain[plain.length - 1] + ms);
    const answer = trace.speculative.tokens.length;
    let start = trace.speculative.reset_ms;
    let before = 1;
    const rounds = trace.speculative.rounds.map(({ ms, committed }) => {
      const drafted = start + ms.draft;
      const verified = drafted + ms.verify;
      const end = verified + ms.overhead;
      const after = Math.min(answer, before + committed.length);
      const span = { start, drafted, verified, end, before, after };
      start = end;
      before = after;
      return span;
    });
    const plain_end = plain[plain.length - 1];
    return { plain, rounds, plain_end, end: start, last: Math.max(plain_end, start) };
  }

  /* How many leading entries of an ascending list `reached` holds for. */
  function leading(list, reached) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reached(list[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const rate = (tokens, ms) => (ms > 0 ? (1000 * (tokens - 1)) / ms : null);

  function stateAt(trace, ms) {
    const { plain, rounds, plain_end, end } = clock(trace);
    const lane = (tokens, until) => {
      const elapsed = Math.min(ms, until);
      return { tokens, elapsed, rate: rate(tokens, elapsed), done: ms >= until };
    };
    const ended = leading(rounds, (round) => round.end <= ms);
    const round = Math.max(0, Math.min(ended, rounds.length - 1));
    const at = rounds[round];
    const phase = ms >= end ? "done" : ms < at.drafted ? "draft" : ms < at.verified ? "verify" : "commit";
    return {
      ms,
      plain: lane(leading(plain, (moment) => moment <= ms), plain_end),
      speculative: { ...lane(ended ? rounds[ended - 1].after : 1, end), round, phase },
    };
  }

  function bytesOf(trace, token) {
    const entry = trace.vocabulary[token];
    if (typeof entry === "string") return new TextEncoder().encode(entry);
    return Uint8Array.from(Array.isArray(entry) ? entry : []);
  }

  function texts(trace, tokens) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return tokens.map((token, i) => decoder.decode(bytesOf(trace, token), { stream: i < tokens.length - 1 }));
  }

  function label(trace, token) {
    const entry = trace.vocabulary[token];
    if (Array.isArray(entry)) {
      return { kind: "bytes", text: entry.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ") };
    }
    if (typeof entry === "object") return { kind: "control", text: entry.control };
    return { kind: "text", text: entry.replace(/\r?\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "␣") };
  }

  function judge(trace) {
    const { plain_end, end } = clock(trace);
    const run = (ms, tokens) => ({ ms, tokens: tokens.length, rate: rate(tokens.length, ms) });
    const plain = run(plain_end, trace.plain.tokens);
    const speculative = run(end, trace.speculative.tokens);
    const factor = speculative.rate === null || plain.rate === null ? 1 : speculative.rate / plain.rate;
    const both = (one, other) => one.length === other.length && one.every((token, i) => token === other[i]);
    return {
      first: end < plain_end ? "speculative" : end > plain_end ? "plain" : "both",
      factor,
      verdict: Lesson.model.verdict(factor),
      plain,
      speculative,
      same: trace.temperature === 0 ? both(trace.plain.tokens, trace.speculative.tokens) : null,
    };
  }

  function yields(trace) {
    const rounds = trace.speculative.rounds;
    const sum = (of) => rounds.reduce((total, round) => total + of(round), 0);
    const committed = sum((round) => round.committed.length);
    const accepted = sum((round) => round.accepted);
    const examined = sum((round) => round.accepted + (round.kind === "recovered" ? 1 : 0));
    const h = examined ? accepted / examined : null;
    const mean = (total) => (rounds.length ? total / rounds.length : null);
    return {
      rounds: rounds.length,
      committed,
      expected: mean(committed),
      accepted,
      examined,
      h,
      offered: mean(sum((round) => round.drafts.length)),
      predicted: mean(sum((round) => Lesson.model.expectedTokens(h || 0, round.drafts.length, true))),
    };
  }

  Lesson.traces = { load, register, unpack, clock, stateAt, texts, label, judge, yields };
})((globalThis.Lesson = globalThis.Lesson || {}));

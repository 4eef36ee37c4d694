/* One round of a recorded run: what there is to see of it, and in which words. No state of its own;
   the elements are those of the live diagram (step_diagram.js). */
(function (Lesson) {
  "use strict";

  const fill = Lesson.format.fill;
  const { element, chip } = Lesson.diagram;

  /* --- numbers and tokens as text --- */

  const milliseconds = (ms) => Lesson.format.fixed(ms, ms >= 100 ? 0 : 1);

  /* A probability with two decimals, a small one with three, and never 0 or 1 where it is neither. */
  function share(value) {
    if (value === 0 || value === 1) return String(value);
    if (value < 0.0005) return "<0.001";
    return value > 0.995 ? ">0.99" : value.toFixed(value < 0.095 ? 3 : 2);
  }

  /* A draw and the number it met, with as many digits as it takes to tell them apart. */
  function apart(one, other) {
    if (share(one) !== share(other)) return [share(one), share(other)];
    for (let digits = 3; digits < 6; digits += 1) {
      if (one.toFixed(digits) !== other.toFixed(digits)) return [one.toFixed(digits), other.toFixed(digits)];
    }
    return [one.toFixed(6), other.toFixed(6)];
  }

  const ratioOf = ({ p, q }) => (q > 0 ? Math.min(1, p / q) : Number(p > 0));

  /* A token in a sentence: without the blank that most begin with. */
  function quoted(trace, token) {
    const entry = trace.vocabulary[token];
    return (typeof entry === "string" && entry.trim()) || Lesson.traces.label(trace, token).text;
  }

  /* A token's chip; blanks in it are pale, and an unfinished character stands as its bytes. */
  function tokenChip(trace, token, kind, mark) {
    const { text, kind: sort } = Lesson.traces.label(trace, token);
    const node = chip("", kind, mark);
    const word = node.querySelector(".chip-word");
    for (const part of text.split(/([␣⏎⇥]+)/)) {
      if (part) word.append(/[␣⏎⇥]/.test(part) ? element("span", "blank", part) : part);
    }
    if (sort !== "text") node.classList.add("chip-" + sort);
    node.title = text;
    return node;
  }

  const count = (labels, n) => fill(n === 1 ? labels.count_one : labels.count_many, { n });

  /* --- what there is to look at in a round --- */

  /* Places: one for each draft, and one more where the target had the last word for free. */
  const placesOf = (round) => round.drafts.length + (round.kind === "recovered" ? 0 : 1);

  /* The place that says most: the miss, else the first. */
  const tellingPlace = (round) => (round.kind === "recovered" ? round.accepted : 0);

  function outcomeOf(round, place) {
    if (place >= round.drafts.length) return round.kind;
    return place < round.accepted ? "accepted" : place === round.accepted ? "rejected" : "unexamined";
  }

  /* --- words --- */

  /* n: the round's number from 1, 0 for what was before it. */
  function sentence(data, trace, n) {
    if (n === 0) return fill(data.says.start, { token: quoted(trace, trace.speculative.first) });
    const round = trace.speculative.rounds[n - 1];
    const span = Lesson.traces.clock(trace).rounds[n - 1];
    const tokens = round.committed.length;
    const per = Lesson.traces.clock(trace).plain_end / Math.max(1, trace.plain.tokens.length - 1);
    const says = { recovered: data.says.missed, bonus: data.says.all, plain: data.says.plain }[round.kind];
    return fill(says, {
      n,
      k: round.drafts.length,
      drafted: round.drafts.map((draft) => quoted(trace, draft.token)).join(" "),
      accepted: round.accepted,
      rejected: round.kind === "recovered" ? quoted(trace, round.drafts[round.accepted].token) : "",
      token: quoted(trace, round.token),
      tokens: count(data.labels, tokens),
      ms: milliseconds(span.end - span.start),
      plain_ms: milliseconds(per * tokens),
    });
  }

  /* Why the token at that place was kept or not; at a miss also where the one in its place is from. */
  function why(data, trace, round, place) {
    const words = data.whys;
    const own = { token: quoted(trace, round.token) };
    if (place >= round.drafts.length) return fill(words[round.kind], own);
    const draft = round.drafts[place];
    const token = quoted(trace, draft.token);
    const outcome = outcomeOf(round, place);
    if (outcome === "unexamined") return fill(words.unexamined, { token });
    const missed = outcome === "rejected";
    if (draft.u === null) {
      const said = fill(missed ? words.greedy_missed : words.greedy_kept, { token, other: own.token });
      return missed ? said + " " + fill(words.greedy_recovered, own) : said;
    }
    const p = share(draft.p);
    const q = share(draft.q);
    if (!missed && draft.p >= draft.q) return fill(words.sure, { token, p, q });
    const [u, ratio] = apart(draft.u, ratioOf(draft));
    const said = fill(missed ? words.missed : words.kept, { token, p, q, ratio, u });
    return missed ? said + " " + fill(words.recovered, own) : said;
  }

  /* --- the cards: one a place --- */

  /* They are made once for a run of up to k drafts, and filled anew for each round. */
  function cards(data, k) {
    return Array.from({ length: k + 1 }, (_, place) => {
      const item = element("li", "");
      const button = element("button", "position");
      button.type = "button";
      button.dataset.place = place;
      const parts = { chip: element("span", "position-chip"), outcome: element("span", "outcome") };
      const bar = element("span", "odds");
      bar.setAttribute("aria-hidden", "true");
      parts.fill = element("i", "odds-fill");
      parts.tick = element("i", "odds-draw");
      bar.append(parts.fill, parts.tick);
      const numbers = element("span", "position-numbers");
      for (const name of ["q", "p", "ratio", "draw"]) {
        const line = element("span", "position-number");
        parts[name] = element("b", "");
        line.append(element("span", "", data.labels[name]), " ", parts[name]);
        numbers.append(line);
      }
      parts.odds = [bar, numbers];
      parts.says = element("span", "position-says");
      button.append(parts.chip, parts.outcome, bar, numbers, parts.says);
      item.append(button);
      return { item, button, ...parts };
    });
  }

  function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  /* verdict: whether the target has spoken. */
  function fillCard(card, data, trace, round, place, verdict) {
    const { item, button } = card;
    const there = round !== null && place < placesOf(round) && (verdict || place < round.drafts.length);
    item.style.visibility = there ? "" : "hidden";
    if (!there) return;
    const labels = data.labels;
    const draft = round.drafts[place];
    const outcome = verdict ? outcomeOf(round, place) : "waiting";
    item.dataset.outcome = outcome;
    const kind = { waiting: "draft", recovered: "target", bonus: "target", plain: "target" }[outcome] || outcome;
    const mark = verdict ? data.marks[outcome] || data.marks.bonus : "";
    card.chip.replaceChildren(tokenChip(trace, draft ? draft.token : round.token, kind, mark));
    write(card.outcome, verdict ? labels[outcome] : "");
    for (const node of card.odds) node.hidden = !draft;
    button.setAttribute("aria-label", [
      fill(labels.position, { n: place + 1 }),
      quoted(trace, draft ? draft.token : round.token),
      verdict ? labels[outcome] : "",
    ].filter(Boolean).join(", "));
    if (draft) fillOdds(card, labels, draft, verdict && outcome !== "unexamined");
    card.says.replaceChildren(...targetSays(data, trace, round, place, verdict));
  }

  function fillOdds(card, labels, draft, looked) {
    const ratio = ratioOf(draft);
    const drawn = looked && draft.u !== null;
    const [u, limit] = drawn && ratio < 1 ? apart(draft.u, ratio) : [drawn ? share(draft.u) : labels.no_draw, share(ratio)];
    write(card.q, share(draft.q));
    write(card.p, looked ? share(draft.p) : "–");
    write(card.ratio, looked ? limit : "–");
    write(card.draw, u);
    card.fill.style.width = looked ? 100 * ratio + "%" : "0";
    card.tick.style.left = 100 * draft.u + "%";
    card.tick.hidden = !drawn;
  }

  /* Under a draft: the token that took its place, or the target's likeliest. */
  function targetSays(data, trace, round, place, verdict) {
    if (!verdict || place >= round.drafts.length || outcomeOf(round, place) === "unexamined") return [];
    if (place === round.accepted) {
      return [tokenChip(trace, round.token, "target", data.marks.recovered), element("span", "outcome", data.labels.recovered)];
    }
    return [tokenChip(trace, round.target[place][0][0], "target", ""), element("span", "outcome", data.labels.likeliest)];
  }

  /* --- the laws at a place --- */

  function law(trace, title, entries, rest, marked, kind, others) {
    const box = element("div", "law law-" + kind);
    const list = element("ol", "law-list");
    for (const [token, probability] of entries) {
      const line = element("li", token === marked ? "is-marked" : "");
      line.append(tokenChip(trace, token, kind, ""), bar(probability), element("b", "", share(probability)));
      list.append(line);
    }
    if (rest !== null) {
      const line = element("li", "law-rest");
      line.append(element("span", "", others), bar(rest), element("b", "", share(Math.max(0, Math.round(rest * 1e4) / 1e4))));
      list.append(line);
    }
    box.append(element("p", "law-title", title), list);
    return box;
  }

  function bar(probability) {
    const track = element("span", "law-bar");
    const inner = element("i", "");
    inner.style.width = 100 * Math.min(1, Math.max(0, probability)) + "%";
    track.append(inner);
    return track;
  }

  const restOf = (entries) => 1 - entries.reduce((sum, [, probability]) => sum + probability, 0);

  /* The likeliest tokens of both models at a place, and at a miss those of the residual. */
  function laws(data, trace, round, place) {
    const labels = data.labels;
    const draft = round.drafts[place];
    const outcome = outcomeOf(round, place);
    const lists = [];
    if (draft) {
      const known = round.draft && round.draft[place];
      if (known) lists.push(law(trace, labels.draft_law, known, restOf(known), draft.token, "draft", labels.others));
      else lists.push(noLaw(trace, labels, draft));
    }
    const target = round.target[place];
    const marked = draft ? draft.token : round.token;
    lists.push(law(trace, labels.target_law, target, restOf(target), marked, "target", labels.others));
    if (outcome === "rejected") {
      const { likeliest, rest } = round.residual;
      lists.push(law(trace, labels.residual, likeliest, rest, round.token, "target", labels.others));
    }
    return lists;
  }

  function noLaw(trace, labels, draft) {
    const box = law(trace, labels.draft_law, [[draft.token, draft.q]], null, draft.token, "draft", labels.others);
    box.append(element("p", "law-note", labels.no_law));
    return box;
  }

  Lesson.replay = {
    milliseconds, share, apart, quoted, tokenChip, count, tellingPlace, placesOf, outcomeOf, sentence, why, cards, fillCard, laws,
  };
})((globalThis.Lesson = globalThis.Lesson || {}));

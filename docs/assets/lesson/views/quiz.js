/* The quiz, in three layers: grading (pure), what the device keeps, and the page.

   The page holds the words: every note on an answer stands in the question's "answer and
   why", and is copied from there. Nothing is graded before Check (or Enter in a number
   field), nothing is ever locked, and answering does not scroll. */
(function (Lesson) {
  "use strict";

  // --- grading: no page, no storage ------------------------------------------------------

  const NUMBER = /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/;

  /* "2.73", "2,73 ", "2.73×", "17 %" -> the number; null for what is none. */
  function parseNumber(text, unit) {
    let rest = String(text).trim().toLowerCase().replace("\u2212", "-");
    for (const suffix of unit === "×" ? ["×", "x"] : [String(unit || "").toLowerCase()]) {
      if (suffix && rest.endsWith(suffix)) rest = rest.slice(0, -suffix.length).trim();
    }
    const percent = unit !== "%" && rest.endsWith("%");
    if (percent) rest = rest.slice(0, -1).trim();
    if (!NUMBER.test(rest)) return null;
    return Number(rest.replace(",", ".")) / (percent ? 100 : 1);
  }

  function gradeNumber(question, text) {
    if (String(text).trim() === "") return { outcome: "empty", notes: [] };
    const value = parseNumber(text, question.unit);
    if (value === null) return { outcome: "not-a-number", notes: [] };
    /* A hair more than the tolerance: 0.3 - 0.2 is not 0.1 in binary. */
    const reach = question.tolerance * (1 + 1e-9);
    const off = (other) => Math.abs(value - other);
    if (off(question.value) <= reach) return { outcome: "right", notes: [] };
    const slips = question.slips.map((slip, i) => i).filter((i) => off(question.slips[i]) <= reach);
    slips.sort((a, b) => off(question.slips[a]) - off(question.slips[b]));
    return { outcome: "wrong", notes: [slips.length ? "slip-" + slips[0] : "otherwise"] };
  }

  function gradeChoice(question, chosen) {
    const right = chosen.filter((i) => question.answers.includes(i));
    const wrong = chosen.filter((i) => !question.answers.includes(i));
    const result = {
      outcome: chosen.length ? "wrong" : "empty",
      hits: right.length,
      misses: wrong.length,
      missing: question.answers.length - right.length,
      notes: wrong.map(String),
    };
    if (!chosen.length || result.misses || result.missing) return result;
    return Object.assign(result, { outcome: "right", notes: right.map(String) });
  }

  /* question: what the page's data holds. response: the text of the number field, or the
     indices of the chosen options. Gives {outcome, notes}: outcome is "empty", "not-a-number",
     "right" or "wrong", notes are the keys of the notes to show; and of options also how many
     were ticked rightly (hits) and wrongly (misses), and how many right ones were not (missing). */
  function grade(question, response) {
    return question.type === "numeric" ? gradeNumber(question, response) : gradeChoice(question, response);
  }

  // --- what the device keeps: {question id: {mark, response, solved}} --------------------

  /* Whether a kept entry still answers this question; a changed question has another mark. */
  function fits(question, entry) {
    if (!entry || typeof entry !== "object" || entry.mark !== question.mark) return false;
    const response = entry.response;
    if (response === null) return true;
    if (question.type === "numeric") return typeof response === "string" && response.length <= 24;
    return Array.isArray(response) && response.every((i) => Number.isInteger(i) && i >= 0 && i < question.count);
  }

  /* Storage may be forbidden, full or spoiled: then answers last as long as the page. */
  function openStore(key, questions) {
    let entries = {};
    let works = true;

    function load() {
      const kept = JSON.parse(window.localStorage.getItem(key)) || {};
      return Object.fromEntries(questions.filter((q) => fits(q, kept[q.id])).map((q) => [q.id, kept[q.id]]));
    }
    function save() {
      try {
        window.localStorage.setItem(key, JSON.stringify(entries));
      } catch (error) {
        works = false;
      }
    }
    /* What is kept now: another tab may have answered other questions meanwhile. */
    function refresh() {
      try {
        if (works) entries = load();
      } catch (error) {
        /* Forbidden, or not ours: as if nothing had been kept. */
      }
    }

    refresh();
    save();
    return {
      works: () => works,
      get: (id) => entries[id] || { response: null, solved: false },
      all: () => Object.values(entries),
      put(id, entry) {
        refresh();
        entries[id] = entry;
        save();
      },
      drop(ids) {
        refresh();
        ids.forEach((id) => delete entries[id]);
        save();
      },
    };
  }

  // --- the page --------------------------------------------------------------------------

  const { fill } = Lesson.format;

  /* The grading in a few words, for the line beside the buttons. */
  function verdict(question, result, words) {
    if (result.outcome === "empty") return question.type === "numeric" ? words.enter_number : words.choose_first;
    if (result.outcome === "not-a-number") return words.not_a_number;
    if (result.outcome === "right") return words.right;
    if (question.type !== "multiple") return words.wrong;
    return [words.wrong, fill(words.partly, result), result.missing ? words.missing : ""].join(" ").trim();
  }

  /* One question. `tell(text)` speaks in the status region; `changed()` redraws the score. */
  function setUpQuestion(article, question, words, store, tell, changed) {
    const find = (selector) => article.querySelector(selector);
    const inputs = [...article.querySelectorAll("fieldset input")];
    const choices = [...article.querySelectorAll(".quiz-choice")];
    const notes = choices.map((choice) => choice.querySelector(".quiz-feedback"));
    const numeric = question.type === "numeric";
    const why = find(".quiz-why");
    const line = find(".quiz-verdict");
    const onlyChecked = article.querySelectorAll(".quiz-retry, .quiz-see");

    const response = () =>
      numeric ? inputs[0].value.trim() : inputs.filter((input) => input.checked).map((input) => Number(input.value));

    function copy(selector, into) {
      into.replaceChildren(...find(selector).cloneNode(true).childNodes);
      into.hidden = false;
      return into.textContent.trim();
    }

    /* Back to the state before Check; what is chosen stays chosen. */
    function unmark() {
      [article, ...choices].forEach((element) => element.classList.remove("is-right", "is-wrong"));
      for (const box of [...notes, why]) {
        box.replaceChildren();
        box.hidden = true;
      }
      onlyChecked.forEach((element) => (element.hidden = true));
      line.textContent = "";
      if (numeric) inputs[0].removeAttribute("aria-invalid");
    }

    /* Draws what the grading said; gives the same in words. */
    function show(result, given) {
      unmark();
      line.textContent = verdict(question, result, words);
      if (numeric && result.outcome === "not-a-number") inputs[0].setAttribute("aria-invalid", "true");
      if (result.outcome !== "right" && result.outcome !== "wrong") return line.textContent;
      article.classList.add("is-" + result.outcome);
      if (numeric) choices[0].classList.add("is-" + result.outcome);
      else given.forEach((i) => choices[i].classList.add(question.answers.includes(i) ? "is-right" : "is-wrong"));
      const said = result.notes.map((key) => copy(`[data-note="${key}"]`, notes[numeric ? 0 : Number(key)]));
      if (result.outcome === "right") {
        const explanation = copy("[data-explanation]", why);
        if (!said.length) said.push(explanation);
      }
      onlyChecked.forEach((element) => (element.hidden = false));
      return [line.textContent, ...said].join(" ").replace(/\s+/g, " ");
    }

    function check() {
      const given = response();
      const result = grade(question, given);
      if (result.outcome === "right" || result.outcome === "wrong") {
        const solved = result.outcome === "right" || store.get(question.id).solved;
        store.put(question.id, { mark: question.mark, response: given, solved });
      }
      tell(show(result, given));
      changed();
    }

    /* Forgets this try. A question that was once answered right stays so in the score. */
    function tryAgain() {
      const { solved } = store.get(question.id);
      if (solved) store.put(question.id, { mark: question.mark, response: null, solved });
      else store.drop([question.id]);
      restore();
      changed();
      inputs[0].focus();
    }

    /* What the store knows of this question; also undoes what a browser filled in on reload. */
    function restore() {
      const given = store.get(question.id).response;
      if (numeric) inputs[0].value = given || "";
      else inputs.forEach((input, i) => (input.checked = given !== null && given.includes(i)));
      unmark();
      if (given !== null) show(grade(question, given), given);
    }

    find(".quiz-check").addEventListener("click", check);
    find(".quiz-retry").addEventListener("click", tryAgain);
    find("fieldset").addEventListener("input", unmark);
    find("fieldset").addEventListener("keydown", (event) => {
      if (!numeric || event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      check();
    });
    find(".quiz-actions").hidden = false;
    restore();
    return { restore, drawSolved: () => article.classList.toggle("is-solved", store.get(question.id).solved) };
  }

  /* A link to a question is copied where the browser allows it, and followed otherwise. */
  function copyLink(root, event, words, tell) {
    const link = event.target.closest(".quiz-link");
    const other = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || other || !navigator.clipboard) return;
    event.preventDefault();
    const copied = () => {
      root.querySelectorAll(".quiz-copied").forEach((each) => (each.textContent = ""));
      link.closest("article").querySelector(".quiz-copied").textContent = words.copied;
      tell(words.copied);
    };
    navigator.clipboard.writeText(link.href).then(copied, () => (window.location.hash = link.hash));
  }

  function focusLinked(root) {
    const id = window.location.hash.slice(1);
    const article = [...root.querySelectorAll("article")].find((each) => each.id === id);
    if (!article) return;
    article.setAttribute("tabindex", "-1");
    article.addEventListener("blur", () => article.removeAttribute("tabindex"), { once: true });
    article.scrollIntoView({ block: "start" });
    article.focus({ preventScroll: true });
  }

  function mount(root, data) {
    const find = (selector) => root.querySelector(selector);
    const words = data.labels;
    const store = openStore(data.store, data.questions);
    const total = data.questions.length;
    let speaking = 0;

    /* Emptied first, so that the same words are announced again. */
    function tell(text) {
      window.clearTimeout(speaking);
      find(".quiz-status").textContent = "";
      speaking = window.setTimeout(() => (find(".quiz-status").textContent = text), 50);
    }
    function drawScore() {
      const answered = store.all().length;
      const right = store.all().filter((entry) => entry.solved).length;
      find("progress").value = answered;
      find(".quiz-progress").textContent = fill(words.progress, { n: answered, total });
      find(".quiz-score").textContent = fill(words.score, { right, answered, total });
      questions.forEach((question) => question.drawSolved());
    }

    const questions = data.questions.map((question) =>
      setUpQuestion(find(`[data-question="${question.id}"]`), question, words, store, tell, drawScore)
    );
    find(".quiz-reset").addEventListener("click", () => {
      store.drop(data.questions.map((question) => question.id));
      questions.forEach((question) => question.restore());
      drawScore();
      tell(words.cleared);
    });
    root.addEventListener("click", (event) => copyLink(root, event, words, tell));

    const answers = root.querySelectorAll(".quiz-answer");
    window.addEventListener("beforeprint", () => answers.forEach((each) => (each.open = true)));
    window.addEventListener("afterprint", () => answers.forEach((each) => (each.open = false)));

    root.classList.add("is-live");
    find(".quiz-bar").hidden = false;
    find(".quiz-saved").hidden = !store.works();
    drawScore();
    focusLinked(root);
    window.addEventListener("hashchange", () => focusLinked(root));
    /* What arrives late (pictures, charts) moves the page under a link that was followed. */
    window.addEventListener("load", () => {
      if ("#" + document.activeElement.id === window.location.hash) focusLinked(root);
    });
  }

  Lesson.quiz = { grade, parseNumber };
  Lesson.views = Lesson.views || {};
  Lesson.views["quiz"] = mount;
})((globalThis.Lesson = globalThis.Lesson || {}));

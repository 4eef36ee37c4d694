/* Starts the page: reads the declared parameters, restores the state from the address,
   and hands every view its element and its data. */
(function (Lesson) {
  "use strict";

  function json(element) {
    return element ? JSON.parse(element.textContent) : null;
  }

  /* Numbers in prose that follow the sliders: <data data-number="speedup" data-at='{"bonus":true}'>. */
  function bindNumbers(root, state, labels, evaluate) {
    const numbers = [...root.querySelectorAll(".live data[data-number]")].map((element) => ({
      element,
      name: element.dataset.number,
      at: JSON.parse(element.dataset.at || "{}"),
    }));
    if (!numbers.length) return;
    function update(values) {
      for (const { element, name, at } of numbers) {
        const inputs = Object.assign({}, values, at);
        const value = name in inputs ? inputs[name] : evaluate(inputs)[name];
        element.value = value === null ? "" : String(value);
        element.textContent = Lesson.format.number(name, value, labels.none);
      }
    }
    state.subscribe(update);
    update(state.get());
  }

  /* Where a link names a figure, it is brought into view and its group takes the focus. */
  function show(id) {
    const element = id && document.getElementById(id);
    if (!element) return;
    element.scrollIntoView({ block: "start" });
    if (!element.matches("a, button, input, summary, [tabindex]")) element.setAttribute("tabindex", "-1");
    element.focus({ preventScroll: true });
  }

  /* A box whose formula or table is wider than it can be scrolled with the keyboard; one where all is
     in sight is no stop on the way. How wide a formula is depends on the reader's fonts. */
  function reachWideBoxes(root) {
    const watch = new ResizeObserver((entries) => {
      for (const { target: box } of entries) {
        if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
    });
    for (const box of root.querySelectorAll(".math-box, .table-box")) if (!box.hasAttribute("tabindex")) watch.observe(box);
  }

  /* --- views with scripts of their own, which the first view of a page does not wait for --- */

  const fetched = new Map();

  function fetchScript(path) {
    if (!fetched.has(path)) {
      const done = new Promise((resolve, reject) => {
        const tag = document.createElement("script");
        tag.src = path;
        tag.onload = resolve;
        tag.onerror = () => reject(new Error("could not load " + path));
        document.head.append(tag);
      });
      done.catch(() => fetched.delete(path));
      fetched.set(path, done);
    }
    return fetched.get(path);
  }

  /* Runs `mount` once the view's scripts are there; the press that asked for them is then done. */
  function sleep(root, state, mount) {
    let asleep = true;
    const failed = root.querySelector(".view-failed");
    const wake = async () => {
      try {
        for (const path of root.dataset.scripts.split(" ")) await fetchScript(path);
        if (asleep) mount();
        asleep = false;
        failed.hidden = true;
      } catch (error) {
        console.warn(error.message);
        failed.hidden = false;
      }
    };
    const names = state.table.filter(({ key }) => root.dataset.keys.split(" ").includes(key)).map(({ name }) => name);
    const isSet = () => names.some((name) => state.get()[name] !== state.defaults[name]);
    if (isSet()) wake();
    state.subscribe(() => asleep && isSet() && wake());
    if (root.dataset.wakes === "near") {
      const watch = new IntersectionObserver((seen) => {
        if (!seen.some((entry) => entry.isIntersecting)) return;
        watch.disconnect();
        wake();
      }, { rootMargin: "600px" });
      watch.observe(root);
    }
    root.addEventListener("click", async (event) => {
      const control = event.target.closest("button, input");
      if (!control || !asleep) return;
      event.preventDefault();
      event.stopPropagation();
      await wake();
      if (!asleep) control.click();
    }, true);
  }

  function start() {
    reachWideBoxes(document);
    const source = document.getElementById("lesson-page");
    if (!source || source.dataset.started) return;
    source.dataset.started = "yes";
    const settings = json(source);
    const state = Lesson.createState(settings.parameters, window);
    const page = { state, labels: settings.labels, format: Lesson.format };

    const at = state.fromHash(window.location.hash);
    document.documentElement.classList.add("ls-script");
    for (const part of document.querySelectorAll(".open-without-script")) part.open = false;
    for (const root of document.querySelectorAll("[data-view]")) {
      const data = json(root.querySelector(":scope > script.view-data"));
      if (!data) continue;
      const mount = () => (Lesson.views[root.dataset.view] || Lesson.views.figures)(root, data, page);
      if (!root.dataset.scripts) mount();
      else sleep(root, state, mount);
    }
    bindNumbers(document, state, settings.labels, Lesson.model.evaluate);
    if (at) show(at);
    window.addEventListener("hashchange", () => show(state.fromHash(window.location.hash)));
    /* A link to a state works each time, also where the address is that one already; and the way
       back leads to what was set before. */
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (!link || !Lesson.state.isState(link.hash) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      state.writeAddress();
      window.history.pushState(null, "", link.hash);
      show(state.fromHash(link.hash));
    });
    document.documentElement.dataset.lessonReady = "yes";
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})((globalThis.Lesson = globalThis.Lesson || {}));

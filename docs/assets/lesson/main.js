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

  function start() {
    const source = document.getElementById("lesson-page");
    if (!source || source.dataset.started) return;
    source.dataset.started = "yes";
    const settings = json(source);
    const state = Lesson.createState(settings.parameters, window);
    const page = { state, labels: settings.labels, format: Lesson.format };

    const at = state.fromHash(window.location.hash);
    document.documentElement.classList.add("ls-script");
    for (const root of document.querySelectorAll("[data-view]")) {
      const mount = Lesson.views[root.dataset.view] || Lesson.views.figures;
      const data = json(root.querySelector(":scope > script.view-data"));
      if (mount && data) mount(root, data, page);
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

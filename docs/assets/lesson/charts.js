/* Live charts in the place of static pictures. Knows no lesson: it shows Plotly figures as
   build_scripts/render/figures.py makes them.

   Plotly is fetched once a page, by a script tag next to this script, when somebody turns to
   a figure or changes what it shows. Until then, and where it cannot be fetched, the static
   picture stands. Uses of layout.meta: alt (the accessible name), colours (light colour ->
   custom property), narrow (dotted layout paths -> values for a narrow box). */
(function (Lesson) {
  "use strict";

  /* As in figures.py: the pictures' own widths, and the range of boxes that each is made for. */
  const WIDE = 720;
  const NARROW = 300;
  const NARROW_BELOW = 600;
  const sizes = { wide: [NARROW_BELOW, 780], narrow: [250, 360], small: 12 };
  const TICK_STEPS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  /* The room that a sheet of paper leaves in a figure; the layout there is that of the screen. */
  const PRINT_WIDTH = 540;

  const CONFIG = {
    displayModeBar: false,
    displaylogo: false,
    showSendToCloud: false,
    showAxisDragHandles: false,
    scrollZoom: false,
    doubleClick: false,
  };

  /* Relative to this script: the site may stand below any path, or on a disk. */
  const here = document.currentScript && document.currentScript.src;
  const PLOTLY = here ? new URL("../vendor/plotly-cartesian.min.js", here).href : "";

  const attached = new Map();
  let loading = null;
  let printing = false;

  function load() {
    if (globalThis.Plotly) return Promise.resolve();
    loading =
      loading ||
      new Promise((resolve, reject) => {
        const tag = document.createElement("script");
        tag.src = PLOTLY;
        tag.onload = () => (globalThis.Plotly ? resolve() : reject(new Error("no Plotly in " + PLOTLY)));
        tag.onerror = () => reject(new Error("could not load " + PLOTLY));
        document.head.append(tag);
      });
    return loading;
  }

  /* The height of a chart in a box of that width; `height` is that of its static picture. */
  function heightAt(height, width, narrow = width < NARROW_BELOW) {
    const scale = narrow ? Math.min(width, sizes.narrow[1]) / NARROW : Math.min(width, sizes.wide[1]) / WIDE;
    return Math.floor(height * scale + 0.5);
  }

  /* The upper end of an axis that starts at 0, and the step of its at most five ticks. */
  function axisTop(highest) {
    for (const step of TICK_STEPS) {
      const count = Math.ceil(highest / step);
      if (count <= 5) return [count * step, step];
    }
    throw new RangeError(`no axis is made for values up to ${highest}`);
  }

  /* A copy of the figure for a box of that width, in the colours that `colour` gives for the
     custom properties; null keeps the light ones. */
  function layOut(figure, width, colour, narrow = width < NARROW_BELOW) {
    const { data, layout } = JSON.parse(JSON.stringify(figure));
    const { meta } = layout;
    delete layout.meta;
    if (narrow) {
      for (const [path, value] of Object.entries(meta.narrow)) {
        const names = path.split(".");
        const last = names.pop();
        let place = layout;
        for (const name of names) place = place[name] = place[name] || {};
        place[last] = value;
      }
    }
    layout.width = width;
    layout.height = heightAt(layout.height, width, narrow);
    if (!colour) return { data, layout };
    return recoloured({ data, layout }, (value) =>
      meta.colours[value] ? colour(meta.colours[value]) || value : value,
    );
  }

  function recoloured(part, change) {
    if (typeof part === "string") return change(part);
    if (Array.isArray(part)) return part.map((item) => recoloured(item, change));
    if (part === null || typeof part !== "object") return part;
    for (const key of Object.keys(part)) part[key] = recoloured(part[key], change);
    return part;
  }

  /* Puts the live chart of `figure` into `element`, which holds its static pictures, as soon
     as somebody turns to it. labels: the page's words, chart_loading and chart_failed. */
  function attach(element, figure, labels) {
    if (attached.has(element)) return attached.get(element);
    const area = element.closest(".fig") || element;
    const live = document.createElement("div");
    live.className = "chart-live";
    element.append(live);
    const note = document.createElement("p");
    note.className = "chart-note";
    note.setAttribute("role", "status");
    element.after(note);

    let current = figure;
    let failed = false;
    let frame = 0;

    function say(text, stale) {
      note.textContent = text;
      element.classList.toggle("chart-stale", stale);
    }

    function wake() {
      for (const type of Object.keys(turns)) area.removeEventListener(type, turns[type]);
      load().then(schedule, fail);
    }

    function fail() {
      failed = true;
      element.classList.remove("chart-drawn");
      say(labels.chart_failed, false);
    }

    /* However often the state changes, a chart is drawn once a frame. */
    function schedule() {
      if (!frame && !failed && globalThis.Plotly) frame = requestAnimationFrame(() => draw(false));
    }

    function draw(onPaper) {
      cancelAnimationFrame(frame);
      frame = 0;
      const room = Math.floor(element.clientWidth);
      /* A box that is not shown has no width; the observer calls again when it is. */
      if (!room || failed || (printing && !onPaper) || !attached.has(element)) return;
      const style = getComputedStyle(element);
      const next = onPaper
        ? layOut(current, Math.min(room, PRINT_WIDTH), null, room < NARROW_BELOW)
        : layOut(current, room, (name) => style.getPropertyValue(name).trim());
      try {
        /* Shown first: Plotly measures its text. */
        element.classList.add("chart-drawn");
        globalThis.Plotly.react(live, next.data, next.layout, CONFIG);
        say("", false);
      } catch (error) {
        console.error(error);
        fail();
      }
    }

    const turns = {
      /* A finger that only passes by, to scroll, fetches nothing; a tap is a click. */
      pointerenter: (event) => event.pointerType !== "touch" && wake(),
      pointerdown: (event) => event.pointerType !== "touch" && wake(),
      click: wake,
      focusin: wake,
      keydown: wake,
    };
    for (const type of Object.keys(turns)) area.addEventListener(type, turns[type]);

    let width = element.clientWidth;
    const resizes = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      schedule();
    });
    resizes.observe(element);

    const chart = {
      element,
      /* Shows another figure: now if Plotly is there, else as soon as it is. */
      update(next) {
        current = next;
        if (failed) return; /* the static picture stays, and so does what it is called */
        element.setAttribute("aria-label", next.layout.meta.alt);
        if (globalThis.Plotly) return schedule();
        say(labels.chart_loading, true);
        wake();
      },
      redraw: schedule,
      print: () => element.classList.contains("chart-drawn") && draw(true),
      destroy() {
        resizes.disconnect();
        cancelAnimationFrame(frame);
        for (const type of Object.keys(turns)) area.removeEventListener(type, turns[type]);
        if (globalThis.Plotly) globalThis.Plotly.purge(live);
        element.classList.remove("chart-drawn", "chart-stale");
        live.remove();
        note.remove();
        attached.delete(element);
      },
    };
    attached.set(element, chart);
    return chart;
  }

  /* --- the page --- */

  const each = (what) => attached.forEach((chart) => chart[what]());

  /* The theme sets the scheme on the body; another page may set it on the root. */
  const schemes = new MutationObserver(() => each("redraw"));
  for (const place of [document.documentElement, document.body]) {
    if (place) schemes.observe(place, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  }

  /* Paper is light and narrow. What is printed is what the reader has set. */
  function setPrinting(on) {
    if (printing === on) return;
    printing = on;
    each(on ? "print" : "redraw");
  }
  window.addEventListener("beforeprint", () => setPrinting(true));
  window.addEventListener("afterprint", () => setPrinting(false));
  window.matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));

  Lesson.charts = { attach, layOut, heightAt, axisTop, sizes };
})((globalThis.Lesson = globalThis.Lesson || {}));

/* The page's parameters: one declared table, its values, and the address that restores them.

   The table comes from the page (each entry: name, key, type, default, min, max, step).
   Nothing here knows what a parameter means. A view reads with `get`, changes with `set`,
   and is told with `subscribe`. */
(function (Lesson) {
  "use strict";

  /* A value as the table allows it, or undefined for what cannot be read. */
  function read(parameter, raw) {
    if (parameter.type === "switch") {
      if (raw === true || raw === "1" || raw === "true" || raw === "on") return true;
      if (raw === false || raw === "0" || raw === "false" || raw === "off") return false;
      return undefined;
    }
    if (parameter.type === "flags") {
      return /^[01]*$/.test(raw) && String(raw).length <= parameter.max ? String(raw) : undefined;
    }
    if (parameter.type === "choice") return parameter.options.includes(raw) ? raw : undefined;
    if (typeof raw === "string" && raw.trim() === "") return undefined;
    let value = Number(typeof raw === "string" ? raw.replace(",", ".") : raw);
    if (!Number.isFinite(value)) return undefined;
    if (parameter.type === "integer") value = Math.round(value);
    return Math.min(parameter.max, Math.max(parameter.min, value));
  }

  function write(parameter, value) {
    if (parameter.type === "switch") return value ? "1" : "0";
    return String(value);
  }

  /* "#h=0.75&k=3" -> {acceptance: 0.75, draft_tokens: 3}; what is unknown or unreadable is left out. */
  function parse(table, hash) {
    const values = {};
    const pairs = new URLSearchParams(String(hash).replace(/^#/, ""));
    for (const parameter of table) {
      if (!pairs.has(parameter.key)) continue;
      const value = read(parameter, pairs.get(parameter.key));
      if (value !== undefined) values[parameter.name] = value;
    }
    return values;
  }

  function format(table, values) {
    return table.map((parameter) => parameter.key + "=" + write(parameter, values[parameter.name])).join("&");
  }

  /* A hash that names a place ("#quiz") is the browser's; one with "=" is ours. */
  function isState(hash) {
    return String(hash).includes("=");
  }

  function createState(table, win) {
    const defaults = {};
    for (const parameter of table) defaults[parameter.name] = parameter.default;
    const values = Object.assign({}, defaults);
    const listeners = new Set();
    let scheduled = 0;

    const tell = (changed) => listeners.forEach((listener) => listener(values, changed));

    /* Browsers limit how often the address may change, and a slider fires at every pixel. */
    function writeAddress() {
      scheduled = 0;
      const address = win.location.pathname + win.location.search + "#" + format(table, values);
      try {
        win.history.replaceState(win.history.state, "", address);
      } catch (error) {
        /* A sandboxed frame may refuse; the page works on without a restorable address. */
      }
    }

    function change(next, addressToo) {
      const changed = [];
      for (const parameter of table) {
        if (!(parameter.name in next)) continue;
        const value = read(parameter, next[parameter.name]);
        if (value === undefined || value === values[parameter.name]) continue;
        values[parameter.name] = value;
        changed.push(parameter.name);
      }
      if (!changed.length) return;
      tell(changed);
      if (addressToo && !scheduled) scheduled = win.setTimeout(writeAddress, 150);
    }

    const state = {
      /* The address of what is set now, at once: for who is about to leave it and may come back. */
      writeAddress,
      table,
      defaults,
      get: () => values,
      set: (next) => change(next, true),
      /* Back to the defaults: all of them, or the named ones. */
      reset: (names) => {
        const next = {};
        for (const name of names || Object.keys(defaults)) next[name] = defaults[name];
        change(next, true);
      },
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      /* An address that restores this state and shows the figure with that id. */
      link: (figureId) =>
        win.location.href.split("#")[0] + "#" + format(table, values) + (figureId ? "&at=" + figureId : ""),
      /* A link without some parameter means its default, whatever is set now. */
      fromHash: (hash) => {
        if (!isState(hash)) return null;
        change(Object.assign({}, defaults, parse(table, hash)), false);
        return new URLSearchParams(hash.replace(/^#/, "")).get("at");
      },
    };
    return state;
  }

  Lesson.createState = createState;
  Lesson.state = { read, parse, format, isState };
})((globalThis.Lesson = globalThis.Lesson || {}));

/* Numbers as text, the mirror of build_scripts/render/numbers.py: exact values rounded half up. */
(function (Lesson) {
  "use strict";

  /* name: [decimals, whether trailing zeros are dropped, what follows the number] */
  const FORMATS = {
    expected_tokens: [2, false, ""],
    speedup: [2, false, "×"],
    operations_factor: [2, false, "×"],
    round_ms: [1, true, " ms"],
    tpot_ms: [1, true, " ms"],
    burst_gap_ms: [1, true, " ms"],
    throughput_tps: [1, false, " tok/s"],
    acceptance: [2, false, ""],
    break_even_acceptance: [2, false, ""],
    draft_tokens: [0, false, ""],
    best_draft_tokens: [0, false, ""],
    target_ms: [2, true, " ms"],
    draft_ms: [2, true, " ms"],
    ttft_ms: [2, true, " ms"],
    slo_ttft_ms: [2, true, " ms"],
    slo_itl_ms: [2, true, " ms"],
    slo_throughput_tps: [2, true, " tok/s"],
  };

  /* The value with that many decimals, "2.50"; trimmed "2.5". */
  function fixed(value, decimals, trim) {
    /* From 1e21 on toFixed gives an exponent. */
    if (!(Math.abs(value) < 1e21)) throw new RangeError(`cannot show ${value} with decimals`);
    let text = value.toFixed(decimals);
    if (trim && text.includes(".")) text = text.replace(/\.?0+$/, "");
    return /^-[0.]+$/.test(text) ? text.slice(1) : text;
  }

  /* The value of a parameter or readout as the page shows it; `none` stands for null. */
  function number(name, value, none) {
    if (value === null || value === undefined) return none;
    if (name === "verdict") return value;
    if (name === "bonus") return value ? "on" : "off";
    if (!Object.hasOwn(FORMATS, name)) throw new RangeError(`no number is called ${name}`);
    const [decimals, trim, unit] = FORMATS[name];
    return fixed(value, decimals, trim) + unit;
  }

  /* "{n} of {total}" with its names filled in; doubled braces are braces. */
  function fill(template, values) {
    return template.replace(/\{\{|\}\}|\{(\w+)\}/g, (all, name) => (name ? String(values[name]) : all[0]));
  }

  Lesson.format = { number, fixed, fill };
})((globalThis.Lesson = globalThis.Lesson || {}));

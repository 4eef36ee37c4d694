/* What one round of speculative decoding costs and yields: the lesson's analytic model.

   The mirror of build_scripts/model/speculation.py, operation by operation, so that both
   give the same numbers to the last bit; see there for the formulas and their sources.
   Times are in milliseconds. `inputs` is an object with the keys acceptance (one h, or an
   array of one probability a position), draft_tokens, target_ms, draft_ms, bonus and, if it
   is not draft_ms / target_ms, operations_ratio; other keys are ignored. A RangeError, in
   one line, says what is out of range. No DOM. */
(function (Lesson) {
  "use strict";

  const MAX_DRAFT_TOKENS = 1000;
  const SEARCHED_DRAFT_TOKENS = 32;
  const NET_WIN_FROM = 1.02;
  const NET_LOSS_TO = 0.98;
  const MIN_TARGET_MS = 1e-6;
  const MAX_MS = 1e9;
  const MAX_OPERATIONS_RATIO = MAX_MS / MIN_TARGET_MS;
  const ROUNDING = 2 ** -49;

  /* All results for one round. */
  function evaluate(inputs) {
    check(inputs);
    const factor = speedup(inputs);
    return {
      expected_tokens: expectedTokens(inputs.acceptance, inputs.draft_tokens, inputs.bonus),
      round_ms: roundMs(inputs),
      tpot_ms: tpotMs(inputs),
      throughput_tps: throughputTps(inputs),
      speedup: factor,
      verdict: verdict(factor),
      best_draft_tokens: bestDraftTokens(inputs),
      break_even_acceptance: breakEvenAcceptance(inputs),
      operations_factor: operationsFactor(inputs),
      burst_gap_ms: burstGapMs(inputs),
    };
  }

  /* S_1 … S_k: the probability that a round accepts at least j drafts. */
  function survival(acceptances) {
    checkAcceptance(acceptances);
    let running = 1;
    return acceptances.map((a) => (running *= a));
  }

  /* E, the mean number of tokens committed per target pass. */
  function expectedTokens(acceptance, draftTokens, bonus) {
    checkAcceptance(acceptance);
    checkDraftTokens(draftTokens, acceptance);
    checkBonus(bonus);
    return 1 + gained(acceptance, targetRows(draftTokens, bonus) - 1);
  }

  function roundMs(inputs) {
    check(inputs);
    return roundTime(inputs, inputs.draft_tokens);
  }

  function tpotMs(inputs) {
    return roundMs(inputs) / expectedTokens(inputs.acceptance, inputs.draft_tokens, inputs.bonus);
  }

  function throughputTps(inputs) {
    return 1000 / tpotMs(inputs);
  }

  function burstGapMs(inputs) {
    return roundMs(inputs);
  }

  function speedup(inputs) {
    /* Divided this way round, a free draft gives exactly E. */
    const slower = roundMs(inputs) / inputs.target_ms;
    return expectedTokens(inputs.acceptance, inputs.draft_tokens, inputs.bonus) / slower;
  }

  function verdict(factor) {
    if (factor >= NET_WIN_FROM * (1 - ROUNDING)) return "net win";
    if (factor <= NET_LOSS_TO * (1 + ROUNDING)) return "net loss";
    return "break-even";
  }

  /* The k from 0 to 32 with the largest speedup at these costs; of equals the smallest. */
  function bestDraftTokens(inputs) {
    check(inputs);
    /* The gain over the best so far is summed on its own: added to E it would drown in rounding. */
    let limit = SEARCHED_DRAFT_TOKENS;
    if (Array.isArray(inputs.acceptance)) limit = Math.min(limit, inputs.acceptance.length);
    let best = 0;
    let bestExpected = 1;
    let gain = 0;
    let reached = 1;
    for (let k = 1; k <= limit; k++) {
      const examined = targetRows(k, inputs.bonus) - 1;
      if (examined > 0) {
        reached *= acceptanceAt(inputs.acceptance, examined);
        gain += reached;
      }
      const extraMs = (k - best) * inputs.draft_ms;
      if (gain * roundTime(inputs, best) > bestExpected * extraMs * (1 + ROUNDING)) {
        best = k;
        bestExpected += gain;
        gain = 0;
      }
    }
    return best;
  }

  /* The smallest h in [0, 1] at which the speedup reaches 1; null where none does, and for k = 0. */
  function breakEvenAcceptance(inputs) {
    check(inputs);
    /* Asked as (E - 1)·target_ms >= k·draft_ms, which keeps every digit of a small h. */
    const examined = targetRows(inputs.draft_tokens, inputs.bonus) - 1;
    const priceMs = inputs.draft_tokens * inputs.draft_ms;
    const savedMs = (h) => gained(h, examined) * inputs.target_ms;
    if (inputs.draft_tokens === 0 || savedMs(1) < priceMs * (1 - ROUNDING)) return null;
    if (priceMs === 0) return 0;
    let low = 0;
    let high = 1;
    for (;;) {
      const middle = (low + high) / 2;
      if (middle <= low || middle >= high) return high;
      if (savedMs(middle) >= priceMs) high = middle;
      else low = middle;
    }
  }

  /* Arithmetic per committed token over that of plain decoding. */
  function operationsFactor(inputs) {
    check(inputs);
    let ratio = inputs.operations_ratio;
    if (ratio === undefined || ratio === null) ratio = inputs.draft_ms / inputs.target_ms;
    const rows = targetRows(inputs.draft_tokens, inputs.bonus);
    const work = inputs.draft_tokens * ratio + rows;
    return work / expectedTokens(inputs.acceptance, inputs.draft_tokens, inputs.bonus);
  }

  /* --- the parts that the formulas share --- */

  /* Positions that the target scores in a round: also the most that the round can commit. */
  function targetRows(draftTokens, bonus) {
    if (draftTokens === 0) return 1;
    return bonus ? draftTokens + 1 : draftTokens;
  }

  function acceptanceAt(acceptance, position) {
    return Array.isArray(acceptance) ? acceptance[position - 1] : acceptance;
  }

  /* E - 1 = S_1 + … + S_examined by Horner. */
  function gained(acceptance, examined) {
    let sum = 0;
    for (let position = examined; position > 0; position--) {
      sum = acceptanceAt(acceptance, position) * (1 + sum);
    }
    return sum;
  }

  function roundTime(inputs, draftTokens) {
    return inputs.target_ms + draftTokens * inputs.draft_ms;
  }

  /* --- what is refused --- */

  function check(inputs) {
    checkAcceptance(inputs.acceptance);
    checkDraftTokens(inputs.draft_tokens, inputs.acceptance);
    checkNumber("target_ms", inputs.target_ms, MIN_TARGET_MS, MAX_MS);
    checkNumber("draft_ms", inputs.draft_ms, 0, MAX_MS);
    checkBonus(inputs.bonus);
    if (inputs.operations_ratio !== undefined && inputs.operations_ratio !== null) {
      checkNumber("operations_ratio", inputs.operations_ratio, 0, MAX_OPERATIONS_RATIO);
    }
  }

  function checkNumber(name, value, lowest, highest) {
    if (typeof value !== "number" || !(lowest <= value && value <= highest)) {
      throw new RangeError(`${name} must be a number from ${lowest} to ${highest}, not ${value}`);
    }
  }

  function checkAcceptance(acceptance) {
    if (!Array.isArray(acceptance)) return checkNumber("acceptance", acceptance, 0, 1);
    acceptance.forEach((a, index) => checkNumber(`acceptance at position ${index + 1}`, a, 0, 1));
  }

  function checkDraftTokens(draftTokens, acceptance) {
    if (!Number.isInteger(draftTokens) || draftTokens < 0 || draftTokens > MAX_DRAFT_TOKENS) {
      throw new RangeError(
        `draft_tokens must be a whole number from 0 to ${MAX_DRAFT_TOKENS}, not ${draftTokens}`,
      );
    }
    if (Array.isArray(acceptance) && acceptance.length < draftTokens) {
      throw new RangeError(
        `draft_tokens is ${draftTokens}, but acceptance has only ${acceptance.length} positions`,
      );
    }
  }

  function checkBonus(bonus) {
    if (typeof bonus !== "boolean") throw new RangeError(`bonus must be true or false, not ${bonus}`);
  }

  Lesson.model = {
    evaluate,
    survival,
    expectedTokens,
    roundMs,
    tpotMs,
    throughputTps,
    burstGapMs,
    speedup,
    verdict,
    bestDraftTokens,
    breakEvenAcceptance,
    operationsFactor,
  };
})((globalThis.Lesson = globalThis.Lesson || {}));

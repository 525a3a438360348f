// Pictures of a query's answers, as values without a page: survival curves with numbers at risk, ROC
// curves and calibration, counts and quantiles, each with its intervals. drawing.js draws them.
//
// A picture is {kind, title, x, y, series, …}, where
//   "curve"  steps or lines with bands     series: [{name, points: [{x, y, low, high, …}]}]
//   "points" values with whiskers          the same
//   "bars"   counts with whiskers          groups: [{name, label}], points: one for each group
//   "ranges" values along the x axis       rows: [{label, x, low, high}]; edges: across it, or round
//     values; neutral: the value without an effect; isLogarithmic: of the axis; hasNumbers: written
//     behind the rows
// y, or x of a range, is null where the number is suppressed.

/** The number that a place begins with: "50", or the lower end of "[40, 50)"; NaN for other text. */
export function placeOf(at) {
  const text = at?.startsWith("[") ? at.slice(1, at.indexOf(",")) : at;
  return text === undefined || text.trim() === "" ? NaN : Number(text);
}

/** The upper end of "[40, 50)"; NaN for other text. */
export const endOf = (at) =>
  (at?.startsWith("[") ? Number(at.slice(at.indexOf(",") + 1).replace(/[\])]/, "")) : NaN);

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isThere = (estimate) => isNumber(estimate.value);

/** Estimates of a quantity by group, in the order of the answer: [[group, estimates]]. */
function groupsOf(answer, quantity) {
  const groups = new Map();
  for (const estimate of answer.estimates) {
    if (estimate.quantity !== quantity) continue;
    const name = estimate.group ?? "all";
    groups.set(name, [...(groups.get(name) ?? []), estimate]);
  }
  return [...groups];
}

const low = (estimate) => (isNumber(estimate.low) ? estimate.low : estimate.value);
const high = (estimate) => (isNumber(estimate.high) ? estimate.high : estimate.value);

/** Series that show two numbers at least. */
const shown = (series, least = 2) =>
  series.filter((one) => one.points.filter((point) => isNumber(point.y)).length >= least);

/** Steps from (0, 1) that fall at each point. A suppressed one ends the curve. */
function steps(points) {
  const path = [{ x: 0, y: 1, low: 1, high: 1 }];
  for (const point of points) path.push({ ...path.at(-1), x: point.x }, point);
  return path;
}

function survival(answer) {
  const times = groupsOf(answer, "survival").flatMap(([, estimates]) => estimates.map((each) => placeOf(each.at)));
  const series = groupsOf(answer, "survival").map(([name, estimates], look) => {
    const end = estimates.findIndex((estimate) => !isThere(estimate));
    const seen = end < 0 ? estimates : estimates.slice(0, end);
    const points = seen.map((estimate) => (
      { x: placeOf(estimate.at), y: estimate.value, low: low(estimate), high: high(estimate) }));
    return { name, look, points: points.length > 0 ? steps(points) : [] };
  });
  const atRisk = groupsOf(answer, "at risk").map(([name, estimates], look) => ({
    name, look, cells: estimates.map((estimate) => ({ x: placeOf(estimate.at), value: estimate.value })) }));
  const kept = shown(series);
  if (kept.length === 0) return [];
  return [{ kind: "curve", title: "survival", x: "time", y: "share that survives", right: Math.max(...times), top: 1,
            series: kept, atRisk, marksEnd: true }];
}

/** Survival of a model's profiles: hazards are constant within an interval, so it has no steps. */
function profiles(answer) {
  const start = { x: 0, y: 1, low: 1, high: 1 };
  const series = groupsOf(answer, "survival").map(([name, estimates], look) => ({
    name, look,
    points: [start, ...estimates.filter(isThere).map((estimate) => (
      { x: placeOf(estimate.at), y: estimate.value, low: low(estimate), high: high(estimate) }))],
  }));
  const kept = shown(series);
  if (kept.length === 0) return [];
  return [{ kind: "curve", title: "survival", x: "time", y: "share that survives",
            right: Math.max(...kept.flatMap((one) => one.points.map((point) => point.x))), top: 1, series: kept }];
}

/** How much each coefficient changes from the first interval to the last. */
function changes(answer) {
  const rows = answer.estimates.filter(({ quantity }) => quantity === "change of coefficient").map((estimate) => (
    { label: estimate.group, x: isThere(estimate) ? estimate.value : null, low: low(estimate), high: high(estimate) }));
  if (!rows.some((row) => row.x !== null)) return [];
  return [{ kind: "ranges", title: "change of coefficient", x: "from the first interval to the last", y: "", rows,
            edges: [], neutral: 0, hasNumbers: true }];
}

/** Sensitivity over false positive rate. A band joins the corners of the two intervals. */
function rocCurve(answer) {
  const rates = new Map(groupsOf(answer, "false positive rate"));
  const areas = new Map(groupsOf(answer, "auc").map(([name, [area]]) => [name, area]));
  const series = groupsOf(answer, "sensitivity").map(([name, sensitivities], look) => {
    const at = new Map((rates.get(name) ?? []).map((estimate) => [estimate.at, estimate]));
    const points = sensitivities
      .filter((estimate) => estimate.at && isThere(estimate) && at.has(estimate.at) && isThere(at.get(estimate.at)))
      .map((estimate) => {
        const rate = at.get(estimate.at);
        return { x: rate.value, y: estimate.value, upper: { x: low(rate), y: high(estimate) },
                 lower: { x: high(rate), y: low(estimate) } };
      });
    const corner = { x: 0, y: 0, upper: { x: 0, y: 0 }, lower: { x: 0, y: 0 } };
    return { name, look, points: points.length > 0 ? [corner, ...points.reverse()] : [],
             area: areas.get(name) };
  });
  const kept = shown(series, 3);
  return kept.length === 0 ? []
    : [{ kind: "curve", title: "ROC", x: "1 − specificity", y: "sensitivity", right: 1, top: 1, diagonal: "chance",
         isSquare: true, series: kept }];
}

/** Observed share over the middle of the scores of a cell. */
function calibration(answer) {
  const series = groupsOf(answer, "observed share").map(([name, estimates], look) => ({
    name, look,
    points: estimates.map((estimate) => (
      { x: (placeOf(estimate.at) + endOf(estimate.at)) / 2, from: placeOf(estimate.at), to: endOf(estimate.at),
        y: isThere(estimate) ? estimate.value : null, low: low(estimate), high: high(estimate) })),
  }));
  const kept = shown(series);
  return kept.length === 0 ? []
    : [{ kind: "points", title: "calibration", x: "score", y: "observed share", right: 1, top: 1,
         diagonal: "calibrated", isSquare: true, series: kept }];
}

const kMostBars = 60;

function counts(answer) {
  const [[, estimates] = ["all", []]] = groupsOf(answer, "count");
  // The count of all has no place.
  const cells = estimates.filter((estimate) => estimate.at);
  const points = cells.map((estimate) => (
    { label: estimate.at, y: isThere(estimate) ? estimate.value : null, low: estimate.low, high: estimate.high }));
  if (points.length > kMostBars || points.filter((point) => point.y !== null).length < 2) return [];
  const edges = answer.edges?.length === points.length + 1 ? answer.edges : null;
  return [{ kind: "bars", title: "counts", x: "", y: "count", edges, series: [{ name: "all", look: 0, points }] }];
}

/** Counts of pairs: a group of bars for each row of the table, or each group of a histogram. */
function pairs(answer) {
  const rows = groupsOf({ estimates: answer.estimates.filter((estimate) => estimate.at && estimate.group) }, "count");
  const columns = [...new Set(rows.flatMap(([, estimates]) => estimates.map((estimate) => estimate.at)))];
  const series = columns.map((column, look) => ({
    name: column, look,
    points: rows.map(([row, estimates]) => {
      const estimate = estimates.find((one) => one.at === column) ?? {};
      return { label: row, y: isThere(estimate) ? estimate.value : null, low: estimate.low, high: estimate.high };
    }),
  }));
  const numbers = series.flatMap((one) => one.points);
  if (numbers.length > kMostBars || columns.length > 8 || numbers.filter((point) => point.y !== null).length < 2) {
    return [];
  }
  return [{ kind: "bars", title: "counts", x: "", y: "count", series }];
}

/** Quantiles along their column, with the edges of the cells that were counted. */
function quantiles(answer) {
  const isOne = (estimate) => estimate.quantity === "quantile" || estimate.quantity === "median";
  const rows = answer.estimates.filter(isOne).map((estimate) => (
    { label: [estimate.group, `${+(100 * Number(estimate.at ?? 0.5)).toPrecision(6)} %`].filter(Boolean).join(" "), x: isThere(estimate) ? estimate.value : null,
      low: low(estimate), high: high(estimate) }));
  if (!rows.some((row) => row.x !== null)) return [];
  return [{ kind: "ranges", title: "quantiles", x: "value, with the edges of the cells", y: "", rows, edges: answer.edges ?? [] }];
}

/**
 * A forest plot, whatever the kind of the model is: ratios where the answer has them, else coefficients. Those without
 * an interval, as a discriminant's, are no effects.
 */
function forest(answer) {
  const coefficients = answer.estimates.filter((estimate) => estimate.quantity === "coefficient");
  if (coefficients.some((estimate) => isThere(estimate) && !isNumber(estimate.low))) return [];
  const terms = new Set(coefficients.map((estimate) => estimate.group));
  const ratios = answer.estimates.filter(({ quantity, group }) => quantity.endsWith(" ratio") && terms.has(group));
  const isRatio = ratios.length > 0;
  const rows = (isRatio ? ratios : coefficients).map((estimate) => (
    { label: estimate.group, x: isThere(estimate) ? estimate.value : null, low: estimate.low,
      high: isNumber(estimate.high) ? estimate.high : Infinity }));
  if (!rows.some((row) => row.x !== null)) return [];
  const title = isRatio ? ratios[0].quantity : "coefficient";
  return [{ kind: "ranges", title, x: title, y: "", rows, edges: [], neutral: isRatio ? 1 : 0, isLogarithmic: isRatio,
            hasNumbers: true }];
}

const kPictures = {
  cox: (answer) => [...profiles(answer), ...changes(answer)],
  survival: (answer) => survival(answer),
  evaluation: (answer) => [...rocCurve(answer), ...calibration(answer)],
  histogram: (answer) => (answer.estimates.some((estimate) => estimate.group) ? pairs(answer) : counts(answer)),
  crosstab: pairs,
  quantiles,
  median: quantiles,
};

/** What is drawn for an answer; none where too few numbers are shown. */
export const picturesOf = (answer) => [...(kPictures[answer.kind]?.(answer) ?? []), ...forest(answer)];

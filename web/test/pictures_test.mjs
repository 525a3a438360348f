import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, fitted, logarithmicTicks, ticks } from "../src/report/axes.js";
import { endOf, picturesOf, placeOf } from "../src/report/pictures.js";

test("a place is a number or an interval with two ends", () => {
  assert.equal(placeOf("50"), 50);
  assert.equal(placeOf("[40, 50)"), 40);
  assert.equal(endOf("[40, 50)"), 50);
  assert.equal(endOf("[0.9, 1]"), 1);
  for (const other of ["yes", undefined, ""]) assert.ok(Number.isNaN(placeOf(other)));
  assert.ok(Number.isNaN(endOf("50")));
});

test("survival falls in steps from 1, for each group, with its interval and its rows at risk", () => {
  const estimates = [
    { quantity: "at risk", group: "f", at: "0", value: 90 },
    { quantity: "at risk", group: "f", at: "10", value: null },
    { quantity: "survival", group: "f", at: "10", value: 0.8, low: 0.7, high: 0.9 },
    { quantity: "survival", group: "f", at: "20", value: 0.5, low: 0.4, high: 0.6 },
    { quantity: "log-rank p", value: 0.2 },
    { quantity: "survival", group: "m", at: "10", value: null },
  ];
  const [{ kind, series, atRisk, right }] = picturesOf({ kind: "survival", estimates });
  assert.equal(kind, "curve");
  assert.deepEqual(series[0].points.map(({ x, y }) => [x, y]), [[0, 1], [10, 1], [10, 0.8], [20, 0.8], [20, 0.5]]);
  assert.deepEqual([series[0].points.at(-1).low, series[0].points.at(-1).high], [0.4, 0.6]);
  assert.deepEqual(series.map(({ name }) => name), ["f"]);  // every number of the other group is suppressed
  assert.deepEqual(atRisk[0].cells, [{ x: 0, value: 90 }, { x: 10, value: null }]);
  assert.equal(right, 20);
});

// A curve that went on behind a suppressed value would show what nobody released.
test("a curve ends at its first suppressed value", () => {
  const values = [0.9, 0.8, null, 0.6];
  const estimates = values.map((value, i) => ({ quantity: "survival", at: String(10 * (i + 1)), value, low: value, high: value }));
  const [{ series, right }] = picturesOf({ kind: "survival", estimates });
  assert.equal(series[0].points.at(-1).x, 20);
  assert.equal(right, 40);
});

const at = (quantity, values) => Object.entries(values).map(([place, value]) => ({ quantity, at: place, value, low: value - 0.1, high: value + 0.1 }));

test("a ROC curve joins rates and sensitivities of the same threshold, in a band of their corners", () => {
  const estimates = [{ quantity: "sensitivity", value: 0.7 }, { quantity: "auc", value: 0.8, low: 0.7, high: 0.9 },
                     ...at("false positive rate", { 0.2: 0.6, 0.5: 0.2 }), { quantity: "false positive rate", at: "0.8", value: null },
                     ...at("sensitivity", { 0.2: 0.9, 0.5: 0.7, 0.8: 0.3 })];
  const [roc, ...others] = picturesOf({ kind: "evaluation", estimates });
  assert.deepEqual(roc.series[0].points.map(({ x, y }) => [x, y]), [[0, 0], [0.2, 0.7], [0.6, 0.9]]);
  assert.deepEqual(roc.series[0].points[1].upper, { x: 0.1, y: 0.7 + 0.1 });
  assert.deepEqual(roc.series[0].points[1].lower, { x: 0.2 + 0.1, y: 0.7 - 0.1 });
  assert.equal(roc.series[0].area.value, 0.8);
  assert.deepEqual(others, []);  // no calibration was released
});

test("calibration stands in the middle of the scores, and keeps the place of a suppressed share", () => {
  const estimates = [...at("observed share", { "[0, 0.1)": 0.2, "[0.5, 0.9]": 0.6 }), { quantity: "observed share", at: "[0.1, 0.5)", value: null }];
  const [calibration] = picturesOf({ kind: "evaluation", estimates });
  assert.deepEqual(calibration.series[0].points.map(({ x, y }) => [x, y]), [[0.05, 0.2], [0.7, 0.6], [0.3, null]]);
});

test("counts are bars, and a suppressed one keeps its place", () => {
  const estimates = [{ quantity: "count", value: 23 },
                     { quantity: "count", at: "f", value: 12, low: 10, high: 14 },
                     { quantity: "count", at: "x", value: null }, { quantity: "count", at: "m", value: 9 }];
  const [{ kind, series, edges }] = picturesOf({ kind: "histogram", estimates });
  assert.equal(kind, "bars");
  assert.deepEqual(series[0].points.map((point) => [point.label, point.y]), [["f", 12], ["x", null], ["m", 9]]);
  assert.equal(edges, null);
  assert.deepEqual(picturesOf({ kind: "histogram", estimates, edges: [0, 1, 2, 3] })[0].edges, [0, 1, 2, 3]);
});

test("pairs are groups of bars, one series a column", () => {
  const estimates = [{ quantity: "count", value: 30 },
                     ...["f", "m"].flatMap((group, g) => ["0", "1"].map((place, p) => (
                       { quantity: "count", group, at: place, value: g + p === 0 ? null : 10 * g + p }))),
                     { quantity: "agreement", value: 0.5 }];
  const [{ series }] = picturesOf({ kind: "crosstab", estimates });
  assert.deepEqual(series.map(({ name, points }) => [name, points.map((point) => point.y)]), [["0", [null, 10]], ["1", [1, 11]]]);
});

test("quantiles stand along their column, with the edges of the cells", () => {
  const estimates = [{ quantity: "count", value: 90 }, ...at("quantile", { 0.25: 40, 0.5: 55 }), { quantity: "quantile", at: "0.999", value: null }];
  const [{ kind, rows, edges }] = picturesOf({ kind: "quantiles", estimates, edges: [0, 50, 100] });
  assert.equal(kind, "ranges");
  assert.deepEqual(rows.map(({ label, x }) => [label, x]), [["25 %", 40], ["50 %", 55], ["99.9 %", null]]);
  assert.deepEqual(edges, [0, 50, 100]);
});

test("other answers, and answers with too few numbers, have no picture", () => {
  assert.deepEqual(picturesOf({ kind: "mean", estimates: [{ quantity: "mean", value: 3 }] }), []);
  assert.deepEqual(picturesOf({ kind: "histogram", estimates: [{ quantity: "count", at: "f", value: 3 }] }), []);
  assert.deepEqual(picturesOf({ kind: "survival", estimates: [{ quantity: "survival", at: "1", value: null }] }), []);
  assert.deepEqual(picturesOf({ kind: "quantiles", estimates: [{ quantity: "quantile", at: "0.5", value: null }] }), []);
  assert.deepEqual(picturesOf({ kind: "evaluation", estimates: [] }), []);
  const many = Array.from({ length: 61 }, (_, i) => ({ quantity: "count", at: String(i), value: i }));
  assert.deepEqual(picturesOf({ kind: "histogram", estimates: many }), []);
});

test("an axis has two to five round parts", () => {
  assert.deepEqual(ticks(1), [0, 0.5, 1]);
  assert.deepEqual(ticks(100), [0, 50, 100]);
  assert.deepEqual(ticks(90, 18), [20, 40, 60, 80]);
  assert.deepEqual(ticks(10, -10), [-10, 0, 10]);
  for (const top of [0.013, 3, 7, 19, 42, 99, 1234, 5e6]) {
    const marks = ticks(top);
    assert.ok(marks.length >= 3 && marks.length <= 6 && marks.at(-1) <= top * (1 + 1e-9), `${top}: ${marks}`);
  }
});

test("labels stay apart, and a long one is cut", () => {
  assert.deepEqual(apart([0, 10, 20, 30, 40], [15, 15, 15, 15, 15], 2), [0, 2, 4]);
  assert.deepEqual(apart([0, 10, 20, 30, 40], [3, 3, 3, 3, 15], 2), [0, 2, 4]);
  assert.deepEqual(apart([0, 10], [4, 4], 2), [0, 1]);
  assert.equal(fitted("General medicine", 60, 12), "General…");
  assert.equal(fitted("Surgery", 60, 12), "Surgery");
});

test("cells of groups are bars side by side, without the totals of the groups", () => {
  const cells = ["f", "m"].flatMap((group) => [
    { quantity: "count", group, value: 30 },
    ...["I", "II"].map((at) => ({ quantity: "count", group, at, value: 15, low: 10, high: 20 })),
    ...["I", "II"].map((at) => ({ quantity: "proportion", group, at, value: 0.5 }))]);
  const [{ kind, series }] = picturesOf({ kind: "histogram", estimates: [...cells, { quantity: "left out", value: 1 }] });
  assert.equal(kind, "bars");
  assert.deepEqual(series.map(({ name }) => name), ["I", "II"]);
  assert.deepEqual(series[0].points.map(({ label, y }) => [label, y]), [["f", 15], ["m", 15]]);
});

test("a median of groups is a range of each", () => {
  const estimates = ["f", "m"].flatMap((group) => [
    { quantity: "count", group, value: 30 }, { quantity: "median", group, value: 50, low: 40, high: 60 }]);
  const [{ kind, rows }] = picturesOf({ kind: "median", estimates, edges: [0, 40, 60] });
  assert.equal(kind, "ranges");
  assert.deepEqual(rows.map(({ label, x }) => [label, x]), [["f 50 %", 50], ["m 50 %", 50]]);
});

const effect = (quantity, group, value, low, high) => ({ quantity, group, value, low, high });
const kSlopes = [effect("count", undefined, 900, 890, 910), effect("intercept", undefined, 1, 0.5, 1.5),
                 effect("coefficient", "age", 0.5, 0.1, 0.9), effect("coefficient", "sex = m", null)];

test("a model without ratios has its coefficients in a forest plot, with a line at 0", () => {
  const [forest, ...others] = picturesOf({ kind: "glm", estimates: kSlopes });
  assert.deepEqual(others, []);
  assert.equal(forest.kind, "ranges");
  assert.deepEqual(forest.rows.map(({ label, x }) => [label, x]), [["age", 0.5], ["sex = m", null]]);
  assert.deepEqual([forest.neutral, forest.isLogarithmic, forest.title], [0, false, "coefficient"]);
});

// Families and kinds of models differ in the name of their ratio alone.
test("ratios of any name and kind are drawn in place of coefficients, around 1", () => {
  for (const [kind, ratio] of [["glm", "odds ratio"], ["glm", "rate ratio"], ["cox", "hazard ratio"]]) {
    const estimates = [...kSlopes, effect(ratio, "age", 1.6, 1.1, 2.5), effect(ratio, "sex = m", null),
                       effect("likelihood ratio", undefined, 7, 1, 9)];
    const [forest] = picturesOf({ kind, estimates });
    assert.deepEqual(forest.rows.map(({ x, low, high }) => [x, low, high]), [[1.6, 1.1, 2.5], [null, undefined, Infinity]]);
    assert.deepEqual([forest.neutral, forest.isLogarithmic, forest.title], [1, true, ratio]);
  }
});

test("coefficients without intervals, or all suppressed, have no forest plot", () => {
  assert.deepEqual(picturesOf({ kind: "regression", estimates: [{ quantity: "coefficient", group: "age", value: 0.5 }] }), []);
  assert.deepEqual(picturesOf({ kind: "glm", estimates: [kSlopes[3], effect("odds ratio", "sex = m", null)] }), []);
});

test("a logarithmic axis has round values, and few of them", () => {
  assert.deepEqual(logarithmicTicks(5.5, 0.4), [0.5, 1, 2, 5]);
  assert.deepEqual(logarithmicTicks(3e4, 1e-3), [1e-3, 0.1, 10, 1000]);
  assert.deepEqual(logarithmicTicks(1.3, 0.95), [1, 1.1, 1.2, 1.3]);
  assert.ok(logarithmicTicks(1e300, 1e-300).length <= 6);
});

test("hazards have the survival of their profiles as lines, and the changes of coefficients", () => {
  const at = (group, time, value) => ({ quantity: "survival", group, at: time, value, low: value - 0.1, high: value + 0.1 });
  const estimates = [
    ...kSlopes, { quantity: "baseline survival", at: "6", value: 0.4, low: 0.3, high: 0.5 },
    at("age = 50", "3", 0.8), at("age = 50", "6", 0.6), at("age = 70", "3", 0.5), at("age = 70", "6", 0.3),
    effect("change of coefficient", "age", 0.2, -0.1, 0.5), { quantity: "proportional hazards p", value: 0.2 }];
  const [survival, changes, forest] = picturesOf({ kind: "cox", estimates });
  assert.deepEqual([survival.kind, survival.title, survival.right], ["curve", "survival", 6]);
  assert.deepEqual(survival.series.map(({ name, points }) => [name, points.map(({ x, y }) => [x, y])]),
    [["age = 50", [[0, 1], [3, 0.8], [6, 0.6]]], ["age = 70", [[0, 1], [3, 0.5], [6, 0.3]]]]);
  assert.deepEqual([changes.kind, changes.neutral, changes.rows], ["ranges", 0, [{ label: "age", x: 0.2, low: -0.1, high: 0.5 }]]);
  assert.equal(forest.title, "coefficient");
  const hidden = estimates.map((one) => (one.quantity === "survival" || one.quantity.startsWith("change") ? { ...one, value: null } : one));
  assert.deepEqual(picturesOf({ kind: "cox", estimates: hidden }).map(({ title }) => title), ["coefficient"]);
});

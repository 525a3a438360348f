import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureOf, placeOf, ticks } from "../src/report/pictures.js";

test("a place is a number or the lower end of an interval", () => {
  assert.equal(placeOf("50"), 50);
  assert.equal(placeOf("[40, 50)"), 40);
  assert.ok(Number.isNaN(placeOf("yes")));
  assert.ok(Number.isNaN(placeOf(undefined)));
});

test("survival falls in steps from 1, for each group, with its interval", () => {
  const estimates = [
    { quantity: "survival", group: "f", at: "10", value: 0.8, low: 0.7, high: 0.9 },
    { quantity: "survival", group: "f", at: "20", value: 0.5, low: 0.4, high: 0.6 },
    { quantity: "median", group: "f", value: 20 },
    { quantity: "survival", group: "m", at: "10", value: null },
  ];
  const { kind, series } = pictureOf({ kind: "survival", estimates });
  assert.equal(kind, "band");
  assert.equal(series[0].name, "f");
  assert.deepEqual(series[0].points.map(({ x, y }) => [x, y]), [[0, 1], [10, 1], [10, 0.8], [20, 0.8], [20, 0.5]]);
  assert.deepEqual([series[0].points.at(-1).low, series[0].points.at(-1).high], [0.4, 0.6]);
  assert.equal(series.length, 1);  // every number of the other group is suppressed
});

test("a ROC curve joins rates and sensitivities of the same threshold", () => {
  const at = (quantity, values) => Object.entries(values).map(([threshold, value]) => ({ quantity, at: threshold, value }));
  const estimates = [...at("false positive rate", { 0.2: 0.6, 0.5: 0.2, 0.8: null }),
                     ...at("sensitivity", { 0.2: 0.95, 0.5: 0.7, 0.8: 0.3 })];
  const { series } = pictureOf({ kind: "evaluation", estimates });
  assert.deepEqual(series[0].points, [{ x: 0, y: 0 }, { x: 0.2, y: 0.7 }, { x: 0.6, y: 0.95 }]);
});

test("counts are bars, and a suppressed one keeps its place", () => {
  const estimates = [{ quantity: "count", value: 23 },
                     { quantity: "count", at: "f", value: 12, low: 10, high: 14 },
                     { quantity: "count", at: "x", value: null }, { quantity: "count", at: "m", value: 9 }];
  const { kind, series } = pictureOf({ kind: "histogram", estimates });
  assert.equal(kind, "bars");
  assert.deepEqual(series[0].points.map((point) => [point.label, point.y]), [["f", 12], ["x", null], ["m", 9]]);
});

test("other answers, and answers with fewer than two numbers, have no picture", () => {
  assert.equal(pictureOf({ kind: "mean", estimates: [{ quantity: "mean", value: 3 }] }), null);
  assert.equal(pictureOf({ kind: "histogram", estimates: [{ quantity: "count", at: "f", value: 3 }] }), null);
  assert.equal(pictureOf({ kind: "survival", estimates: [{ quantity: "survival", at: "1", value: null }] }), null);
});

test("an axis has two to five round parts", () => {
  assert.deepEqual(ticks(1), [0, 0.5, 1]);
  assert.deepEqual(ticks(100), [0, 50, 100]);
  for (const top of [0.013, 3, 7, 19, 42, 99, 1234, 5e6]) {
    const marks = ticks(top);
    assert.ok(marks.length >= 3 && marks.length <= 6 && marks.at(-1) <= top * (1 + 1e-9), `${top}: ${marks}`);
  }
});

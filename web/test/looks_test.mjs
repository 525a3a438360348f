import assert from "node:assert/strict";
import { test } from "node:test";
import { farApart, powersOfTen, spread, usualLimit } from "../src/layout.js";
import { seriesLook } from "../src/looks.js";

test("forty series differ in colour and dash together", () => {
  const looks = Array.from({ length: 40 }, (_, i) => JSON.stringify(seriesLook(i)));
  assert.equal(new Set(looks).size, 40);
});

test("labels at one place are pushed apart, keep their order and stay inside", () => {
  const ends = [50, 51, 52, 98, 99].map((y) => ({ x: 10, y }));
  const placed = spread(ends, 12, 0, 100).map((end) => end.labelY);
  for (let i = 1; i < placed.length; i += 1) assert.ok(placed[i] - placed[i - 1] >= 12 - 1e-9, String(placed));
  assert.ok(placed[0] >= 0 && placed.at(-1) <= 100, String(placed));
});

test("labels at different places do not move each other", () => {
  const placed = spread([{ x: 1, y: 5 }, { x: 2, y: 5 }], 12, 0, 100);
  assert.deepEqual(placed.map((end) => end.labelY), [5, 5]);
});

test("more labels than there is room for share it", () => {
  const placed = spread(Array.from({ length: 30 }, () => ({ x: 1, y: 50 })), 12, 0, 100);
  assert.ok(placed.every(({ labelY }) => labelY >= -1e-9 && labelY <= 100 + 1e-9));
});

test("only bars that stand out are cut off", () => {
  assert.equal(usualLimit([1, 2, 3, 2]), Infinity);
  assert.equal(usualLimit([5]), Infinity);
  assert.equal(usualLimit([...Array(19).fill(2), 100]), 3);
});

test("a logarithmic axis is for values far apart, and has a line for each power of ten", () => {
  assert.ok(farApart([1, 31]));
  assert.ok(!farApart([1, 29]));
  assert.ok(!farApart([0, 100]));
  assert.deepEqual(powersOfTen(0.001, 20), [0.001, 0.01, 0.1, 1, 10]);
  assert.deepEqual(powersOfTen(2, 9), []);
});

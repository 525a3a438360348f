import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format.js";

const cases = {
  integer: [[486654, "486,654"], [0, "0"], [null, "–"]],
  number: [[830.712, "830.7"], [0.91234, "0.9123"], [-3.5, "-3.5"], [0, "0"], [null, "–"]],
  percent: [[0.78213, "78.21 %"], [0, "0.00 %"], [1, "100.00 %"], [undefined, "–"]],
  loss: [[4.1296, "4.1296"], [NaN, "–"]],
  epsilon: [[5.30567, "5.306"], [0, "0.000"], [0.0004, "4·10⁻⁴"], [1234.56, "1,234.6"], [Infinity, "–"]],
  power: [[1e-5, "10⁻⁵"], [2.5e-5, "2.5·10⁻⁵"], [0.4, "0.4"], [0, "0"], [-1e-7, "-1·10⁻⁷"], [1e7, "10⁷"]],
  bytes: [[0, "0 B"], [350, "350 B"], [999, "999 B"], [1000, "1.00 kB"], [1468340, "1.47 MB"],
    [999600, "1.00 MB"], [1.46834e9, "1.47 GB"], [83_900_000, "83.9 MB"]],
  seconds: [[0, "0 s"], [0.0000021, "2.10 µs"], [0.0021, "2.10 ms"], [0.99999, "1.00 s"], [37.5, "37.5 s"],
    [99.96, "1 min 40 s"], [1991.8, "33 min 12 s"], [3599.7, "1 h 0 min"], [7500, "2 h 5 min"]],
  time: [[0, "1970-01-01 00:00 UTC"], [1795322820, "2026-11-22 04:47 UTC"]],
  letter: [[0, "A"], [19, "T"], [25, "Z"], [26, "A2"]],
};

for (const [name, pairs] of Object.entries(cases)) {
  test(`${name} writes numbers as readers expect them`, () => {
    for (const [value, text] of pairs) assert.equal(format[name](value), text);
  });
}

test("plural knows one", () => {
  assert.equal(format.plural(1, "round"), "1 round");
  assert.equal(format.plural(1200, "round"), "1,200 rounds");
});

test("intervals of two sides, of one, and of none", () => {
  assert.equal(format.intervalText({ value: 1, low: 0.25, high: 3 }), "0.25 to 3");
  assert.equal(format.intervalText({ value: 1, low: 0.25, high: null }), "0.25 or more");
  assert.equal(format.intervalText({ value: 1 }), "–");
});

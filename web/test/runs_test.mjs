import assert from "node:assert/strict";
import { test } from "node:test";
import { lastValue, median, numberedRuns, overRounds, phaseSeconds, stateText } from "../src/report/runs.js";
import { differences } from "../src/report/settings.js";

const line = (round, accuracy, total = 2) =>
  ({ round, accuracy, seconds: { train: 1, seal: 0.5, total }, upload_bytes: 10, cohort_size: 3 });
const run = (fields) => ({ name: "run", labels: [], rounds: [], settings: [], planned_rounds: 3,
                           state: "unfinished", facts: {}, ...fields });

test("rounds count from one, the model before them stands at zero, gaps stay gaps", () => {
  const values = overRounds(run({ rounds: [line(0, null), line(1, 0.5)] }), (at) => at.accuracy, 0.1);
  assert.deepEqual([...values], [[0, 0.1], [2, 0.5]]);
});

test("the last value is that of the last round that has one", () => {
  const judged = run({ rounds: [line(0, 0.25), line(1, null)] });
  assert.equal(lastValue(judged, (at) => at.accuracy), 0.25);
  assert.equal(lastValue(run({}), (at) => at.accuracy), null);
});

test("the median of an even number of rounds lies between two", () => {
  const timed = run({ rounds: [line(0, 0, 4), line(1, 0, 1), line(2, 0, 100), line(3, 0, 2)] });
  assert.equal(median(timed, (at) => at.seconds.total), 3);
  assert.equal(median(run({}), (at) => at.seconds.total), null);
});

test("what no phase accounts for is other, never less than nothing", () => {
  assert.equal(phaseSeconds(line(0, 0, 2), "other"), 0.5);
  assert.equal(phaseSeconds(line(0, 0, 1), "other"), 0);
});

test("states say how far a run came", () => {
  const rounds = [line(0), line(1)];
  assert.equal(stateText(run({ rounds })), "unfinished: 2 of 3 rounds");
  assert.equal(stateText(run({ rounds, state: "stopped" })), "stopped early: 2 of 3 rounds");
  assert.equal(stateText(run({ rounds: [...rounds, line(2)], state: "finished" })), "finished");
});

test("settings differ when a value differs or is missing somewhere", () => {
  const a = run({ settings: [["privacy", "noise", "1.0"], ["run", "seed", "1"]] });
  const b = run({ settings: [["privacy", "noise", "2.0"], ["run", "seed", "1"], ["run", "threads", "2"]] });
  assert.deepEqual(differences([a, b]),
    [["privacy.noise", ["1.0", "2.0"]], ["run.threads", [undefined, "2"]]]);
  assert.deepEqual(differences([a, a]), []);
});

test("every run keeps a letter and a look", () => {
  const numbered = numberedRuns({ runs: [run({}), run({})] });
  assert.deepEqual(numbered.map(({ letter, look }) => [letter, look]), [["A", 0], ["B", 1]]);
});

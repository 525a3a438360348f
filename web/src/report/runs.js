// Access to the runs of a report for its parts. docs/formats/report.md has the fields.
import { letter } from "../format.js";

export const kPhases = ["train", "seal", "add", "open", "evaluate", "sample", "other"];

/** Adds to each run its letter and the number of its look. */
export function numberedRuns(data) {
  return data.runs.map((run, index) => ({ ...run, letter: letter(index), look: index }));
}

/** "A  name", as legends and tables call a run. */
export const fullName = (run) => `${run.letter}  ${run.name}`;

/** Map(rounds done → value of `pick`), without absent values; `before` is the value at 0. */
export function overRounds(run, pick, before) {
  const values = new Map();
  if (isNumber(before)) values.set(0, before);
  for (const line of run.rounds) {
    const value = pick(line);
    if (isNumber(value)) values.set(line.round + 1, value);
  }
  return values;
}

/** The lines of several runs for lineChart(); runs without a value have none. */
export function lines(runs, pick, before = () => null) {
  return runs
    .map((run) => ({ name: fullName(run), mark: run.letter, look: run.look,
                     values: overRounds(run, pick, before(run)) }))
    .filter((line) => line.values.size > 0);
}

/** The seconds of a phase of one round; "other" is what no phase accounts for. */
export function phaseSeconds(line, phase) {
  if (phase !== "other") return line.seconds?.[phase] ?? 0;
  const known = kPhases.slice(0, -1).reduce((sum, name) => sum + (line.seconds?.[name] ?? 0), 0);
  return Math.max(0, (line.seconds?.total ?? 0) - known);
}

/** The last value of `pick` over the rounds that has one, else null. */
export function lastValue(run, pick) {
  const line = run.rounds.findLast((candidate) => isNumber(pick(candidate)));
  return line === undefined ? null : pick(line);
}

export const accuracy = (line) => line.accuracy;
export const loss = (line) => line.loss;
export const auc = (line) => line.auc;
export const chargedEpsilon = (line) => line.charged_epsilon;
export const totalSeconds = (line) => line.seconds?.total;
export const uploadBytes = (line) => line.upload_bytes;
/** What the server received in a round: K' uploads. */
export const receivedBytes = (line) => line.upload_bytes * line.cohort_size;

/** The middle value of `pick` over the rounds; null without any. */
export function median(run, pick) {
  const values = run.rounds.map(pick).filter(isNumber).sort((a, b) => a - b);
  if (values.length === 0) return null;
  const middle = values.length / 2;
  return values.length % 2 ? values[middle - 0.5] : (values[middle - 1] + values[middle]) / 2;
}

export const isInsecure = (run) => run.labels.length > 0;

/** "finished", "stopped early" or "unfinished", with how far it came. */
export function stateText(run) {
  const words = { finished: "finished", stopped: "stopped early", unfinished: "unfinished" }[run.state];
  return run.rounds.length === run.planned_rounds && run.state === "finished"
    ? words : `${words}: ${run.rounds.length} of ${run.planned_rounds} rounds`;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

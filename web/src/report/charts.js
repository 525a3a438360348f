// The charts of the report.
import { lineChart, stackedChart } from "../chart.js";
import { bytes, epsilon, loss as lossText, percent, seconds } from "../format.js";
import { swatch } from "../looks.js";
import { shareBars } from "../share_bars.js";
import {
  accuracy, auc, chargedEpsilon, fullName, isInsecure, kPhases, lines, loss, median, overRounds, phaseSeconds,
  receivedBytes, totalSeconds, uploadBytes,
} from "./runs.js";

const fromZero = (least, largest) => [0, 1.05 * Math.max(largest, 1e-12)];
const shareRange = (least, largest) => [0, Math.min(1, 1.08 * Math.max(largest, 0.05))];
const wholePercent = (value) => `${+(100 * value).toFixed(1)} %`;
const shortNumber = (value) => String(+value.toPrecision(4));

/** How good the model is. */
export function qualityCharts(runs) {
  const guesses = runs.length === 1 && typeof runs[0].facts.most_frequent_class === "number"
    ? [{ value: runs[0].facts.most_frequent_class, label: "always the most frequent class" }] : [];
  return [
    lineChart({
      title: "Accuracy", note: "Share of held-out samples that the model names rightly.",
      series: lines(runs, accuracy, (run) => run.before?.accuracy), format: percent,
      axisFormat: wholePercent, range: shareRange, references: guesses }),
    lineChart({
      title: "Loss", note: "Mean cross-entropy of held-out samples, in nats.",
      series: lines(runs, loss, (run) => run.before?.loss), format: lossText,
      axisFormat: shortNumber, range: fromZero }),
    runs.some((run) => run.rounds.some((line) => typeof line.auc === "number"))
      ? lineChart({
          title: "AUC", note: "Of class 1 against class 0 on held-out samples; 0.5 is a coin.",
          series: lines(runs, auc), format: lossText, axisFormat: shortNumber,
          range: (least) => [Math.min(0.5, least), 1] })
      : null,
  ];
}

/** What it costs those who gave their data. */
export function privacyChart(runs) {
  const budget = runs.length === 1 ? runs[0].ledger?.budget_epsilon : null;
  return lineChart({
    title: "ε, charged so far",
    note: [
      "A forecast: it would hold for a run that was fixed beforehand to end there. The guarantee covers all attempts that the agreement permits.",
      runs.some(isInsecure) ? " For runs labelled insecure: what the settings would cost; there is no guarantee." : "",
    ],
    series: lines(runs, chargedEpsilon, (run) => (run.rounds.some((line) => typeof line.charged_epsilon === "number") ? 0 : null)),
    format: epsilon, axisFormat: shortNumber, range: fromZero,
    empty: "No guarantee: ε is infinite.",
    references: typeof budget === "number" ? [{ value: budget, label: "budget" }] : [] });
}

/** What it costs in time: by phase for one run, in total for several. */
export function timeCharts(runs) {
  if (runs.length === 1) return [phasesByRound(runs[0])];
  return [
    lineChart({
      title: "Seconds a round", note: "Wall time of each round, all phases.",
      series: lines(runs, totalSeconds), format: seconds, range: fromZero, mayBeLogarithmic: true }),
  ];
}

/** Phases of one run, stacked, round by round. */
export function phasesByRound(run) {
  return stackedChart({
    title: "Seconds by phase",
    note: "Wall time of each round. Sealing, adding and decrypting are what privacy costs.",
    parts: usedPhases([run]).map((phase) => ({
      name: phase, values: overRounds(run, (line) => phaseSeconds(line, phase)) })),
    format: seconds });
}

/** A usual round of every run, phase by phase. */
export function phasesOfRuns(runs) {
  const timed = runs.filter((run) => run.rounds.length > 0);
  const phases = usedPhases(timed);
  return shareBars({
    title: "Seconds by phase, a usual round",
    note: "The middle value of each phase over all rounds.",
    rows: timed.map((run) => ({
      name: fullName(run), mark: swatch(run.look),
      values: phases.map((phase) => median(run, (line) => phaseSeconds(line, phase))) })),
    parts: phases, format: seconds });
}

// Phases that take a thousandth of some round at least; the table of a chart has no others either.
function usedPhases(runs) {
  return kPhases.filter((phase) => runs.some((run) => run.rounds.some((line) =>
    phaseSeconds(line, phase) > 1e-3 * (line.seconds?.total ?? 0))));
}

/** What it costs in traffic. */
export function trafficCharts(runs) {
  const encrypted = runs.filter((run) => run.rounds.some((line) => line.upload_bytes > 0));
  if (encrypted.length === 0) return [];
  return [
    lineChart({
      title: "Bytes received in a round", note: "All uploads of the round together, at the server.",
      series: lines(encrypted, receivedBytes), format: bytes, range: fromZero, mayBeLogarithmic: true }),
    runs.length === 1 ? messages(encrypted[0]) : lineChart({
      title: "Bytes of one upload", note: "What one participant sends in a round.",
      series: lines(encrypted, uploadBytes), format: bytes, range: fromZero, mayBeLogarithmic: true }),
  ];
}

// Both directions of one run.
function messages(run) {
  return lineChart({
    title: "Bytes of one message",
    note: "What one participant sends in a round, and what every client fetches to decrypt the sum.",
    series: [
      { name: "upload", mark: "upload", look: 0, values: overRounds(run, uploadBytes) },
      { name: "closed round", mark: "sum", look: 1, values: overRounds(run, (line) => line.sum_bytes) },
    ],
    format: bytes, range: fromZero });
}

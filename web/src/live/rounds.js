// Durations, sizes and accuracy of the rounds so far.
import { lineChart, stackedChart } from "../chart.js";
import { h } from "../dom.js";
import { integer, kAbsent, time } from "../format.js";
import { dataTable } from "../table.js";
import { panel } from "./panel.js";
import { failureWords } from "./words.js";

const fromZero = (least, largest) => [0, 1.08 * Math.max(largest, 1)];
const wholeNumber = (value) => (Number.isInteger(value) ? integer(value) : "");
const hasEnded = ({ phase }) => phase === "published" || phase === "failed";

export function roundsPanel() {
  return panel(({ status }) => status.listed.filter(hasEnded), (attempts) => [
    h("div", { class: "grid" }, participantsChart(attempts), attemptsChart(attempts)),
    attempts.length > 0 ? attemptsTable(attempts) : null,
  ]);
}

function participantsChart(attempts) {
  const published = attempts.filter(({ phase }) => phase === "published");
  return lineChart({
    title: "Uploads in the sum",
    note: "Of each published round. The server sees how many they are, never what they hold.",
    series: [{ name: "uploads", mark: "", look: 0,
               values: new Map(published.map(({ round, participants }) => [round + 1, participants])) }],
    format: integer, axisFormat: wholeNumber, range: fromZero, empty: "No round is published yet." });
}

function attemptsChart(attempts) {
  const count = (phase) => {
    const values = new Map();
    for (const line of attempts) {
      const before = values.get(line.round + 1) ?? 0;
      values.set(line.round + 1, before + (line.phase === phase ? 1 : 0));
    }
    return values;
  };
  return stackedChart({
    title: "Attempts a round",
    note: "Every attempt that was begun is charged to the members' ledgers, a failed one too.",
    parts: [{ name: "published", values: count("published") }, { name: "failed", values: count("failed") }],
    format: integer, axisFormat: wholeNumber });
}

function attemptsTable(attempts) {
  return h("details", {}, h("summary", {}, "Every attempt"),
    dataTable("Every attempt", [
      { title: "Round", head: true, cell: (line) => integer(line.round + 1) },
      { title: "Attempt", number: true, cell: (line) => integer(line.attempt + 1) },
      { title: "Begun", cell: (line) => time(line.begun) },
      { title: "Outcome", cell: (line) => (line.phase === "failed" ? `failed: ${failureWords(line.failure)}` : line.phase) },
      { title: "Uploads", number: true, cell: (line) => (line.participants > 0 ? integer(line.participants) : kAbsent) },
    ], [...attempts].reverse()));
}

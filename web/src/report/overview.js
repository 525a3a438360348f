// First panel of the report: names, accuracy, privacy and cost of the runs.
import { h } from "../dom.js";
import { bytes, epsilon, integer, kAbsent, loss as lossText, percent, plural, power, seconds } from "../format.js";
import { swatch } from "../looks.js";
import { dataTable, kStacked } from "../table.js";
import { againstWorst, worst } from "./privacy.js";
import { accuracy, isInsecure, lastValue, loss, median, receivedBytes, stateText, totalSeconds, uploadBytes } from "./runs.js";
import { insecureChip } from "./warnings.js";

const kStateClasses = { finished: "good", stopped: "warn", unfinished: "warn" };

const stateChip = (run) => h("span", { class: `chip ${kStateClasses[run.state]}` }, stateText(run));

/** Name, state and one sentence about a single run, with its figures as tiles: privacy leads. */
export function singleOverview(run) {
  return h("header", { class: "overview" },
    h("h1", {}, run.name),
    h("p", { class: "chips" }, stateChip(run), isInsecure(run) ? insecureChip() : null),
    h("p", { class: "lead" }, sentence(run)),
    run.stopped ? h("p", { class: "note" }, `It stopped because ${run.stopped}.`) : null,
    h("ul", { class: "tiles" }, tiles(run).map(([name, figure, more]) =>
      h("li", {}, h("span", { class: "tile-name" }, name), h("span", { class: "figure" }, figure),
        h("span", { class: "note" }, more)))));
}

function sentence(run) {
  const { facts } = run;
  const site = facts.unit && facts.unit !== "client";
  const who = site ? `${plural(facts.clients, "site")}, all in every round`
                   : `${plural(facts.clients, "client")}, ${integer(facts.cohort)} a round`;
  if (run.query) return `${plural(run.query.answers.questions.length, "question")}, answered by ${plural(facts.clients, "site")} together.`;
  return `${facts.model}${facts.dimension ? ` with ${integer(facts.dimension)} parameters` : ""}, trained by ${who}.`;
}

function privacyTile(run) {
  const row = worst(run);
  if (isInsecure(run)) return ["none", "labelled insecure: no guarantee"];
  if (!row) return ["none", "no guarantee"];
  return [epsilon(row.epsilon), `per ${row.unit}, δ = ${power(row.delta)}, ${againstWorst(row)}`];
}

function uploadTile(run) {
  const upload = lastValue(run, uploadBytes);
  if (!upload) return ["–", "not encrypted"];
  return [bytes(upload), run.facts.dimension
    ? `${(upload / (4 * run.facts.dimension)).toFixed(2)} times the plain update` : "encrypted and tagged"];
}

function tiles(run) {
  return [
    ["ε", ...privacyTile(run)],
    run.query
      ? ["Numbers", integer(run.query.answers.questions.reduce((sum, answer) => sum + answer.estimates.length, 0)),
         `in answers to ${plural(run.query.answers.questions.length, "question")}`]
      : ["Accuracy", percent(lastValue(run, accuracy)),
         run.before ? `${percent(run.before.accuracy)} before the first round` : ""],
    ["One upload", ...uploadTile(run)],
    ["A round", seconds(median(run, totalSeconds)), "the middle one of all rounds"],
  ];
}

/** One row a run. */
export function comparedOverview(runs) {
  const finished = runs.filter((run) => run.state === "finished").length;
  return h("header", { class: "overview" },
    h("h1", {}, `${runs.length} runs compared`),
    h("p", { class: "lead" }, `${plural(finished, "run")} finished. Each has a letter, a line and a colour that it keeps in all charts.`),
    dataTable("Runs", [
      { title: "Run", head: true, cell: (run) => h("a", { href: `#run-${run.letter}`, class: "run-name" },
          swatch(run.look), h("b", {}, run.letter), h("span", {}, run.name)) },
      { title: "ε", number: true, cell: worstCell },
      { title: "Accuracy", number: true, cell: (run) => percent(lastValue(run, accuracy)) },
      { title: "State", cell: (run) => [stateChip(run), isInsecure(run) ? insecureChip() : ""] },
      { title: "Loss", number: true, cell: (run) => lossText(lastValue(run, loss)) },
      { title: "Rounds", number: true, cell: (run) => integer(run.rounds.length) },
      { title: "One upload", number: true,
        cell: (run) => bytes(lastValue(run, uploadBytes) || null) },
      { title: "Received a round", number: true, cell: (run) => bytes(median(run, receivedBytes) || null) },
      { title: "A round", number: true, cell: (run) => seconds(median(run, totalSeconds)) },
    ], runs, kStacked));
}

function worstCell(run) {
  const row = worst(run);
  return isInsecure(run) || !row ? "none" : epsilon(row.epsilon);
}

/** What was run on what, for the end of a run's part. */
export function provenance(run) {
  const { facts } = run;
  const machine = facts.machine;
  const entries = [
    ["Directory", run.path],
    ["Program", facts.commit ? `commit ${facts.commit}` : kAbsent],
    ["Machine", machine ? `${machine.cpu}, ${plural(machine.cores, "core")}, ${machine.simd}` : kAbsent],
    ["Encryption", facts.parameters ?? kAbsent],
    ["Noise in the sum", facts.noise_stddev === null ? kAbsent
      : `${facts.noise_law === "gaussian" ? "Gaussian" : "discrete Laplace"}, σ = ${power(facts.noise_stddev)}`],
    ["Attempts charged", integer(facts.charged_attempts)],
    ["Ledger", run.ledger && typeof run.ledger.epsilon === "number"
      ? `${plural(run.ledger.charges, "charge")}, ε = ${epsilon(run.ledger.epsilon)} (${run.ledger.accountant}). ${run.ledger.statement}` : kAbsent],
  ];
  return h("details", {}, h("summary", {}, "Where it comes from"),
    h("dl", { class: "plain" }, entries.map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

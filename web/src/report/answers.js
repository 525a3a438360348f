// Answers of a query: a picture where there is one, and each number with its error and interval.
import { h } from "../dom.js";
import { epsilon, intervalText, kAbsent, number } from "../format.js";
import { dataTable, foldedTable, kStacked } from "../table.js";
import { answerFigures } from "./figures.js";
import { againstWorst, worst } from "./privacy.js";
import { isInsecure } from "./runs.js";

/** "830.7", or why there is no number. */
export const estimateText = (estimate) =>
  (typeof estimate.value === "number" ? number(estimate.value) : "suppressed");

const anyHas = (estimates, key) => estimates.some((estimate) => estimate[key] !== undefined);

/** The columns that the estimates of one question need. */
export function answerColumns(estimates, confidence) {
  return [
    { title: "Quantity", head: true, cell: (estimate) => estimate.quantity },
    ...(anyHas(estimates, "group") ? [{ title: "Group", cell: (estimate) => estimate.group ?? kAbsent }] : []),
    ...(anyHas(estimates, "at") ? [{ title: "At", cell: (estimate) => estimate.at ?? kAbsent }] : []),
    { title: "Estimate", number: true, cell: estimateText },
    { title: "Error of the noise", number: true, cell: (estimate) => number(estimate.noise_error) },
    { title: "Standard error", number: true, cell: (estimate) => number(estimate.standard_error) },
    { title: `Interval of ${number(100 * confidence)} %`, number: true, cell: intervalText },
  ];
}

/** What to do about an answer that lacks many rows; null where it does not. */
export const leftOutWarning = (answer) =>
  (answer.estimates.some((estimate) => estimate.too_many)
    ? h("p", { class: "danger-text", role: "alert" },
      "More than 5 % of the rows were left out, because a field could not be read. Each site sees "
      + "its own with ", h("code", {}, "tacet data check"), ".")
    : null);

/** Baseline characteristics as a paper prints them; all numbers with their intervals are folded. */
function tableOfGroups(answer, confidence) {
  const { by, groups, rows } = answer.table;
  const [counts, ...lines] = rows;
  const columns = [
    { title: "Characteristic", head: true, cell: (row) => row.name },
    ...groups.map((group, i) => (
      { title: `${group}, n = ${counts.cells[i]}`, number: true, cell: (row) => row.cells[i] })),
    { title: "± noise", number: true, cell: (row) => row.noise },
  ];
  return [
    dataTable(by ? `${answer.name} by ${by}` : answer.name, columns, lines, { class: "scroll stack table1" }),
    h("p", { class: "note" }, `Each n has ± ${counts.noise}. “± noise” is the standard deviation that the noise gives `
      + "the first number of a line, the largest of the groups. ✕ marks what is suppressed."),
    foldedTable(`${answer.name}, all numbers`, answerColumns(answer.estimates, confidence), answer.estimates,
      "All numbers with their errors and intervals"),
  ];
}

/** Covariances of a model's coefficients, folded; null where the answer has none. */
function covariances({ name, covariance, estimates }) {
  if (covariance === undefined) return null;
  const terms = estimates.filter(({ quantity }) => quantity === "intercept" || quantity === "coefficient")
    .map((estimate) => estimate.group ?? "intercept");
  const columns = [
    { title: "Covariance", head: true, cell: (row) => row.term },
    ...terms.map((term, i) => ({ title: term, number: true, cell: (row) => number(row.values[i]) })),
  ];
  return foldedTable(`${name}, covariances`, columns, covariance.map((values, i) => ({ term: terms[i], values })),
    "Covariances of the coefficients: noise and sampling");
}

const numbersOf = (answer, confidence) =>
  dataTable(answer.name, answerColumns(answer.estimates, confidence), answer.estimates, kStacked,
    (estimate) => (estimate.too_many ? "too-many" : undefined));

function question(answer, confidence) {
  const by = answer.table?.by ? ` by ${answer.table.by}` : "";
  return h("div", { class: "card wide" },
    h("h3", {}, answer.name, " ", h("span", { class: "note" }, answer.kind + by)),
    answerFigures(answer, confidence),
    answer.table ? tableOfGroups(answer, confidence) : numbersOf(answer, confidence),
    covariances(answer),
    leftOutWarning(answer),
    h("p", { class: "note" }, `${answer.methods.join("; ")}.`));
}

/** All answers of a run, under the one epsilon that they cost together. */
export function queryAnswers(run) {
  const { answers, digest } = run.query;
  const row = worst(run);
  const cost = isInsecure(run) || !row ? "They have no guarantee."
    : `Together they cost ε = ${epsilon(row.epsilon)} per ${answers.unit}, ${againstWorst(row)}.`;
  return [
    h("p", { class: "lead" }, `All answers to “${answers.name}” come from one release. ${cost}`),
    h("p", { class: "note" }, `${answers.noise} `,
      answers.floor > 0 ? `Estimated counts below ${number(answers.floor)} are suppressed, with all that follows from them. ` : "",
      "The query file has the SHA-256 ", h("code", { class: "digest" }, digest), "."),
    answers.missing.length > 0 ? h("p", { class: "danger-text" },
      `No data of ${answers.missing.map(({ site, cause }) => `${site} (${cause})`).join(", ")} are in the answers.`) : "",
    answers.questions.map((answer) => question(answer, answers.confidence)),
  ];
}

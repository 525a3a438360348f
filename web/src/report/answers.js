// Answers of a query: a picture where there is one, and each number with its error and interval.
import { h } from "../dom.js";
import { epsilon, intervalText, kAbsent, number } from "../format.js";
import { dataTable, kStacked } from "../table.js";
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

function question(answer, confidence) {
  return h("div", { class: "card wide" },
    h("h3", {}, answer.name, " ", h("span", { class: "note" }, answer.kind)),
    answerFigures(answer, confidence),
    dataTable(answer.name, answerColumns(answer.estimates, confidence), answer.estimates, kStacked,
      (estimate) => (estimate.too_many ? "too-many" : undefined)),
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
    answers.questions.map((answer) => question(answer, answers.confidence)),
  ];
}

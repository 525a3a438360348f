// The privacy guarantee in words, then every figure behind it.
import { h } from "../dom.js";
import { epsilon, integer, kAbsent, plural, power } from "../format.js";
import { dataTable, kStacked } from "../table.js";
import { fullName, isInsecure } from "./runs.js";

const kAlmostCertain = 0.9;  // a true-positive rate above it is hardly a protection

/** Who sees what, in few words, for columns and rows of tables. */
export const kObserverNames = {
  "external": "external observer",
  "participant-in-cohort": "participant, every round",
  "participant-out-of-cohort": "participant, no round",
  "colluders": "colluding clients",
  "traffic-aware": "traffic-aware observer",
  "cohort-aware": "knows the cohorts",
  "coalition": "server and colluding members",
  "server-with-key-holder": "server with a key holder",
  "participant-published": "participant, by the paper",
};

/** The smallest bound against an observer, else null. */
export const headline = (run, observer) =>
  run.privacy?.headlines?.find((row) => row.observer === observer) ?? null;

/** The figure that counts: of the worst observer that has a guarantee; null without one. */
export const worst = (run) => (typeof run.privacy?.worst?.epsilon === "number" ? run.privacy.worst : null);

/** Its observer, in words. */
export const againstWorst = (row) => `against ${kObserverNames[row.observer] ?? row.observer}, the worst observer that has a guarantee`;

/** The attempts that the figures cover, and the forecast for those that were charged. */
function coverage(facts) {
  const { charged_attempts: charged, charged_epsilon: forecast, permitted_attempts: permitted } = facts;
  const covered = `The figures cover all ${plural(permitted, "attempt")} that the agreement permits, also if the run ends early.`;
  if (typeof charged !== "number") return covered;
  const cost = typeof forecast === "number" ? `, forecast ε = ${epsilon(forecast)}` : "";
  return `${covered} Charged so far: ${plural(charged, "attempt")}${cost}.`;
}

/** The guarantee of one run, in words. */
export function privacyStatement(run) {
  const { statement } = run;
  if (!statement) {
    return h("div", { class: "card wide" },
      h("p", { class: "lead" }, h("strong", {}, "No guarantee. "), run.privacy?.reason ?? ""));
  }
  const insecure = isInsecure(run);
  return h("div", { class: insecure ? "card wide void" : "card wide" },
    insecure ? h("p", { class: "lead danger-text" },
      "This run is labelled insecure. The figures below are the guarantee of a real federation with the same settings. This run has none.") : null,
    h("p", { class: "lead" },
      "Protected is ", h("strong", {}, statement.hidden), ". The guarantee compares two data sets: the real one, and one with ",
      statement.neighbour, `. ${coverage(run.facts)}`),
    h("p", { class: "note" }, statement.meaning),
    h("p", { class: "note" },
      `A bar is the largest share of the ${statement.units} in the training data that the observer can identify at a false-positive rate of ${share(statement.false_positive_rate)}. Blind guessing identifies ${share(statement.false_positive_rate)}; a full bar is all of them.`),
    h("ul", { class: "guarantees" }, statement.guarantees.map(guaranteeItem)),
    h("h4", {}, "Not guaranteed"),
    h("ul", { class: "limits" }, statement.limits.map((limit) => h("li", {}, limit))),
    warningList(run.privacy?.warnings ?? []));
}

const warningList = (warnings) => (warnings.length === 0 ? null : [
  h("h4", {}, "Warnings"),
  h("ul", { class: "limits danger-text" }, warnings.map((warning) => h("li", {}, `${warning}.`)))]);

function guaranteeItem(guarantee) {
  const none = typeof guarantee.epsilon !== "number";
  const weak = guarantee.true_positive_rate > kAlmostCertain;
  return h("li", { class: none ? "none" : weak ? "weak" : undefined },
    h("div", { class: "guarantee-head" },
      h("span", { class: "against" }, guarantee.audience),
      h("span", { class: "epsilon" }, none ? "no guarantee" : `ε = ${epsilon(guarantee.epsilon)}`)),
    h("div", { class: "gauge", "aria-hidden": "true" },
      h("span", { style: { width: `${100 * (none ? 1 : guarantee.true_positive_rate)}%` } })),
    h("p", { class: "note" }, none ? `${guarantee.note}.` : guaranteeText(guarantee)));
}

function guaranteeText(guarantee) {
  return [
    h("b", {}, guarantee.attacker),
    guarantee.true_positive_rate > kAlmostCertain ? " That is hardly a protection. " : " ",
    `Counted: ${plural(guarantee.releases, "round")}; ${guarantee.note} (accountant: ${guarantee.accountant}).`,
  ];
}

const share = (value) => `${power(100 * value)} %`;

/** Every observer by every accountant. */
export function allObservers(run) {
  const rows = run.privacy?.accountants ?? [];
  if (rows.length === 0) return null;
  const isHeadline = (row) => headline(run, row.observer)?.epsilon === row.epsilon && row.epsilon !== null;
  const bound = (row) => (row.epsilon === null ? "none" : epsilon(row.epsilon));
  return h("details", {},
    h("summary", {}, "Every observer by every accountant"),
    dataTable("Every observer by every accountant", [
      { title: "Observer", head: true, cell: (row) => kObserverNames[row.observer] ?? row.observer },
      { title: "Accountant", cell: (row) => (row.epsilon === null ? kAbsent : row.name) },
      { title: "ε", number: true,
        cell: (row) => (isHeadline(row) ? h("strong", {}, `${bound(row)} *`) : bound(row)) },
      { title: "δ", number: true, cell: (row) => power(row.delta) },
      { title: "Neighbours", cell: (row) => row.neighbouring },
      { title: "Sampling", cell: (row) => row.sampling },
      { title: "Rounds", number: true, cell: (row) => integer(row.releases) },
      { title: "Standing", cell: (row) => row.standing },
      { title: "Assumes", cell: (row) => row.note ?? row.reason ?? "" },
    ], rows, kStacked),
    h("p", { class: "note" },
      "* the smallest valid bound against an observer. A convention is shown for comparison and is no guarantee."));
}

/** The bound against an observer in a table: "none" where it looks without a guarantee. */
function boundCell(run, observer) {
  const row = headline(run, observer);
  if (!row) return run.privacy?.accountants?.every((other) => other.observer !== observer) ? kAbsent : "none";
  return isInsecure(run) ? h("s", { title: "insecure run: not kept" }, epsilon(row.epsilon))
                         : epsilon(row.epsilon);
}

/** Runs against views, for several runs. */
export function privacyComparison(runs) {
  const observers = Object.keys(kObserverNames).filter((observer) => runs.some((run) => headline(run, observer)));
  return h("div", { class: "card wide" },
    h("h3", {}, "ε against whom"),
    h("p", { class: "note" },
      "The smallest valid bound against each observer, for all attempts that the agreement permits. Smaller is better. “None” means no guarantee, a dash that the run has no such observer."),
    dataTable("Epsilon by run and observer", [
      { title: "Run", head: true, cell: (run) => fullName(run) },
      { title: "Unit", cell: (run) => run.facts.unit ?? kAbsent },
      { title: "Neighbours", cell: (run) => run.facts.neighbouring ?? kAbsent },
      { title: "δ", number: true, cell: (run) => power(run.facts.delta) },
      ...observers.map((observer) => ({
        title: kObserverNames[observer], number: true, cell: (run) => boundCell(run, observer) })),
    ], runs, kStacked));
}

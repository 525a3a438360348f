// Privacy cost of the attempts so far for each observer, and the rest of the agreed budget.
import { h } from "../dom.js";
import { epsilon, kAbsent, plural } from "../format.js";
import { privacyStatement } from "../report/privacy.js";
import { dataTable, kStacked } from "../table.js";
import { panel } from "./panel.js";
import { viewRows } from "./words.js";

/** A guarantee from the server in the shape of a report's statement. */
export const asRun = (guarantee) => ({
  labels: [], privacy: guarantee.privacy, statement: guarantee.statement, facts: { charged_attempts: guarantee.attempts } });

export function spentPanel() {
  return panel(({ status, agreement }) => ({ spent: status.spent, whole: agreement?.whole ?? null, attempts: status.attempts }), draw);
}

function draw({ spent, whole, attempts }) {
  const rows = viewRows(spent, whole);
  if (rows.length === 0) {
    const reason = whole?.privacy?.reason ?? spent?.privacy?.reason;
    return h("div", { class: "card" }, h("p", { class: "note" }, reason ? `No guarantee: ${reason}.` : "The accountants are at work."));
  }
  const behind = spent && spent.attempts !== attempts ? ` The figures are those of ${plural(spent.attempts, "attempt")}; the accountants are at work.` : "";
  return [
    h("div", { class: "card wide" },
      h("p", { class: "note" },
        "ε against each observer: spent by the attempts begun so far, and what all attempts that may ever be begun would cost. What is left is not lost when it is not used: stopping early is free.", behind),
      dataTable("ε spent and left, by observer", [
        { title: "Against", head: true, cell: (row) => row.audience },
        { title: "Spent", number: true, cell: (row) => cell(row.spent) },
        { title: "Left", number: true, cell: (row) => cell(row.left) },
        { title: "All attempts", number: true, cell: (row) => cell(row.whole) },
      ], rows, kStacked)),
    spent?.statement ? h("details", {}, h("summary", {}, "What the attempts so far mean, in words"), privacyStatement(asRun(spent))) : null,
  ];
}

const cell = (value) => (value === null ? "no guarantee" : value === undefined ? kAbsent : epsilon(value));

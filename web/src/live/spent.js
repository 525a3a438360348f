// Guarantee of the agreement for each observer, and the forecast for the attempts so far.
import { h } from "../dom.js";
import { epsilon, kAbsent, plural } from "../format.js";
import { dataTable, kStacked } from "../table.js";
import { panel } from "./panel.js";
import { viewRows } from "./words.js";

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
        "ε against each observer. The guarantee covers all attempts that may ever be begun, also when the training ends early. The forecast is what the attempts so far would cost a training that was fixed beforehand to end with them.", behind),
      dataTable("ε of all attempts and of those so far, by observer", [
        { title: "Against", head: true, cell: (row) => row.audience },
        { title: "Forecast", number: true, cell: (row) => cell(row.spent) },
        { title: "Guarantee", number: true, cell: (row) => cell(row.whole) },
      ], rows, kStacked)),
  ];
}

const cell = (value) => (value === null ? "no guarantee" : value === undefined ? kAbsent : epsilon(value));

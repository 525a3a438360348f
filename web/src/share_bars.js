// One bar a row, cut into the shares of its parts: where the seconds of a round went.
import { hatchedBox } from "./chart.js";
import { h } from "./dom.js";
import { hatch } from "./looks.js";
import { foldedTable } from "./table.js";
import { onThemeChange } from "./theme.js";

/**
 * rows: [{name, mark: element or null, values: a number for each part}]; parts: their names. Bars
 * are as long as their totals on one scale.
 */
export function shareBars({ title, note, rows, parts, format }) {
  const totals = rows.map((row) => row.values.reduce((sum, value) => sum + value, 0));
  const longest = Math.max(...totals, 1e-12);
  return h("figure", { class: "card wide" },
    h("h3", {}, title),
    note ? h("p", { class: "note" }, note) : null,
    h("ul", { class: "bars" }, rows.map((row, r) =>
      h("li", {},
        h("span", { class: "bar-name" }, row.mark, h("span", {}, row.name)),
        h("span", { class: "bar", "aria-hidden": "true" },
          row.values.map((value, p) => segment(p, value / longest))),
        h("span", { class: "bar-total" }, format(totals[r]))))),
    h("ul", { class: "legend" }, parts.map((name, p) => h("li", {}, hatchedBox(p), h("span", {}, name)))),
    foldedTable(title, [
      { title: "Run", cell: (r) => rows[r].name, head: true },
      ...parts.map((name, p) => ({ title: name, cell: (r) => format(rows[r].values[p]), number: true })),
      { title: "total", cell: (r) => format(totals[r]), number: true },
    ], rows.map((_, r) => r)));
}

function segment(part, share) {
  const element = h("span", { class: "segment", style: { width: `${100 * share}%` } });
  const paint = () => hatch(element, part);
  paint();
  onThemeChange(element, paint);
  return element;
}

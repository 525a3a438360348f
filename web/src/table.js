// Tables that scroll inside themselves, never the page.
import { h } from "./dom.js";

/** Attributes of a table whose rows are blocks on a phone, where each cell says its title. */
export const kStacked = { class: "scroll stack" };

/**
 * columns: [{title, cell: (row, index) => text or element, number: true for right-aligned figures,
 * head: true for the cell that names its row}]; rows: anything. `rowClass`: of a row, or undefined.
 */
export function dataTable(caption, columns, rows, attributes = {}, rowClass = () => undefined) {
  const classes = (column) => (column.number ? "number" : undefined);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, ...attributes },
    h("table", {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column) =>
        h("th", { scope: "col", class: classes(column) }, column.title)))),
      h("tbody", {}, rows.map((row, index) =>
        h("tr", { class: rowClass(row) }, columns.map((column) =>
          h(column.head ? "th" : "td",
            { class: classes(column), scope: column.head ? "row" : undefined, "data-title": column.title },
            column.cell(row, index))))))));
}

const kManyCells = 20_000;  // a table with more is made when it is first opened

/** A table behind a summary line. */
export function foldedTable(caption, columns, rows, summary = "Table") {
  const table = () => dataTable(caption, columns, rows);
  const details = h("details", {}, h("summary", {}, summary));
  if (columns.length * rows.length <= kManyCells) details.append(table());
  else details.addEventListener("toggle", () => details.append(table()), { once: true });
  return details;
}

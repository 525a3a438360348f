// Configuration of runs: all settings for one run, only the differing ones for several.
import { h } from "../dom.js";
import { kAbsent } from "../format.js";
import { dataTable, kStacked } from "../table.js";
import { fullName } from "./runs.js";

const key = ([section, name]) => `${section}.${name}`;

/** The keys in which the runs are not all equal, in the order of the files: [[key, a value a run]]. */
export function differences(runs) {
  const values = runs.map((run) => new Map(run.settings.map((entry) => [key(entry), entry[2]])));
  const keys = [...new Set(runs.flatMap((run) => run.settings.map(key)))];
  return keys
    .map((name) => [name, values.map((settings) => settings.get(name))])
    .filter(([, given]) => given.some((value) => value !== given[0]));
}

/** One row a key that differs, one column a run. */
export function settingsComparison(runs) {
  const rows = differences(runs);
  return h("div", { class: "card wide" },
    h("h3", {}, "Differences in settings"),
    rows.length === 0
      ? h("p", { class: "note" }, "None: all runs have the same settings.")
      : dataTable("Differences in settings", [
          { title: "Setting", head: true, cell: ([name]) => h("code", {}, name) },
          ...runs.map((run, r) => ({
            title: fullName(run),
            cell: ([, given]) => h("code", {}, given[r] ?? kAbsent) })),
        ], rows, kStacked));
}

/** All settings of one run, section by section. */
export function settingsList(run) {
  const sections = [...new Set(run.settings.map(([section]) => section))];
  return h("details", { class: "settings" },
    h("summary", {}, "Configuration"),
    h("div", { class: "columns" }, sections.map((section) =>
      h("section", {},
        h("h4", {}, section),
        h("dl", {}, run.settings.filter(([of]) => of === section).map(([, name, value]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, value))))))));
}

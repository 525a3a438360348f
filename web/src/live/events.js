// Latest events, and counts of members' requests.
import { h } from "../dom.js";
import { integer } from "../format.js";
import { dataTable, kStacked } from "../table.js";
import { panel } from "./panel.js";
import { eventDetails, eventWords } from "./words.js";

const kLevels = { info: "", warning: "warn", error: "danger" };

export function eventsPanel() {
  let onlyTrouble = false;
  let last = null;
  const list = panel(({ events }) => ({ events, onlyTrouble }), drawEvents);
  const choice = h("button", { type: "button", class: "choice", "aria-pressed": "false",
    onclick: () => {
      onlyTrouble = !onlyTrouble;
      choice.setAttribute("aria-pressed", String(onlyTrouble));
      if (last !== null) list.update(last);
    } }, "Only warnings and errors");
  return {
    element: h("div", { class: "card wide" }, choice, list.element),
    update({ status }) {
      last = status;
      list.update(status);
    },
  };
}

function drawEvents({ events, onlyTrouble }) {
  const shown = events.filter(({ level }) => !onlyTrouble || level !== "info").reverse();
  if (shown.length === 0) {
    return h("p", { class: "note" }, onlyTrouble ? "No warning and no error lately." : "Nothing happened yet.");
  }
  return dataTable("Events, the latest first", [
    { title: "Time", cell: (event) => h("span", { class: "moment" }, `${event.time.slice(0, 10)} ${event.time.slice(11, 19)}`) },
    { title: "Level", cell: (event) => h("span", { class: `chip ${kLevels[event.level] ?? ""}` }, event.level) },
    { title: "What", head: true, cell: (event) => eventWords(event.event) },
    { title: "Details", cell: (event) => h("span", { class: "hash" }, eventDetails(event)) },
  ], shown, kStacked);
}

/** What members asked for, and what became of it: counts since the server was started. */
export function requestsPanel() {
  return panel(({ status }) => status.requests, (requests) => (requests.length === 0
    ? h("p", { class: "note" }, "No member has asked for anything yet.")
    : dataTable("Requests by kind and answer", [
        { title: "Request", head: true, cell: ({ kind }) => kind },
        { title: "Answer", cell: ({ status }) => status.replaceAll("_", " ") },
        { title: "Number", number: true, cell: ({ count }) => integer(count) },
      ], requests)));
}

// Actions of operators: those in force, and those that the reader's token allows. And the mailbox.
import { h } from "../dom.js";
import { integer, plural, time } from "../format.js";
import { dataTable, kStacked } from "../table.js";
import { act } from "./connection.js";
import { panel } from "./panel.js";
import { actionWords, longTime, offeredActions } from "./words.js";

const kMaxNote = 500;  // bytes, which the server counts

function drawMail({ mail, now }) {
  if (mail.letters_in_all === 0 && mail.without_prekey_in_all === 0) return h("p", { class: "note" }, "No invitation waits, and no prekey is missing.");
  const letters = mail.letters.map(({ name, since }) => `${name}, for ${longTime(Math.max(0, now - since))}`);
  return [
    letters.length > 0 ? h("p", { class: "note" }, `${plural(mail.letters_in_all, "invitation")} not fetched yet: ${letters.join("; ")}.`) : null,
    mail.without_prekey.length > 0
      ? h("p", { class: "note" }, `${plural(mail.without_prekey_in_all, "member")} without an unused prekey: ${mail.without_prekey.join(", ")}.`) : null,
  ];
}

/** Who has not fetched an invitation, and who has no prekey for the next epoch. */
export function mailPanel() {
  // By minutes: what changes each second would be drawn again each time.
  return panel(({ status }) => ({ mail: status.mail, now: status.now - (status.now % 60) }), drawMail);
}

function drawDone({ pause, acknowledged }) {
  const rows = [...(pause === null ? [] : [pause]), ...acknowledged];
  if (rows.length === 0) return h("p", { class: "note" }, "Nothing is paused or acknowledged.");
  return dataTable("What operators have done", [
    { title: "When", cell: (action) => h("span", { class: "moment" }, time(action.at)) },
    { title: "Who", cell: (action) => action.by },
    { title: "What", head: true, cell: actionWords },
    { title: "Note", cell: (action) => action.note ?? "" },
  ], rows, kStacked);
}

/** update({status}). The note and the choice stay while the reader writes. */
export function operatorsPanel() {
  const done = panel(({ status }) => status.operators, drawDone);
  const note = h("input", { id: "note", type: "text", maxlength: String(kMaxNote), autocomplete: "off" });
  const answer = h("p", { class: "note", role: "status" });
  let last = null;
  let asked = false;
  const perform = async ({ request, question }) => {
    if (asked || last === null || (question && !window.confirm(question))) return;
    asked = true;
    const why = await act({ ...request, revision: last.operators.revision, ...(note.value.trim() === "" ? {} : { note: note.value.trim() }) });
    asked = false;
    answer.textContent = why === "" ? "Done." : `Not done: ${why}.`;
    if (why === "") note.value = "";
  };
  const offers = panel(({ status }) => offeredActions(status), (list) => (list === null
    ? h("p", { class: "note" }, "This token may look. With an operator's token you can pause, resume, acknowledge a problem, and start a prepared epoch.")
    : h("div", { class: "actions" }, list.map((offer) =>
        h("button", { type: "button", class: "choice", onclick: () => perform(offer) }, offer.label)))));
  const form = h("div", { class: "remark", hidden: true },
    h("label", { for: "note" }, "Note, which the log keeps (an acknowledgement needs one)"), note);
  return {
    element: h("div", { class: "card wide" }, done.element, form, offers.element, answer),
    update(state) {
      last = state.status;
      form.hidden = last.you === null;
      done.update(state);
      offers.update(state);
    },
  };
}

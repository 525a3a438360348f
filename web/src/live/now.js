// First panel of the page: the current state of the federation.
import { h } from "../dom.js";
import { bytes, epsilon, integer, kAbsent, plural, time } from "../format.js";
import { againstWorst, worst } from "../report/privacy.js";
import { panel } from "./panel.js";
import { warnings, awayWords, connectedWords, deadlineWords, failureWords, nextStep, nowSentence, secondsLeft } from "./words.js";

const kPhaseClasses = { collecting: "good", unmasking: "good", published: "good", failed: "warn" };

/** update({status, agreement}); tick(seconds since the answer) moves the clock. */
export function nowPanel() {
  const clock = h("span", { class: "note" });
  let last = null;
  const words = panel(
    ({ status, agreement }) => [nowSentence(status, agreement), status.current?.phase, status.stopped, !status.problems.some(({ stops }) => stops)],
    ([sentence, phase, stopped, ready]) => [
      h("p", { class: "chips" }, phase && !stopped
        ? h("span", { class: `chip ${kPhaseClasses[phase]}` }, phase)
        : h("span", { class: "chip" }, stopped ? "ended" : "waiting"),
        ready ? h("span", { class: "chip good" }, "ready") : h("span", { class: "chip danger" }, "not ready")),
      h("p", { class: "lead" }, sentence),
    ], { role: "status" });
  const trouble = panel(({ status }) => warnings(status), (found) => (found.length > 0
    ? h("ul", { class: "warnings" }, found.map(([level, text]) => h("li", { class: level }, text))) : []), { role: "status" });
  const members = panel(({ status }) => [connectedWords(status), awayWords(status), nextStep(status)], ([connected, away, next]) => [
    h("p", { class: "note" }, connected),
    away.length > 0 ? h("p", { class: "note" }, `Awaited: ${away.join("; ")}.`) : null,
    h("p", { class: "next" }, h("strong", {}, "Next: "), next),
  ]);
  const progress = panel(({ status }) => pickProgress(status), drawProgress);
  const tiles = panel(pickTiles, (list) => h("ul", { class: "tiles" }, list.map(([name, figure, more]) =>
    h("li", {}, h("span", { class: "tile-name" }, name), h("span", { class: "figure" }, figure),
      h("span", { class: "note" }, more)))));
  const title = panel(({ agreement }) => agreement?.manifest.federation ?? "A federation", (name) => h("h1", {}, name));
  const parts = [title, words, trouble, members, progress, tiles];
  return {
    element: h("header", { class: "overview" }, title.element, words.element, clock, trouble.element, members.element,
      progress.element,
      tiles.element),
    update(state) {
      last = state;
      for (const part of parts) part.update(state);
      this.tick(0);
    },
    tick(since) {
      if (last === null) return;
      const text = deadlineWords(secondsLeft(last.status, since));
      if (clock.textContent !== text) clock.textContent = text;
    },
  };
}

function pickProgress({ current, stopped }) {
  if (!current || stopped || current.phase === "failed") return null;
  const arrived = current.phase === "collecting" ? current.accepted : current.participants;
  return { phase: current.phase, arrived, invited: current.invited };
}

function drawProgress(given) {
  if (given === null) return [];
  const { arrived, invited } = given;
  const words = invited > 0 ? `${integer(arrived)} of ${integer(invited)} invited members have uploaded`
                            : `${plural(arrived, "member")} uploaded; each decides by a coin of its own`;
  return h("div", { class: "progress" },
    h("span", { class: "note" }, words),
    invited > 0 ? h("progress", { max: String(invited), value: String(arrived), "aria-label": "uploads of the attempt" }) : null);
}

function privacyTile(status, agreement) {
  const row = worst(agreement?.whole ?? {});
  const charged = worst(status.spent ?? {});
  if (!row) return [kAbsent, agreement?.whole ? "no guarantee" : "being worked out"];
  const forecast = charged ? `; forecast for the attempts so far: ${epsilon(charged.epsilon)}` : "";
  return [epsilon(row.epsilon), `${againstWorst(row)}, for all permitted attempts${forecast}`];
}

function pickTiles({ status, agreement }) {
  const budget = agreement ? `; ${integer(agreement.attempt_budget)} may be begun` : "";
  const reasons = Object.entries(status.failures).map(([reason, count]) => `${integer(count)} × ${failureWords(reason)}`);
  return [
    ["ε", ...privacyTile(status, agreement)],
    ["Rounds published", integer(status.finished), agreement ? `of ${integer(agreement.manifest.rounds)} agreed` : ""],
    ["Attempts begun", integer(status.attempts), `each is charged${budget}`],
    ["Failed attempts", integer(status.failed), reasons.join(", ") || "none so far"],
    ["Received", bytes(status.received_bytes), `sent ${bytes(status.sent_bytes)}, since the start`],
    ["Server", bytes(status.memory_bytes), `memory; up since ${time(status.started_at)}`],
  ];
}

// Words for the fields of a server's status. They need no page: see words_test.mjs.
import { integer, kAbsent, plural, seconds } from "../format.js";

const kPhaseWords = {
  "collecting": "collecting uploads",
  "unmasking": "the committee votes and unmasks the sum",
  "published": "published",
  "failed": "failed",
};

const kFailureWords = {
  "too-few-uploads": "too few uploads at the deadline",
  "refused": "committee members refused it",
  "wrong-shares": "a participant's shares were wrong; it is left out of this round",
  "disputed-shares": "a participant or a committee member is wrong; that participant is left out of this round",
  "not-decrypted": "the committee did not decrypt it",
  "too-few-givers": "too few members gave data",
  "object-lost": "the server lost an object of it that nobody could give back",
  "epoch-ended": "its epoch ended",
};

export const phaseWords = (phase) => kPhaseWords[phase] ?? phase;
export const failureWords = (reason) => kFailureWords[reason] ?? reason;

/** People count rounds and attempts from 1, the protocol from 0. */
export const attemptName = ({ round, attempt }) => `round ${integer(round + 1)}, attempt ${integer(attempt + 1)}`;

/** Why no attempt follows; the server counts rounds from 0 there too. */
export const stoppedWords = (reason) => reason.replace(/^round (\d+) /, (_, round) => `round ${integer(Number(round) + 1)} `);

/** One sentence about the present step. */
export function nowSentence(status, agreement) {
  const { current, stopped, finished } = status;
  const rounds = agreement ? ` of ${integer(agreement.manifest.rounds)}` : "";
  if (stopped) return `${plural(finished, "round")}${rounds} published. No attempt follows: ${stoppedWords(stopped)}.`;
  if (status.draining) return "The server is about to end and begins no further attempt.";
  const pause = status.operators?.pause ?? null;
  if (pause !== null && !["collecting", "unmasking"].includes(current?.phase)) return `Paused by ${pause.by}: no further attempt begins.`;
  const waiting = [openingWords(status), waitingWords(status)].filter((words) => words).join(" ");
  if (waiting) return waiting;
  if (!current) return "No attempt was begun yet.";
  const name = `Round ${integer(current.round + 1)}${rounds}, attempt ${integer(current.attempt + 1)}: `;
  if (current.phase === "failed") return `${name}failed, ${failureWords(current.failure)}.`;
  if (current.phase === "published") return `${name}published; the next one begins when members state the same model.`;
  if (current.phase === "unmasking") return `${name}${phaseWords(current.phase)}. So far ${plural(current.votes, "vote")} and ${plural(current.unmask_shares, "unmask share")} came.`;
  return `${name}${phaseWords(current.phase)}.`;
}

const isOpening = (attendance) => (attendance?.opening ?? null) !== null;

/** What the epoch needs before its first attempt; "" once it has begun. */
export function openingWords({ attendance }) {
  if (!isOpening(attendance)) return "";
  return `Epoch ${integer(attendance.epoch)} begins when ${integer(attendance.opening_needed)} of the ${integer(attendance.seats)} committee members ` +
    `attest one state (${integer(attendance.opening)} have attested).`;
}

/** Who the next attempt waits for; "" unless it does. */
export function waitingWords({ attendance, now }) {
  const gathering = attendance?.gathering;
  if (!gathering) return "";
  if (gathering.enough) {
    return gathering.pause_ends > now
      ? `The next attempt begins in ${wholeSeconds(gathering.pause_ends - now)}: the last one had too few uploads.`
      : "The next attempt begins as soon as the others have had time to come.";
  }
  return `The next attempt waits for members: ${integer(attendance.here)} of ${integer(attendance.members)} are here, ${integer(gathering.needed)} are needed, ` +
    `and ${integer(gathering.seats_needed)} of the committee (${integer(gathering.seats_here)} are here).`;
}

/** The members that are connected, by name where the server says so. */
export function connectedWords({ attendance }) {
  if (!attendance) return "";
  const { here, members, connected } = attendance;
  const count = `${integer(here)} of ${plural(members, "member")}`;
  if (!connected || connected.length === 0) return `Connected: ${count}.`;
  const more = here > connected.length ? `, and ${integer(here - connected.length)} more` : "";
  return `Connected: ${count} (${connected.join(", ")}${more}).`;
}

const names = (list) => (list.length > 1 ? `${list.slice(0, -1).join(", ")} and ${list.at(-1)}` : list[0] ?? "the members");

/** What the operator is to do now. */
export function nextStep(status) {
  const { attendance, current, stopped } = status;
  if (status.problems.some(({ stops }) => stops)) return "correct what is listed above; the server is not ready until then.";
  if (stopped && /^all .* rounds are done/.test(stopped)) return "nothing to wait for: each site ends by itself when it has the last model. Then stop the server.";
  if (stopped) return "read the reason above and in the events. The coordinator decides whether the federation continues in a new epoch.";
  if (status.draining) return "wait until the server has ended.";
  if ((status.operators?.pause ?? null) !== null && !["collecting", "unmasking"].includes(current?.phase)) return "an operator resumes below, when the reason for the pause is over.";
  const away = attendance?.away.map(({ name }) => name) ?? [];
  const gathering = attendance?.gathering;
  if (isOpening(attendance)) {
    return away.length > 0
      ? `ask ${names(away)} to accept epoch ${integer(attendance.epoch)} with \`tacet client join\`, then to start \`tacet client run\`.`
      : "nothing to do: the epoch begins by itself.";
  }
  if (gathering && !gathering.enough) return `ask ${names(away)} to start \`tacet client run\`, or to check the connection to this server.`;
  if (gathering) return "nothing to do: the attempt begins by itself.";
  if (current?.phase === "unmasking" && away.length > 0) return `nothing to do, unless the votes stay out: then ask ${names(away)}, whose seats have not answered.`;
  if (current?.phase === "failed") return "nothing to do: the attempt is repeated, and charged again. If it fails again, ask the sites for their logs.";
  if (current) return "nothing to do: members act by themselves.";
  return `ask the sites to start \`tacet client run\`.`;
}

/** "north, for 2 h", ...: the members that are waited for. */
export function awayWords({ attendance, now }) {
  if (!attendance || attendance.away.length === 0) return [];
  const named = attendance.away.map(({ name, last_seen: seen, silent }) => (silent
    ? `${name}, connected and silent` : seen === null
    ? `${name}, not since the server was started` : `${name}, for ${longTime(Math.max(0, now - seen))}`));
  const more = attendance.away_in_all - attendance.away.length;
  return more > 0 ? [...named, `and ${integer(more)} more`] : named;
}

/** Seconds until the phase ends, by the server's clock and the time since it answered; else null. */
export function secondsLeft(status, sinceAnswer) {
  const { current } = status;
  if (!current || !["collecting", "unmasking"].includes(current.phase)) return null;
  return Math.max(0, current.deadline - status.now - sinceAnswer);
}

/** "ends in 12 s" */
export const deadlineWords = (left) => (left === null ? "" : left === 0 ? "ends now" : `ends in ${wholeSeconds(left)}`);

/** 75.4 → "1 min 15 s"; whole seconds. */
export function wholeSeconds(value) {
  const whole = Math.round(value);
  return whole >= 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
}

/** Longer times: "3 d 4 h", "4 h 5 min". */
export function longTime(value) {
  const days = Math.floor(value / 86_400);
  return days > 0 ? `${plural(days, "day")} ${Math.floor((value % 86_400) / 3600)} h` : seconds(Math.round(value));
}

/** What is to be put right, the server's own faults first: [level, sentences]. */
export function warnings(status) {
  const found = status.problems.map(({ stops, text }) => (stops ? ["danger", `Not ready: ${text}`] : ["warn", text]));
  if (status.store_errors > 0) found.push(["warn", `The store failed ${plural(status.store_errors, "time")} since the server was started.`]);
  return found;
}

const kEventWords = {
  "server-started": "The server was started",
  "listening": "It listens for members",
  "admin-listening": "It listens for operators",
  "attempt-begun": "An attempt began",
  "attempt-closed": "An attempt closed",
  "attempt-extended": "An attempt waits for its committee",
  "waiting-for-members": "The next attempt waits for members",
  "members-are-back": "Enough members are here again",
  "attempt-published": "An attempt was published",
  "attempt-failed": "An attempt failed",
  "all-rounds-published": "All rounds are published",
  "federation-stopped": "No attempt follows",
  "request-refused": "A request was refused",
  "requests-refused": "Further requests were refused",
  "problem": "Something is to be put right",
  "problem-over": "A problem is over",
  "member-objects": "A member does not act on what the server announces",
  "handshake-refused": "A certificate was refused",
  "store-failed": "The store failed",
  "store-works-again": "The store works again",
  "certificate-ends": "The certificate ends soon",
  "certificate-ended": "The certificate has ended",
  "certificate-replaced": "The certificate was replaced",
  "invitation-unreadable": "The invitation cannot be read",
  "new-epoch": "A new epoch is prepared",
  "pause-found": "An operator's pause was found",
  "operator-acted": "An operator acted",
  "operator-refused": "An action was refused",
  "draining": "The server was asked to end",
  "server-stopped": "The server ended",
};

export const eventWords = (event) => kEventWords[event] ?? event;

const kNamed = new Set(["time", "level", "event", "epoch", "round", "attempt", "reason", "deadline", "stops"]);

/** The fields of an event in one line. */
export function eventDetails(event) {
  const parts = [];
  if (typeof event.round === "number") parts.push(attemptName(event));
  if (event.reason) parts.push(stoppedWords(failureWords(event.reason)).replaceAll("_", " "));
  for (const [key, value] of Object.entries(event)) {
    if (kNamed.has(key)) continue;
    const text = Array.isArray(value) ? value.map((one) => one.name ?? one).join(", ") : value;
    parts.push(`${key.replaceAll("_", " ")}: ${text}`);
  }
  return parts.join("; ") || kAbsent;
}

/** An operator's action in words. */
export function actionWords({ action, problem, members, epoch }) {
  if (action === "acknowledge") return `acknowledged ${problem}${members.length > 0 ? ` (${members.join(", ")})` : ""}`;
  if (action === "start-epoch") return `started epoch ${integer(epoch)}`;
  return action === "pause" ? "paused" : "resumed";
}

/** What a reader with an operator's token can do now: [{label, request, question}]; null without one. */
export function offeredActions({ you, operators, problems, current, stopped }) {
  if (you === null) return null;
  const offers = operators.pause !== null ? [{ label: "Resume", request: { action: "resume" } }]
    : stopped ? [] : [{ label: "Pause after this attempt", request: { action: "pause" } }];
  if (operators.prepared !== null) {
    const epoch = operators.prepared;
    const open = ["collecting", "unmasking"].includes(current?.phase);
    offers.push({
      label: `Start epoch ${integer(epoch)}`,
      request: { action: "start-epoch", epoch, ...(open ? { end_attempt: true } : {}) },
      question: open
        ? `An attempt is open. It would be begun again in epoch ${integer(epoch)}, and charged again. Start the epoch now?`
        : `Start epoch ${integer(epoch)}? The server restarts into it.`,
    });
  }
  for (const code of new Set(problems.map((problem) => problem.code))) {
    if (code !== "paused") offers.push({ label: `Acknowledge ${code}`, request: { action: "acknowledge", problem: code } });
  }
  return offers;
}

/** Rows of the views: forecast of what was begun, guarantee of the whole; null: no guarantee. */
export function viewRows(spent, whole) {
  const known = new Map((spent?.statement?.guarantees ?? []).map((guarantee) => [guarantee.observer, guarantee]));
  const rows = whole?.statement?.guarantees ?? spent?.statement?.guarantees ?? [];
  const nothingYet = spent !== null && spent !== undefined && spent.attempts === 0;
  return rows.map((guarantee) => {
    const end = whole?.statement ? guarantee.epsilon : undefined;
    const now = nothingYet ? (guarantee.epsilon === null ? null : 0) : known.get(guarantee.observer)?.epsilon;
    return { observer: guarantee.observer, audience: guarantee.audience, spent: now, whole: end };
  });
}

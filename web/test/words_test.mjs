// The words of a server's page about a status.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  warnings, attemptName, awayWords, deadlineWords, eventDetails, nowSentence, secondsLeft, viewRows, waitingWords, wholeSeconds, connectedWords, nextStep,
  openingWords, offeredActions, actionWords,
} from "../src/live/words.js";

const kQuiet = { current: null, stopped: "", draining: false, finished: 0, problems: [], certificate_end: 0, store_errors: 0, now: 1000 };
const kFullDisk = { code: "disk-full", stops: true, members: [], text: "disk-full: there is no room. Make room." };
const kAway = { code: "member-away", stops: false, members: ["west"], text: "member-away: a member does not call: west (for 2 h). Start it." };
const kAgreement = { manifest: { rounds: 20 } };
const collecting = { round: 2, attempt: 1, phase: "collecting", deadline: 1090, accepted: 1, invited: 3, failure: "" };

test("one sentence says what goes on", () => {
  assert.equal(nowSentence(kQuiet, kAgreement), "No attempt was begun yet.");
  assert.equal(nowSentence({ ...kQuiet, current: collecting }, kAgreement), "Round 3 of 20, attempt 2: collecting uploads.");
  assert.equal(nowSentence({ ...kQuiet, current: collecting }, null), "Round 3, attempt 2: collecting uploads.");
  assert.equal(nowSentence({ ...kQuiet, current: { ...collecting, phase: "failed", failure: "too-few-uploads" } }, kAgreement),
    "Round 3 of 20, attempt 2: failed, too few uploads at the deadline.");
  assert.equal(nowSentence({ ...kQuiet, stopped: "all 20 rounds are done", finished: 20 }, kAgreement),
    "20 rounds of 20 published. No attempt follows: all 20 rounds are done.");
  assert.equal(nowSentence({ ...kQuiet, stopped: "round 0 failed in all its 3 attempts" }, null),
    "0 rounds published. No attempt follows: round 1 failed in all its 3 attempts.");
  assert.match(nowSentence({ ...kQuiet, draining: true, current: collecting }, kAgreement), /about to end/);
  assert.equal(nowSentence({ ...kQuiet, current: { ...collecting, phase: "unmasking", votes: 1, unmask_shares: 0 } }, kAgreement),
    "Round 3 of 20, attempt 2: the committee votes and unmasks the sum. So far 1 vote and 0 unmask shares came.");
});

test("what an operator can do", () => {
  const quiet = { ...kQuiet, you: "ann", operators: { revision: 0, pause: null, prepared: null, acknowledged: [] } };
  const labels = (status) => offeredActions(status).map(({ label }) => label);
  assert.equal(offeredActions({ ...quiet, you: null }), null);
  assert.deepEqual(labels(quiet), ["Pause after this attempt"]);
  assert.deepEqual(labels({ ...quiet, stopped: "all 20 rounds are done" }), []);
  const paused = { ...quiet, operators: { ...quiet.operators, pause: { by: "ann" }, prepared: 2 }, problems: [{ code: "paused" }, kAway, kFullDisk] };
  assert.deepEqual(labels(paused), ["Resume", "Start epoch 2", "Acknowledge member-away", "Acknowledge disk-full"]);
  assert.equal(nowSentence(paused, kAgreement), "Paused by ann: no further attempt begins.");
  assert.match(nextStep({ ...paused, problems: [] }), /an operator resumes below/);
  assert.match(nowSentence({ ...paused, current: collecting }, kAgreement), /collecting uploads/);
  const start = (status) => offeredActions(status).find(({ label }) => label === "Start epoch 2");
  assert.deepEqual(start(paused).request, { action: "start-epoch", epoch: 2 });
  assert.deepEqual(start({ ...paused, current: collecting }).request, { action: "start-epoch", epoch: 2, end_attempt: true });
  assert.match(start({ ...paused, current: collecting }).question, /charged again/);
  assert.equal(actionWords({ action: "acknowledge", problem: "member-fork", members: ["north", "west"] }), "acknowledged member-fork (north, west)");
  assert.equal(actionWords({ action: "start-epoch", epoch: 3 }), "started epoch 3");
});

test("an epoch that has not begun", () => {
  const attendance = { epoch: 2, opening: 2, opening_needed: 3, seats: 5, here: 4, members: 5, connected: null, gathering: null,
    away: [{ name: "west", last_seen: null }], away_in_all: 1 };
  const opening = { ...kQuiet, attendance };
  const words = "Epoch 2 begins when 3 of the 5 committee members attest one state (2 have attested).";
  assert.equal(openingWords(opening), words);
  assert.equal(nowSentence(opening, kAgreement), words);
  assert.equal(nowSentence({ ...opening, current: { ...collecting, phase: "published" } }, kAgreement), words);
  const gathering = { needed: 5, seats_here: 4, seats_needed: 4, enough: false, pause_ends: 0 };
  assert.equal(nowSentence({ ...opening, attendance: { ...attendance, gathering } }, kAgreement),
    `${words} The next attempt waits for members: 4 of 5 are here, 5 are needed, and 4 of the committee (4 are here).`);
  assert.equal(nextStep(opening), "ask west to accept epoch 2 with `tacet client join`, then to start `tacet client run`.");
  assert.equal(nextStep({ ...opening, attendance: { ...attendance, away: [] } }), "nothing to do: the epoch begins by itself.");
  assert.match(nowSentence({ ...opening, stopped: "all 20 rounds are done" }, kAgreement), /No attempt follows/);
  assert.equal(openingWords({ ...kQuiet, attendance: { ...attendance, opening: null } }), "");
  assert.equal(openingWords(kQuiet), "");
});

test("who is connected, and what to do next", () => {
  const attendance = { here: 1, members: 3, connected: ["north"], away_in_all: 2,
    away: [{ name: "south", last_seen: null }, { name: "west", last_seen: 900 }],
    gathering: { needed: 3, seats_here: 1, seats_needed: 3, enough: false, pause_ends: 0 } };
  const waiting = { ...kQuiet, attendance };
  assert.equal(connectedWords(waiting), "Connected: 1 of 3 members (north).");
  assert.equal(nextStep(waiting), "ask south and west to start `tacet client run`, or to check the connection to this server.");
  assert.equal(connectedWords({ attendance: { ...attendance, here: 25, members: 30 } }), "Connected: 25 of 30 members (north, and 24 more).");
  assert.equal(connectedWords({ attendance: { ...attendance, connected: null } }), "Connected: 1 of 3 members.");
  assert.match(nextStep({ ...kQuiet, attendance: { ...attendance, gathering: { ...attendance.gathering, enough: true } } }), /begins by itself/);
  assert.match(nextStep({ ...waiting, problems: [kFullDisk] }), /correct what is listed/);
  assert.match(nextStep({ ...waiting, problems: [kAway] }), /ask south and west/);
  const open = { ...attendance, gathering: null };
  assert.match(nextStep({ ...kQuiet, attendance: { ...open, away: [] }, current: collecting }), /nothing to do/);
  assert.match(nextStep({ ...kQuiet, attendance: open, current: { ...collecting, phase: "unmasking" } }), /ask south and west, whose seats/);
  assert.match(nextStep({ ...kQuiet, attendance: open, current: { ...collecting, phase: "failed" } }), /repeated, and charged again/);
  assert.match(nextStep({ ...kQuiet, stopped: "all 20 rounds are done" }), /stop the server/);
  assert.match(nextStep({ ...kQuiet, stopped: "round 0 failed in all its 3 attempts" }), /coordinator decides/);
  assert.match(nextStep({ ...kQuiet, draining: true }), /has ended/);
  assert.equal(nextStep(kQuiet), "ask the sites to start `tacet client run`.");
});

test("the time until the deadline is the server's", () => {
  assert.equal(secondsLeft({ ...kQuiet, current: collecting }, 0), 90);
  assert.equal(secondsLeft({ ...kQuiet, current: collecting }, 30.5), 59.5);
  assert.equal(secondsLeft({ ...kQuiet, current: collecting }, 1000), 0);
  assert.equal(secondsLeft({ ...kQuiet, current: { ...collecting, phase: "published" } }, 0), null);
  assert.equal(deadlineWords(90), "ends in 1 min 30 s");
  assert.equal(deadlineWords(0), "ends now");
  assert.equal(deadlineWords(null), "");
  assert.equal(wholeSeconds(59.6), "1 min 0 s");
});

test("what is wrong comes first", () => {
  assert.deepEqual(warnings(kQuiet), []);
  assert.deepEqual(warnings({ ...kQuiet, problems: [kFullDisk, kAway] }), [
    ["danger", "Not ready: disk-full: there is no room. Make room."],
    ["warn", "member-away: a member does not call: west (for 2 h). Start it."]]);
  assert.deepEqual(warnings({ ...kQuiet, store_errors: 2 }), [["warn", "The store failed 2 times since the server was started."]]);
});

test("rounds are counted from 1 for people", () => {
  assert.equal(attemptName({ round: 0, attempt: 0 }), "round 1, attempt 1");
  assert.equal(eventDetails({ time: "", level: "info", event: "attempt-failed", epoch: 0, round: 3, attempt: 0, participants: 0, reason: "refused" }),
    "round 4, attempt 1; committee members refused it; participants: 0");
  assert.equal(eventDetails({ time: "", level: "info", event: "draining" }), "–");
  assert.equal(eventDetails({ time: "", level: "warning", event: "problem", ...kAway }),
    "code: member-away; members: west; text: member-away: a member does not call: west (for 2 h). Start it.");
});

test("forecast and guarantee, by observer", () => {
  const guarantees = (values) => ({ attempts: 1, statement: { guarantees: [
    { observer: "external", audience: "Anyone", epsilon: values[0] }, { observer: "server-with-key-holder", audience: "Both", epsilon: null }] } });
  const rows = viewRows(guarantees([1.5]), guarantees([4]));
  assert.deepEqual(rows, [
    { observer: "external", audience: "Anyone", spent: 1.5, whole: 4 },
    { observer: "server-with-key-holder", audience: "Both", spent: null, whole: null }]);
  const before = viewRows({ attempts: 0, statement: null }, guarantees([4]));
  assert.equal(before[0].spent, 0);
  assert.equal(before[1].spent, null);
  assert.deepEqual(viewRows(null, null), []);
});

test("who is waited for, and since when", () => {
  const gathering = { needed: 4, seats_here: 2, seats_needed: 3, enough: false, pause_ends: 0 };
  const attendance = { here: 3, members: 5, gathering, away: [{ name: "north", last_seen: 400 }, { name: "west", last_seen: null }], away_in_all: 2 };
  const waiting = { ...kQuiet, attendance };
  assert.equal(nowSentence(waiting, kAgreement), "The next attempt waits for members: 3 of 5 are here, 4 are needed, and 3 of the committee (2 are here).");
  assert.deepEqual(awayWords(waiting), ["north, for 10 min 0 s", "west, not since the server was started"]);
  assert.deepEqual(awayWords({ ...waiting, attendance: { ...attendance, away_in_all: 22 } }).at(-1), "and 20 more");
  assert.deepEqual(awayWords({ ...waiting, attendance: { ...attendance, away: [{ name: "north", last_seen: 400, silent: true }], away_in_all: 1 } }), ["north, connected and silent"]);
  assert.deepEqual(awayWords(kQuiet), []);
  const paused = { ...attendance, gathering: { ...gathering, enough: true, pause_ends: 1090 } };
  assert.equal(waitingWords({ ...kQuiet, attendance: paused }), "The next attempt begins in 1 min 30 s: the last one had too few uploads.");
  assert.equal(waitingWords(kQuiet), "");
  const event = { time: "", level: "warning", event: "waiting-for-members", here: 3, away: attendance.away };
  assert.equal(eventDetails(event), "here: 3; away: north, west");
});

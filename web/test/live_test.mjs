// The page of a real server, whose members play rounds, in a real browser.
// environment: TACET_PROGRAM; TACET_DRIVE_ROUNDS, the program that plays the members;
// TACET_CHROMIUM when it is not called chromium; TACET_PICTURES, a folder to leave pictures in.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Browser } from "../browser.mjs";
import { epsilon } from "../src/format.js";

const kProgram = process.env.TACET_PROGRAM;
const kDriveRounds = process.env.TACET_DRIVE_ROUNDS;
const kPictures = process.env.TACET_PICTURES;
const kPatience = 120_000;  // milliseconds
const kSites = ["north", "south", "west"];
const kAgreed = `
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 20
spare_attempts = 2
min_participants = 3
[privacy]
noise_multiplier = 6
scale = 1e-2
`;

let folder;
let browser;
let server = null;  // {process, members, address, events (the last of each kind), token}

const at = (...names) => path.join(folder, ...names);
const run = (program, ...given) => execFileSync(program, given, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }).toString();
const tacet = (...given) => run(kProgram, ...given);
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function until(what, condition) {
  const end = Date.now() + kPatience;
  let last;
  while (Date.now() < end) {
    last = await condition();
    if (last) return last;
    await pause(100);
  }
  return assert.fail(`${what} did not come`);
}

/** A federation of three sites and a server, as people set it up. */
function setUp(agreed) {
  writeFileSync(at("agreed.toml"), agreed);
  const made = tacet("federation", "init", "--name", "hospitals", "--config", "agreed.toml", "--members", "3", "--key-file", "c.key", "--json");
  const { coordinator } = JSON.parse(made);
  const all = [...kSites, "hub"];
  for (const name of all) {
    tacet("client", "request", "--home", name, "--name", name, "--key-file", `${name}.key`,
      ...(name === "hub" ? ["--server-host", "127.0.0.1"] : []));
    const fingerprint = createHash("sha256").update(readFileSync(at(name, `${name}.request`))).digest("hex");
    tacet("federation", "enrol", name, "--request", `${name}/${name}.request`, "--fingerprint", fingerprint, "--server", "hub", "--key-file", "c.key");
  }
  tacet("federation", "seal-key", "--key-file", "c.key");
  for (const name of all) {
    tacet("client", "join", `federation/invitations/${name}-epoch-0.tacet`, "--home", name, "--coordinator", coordinator, "--key-file", `${name}.key`);
  }
}

async function startServer(...flags) {
  const address = (flag) => (flags.includes(flag) ? [] : [flag, "127.0.0.1:0"]);
  const child = spawn(kProgram, ["server", "--home", "hub", "--key-file", "hub.key", ...address("--listen"),
    ...address("--admin"), ...flags], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const events = new Map();
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) events.set(JSON.parse(line).event, JSON.parse(line));
  });
  await until("the server", () => events.has("listening"));
  server = {
    process: child, members: `127.0.0.1:${events.get("listening").port}`,
    address: events.get("admin-listening").page, events, token: readFileSync(at("hub", "page.token"), "utf8"),
  };
}

async function stopServer() {
  if (server === null) return;
  const ended = new Promise((done) => server.process.on("exit", done));
  server.process.kill("SIGTERM");
  assert.equal(await ended, 0);
  server = null;
}

const play = (step) => run(kDriveRounds, server.members, step, ...kSites);
const withToken = () => `${server.address}#token=${server.token}`;
const textOf = (page) => page.evaluate(`document.body?.innerText ?? ""`);
const says = (page, pattern) => until(`${pattern}`, async () => pattern.test(await textOf(page)));

/** Opens the page, hands it to `check`, then holds it to what every page keeps. */
async function withPage(where, options, check, { mayComplain = false, mayAskElsewhere = false } = {}) {
  const page = await browser.open(where, options);
  try {
    await check(page);
    if (!mayComplain) assert.deepEqual(page.problems, []);
    const elsewhere = page.requests.filter((url) => !url.startsWith("data:") && !url.startsWith(server?.address ?? "http://127.0.0.1:"));
    if (!mayAskElsewhere) assert.deepEqual(elsewhere, []);
    const [scroll, width] = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]");
    assert.ok(scroll <= width, `${scroll} pixels wide in a window of ${width}`);
    if (kPictures && options.picture) writeFileSync(path.join(kPictures, `${options.picture}.png`), await page.picture());
  } finally {
    await page.close();
  }
}

const drawnCharts = (page) => page.evaluate(`[...document.querySelectorAll(".plot canvas")].filter((canvas) =>
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0)).length`);

/** All figures of tiles and tables are in the window's width, and the first one in its height, too. */
async function showsFigures(page) {
  const boxes = await page.evaluate(`[...document.querySelectorAll(".tiles .figure")].map((figure) => {
    const { left, right, bottom, width } = figure.getBoundingClientRect();
    return { left, right, bottom, width };
  })`);
  const [width, height] = await page.evaluate("[window.innerWidth, window.innerHeight]");
  assert.ok(boxes.length > 0);
  for (const box of boxes) assert.ok(box.width > 0 && box.left >= 0 && box.right <= width, JSON.stringify(box));
  const hidden = await page.evaluate(`[...document.querySelectorAll(".stack td, .stack tbody th")].filter((cell) => {
    const { left, right } = cell.getBoundingClientRect();
    return left < 0 || right > window.innerWidth;
  }).map((cell) => cell.textContent)`);
  assert.deepEqual(hidden, []);
  assert.ok(boxes[0].bottom <= height, `the first figure ends at ${boxes[0].bottom} of ${height}`);
}

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "tacet-live-"));
  if (kPictures) mkdirSync(kPictures, { recursive: true });
  setUp(kAgreed);
  await startServer();
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  server?.process.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test("without its token the page asks for it, and for nothing else", () =>
  withPage(server.address, { picture: "live-token" }, async (page) => {
    await says(page, /This page needs its token/);
    assert.deepEqual(page.requests.filter((url) => url.includes("/api/")), []);
    assert.equal(await page.evaluate("document.activeElement.id"), "token");
    await page.type(server.token);
    await page.press("Enter");
    await says(page, /hospitals/);
    await page.reload();
    await says(page, /hospitals/);  // the tab remembers it
    assert.ok(page.requests.every((url) => !url.includes(server.token)));
  }));

test("a wrong token is refused", () =>
  withPage(`${server.address}#token=wrong`, {}, async (page) => {
    await says(page, /The server does not know the token/);
    assert.equal(await page.evaluate("sessionStorage.length"), 0);
    assert.ok(page.problems.every((problem) => /401/.test(problem)), page.problems.join("\n"));
  }, { mayComplain: true }));

test("a round as it goes on", () =>
  withPage(withToken(), { picture: "live" }, async (page) => {
    await says(page, /The next attempt waits for members: 0 of 3 are here, 3 are needed/);
    await says(page, /Connected: 0 of 3 members\./);
    await says(page, /Awaited: .*, not since the server was started/);
    await says(page, /Next: ask north, south and west to start/);
    assert.equal(await page.evaluate(`document.querySelector(".tile-name").textContent`), "ε");
    play("show-up");
    await says(page, /Connected: 3 of 3 members\./);
    await says(page, /Next: nothing to do: members act by themselves/);
    await says(page, /Round 1 of 20, attempt 1: collecting uploads/);
    assert.equal(await page.evaluate("window.location.hash"), "");
    assert.equal(await page.evaluate("document.title"), "hospitals – tacet server");
    await says(page, /0 of 3 invited members have uploaded/);
    assert.match(await textOf(page), /ends in \d+ (min|s)/);
    assert.match(await textOf(page), /No round is published yet/);
    play("upload-some");
    await says(page, /2 of 3 invited members have uploaded/);
    play("upload-last");
    await says(page, /the committee votes and unmasks the sum/);
    play("decrypt");
    await says(page, /Rounds published\s+1\s+of 20 agreed/);
    await says(page, /Round 2 of 20, attempt 1: collecting uploads/);
    await says(page, /An attempt was published/);
    await until("charts", async () => await drawnCharts(page) === 2);
    assert.match(await textOf(page), /put-vote\s+ok\s+2/);
  }));

test("what is spent and what is left", () =>
  withPage(withToken(), {}, async (page) => {
    await until("what is spent", async () => /Attempts begun\s+2/.test(await textOf(page)));
    const api = (name) => page.evaluate(`fetch("/api/${name}", { headers: { Authorization: "Bearer ${server.token}" } }).then((a) => a.json())`);
    const spent = await until("the accountants", async () => {
      const { spent: now } = await api("status");
      return now?.attempts === 2 ? now : null;
    });
    const { whole } = await until("the whole", async () => {
      const agreed = await api("agreement");
      return agreed.whole ? agreed : null;
    });
    for (const guarantee of [...spent.statement.guarantees, ...whole.statement.guarantees]) {
      if (guarantee.epsilon !== null) await says(page, new RegExp(epsilon(guarantee.epsilon).replace(".", "\\.")));
    }
    assert.match(await textOf(page), /The server, should it have the epoch's key/);
  }));

test("what was agreed, in words", () =>
  withPage(withToken(), {}, async (page) => {
    await says(page, /3 clients, 3 a round/);
    const words = await page.evaluate(`document.querySelector(".words").textContent`);
    for (const site of kSites) assert.match(words, new RegExp(`member +${site}`));
  }));

test("on a phone, in the dark", () =>
  withPage(withToken(), { width: 360, height: 780, dark: true, picture: "live-phone-dark" }, async (page) => {
    await says(page, /3 clients, 3 a round/);
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    await until("charts", async () => await drawnCharts(page) === 2);
    await showsFigures(page);
  }));

test("a reader without a mouse reaches everything, and keeps the place", () =>
  withPage(withToken(), {}, async (page) => {
    await says(page, /An attempt was published/);
    await page.evaluate(`document.querySelector(".part .choice").focus()`);
    await page.press("Enter");
    assert.equal(await page.evaluate(`document.querySelector(".choice").getAttribute("aria-pressed")`), "true");
    assert.doesNotMatch(await textOf(page), /An attempt was published/);
    await page.evaluate(`document.querySelector(".plot").focus()`);
    const place = () => page.evaluate(`document.activeElement.className`);
    await pause(5000);  // two more answers
    assert.equal(await place(), "plot");
    for (let i = 0; i < 12; i += 1) await page.press("Tab");
    assert.notEqual(await place(), "plot");
  }));

const click = (page, label) => page.evaluate(`(() => {
  const button = [...document.querySelectorAll("button")].find((one) => one.textContent === ${JSON.stringify(label)});
  button?.click();
  return button !== undefined;
})()`);
const note = (page, text) => page.evaluate(`document.getElementById("note").value = ${JSON.stringify(text)}`);

// What the server's store keeps of its operators (docs/formats/server-store.md).
const kReadActions = `
import json, sqlite3, sys
rows = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT bytes FROM item WHERE kind = 30 ORDER BY member")
print(json.dumps([json.loads(bytes) for (bytes,) in rows]))
`;

const operator = "0123456789abcdef".repeat(2);

/** A server of this process's, at an address of its own until it is closed. */
async function listening(answer) {
  const one = createServer(answer);
  await new Promise((done) => one.listen(0, "127.0.0.1", done));
  return one;
}

async function freeAddress() {
  const one = await listening();
  const { port } = one.address();
  await new Promise((done) => one.close(done));
  return `127.0.0.1:${port}`;
}

test("the page's token looks, an operator's token acts", async () => {
  await stopServer();
  writeFileSync(at("operators"), `# who may act\nann ${operator}\n`, { mode: 0o600 });
  await startServer("--operators", "operators");
  await withPage(withToken(), {}, async (page) => {
    await says(page, /This token may look/);
    assert.equal(await click(page, "Pause after this attempt"), false);
  });
  await withPage(`${server.address}#token=${operator}`, { picture: "live-operator" }, async (page) => {
    await until("the button", () => page.evaluate(`[...document.querySelectorAll("button")].some((one) => one.textContent.startsWith("Pause"))`));
    await note(page, `<img src=x onerror="document.title='harmed'"> until six`);
    await click(page, "Pause after this attempt");
    await says(page, /Done\./);
    await says(page, /ann\s+paused\s+<img src=x/);
    await says(page, /paused: no further attempt begins/);
    assert.equal(await page.evaluate("document.title"), "hospitals – tacet server");
    assert.ok(page.requests.every((url) => !url.includes(operator)));
  });
  // A restart keeps the pause.
  await stopServer();
  await startServer("--operators", "operators");
  await withPage(`${server.address}#token=${operator}`, {}, async (page) => {
    await says(page, /ann\s+paused/);
    await says(page, /An operator's pause was found/);
    await click(page, "Resume");
    await says(page, /Nothing is paused or acknowledged/);
  });
  // A page of somebody else, in the same browser, that even knows the token.
  const other = await listening((_, answer) => answer.setHeader("Content-Type", "text/html").end("<p>other page"));
  const pause = JSON.stringify({ revision: 2, action: "pause" });
  await withPage(`http://127.0.0.1:${other.address().port}/`, {}, async (page) => {
    const post = (options) => page.evaluate(`fetch("${server.address}api/act", { method: "POST", body: ${JSON.stringify(pause)}, ...${options} })
      .then(() => "sent", () => "refused")`);
    assert.equal(await post(`{ headers: { "Content-Type": "application/json", Authorization: "Bearer ${operator}" } }`), "refused");
    await post(`{ mode: "no-cors", credentials: "include" }`);
    const frame = `<form id="form" method="post" action="${server.address}api/act" enctype="text/plain"><input name='${pause.slice(0, -1)}, "note": "' value='"}'></form>`;
    await page.evaluate(`(document.body.innerHTML = ${JSON.stringify(frame)}, document.getElementById("form").submit())`);
    await new Promise((done) => setTimeout(done, 500));
  }, { mayComplain: true, mayAskElsewhere: true });
  other.close();
  await withPage(`${server.address}#token=${operator}`, {}, async (page) => {
    await says(page, /Nothing is paused or acknowledged/);
    await says(page, /An action was refused\s+other-page/);
  });
});

test("an operator acknowledges a violation, with a note", async () => {
  play("show-up");  // so that one of three has another model
  play("object");
  const button = `[...document.querySelectorAll("button")].find((one) => one.textContent === "Acknowledge member-fork")`;
  await withPage(`${server.address}#token=${operator}`, { picture: "live-acknowledged" }, async (page) => {
    await until("the offer", () => page.evaluate(`${button} !== undefined`));
    await page.click(button);
    await says(page, /Not done: note: acknowledge needs one\./);
    await page.click(`document.getElementById("note")`);
    await page.type("an old backup was put back at west");
    await page.click(button);
    await says(page, /Done\./);
    await says(page, /ann\s+acknowledged member-fork \(west\)\s+an old backup was put back at west/);
    // It hides nothing.
    await says(page, /a member has another model than the federation/);
    const log = await until("the entry", () => server.events.get("operator-acted"));
    assert.deepEqual([log.action, log.by, log.note, log.problem, log.members],
      ["acknowledge", "ann", "an old backup was put back at west", "member-fork", ["west"]]);
    assert.ok(page.problems.every((problem) => /400/.test(problem)), page.problems.join("\n"));  // the one without a note
  }, { mayComplain: true });
  await stopServer();  // it alone reads its store
  const actions = JSON.parse(run("python3", "-c", kReadActions, "hub/server.sqlite"));
  assert.deepEqual(actions.map(({ action }) => action), ["pause", "resume", "acknowledge"]);
  const { at: when, ...acknowledged } = actions.at(-1);
  assert.ok(when > 1.7e9);
  assert.deepEqual(acknowledged, { action: "acknowledge", by: "ann", note: "an old backup was put back at west", problem: "member-fork", members: ["west"] });
});

test("an operator starts a prepared epoch", async () => {
  await stopServer();
  await startServer("--operators", "operators", "--listen", await freeAddress(), "--admin", await freeAddress());
  for (const site of kSites) {
    tacet("client", "renew", "--home", site, "--key-file", `${site}.key`);
    tacet("federation", "enrol", site, "--request", `${site}/${site}.request`, "--key-file", "c.key");
  }
  tacet("federation", "rotate", "--key-file", "c.key");
  tacet("client", "join", "federation/invitations/hub-epoch-1.tacet", "--home", "hub", "--key-file", "hub.key", "--accept");
  await withPage(`${server.address}#token=${operator}`, {}, async (page) => {
    await until("the offer", () => click(page, "Start epoch 1"));
    await says(page, /Epoch 1 begins when 2 of the 3 committee members attest one state/);
    assert.match(page.questions[0], /An attempt is open\. It would be begun again in epoch 1, and charged again/);
    assert.equal(server.process.exitCode, null);
  }, { mayComplain: true });  // the server does not answer for a moment
});

test("failed attempts and the end are shown as what they are", async () => {
  await stopServer();
  // Another federation: where every member uploads, an attempt with too few uploads is extended.
  for (const name of readdirSync(folder)) rmSync(at(name), { recursive: true });
  setUp(kAgreed.replace("min_participants = 3", 'cohort = 2\nsampling = "fixed-size"'));
  await startServer("--collecting-seconds", "1", "--retry-seconds", "1");
  play("show-up");
  await withPage(withToken(), { picture: "live-ended" }, async (page) => {
    await says(page, /No attempt follows: round 1 failed in all its 3 attempts/);
    await says(page, /Failed attempts\s+3\s+3 × too few uploads at the deadline/);
    await page.evaluate(`[...document.querySelectorAll(".choice")].at(-1).click()`);
    await says(page, /error\s+No attempt follows/i);
    await page.evaluate(`document.querySelectorAll("details").forEach((details) => { details.open = true; })`);
    await says(page, /failed: too few uploads at the deadline/);
  });
});

test("a server that does not answer is noticed", () =>
  withPage(withToken(), {}, async (page) => {
    await says(page, /\blive\b/);
    await stopServer();
    await says(page, /no answer for \d+ s/);
    assert.match(await textOf(page), /hospitals/);
  }, { mayComplain: true }));

// The report of real runs in a real browser.
// environment: TACET_PROGRAM; TACET_CHROMIUM when it is not called chromium; TACET_HEART_DISEASE, a
// folder with real data, when there is one; TACET_PICTURES, a folder to leave pictures in.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser } from "../browser.mjs";
import { bytes, epsilon, number, percent } from "../src/format.js";

const kProgram = process.env.TACET_PROGRAM;
const kPictures = process.env.TACET_PICTURES;
const kSettings = `
[data]
handwriting_writers = 12
handwriting_min_samples = 10
handwriting_max_samples = 20
handwriting_classes = 4
csv_label_column = "</script><script>document.title='broken'</script>\\"'&"
[model]
name = "logistic"
[federation]
rounds = 3
cohort = 6
sampling = "fixed-size"
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 3
scale = 1e-3
`;

let folder;
let browser;

const at = (...names) => path.join(folder, ...names);
const tacet = (...given) => execFileSync(kProgram, given, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });

function simulate(name, ...flags) {
  tacet("simulate", "--config", at("settings.toml"), "--out", at(name), ...flags);
  return name;
}

function copyOf(name, copy) {
  cpSync(at(name), at(copy), { recursive: true });
  return copy;
}

const rounds = (name) =>
  readFileSync(at(name, "metrics.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
const summary = (name) => JSON.parse(readFileSync(at(name, "summary.json"), "utf8"));

const written = new Map();  // the runs of a report → its file

function reportOf(runs) {
  const key = runs.join("\n");
  if (!written.has(key)) {
    written.set(key, at(`report-${written.size}.html`));
    tacet("report", ...runs.map((name) => at(name)), "--out", written.get(key));
  }
  return written.get(key);
}

/** Opens the report of `runs`, hands it to `check`, then holds it to what every page keeps. */
async function withReport(runs, options, check) {
  const file = reportOf(runs);
  const page = await browser.open(file, options);
  try {
    const text = await page.evaluate("document.body.innerText");
    const all = await page.evaluate("document.body.textContent");
    await check(page, text, all);
    assert.deepEqual(page.problems, []);
    assert.deepEqual(page.requests.filter((url) => !url.startsWith("data:")), [`file://${encodeURI(file)}`]);
    const [scroll, width] = await page.evaluate(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]");
    assert.ok(scroll <= width, `${scroll} pixels wide in a window of ${width}`);
    assert.match(await page.evaluate("document.title"), /tacet report$/);
    if (kPictures) {
      const { width: wide = 1200, dark = false } = options;
      const name = `${path.basename(file, ".html")}-${wide}${dark ? "-dark" : ""}.png`;
      writeFileSync(path.join(kPictures, name), await page.picture());
    }
  } finally {
    await page.close();
  }
}

/** How many charts show something: pixels that are not transparent. */
const drawnCharts = (page) => page.evaluate(`[...document.querySelectorAll(".plot canvas")].filter((canvas) =>
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0)).length`);

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "tacet-report-"));
  writeFileSync(at("settings.toml"), kSettings);
  if (kPictures) mkdirSync(kPictures, { recursive: true });
  simulate("whole");
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a finished run: its numbers, its guarantees, its charts", () =>
  withReport(["whole"], {}, async (page, text, all) => {
    const last = rounds("whole").at(-1);
    const { privacy, charged_attempts } = summary("whole");
    assert.ok(text.includes(percent(last.accuracy)), text);
    assert.ok(text.includes(bytes(last.upload_bytes)));
    // The worst observer that has a guarantee leads.
    const [name, figure, note] = await page.evaluate(`[...document.querySelector(".tiles li").children].map((part) => part.textContent)`);
    assert.deepEqual([name, figure], ["ε", epsilon(privacy.worst.epsilon)]);
    assert.match(note, /the worst observer that has a guarantee/);
    for (const row of privacy.headlines) assert.ok(text.includes(`ε = ${epsilon(row.epsilon)}`), row.observer);
    assert.match(text, /one client's whole contribution/);
    assert.match(text, new RegExp(`Charged so far: ${charged_attempts} attempts`));
    assert.match(text, /The server, should it have the epoch's key/);
    assert.match(text, /An attacker that accepts a 1 % false-positive rate can identify at most \d+\.\d % of the clients/);
    assert.match(text, /at most e\^epsilon times its probability with the other, plus delta/);
    assert.doesNotMatch(text, /insecure/i);
    assert.equal(await drawnCharts(page), 6);
    // The tables behind the charts are there before anybody unfolds them.
    for (const line of rounds("whole")) assert.ok(all.includes(epsilon(line.charged_epsilon)));
    assert.equal(await page.evaluate(`document.querySelectorAll("figure details table").length`), 6);
  }));

test("what a run's files say stays text", () =>
  withReport(["whole"], {}, async (page, text, all) => {
    assert.equal(await page.evaluate("document.title"), "whole – tacet report");
    assert.equal(await page.evaluate("document.scripts.length"), 2);
    assert.ok(all.includes("</script><script>document.title"), "the setting is shown as it is");
  }));

test("a name that looks like markup stays a name", () => {
  const name = copyOf("whole", `a<img src=x onerror="document.title='broken'">&amp;'`);
  return withReport([name, "whole"], {}, async (page, text) => {
    assert.ok(text.includes(name), text);
    assert.equal(await page.evaluate(`document.querySelectorAll("img").length`), 0);
  });
});

test("a reader without a mouse reads single rounds", () =>
  withReport(["whole"], {}, async (page) => {
    await page.evaluate(`document.querySelector(".plot").focus()`);
    const reading = () => page.evaluate(`document.querySelector(".reading").textContent`);
    assert.match(await reading(), /^Round 3/);
    await page.press("ArrowLeft");
    assert.match(await reading(), /^Round 2/);
    await page.press("Home");
    assert.match(await reading(), /^Round 0/);
  }));

test("light and dark follow the system until the reader chooses", () =>
  withReport(["whole"], { dark: true }, async (page) => {
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const dark = await background();
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    await page.evaluate(`[...document.querySelectorAll(".theme button")].find((b) => b.textContent === "Light").click()`);
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "light");
    assert.notEqual(await background(), dark);
    assert.equal(await drawnCharts(page), 6);
    await page.evaluate(`[...document.querySelectorAll(".theme button")].find((b) => b.textContent === "Auto").click()`);
  }));

test("two runs: overlaid, and what was set differently", () => {
  simulate("longer", "--rounds", "4");
  return withReport(["whole", "longer"], {}, async (page, text) => {
    assert.match(text, /2 runs compared/);
    for (const name of ["whole", "longer"]) {
      assert.ok(text.includes(percent(rounds(name).at(-1).accuracy)));
      for (const row of summary(name).privacy.headlines) assert.ok(text.includes(epsilon(row.epsilon)), row.observer);
    }
    assert.match(text, /federation\.rounds\s+3\s+4/);
    assert.doesNotMatch(text, /privacy\.noise\s/);
    await page.evaluate(`window.location.hash = "#run-B"`);
    await page.evaluate("new Promise((done) => setTimeout(done, 200))");
    assert.match(await page.evaluate(`document.getElementById("run-B").innerText`), /Protected is/);
  });
});

test("twenty runs, also on a phone", async () => {
  const runs = Array.from({ length: 20 }, (_, i) => copyOf("whole", `run-${String(i).padStart(2, "0")}`));
  for (const width of [1200, 360]) {
    await withReport(runs, { width }, async (page, text) => {
      assert.match(text, /20 runs compared/);
      assert.equal(await page.evaluate(`document.querySelectorAll(".overview tbody tr").length`), 20);
      assert.match(text, /None: all runs have the same settings/);
      assert.ok(await drawnCharts(page) >= 6);
      // Epsilon and accuracy of every run are seen without scrolling to the side.
      const boxes = await page.evaluate(`[...document.querySelectorAll(".overview tbody tr")].flatMap((row) =>
        [...row.querySelectorAll("td.number")].slice(0, 2).map((cell) => {
          const { left, right, width } = cell.getBoundingClientRect();
          return { left, right, width, title: cell.dataset.title };
        }))`);
      assert.equal(boxes.length, 40);
      assert.deepEqual(boxes.slice(0, 2).map((box) => box.title), ["ε", "Accuracy"]);
      for (const box of boxes) assert.ok(box.width > 0 && box.left >= 0 && box.right <= width, JSON.stringify(box));
      const pressed = `document.querySelectorAll('.legend button[aria-pressed="true"]').length`;
      await page.evaluate(`document.querySelector(".legend button").click()`);
      assert.equal(await page.evaluate(pressed), 1);
      await page.evaluate(`document.querySelector(".legend button").click()`);
      assert.equal(await page.evaluate(pressed), 0);
    });
  }
});

test("one round, on a phone", () => {
  simulate("single", "--rounds", "1");
  return withReport(["single"], { width: 360, height: 780 }, async (page, text) => {
    assert.ok(text.includes(percent(rounds("single")[0].accuracy)));
    const figures = await page.evaluate(`[...document.querySelectorAll(".tiles .figure")].map((figure) => {
      const { right, bottom, width } = figure.getBoundingClientRect();
      return { right, bottom, width };
    })`);
    assert.equal(figures.length, 4);
    for (const { right, width } of figures) assert.ok(width > 0 && right <= 360, `${right}`);
    assert.ok(figures[0].bottom <= 780, "epsilon is on the first screen");
    await page.evaluate(`document.querySelectorAll("details").forEach((details) => { details.open = true; })`);
    const hidden = await page.evaluate(`[...document.querySelectorAll(".stack td, .stack tbody th")].filter((cell) =>
      cell.getBoundingClientRect().right > window.innerWidth).map((cell) => cell.textContent)`);
    assert.deepEqual(hidden, []);
    assert.equal(await drawnCharts(page), 6);
  });
});

test("an unfinished run says how far it came and what it spent", () => {
  const finished = summary("whole");
  copyOf("whole", "broken-off");
  rmSync(at("broken-off", "summary.json"));
  writeFileSync(at("broken-off", "metrics.jsonl"), `${rounds("whole").slice(0, 2).map((line) => JSON.stringify(line)).join("\n")}\n`);
  return withReport(["broken-off"], {}, async (page, text) => {
    assert.match(text, /unfinished: 2 of 3 rounds/);
    assert.match(text, /12 clients, 6 a round/);
    // The third attempt was charged before it was broken off.
    for (const row of finished.privacy.headlines) assert.ok(text.includes(`ε = ${epsilon(row.epsilon)}`), row.observer);
  });
});

test("a run that has only begun has nothing to show and says so", () => {
  mkdirSync(at("begun"));
  cpSync(at("whole", "config.toml"), at("begun", "config.toml"));
  return withReport(["begun"], {}, async (page, text) => {
    assert.match(text, /unfinished: 0 of 3 rounds/);
    assert.match(text, /nothing was charged yet/);
  });
});

test("an insecure run is labelled where nobody overlooks it", () => {
  simulate("seeded", "--insecure-seed", "1");
  return withReport(["seeded"], { dark: true }, async (page, text) => {
    assert.match(text, /Insecure: this run protects nobody/);
    assert.match(text, /insecure-seed: its cohorts, noise and keys follow from a number/);
    assert.match(text, /ε\s+none/);
    const [top, height] = await page.evaluate(
      `(({ top, height }) => [top, height])(document.querySelector("[role=alert]").getBoundingClientRect())`);
    assert.ok(top < 120 && height > 60);
    assert.equal(await page.evaluate(`getComputedStyle(document.querySelector(".guarantees .epsilon")).textDecorationLine`),
      "line-through");
  });
});

test("a run without noise guarantees nothing", () => {
  simulate("noiseless", "--no-noise");
  return withReport(["noiseless", "whole"], {}, async (page, text) => {
    assert.match(text, /Insecure: 1 of 2 runs protect nobody/);
    assert.match(text, /no-noise: no noise was added/);
  });
});

const kHeartDisease = process.env.TACET_HEART_DISEASE;
test("a query: every answer with its interval, under one ε", () => {
  mkdirSync(at("tables"));
  const rows = Array.from({ length: 80 }, (_, i) => `${30 + (i % 50)},${i % 2 ? "f" : "m"}`).join("\n");
  // 400 in both: their noised count is 18 deviations above the floor.
  const ageless = ",f\n".repeat(200);
  for (const site of ["north", "south"]) writeFileSync(at("tables", `${site}.csv`), `age,sex\n${rows}\n${ageless}`);
  writeFileSync(at("query.toml"), `name = "two questions"
floor = 70
[privacy]
target_epsilon = 4.0
max_units = 300
[[question]]
name = "<b>ages</b>"
kind = "mean"
column = "age"
low = 20
high = 100
[[question]]
name = "sexes"
kind = "histogram"
column = "sex"
categories = ["f", "m", "x"]
`);
  tacet("statistics", at("query.toml"), "--data", at("tables"), "--out", at("asked"));
  const { questions } = JSON.parse(readFileSync(at("asked", "answers.json"), "utf8"));
  return withReport(["asked"], { width: 390 }, async (page, text) => {
    for (const { estimates } of questions) {
      for (const estimate of estimates.filter((one) => one.value !== null)) assert.ok(text.includes(number(estimate.value)));
    }
    assert.match(text, /<b>ages<\/b>/);
    assert.match(text, /suppressed/);  // nobody has the category x
    assert.match(text, /More than 5 % of the rows were left out/);
    const marked = "[...document.querySelectorAll('tr.too-many th')].map((cell) => cell.textContent).join()";
    assert.equal(await page.evaluate(marked), "left out,left-out share");
    const red = "getComputedStyle(document.querySelector('tr.too-many th')).color !== getComputedStyle(document.body).color";
    assert.ok(await page.evaluate(red));
    const picture = "svg.picture[aria-label^='count of sexes']";
    assert.equal(await page.evaluate(`document.querySelectorAll("${picture} rect").length`), 2);
    assert.match(await page.evaluate(`document.querySelector("${picture}").textContent`), /✕/);
    assert.match(text, /Together they cost ε = 4\.000 per record, against/);
    assert.match(text, /Each measured value has Gaussian noise: it is off by/);
    assert.match(text, /2 questions, answered by 2 sites together/);
    assert.doesNotMatch(text, /How good the model is/i);
  });
});

test("real data: four hospitals, unit record", { skip: kHeartDisease ? false : "no real data at hand" }, () => {
  const settings = fileURLToPath(new URL("../../configs/heart-disease.toml", import.meta.url));
  tacet("simulate", "--config", settings, "--data", kHeartDisease, "--out", at("hospitals"));
  return withReport(["hospitals"], {}, async (page, text) => {
    const { accuracy, privacy } = summary("hospitals");
    assert.ok(text.includes(percent(accuracy)));
    assert.match(text, /Protected is one record/);
    for (const row of privacy.headlines) assert.ok(text.includes(`ε = ${epsilon(row.epsilon)}`), row.observer);
    assert.match(text, /AUC/);
  });
});

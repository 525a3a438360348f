// The report of real runs in a real browser.
// environment: TACET_PROGRAM; TACET_CHROMIUM when it is not called chromium; TACET_HEART_DISEASE, a
// folder with real data, when there is one; TACET_PICTURES, a folder to leave pictures in.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
  const ageless = ",f\n,d\n".repeat(100);
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
categories = ["f", "d", "m", "x"]
`);
  tacet("statistics", at("query.toml"), "--data", at("tables"), "--out", at("asked"));
  const { questions } = JSON.parse(readFileSync(at("asked", "answers.json"), "utf8"));
  return withReport(["asked"], { width: 390 }, async (page, text) => {
    for (const { estimates } of questions) {
      for (const estimate of estimates.filter((one) => one.value !== null)) assert.ok(text.includes(number(estimate.value)));
    }
    assert.match(text, /<b>ages<\/b>/);
    // Nobody has the category x. The category m is hidden with it: x would be what the total leaves.
    assert.match(text, /suppressed/);
    assert.match(text, /More than 5 % of the rows were left out/);
    const marked = "[...document.querySelectorAll('tr.too-many th')].map((cell) => cell.textContent).join()";
    assert.equal(await page.evaluate(marked), "left out,left-out share");
    const red = "getComputedStyle(document.querySelector('tr.too-many th')).color !== getComputedStyle(document.body).color";
    assert.ok(await page.evaluate(red));
    const picture = "svg.picture[aria-label^='counts of sexes']";
    assert.equal(await page.evaluate(`document.querySelectorAll("${picture} .pic-bar").length`), 2);
    assert.match(await page.evaluate(`document.querySelector("${picture}").textContent`), /✕/);
    assert.match(text, /Together they cost ε = 4\.000 per record, against/);
    assert.match(text, /Each measured value has Gaussian noise: it is off by/);
    assert.match(text, /2 questions, answered by 2 sites together/);
    assert.doesNotMatch(text, /No data of/);
    assert.doesNotMatch(text, /How good the model is/i);
  });
});

// A report is written only where the run has the sites' signed abstentions, which a simulation lacks.
test("a query names the sites that gave no data with its answers", () => {
  const complete = readFileSync(reportOf(["asked"]), "utf8");
  const lists = complete.match(/"missing":\s*\[\]/g);
  assert.equal(lists?.length, 1);
  const missing = [{ member: 1, site: "<b>north</b>", cause: "budget" }, { member: 4, site: "east", cause: "policy" }];
  const embedded = JSON.stringify(missing).replaceAll("<", "\\u003c");
  written.set("incomplete", at("incomplete.html"));
  writeFileSync(at("incomplete.html"), complete.replace(lists[0], () => `"missing":${embedded}`));
  return withReport(["incomplete"], { width: 390 }, async (page, text) => {
    const sentence = "No data of <b>north</b> (budget), east (policy) are in the answers.";
    assert.ok(text.includes(sentence));
    const shown = JSON.parse(await page.evaluate(`(() => {
      const line = [...document.querySelectorAll("p")].find((one) => one.textContent === ${JSON.stringify(sentence)});
      const answer = document.querySelector("svg.picture");
      return JSON.stringify({
        before: Boolean(line.compareDocumentPosition(answer) & Node.DOCUMENT_POSITION_FOLLOWING),
        red: getComputedStyle(line).color !== getComputedStyle(document.body).color,
      });
    })()`));
    assert.deepEqual(shown, { before: true, red: true });
  });
});

/** People of two arms; few are of stage IV, and nobody on placebo. */
function askForTable() {
  mkdirSync(at("trial"));
  const rows = Array.from({ length: 600 }, (_, i) => {
    const stage = i % 150 === 0 ? "IV" : ["I", "II", "III"][i % 3];
    return `${i % 5 < 3 || stage === "IV" ? "<b>drug</b>" : "placebo"},${40 + (i * 7) % 45},${100 * (1 + (i * 13) % 40)},${stage}`;
  });
  for (const site of ["north", "south"]) {
    writeFileSync(at("trial", `${site}.csv`), `arm,age,cost of care,stage\n${rows.join("\n")}\n`);
  }
  writeFileSync(at("table1.toml"), `name = "trial"
floor = 20
[data]
values = ["arm one-of=<b>drug</b>,placebo", "stage one-of=I,II,III,IV"]
[privacy]
target_epsilon = 20.0
max_units = 1000
[[question]]
name = "baseline"
kind = "table1"
columns = ["age 18..100", "cost of care 0..5000", "stage"]
group = "arm"
`);
  tacet("statistics", at("table1.toml"), "--data", at("trial"), "--out", at("table1"), "--insecure-seed", "1");
}

test("a table 1 looks as a paper prints it, in both themes and on a phone", async () => {
  askForTable();
  const { table } = JSON.parse(readFileSync(at("table1", "answers.json"), "utf8")).questions[0];
  const shown = (words) => words.replaceAll(/\s+/g, " ");
  for (const options of [{}, { dark: true }, { width: 390 }]) {
    await withReport(["table1"], options, async (page, text, all) => {
      const lines = await page.evaluate(`[...document.querySelectorAll(".table1 tbody tr")].map((line) =>
        [...line.children].map((cell) => cell.textContent))`);
      assert.deepEqual(lines, table.rows.slice(1).map(({ name, cells, noise }) => [name, ...cells, noise]));
      assert.deepEqual(lines.map(([name]) => name), ["age, mean (sd)", "age, median [IQR]", "cost of care, mean (sd)",
        "cost of care, median [IQR]", "stage = I, n (%)", "stage = II, n (%)", "stage = III, n (%)", "stage = IV, n (%)"]);
      const heads = await page.evaluate(`[...document.querySelectorAll(".table1 thead th")].map((head) => head.textContent)`);
      assert.deepEqual(heads.slice(1, 3), table.groups.map((group, i) => `${group}, n = ${table.rows[0].cells[i]}`));
      assert.equal(heads[1].startsWith("<b>drug</b>, n = "), true);  // text, not markup
      assert.deepEqual(lines.at(-1).slice(1), ["✕", "✕", "✕"]);
      assert.match(shown(text), /baseline table1 by arm/);
      assert.match(all, /Interval of 95 %/);  // folded
      // On a phone each cell is below its line's name and says its group; nothing is cut off.
      const faults = await page.evaluate(`[...document.querySelectorAll(".table1 tbody :is(td, th)")].filter((cell) =>
        cell.scrollWidth > cell.clientWidth + 1 || cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.textContent)`);
      assert.deepEqual(faults, []);
      const before = await page.evaluate(`getComputedStyle(document.querySelector(".table1 td"), "::before").content`);
      assert.equal(before.includes("n ="), options.width === 390);
      const [ink, paper] = await page.evaluate(`[getComputedStyle(document.querySelector(".table1 td")).color,
        getComputedStyle(document.querySelector(".card")).backgroundColor]`);
      assert.notEqual(ink, paper);
    });
  }
});

const kPictureQuery = `name = "pictures"
floor = 20
[data]
values = ["sex one-of=f,m", "ill one-of=1,0", "ward one-of='Intensive care','General medicine and geriatrics',Rare"]
[privacy]
target_epsilon = 20.0
max_units = 1000
[[question]]
name = "alive/dead"
kind = "survival"
time = "time"
bins = 14
high = 700
event = "ill"
event_value = "1"
group = "sex"
groups = ["f", "m"]
[[question]]
name = "model"
kind = "evaluation"
score = "score"
bins = 10
high = 1
label = "ill"
positive = "1"
[[question]]
name = "ages"
kind = "histogram"
column = "age"
edges = [20, 40, 60, 80]
[[question]]
name = "wards"
kind = "crosstab"
rows = { column = "ward" }
columns = { column = "sex" }
[[question]]
name = "quartiles"
kind = "quantiles"
column = "age"
edges = [20, 30, 40, 50, 60, 70, 80]
`;

/** A query with a picture of each kind; nobody is in the ward "Rare", and few have scores above 0.9. */
function askForPictures() {
  mkdirSync(at("pictured"));
  const rows = Array.from({ length: 500 }, (_, i) => {
    const ill = i % 3 === 0 ? 1 : 0;
    return `${(i * 37) % 640},${i % 2 ? "f" : "m"},${((i * 13) % 60) / 100 + 0.3 * ill},${ill},${20 + (i * 7) % 60},`
      + (i % 5 < 2 ? "Intensive care" : "General medicine and geriatrics");
  });
  for (const site of ["north", "south"]) {
    writeFileSync(at("pictured", `${site}.csv`), `time,sex,score,ill,age,ward\n${rows.join("\n")}\n`);
  }
  writeFileSync(at("pictures.toml"), kPictureQuery);
  tacet("statistics", at("pictures.toml"), "--data", at("pictured"), "--out", at("pictures"), "--insecure-seed", "1");
}

const kFigures = ["survival of alive/dead", "ROC of model", "calibration of model", "counts of ages", "counts of wards",
                  "quantiles of quartiles"];

/** Letters of pictures that are small, are cut, or cover each other. */
const letterFaults = (page) => page.evaluate(`[...document.querySelectorAll("svg.picture")].flatMap((picture) => {
  const frame = picture.getBoundingClientRect();
  const boxes = [...picture.querySelectorAll("text")].map((text) => ({ words: text.textContent, box: text.getBoundingClientRect(),
    size: parseFloat(getComputedStyle(text).fontSize) * frame.width / picture.viewBox.baseVal.width }));
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  return boxes.flatMap((one, i) => [
    one.size < 11.5 ? \`\${one.words} is \${one.size} pixels high\` : null,
    one.box.left < frame.left - 1 || one.box.right > frame.right + 1 || one.box.top < frame.top - 1 || one.box.bottom > frame.bottom + 1
      ? \`\${one.words} is cut\` : null,
    ...boxes.slice(0, i).filter((other) => overlap(one.box, other.box)).map((other) => \`\${one.words} covers \${other.words}\`),
  ]).filter((fault) => fault !== null);
})`);

test("pictures of answers stay legible in both themes and on a phone", async () => {
  askForPictures();
  const { questions } = JSON.parse(readFileSync(at("pictures", "answers.json"), "utf8"));
  const cellsOf = (name) => questions.find((question) => question.name === name).estimates
    .filter(({ quantity, at: cell }) => quantity === "count" && cell !== undefined);
  const shownOf = (name) => cellsOf(name).filter(({ value }) => value !== null).length;
  assert.ok(shownOf("wards") < cellsOf("wards").length);
  for (const options of [{}, { dark: true }, { width: 360 }]) {
    await withReport(["pictures"], options, async (page, text) => {
      const labels = await page.evaluate(`[...document.querySelectorAll("svg.picture")].map((one) => one.getAttribute("aria-label"))`);
      assert.deepEqual(labels.map((label) => label.split(";")[0]), kFigures);
      // Letters keep their size, stay inside their picture, and do not cover each other.
      const faults = await letterFaults(page);
      assert.deepEqual(faults, []);
      const contrast = await page.evaluate(`(() => {
        const style = getComputedStyle(document.querySelector("svg.picture text"));
        return [style.fill, getComputedStyle(document.querySelector(".card")).backgroundColor];
      })()`);
      assert.notEqual(...contrast);
      const picture = (label) => `svg.picture[aria-label^='${label}']`;
      const content = (label) => page.evaluate(`document.querySelector("${picture(label)}").textContent`);
      assert.match(await content("survival"), /✕✕at risk/);  // both curves end where nobody is at risk
      assert.match(await content("counts of wards"), /✕/);
      assert.match(text, /AUC 0\.\d+ \(0\.\d+ to (0\.\d+|1)\)/);
      // Whisker, band and bar of each.
      const count = (label, selector) => page.evaluate(`document.querySelectorAll("${picture(label)} ${selector}").length`);
      assert.equal(await count("survival", ".pic-band"), 2);
      assert.equal(await count("ROC", ".pic-band"), 1);
      assert.equal(await count("counts of ages", ".pic-bar"), 3);
      assert.equal(await count("counts of ages", ".pic-over path"), 3);
      assert.equal(await count("counts of wards", ".pic-bar"), shownOf("wards"));
      assert.equal(await count("counts of wards", "pattern"), 1);
      assert.equal(await count("quantiles", ".pic-rule"), 7);
    });
  }
});

// The rows are those of the pictures: their table is read again.
const kModelQuery = `[data]
values = ["sex one-of=f,m", "ill one-of=0,1", "ward one-of='Intensive care','General medicine and geriatrics'"]
[privacy]
target_epsilon = 40.0
max_units = 1000
[[question]]
name = "illness"
kind = "glm"
family = "binomial"
formula = "ill ~ age + sex + ward"
columns = ["ill", "age 20..80", "sex", "ward"]
`;

test("a model is a forest plot of its ratios, on a logarithmic axis around 1", async () => {
  writeFileSync(at("model.toml"), kModelQuery);
  tacet("statistics", at("model.toml"), "--data", at("pictured"), "--out", at("modelled"), "--insecure-seed", "1");
  for (const options of [{}, { dark: true }, { width: 360 }]) {
    await withReport(["modelled"], options, async (page, text) => {
      assert.deepEqual(await letterFaults(page), []);
      const [label] = await page.evaluate(`[...document.querySelectorAll("svg.picture")].map((one) => one.getAttribute("aria-label"))`);
      assert.match(label, /^odds ratio of illness/);
      assert.match(text, /Dotted: 1, no effect\. The axis is logarithmic\./);
      const words = await page.evaluate(`[...document.querySelectorAll("svg.picture text")].map((one) => one.textContent)`);
      assert.ok(words.includes("age") && words.includes("sex = m") && words.includes("1"), words);
      // The numbers stand behind the rows where there is room.
      assert.equal(words.filter((word) => / \(.* to .*\)$/.test(word)).length, options.width === 360 ? 0 : 3);
      assert.equal(await page.evaluate(`document.querySelectorAll("svg.picture .pic-band").length`), 3);
      // The covariances, folded: an intercept and three coefficients.
      assert.equal(await page.evaluate(`[...document.querySelectorAll("details")].find((one) =>
        one.querySelector("summary").textContent.startsWith("Covariances")).querySelectorAll("td").length`), 16);
    });
  }
});

test("a picture is saved as a file of its own, in light colours, with its legend", () =>
  withReport(["pictures"], { dark: true }, async (page) => {
    mkdirSync(at("saved"));
    await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: at("saved") });
    for (let i = 0; i < kFigures.length; i += 1) {
      await page.evaluate(`document.querySelectorAll("button.save")[${i}].click()`);
    }
    const names = ["alive-dead-survival.svg", "model-ROC.svg", "model-calibration.svg", "ages-counts.svg", "wards-counts.svg",
                   "quartiles-quantiles.svg"];
    const patience = Date.now() + 60_000;
    while (readdirSync(at("saved")).filter((name) => name.endsWith(".svg")).length < names.length && Date.now() < patience) {
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.deepEqual(readdirSync(at("saved")).sort(), names.sort());
    const text = readFileSync(at("saved", "alive-dead-survival.svg"), "utf8");
    assert.match(text, /fill="rgb\(26, 34, 48\)"/);  // the ink of the light theme
    assert.doesNotMatch(text, /var\(|class=|style=/);
    // The page keeps its theme and its pictures.
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    assert.equal(await page.evaluate(`document.querySelectorAll("svg.picture").length`), kFigures.length);
    const alone = await browser.open(at("saved", "alive-dead-survival.svg"));
    const words = await alone.evaluate(`[...document.querySelectorAll("text")].map((text) => text.textContent)`);
    assert.deepEqual(words.slice(-2), ["f", "m"]);
    assert.ok(words.includes("at risk"));
    await alone.close();
  }));

test("one command writes the pictures as SVG and PDF", () => {
  const tool = fileURLToPath(new URL("../../tools/report_pictures.mjs", import.meta.url));
  const told = execFileSync(process.execPath, [tool, reportOf(["pictures"]), at("printed")], { encoding: "utf8" });
  const names = readdirSync(at("printed")).sort();
  assert.equal(names.length, 2 * kFigures.length);
  assert.equal(told.trim().split("\n").length, kFigures.length);
  for (const name of names) {
    const bytes = readFileSync(at("printed", name));
    assert.ok(name.endsWith(".pdf") ? bytes.subarray(0, 5).toString() === "%PDF-" : bytes.includes("<svg"), name);
  }
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

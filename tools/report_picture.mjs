// Pictures of a report's charts of accuracy and privacy side by side, light and dark, for documents.
// usage: node tools/report_picture.mjs REPORT.html STEM      writes STEM-light.png and STEM-dark.png
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Browser } from "../web/browser.mjs";

const kTitles = ["Accuracy", "ε, spent so far"];
const kWidth = 920;

const [report, stem] = process.argv.slice(2);
if (stem === undefined) {
  console.error("usage: node tools/report_picture.mjs REPORT.html STEM");
  process.exit(2);
}

// Keeps the charts and takes everything else off the page.
function keepCharts(titles) {
  const charts = titles.map((title) =>
    [...document.querySelectorAll("figure.card")].find((card) => card.querySelector("h3").textContent === title));
  for (const part of document.querySelectorAll("figure details, figure .note")) part.remove();
  const grid = document.createElement("div");
  grid.className = "grid";
  grid.id = "picture";
  grid.style.setProperty("grid-template-columns", "1fr 1fr");
  charts.forEach((chart) => chart.style.setProperty("grid-column", "auto"));
  grid.append(...charts);
  document.querySelector("main").replaceChildren(grid);
  document.querySelectorAll(".bar, footer").forEach((part) => part.remove());
}

const browser = await Browser.start();
try {
  for (const theme of ["light", "dark"]) {
    const page = await browser.open(path.resolve(report), { width: kWidth, dark: theme === "dark", sharpness: 2 });
    await page.evaluate(`(${keepCharts})(${JSON.stringify(kTitles)})`);
    await page.evaluate("new Promise((done) => setTimeout(done, 300))");
    writeFileSync(`${stem}-${theme}.png`, await page.picture("#picture"));
    await page.close();
  }
} finally {
  await browser.close();
}

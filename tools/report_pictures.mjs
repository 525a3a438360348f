// Pictures of a query's answers for print, from the page of `tacet report`: each as SVG and as PDF.
// usage: node tools/report_pictures.mjs REPORT.html FOLDER
// Chromium is found as `chromium`, or by TACET_CHROMIUM. The files are those of the page's button
// "Save as SVG".
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Browser } from "../web/browser.mjs";

const kPatience = 60_000;     // milliseconds for one picture
const kPixelsOfAnInch = 96;

const [report, folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node tools/report_pictures.mjs REPORT.html FOLDER");
  process.exit(2);
}
const out = path.resolve(folder);
mkdirSync(out, { recursive: true });
if (readdirSync(out).length > 0) {
  console.error(`${folder} is not empty: choose another folder`);
  process.exit(1);
}

async function until(done, what) {
  const end = Date.now() + kPatience;
  while (!done()) {
    if (Date.now() > end) throw new Error(`no ${what} within a minute`);
    await new Promise((again) => setTimeout(again, 20));
  }
}

/** One page of the picture's own size. */
async function pdfOf(browser, file) {
  const page = await browser.open(file);
  const [width, height] = await page.evaluate(
    `["width", "height"].map((side) => document.documentElement.viewBox.baseVal[side] / ${kPixelsOfAnInch})`);
  const { data } = await page.send("Page.printToPDF", {
    paperWidth: width, paperHeight: height, marginTop: 0, marginBottom: 0, marginLeft: 0, marginRight: 0,
    printBackground: true, pageRanges: "1" });
  await page.close();
  return Buffer.from(data, "base64");
}

const browser = await Browser.start();
try {
  await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: out });
  const page = await browser.open(path.resolve(report));
  const names = await page.evaluate(
    `[...document.querySelectorAll("button.save")].map((button) => button.dataset.file)`);
  for (const [i, name] of names.entries()) {
    await page.evaluate(`document.querySelectorAll("button.save")[${i}].click()`);
    const file = path.join(out, name);
    await until(() => existsSync(file) && readFileSync(file, "utf8").trimEnd().endsWith("</svg>"), name);
    writeFileSync(file.replace(/\.svg$/, ".pdf"), await pdfOf(browser, file));
    console.log(file);
  }
  if (names.length === 0) throw new Error(`${report} has no pictures of answers`);
} finally {
  await browser.close();
}

// Figures of an answer: its pictures, drawn again when the width of the page changes, with legends and
// a file for print.
import { h } from "../dom.js";
import { number } from "../format.js";
import { swatch } from "../looks.js";
import { barSwatch, drawingOf } from "./drawing.js";
import { picturesOf } from "./pictures.js";
import { printable } from "./printable.js";

const kBeforeLayout = 640;  // pixels, until the page says how wide it is
const kPrintWidth = 640;

const has = (value) => typeof value === "number";

/** "women, AUC 0.81 (0.78 to 0.84)". */
function nameOf({ name, area }, isAlone) {
  const words = isAlone ? [] : [name];
  if (has(area?.value)) words.push(`AUC ${number(area.value)} (${number(area.low)} to ${number(area.high)})`);
  return words.join(", ");
}

/** [[look, words]] of the series; none where there is nothing to tell apart. */
function legendOf({ series = [] }) {
  return series.map((one) => [one.look, nameOf(one, series.length < 2)]).filter(([, words]) => words !== "");
}

const swatchOf = (picture, look) => (picture.kind === "bars" ? barSwatch(look) : swatch(look));

function legendList(picture) {
  const entries = legendOf(picture);
  return entries.length === 0 ? null : h("ul", { class: "legend" }, entries.map(([look, words]) =>
    h("li", {}, swatchOf(picture, look), h("span", {}, words))));
}

const isSuppressed = (picture) =>
  [...(picture.rows ?? []).map((row) => row.x), ...(picture.series ?? []).flatMap((one) => one.points.map((point) => point.y)),
   ...(picture.atRisk ?? []).flatMap((row) => row.cells.map((cell) => cell.value))].includes(null)
  || picture.series?.some((one) => picture.marksEnd && one.points.at(-1).x < picture.right);

function noteOf(picture, confidence) {
  const interval = { curve: "Bands", points: "Whiskers", bars: "Whiskers", ranges: "Bars" }[picture.kind];
  const dotted = picture.diagonal ?? (has(picture.neutral) ? `${picture.neutral}, no effect` : null);
  return `${interval} are intervals of ${number(100 * confidence)} %.${dotted ? ` Dotted: ${dotted}.` : ""}`
    + (picture.isLogarithmic ? " The axis is logarithmic." : "") + (isSuppressed(picture) ? " ✕ is suppressed." : "");
}

const fileNames = new Set();  // of the page so far

/** A file name of its own, without what file systems refuse. */
function fileName(...words) {
  const stem = words.join("-").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  let name = `${stem}.svg`;
  for (let i = 2; fileNames.has(name); i += 1) name = `${stem}-${i}.svg`;
  fileNames.add(name);
  return name;
}

function saveButton(place, picture, label, name) {
  const save = () => {
    const drawing = drawingOf(picture, kPrintWidth, label, legendOf(picture));
    place.append(drawing);  // style sheets say nothing about what is not in the page
    const url = URL.createObjectURL(new Blob([printable(drawing)], { type: "image/svg+xml" }));
    drawing.remove();
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return h("button", { type: "button", class: "save", "data-file": name, onclick: save, title: `saves ${name}, in light colours` }, "Save as SVG");
}

function figure(picture, answer, confidence) {
  const label = `${picture.title} of ${answer.name}; the table below has the numbers`;
  const place = h("div", { class: "picture-place" });
  let drawn = 0;
  const draw = (width) => {
    if (width === 0 || width === drawn) return;
    drawn = width;
    place.replaceChildren(drawingOf(picture, width, label));
  };
  draw(kBeforeLayout);
  new ResizeObserver(() => draw(place.clientWidth)).observe(place);
  const name = fileName(answer.name, picture.title);
  return h("figure", { class: "answer-figure" }, place, legendList(picture),
    h("figcaption", { class: "note" }, noteOf(picture, confidence), " ", saveButton(place, picture, label, name)));
}

/** The figures of an answer; none where nothing can be drawn. */
export const answerFigures = (answer, confidence) => {
  const pictures = picturesOf(answer);
  return pictures.length === 0 ? null
    : h("div", { class: "figures" }, pictures.map((picture) => figure(picture, answer, confidence)));
};

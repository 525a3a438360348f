// Looks of series and phases: colour, dash and marker together, so that two that share a colour
// still differ, and none needs colour to be told apart. Colours are in page.css (--series-0 ...), a
// light and a dark form each, chosen to stay distinct for the colour-blind.
import { svg } from "./dom.js";

const kColours = 8;
const kDashes = [[], [9, 4], [2, 3], [12, 3, 2, 3], [6, 2, 2, 2, 2, 2]];
const kMarkers = ["circle", "square", "triangle", "diamond"];

/** 40 different pairs of colour and dash: their numbers are coprime. */
export function seriesLook(index) {
  return {
    colour: `--series-${index % kColours}`,
    dash: kDashes[index % kDashes.length],
    marker: kMarkers[index % kMarkers.length],
  };
}

/** The value of a CSS variable of the page's theme, for canvases. */
export const cssVariable = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const kCorners = {
  square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  triangle: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
  diamond: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
};

/** Adds a marker of radius r around (x, y) to a canvas or a Path2D. */
export function addMarker(path, marker, x, y, r) {
  if (marker === "circle") {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  kCorners[marker].forEach(([dx, dy], corner) =>
    path[corner === 0 ? "moveTo" : "lineTo"](x + r * dx, y + r * dy));
  path.closePath();
}

/** A short piece of a series' line with its marker, for tables and legends. */
export function swatch(index) {
  const { colour, dash, marker } = seriesLook(index);
  const corners = kCorners[marker]?.map(([dx, dy]) => `${32 + 3.6 * dx},${6 + 3.6 * dy}`);
  return svg(
    "svg",
    { class: "swatch", width: 38, height: 12, viewBox: "0 0 38 12", "aria-hidden": "true",
      style: { color: `var(${colour})` } },
    svg("path", { d: "M1 6H31", fill: "none", stroke: "currentColor", "stroke-width": 2,
                  "stroke-dasharray": dash.join(" ") }),
    corners
      ? svg("polygon", { points: corners.join(" "), fill: "currentColor" })
      : svg("circle", { cx: 32, cy: 6, r: 3.6, fill: "currentColor" }),
  );
}

const kTile = 8;  // pixels of a hatching's side

/** Hatchings by number; 0 is a plain fill. `line` draws with the paper's colour on the phase's. */
const kHatchings = [
  () => {},
  (c) => { c.moveTo(-2, 2); c.lineTo(2, -2); c.moveTo(0, 8); c.lineTo(8, 0); c.moveTo(6, 10); c.lineTo(10, 6); },
  (c) => { c.moveTo(0, 2); c.lineTo(8, 2); c.moveTo(0, 6); c.lineTo(8, 6); },
  (c) => { c.moveTo(2, 0); c.lineTo(2, 8); c.moveTo(6, 0); c.lineTo(6, 8); },
  (c) => { c.moveTo(-2, 6); c.lineTo(2, 10); c.moveTo(0, 0); c.lineTo(8, 8); c.moveTo(6, -2); c.lineTo(10, 2); },
  (c) => { c.moveTo(0, 4); c.lineTo(8, 4); c.moveTo(4, 0); c.lineTo(4, 8); },
  (c) => { c.rect(1, 1, 1.5, 1.5); c.rect(5, 5, 1.5, 1.5); },
];

/** A canvas with one tile of the hatching `index` over the colour `--series-index`. */
export function hatchingTile(index) {
  const scale = Math.max(1, Math.round(window.devicePixelRatio));
  const tile = document.createElement("canvas");
  tile.width = tile.height = kTile * scale;
  const context = tile.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = cssVariable(`--series-${index % kColours}`);
  context.fillRect(0, 0, kTile, kTile);
  context.strokeStyle = cssVariable("--surface");
  context.lineWidth = 1.3;
  context.beginPath();
  kHatchings[index % kHatchings.length](context);
  context.stroke();
  return tile;
}

/** Gives an element the hatching as its background. */
export function hatch(element, index) {
  element.style.setProperty("background-image", `url(${hatchingTile(index).toDataURL()})`);
  element.style.setProperty("background-size", `${kTile}px ${kTile}px`);
}

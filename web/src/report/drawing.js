// Drawing of pictures.js as SVG, at the width that the page has, in letters of one size.
import { svg } from "../dom.js";
import { number } from "../format.js";
import { spread } from "../layout.js";
import { seriesLook } from "../looks.js";
import { apart, fitted, logarithmicTicks, ticks, widthOf } from "./axes.js";

const kSize = 12;         // of letters, in pixels
const kLine = 16;
const kHeight = 260;      // of the plot alone
const kWidest = 680;
const kSquare = 380;      // plot and axis of a picture with equal axes
const kTop = 24;          // room for the name of the y axis
const kRight = 24;        // room for half a label
const kSuppressed = "✕";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const text = (x, y, anchor, content, more = {}) =>
  svg("text", { x, y, "text-anchor": anchor, ...more }, content);
const line = (d, more = {}) => svg("path", { d, fill: "none", stroke: "currentColor", ...more });
const soft = { class: "pic-soft" };

const inColour = (look) => ({ style: { color: `var(${seriesLook(look).colour})` } });
const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

/** A circle, square, triangle or diamond, so that series differ without colour. */
function marker(look, x, y) {
  const r = 4;
  const corners = { square: [[-1, -1], [1, -1], [1, 1], [-1, 1]], triangle: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
                    diamond: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]] }[seriesLook(look).marker];
  if (!corners) return svg("circle", { cx: x, cy: y, r, fill: "currentColor" });
  return svg("polygon", { points: corners.map(([dx, dy]) => `${x + r * dx},${y + r * dy}`).join(" "), fill: "currentColor" });
}

// Lines across the bars of the second series and so on, so that they differ without colour.
const kHatchings = ["", "M-2 2L2 -2M0 8L8 0M6 10L10 6", "M0 2H8M0 6H8", "M2 0V8M6 0V8", "M-2 6L2 10M0 0L8 8M6 -2L10 2"];
let patterns = 0;  // of the page so far: each has its own name

/** What fills bars of a series: [definition, attributes of its bars]. */
function barFill(look) {
  const hatching = kHatchings[look % kHatchings.length];
  if (hatching === "") return [null, { fill: "currentColor" }];
  patterns += 1;
  const id = `hatching-${patterns}`;
  return [
    svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, fill: "currentColor" }),
      svg("path", { d: hatching, class: "pic-hatching", "stroke-width": 1.5, fill: "none" })),
    { fill: `url(#${id})` },
  ];
}

/** A box with the fill of a series of bars, for legends. */
export function barSwatch(look) {
  const [definition, fill] = barFill(look);
  return svg("svg", { class: "swatch", width: 20, height: 12, viewBox: "0 0 20 12", "aria-hidden": "true", ...inColour(look) },
    definition, svg("rect", { width: 20, height: 12, class: "pic-bar", ...fill }));
}

/** A vertical interval with caps. */
const whisker = (x, from, to, cap = 4) =>
  line(`M${x - cap} ${to}H${x + cap}M${x} ${to}V${from}M${x - cap} ${from}H${x + cap}`, { "stroke-width": 1.5 });

/** The frame of a plot: its rectangle and its scales. */
function frameOf(picture, width, { left, below, right, top, bottom = 0 }) {
  const from = picture.from ?? 0;
  const inner = Math.max(60, (picture.isSquare ? Math.min(width, kSquare + left) : width) - left - kRight);
  const height = picture.isSquare ? inner : kHeight;
  const frame = { left, top: kTop, right: left + inner, bottom: kTop + height };
  return {
    ...frame,
    x: (value) => left + (inner * (value - from)) / (right - from),
    y: (value) => frame.bottom - (height * (value - bottom)) / (top - bottom),
    width: left + inner + kRight,
    height: frame.bottom + below,
  };
}

const leftOf = (labels) => 14 + Math.max(20, ...labels.map((label) => widthOf(label, kSize)));

function yAxis(frame, marks, title) {
  return [
    marks.map((value) => [
      line(`M${frame.left} ${frame.y(value)}H${frame.right}`, { class: "pic-rule" }),
      text(frame.left - 7, frame.y(value) + 4, "end", number(value))]),
    title ? text(frame.left, 11, "start", title, soft) : null,
  ];
}

function xAxis(frame, marks, title, y = frame.bottom) {
  const places = marks.map((value) => frame.x(value));
  const labels = marks.map((value) => number(value));
  const kept = apart(places, labels.map((label) => widthOf(label, kSize)), 6);
  return [
    line(`M${frame.left} ${frame.bottom}H${frame.right}`, { class: "pic-axis" }),
    marks.map((_, i) => line(`M${places[i]} ${frame.bottom}v4`, { class: "pic-axis" })),
    kept.map((i) => text(places[i], y + kLine + 1, "middle", labels[i])),
    title ? text((frame.left + frame.right) / 2, y + 2 * kLine + 2, "middle", title, soft) : null,
  ];
}

/** Edges of a band in order, and back. */
function bandOf(points, x, y) {
  if (points.every((point) => point.upper)) {
    return [...points.map((p) => [x(p.upper.x), y(p.upper.y)]), ...points.map((p) => [x(p.lower.x), y(p.lower.y)]).reverse()];
  }
  return [...points.map((p) => [x(p.x), y(p.high)]), ...points.map((p) => [x(p.x), y(p.low)]).reverse()];
}

const cellText = (value) => (isNumber(value) ? number(Math.round(value)) : kSuppressed);
const kMark = 22;  // room for a marker before a name

/** Room for the names of the groups at risk, and for half the first number. */
function riskNames({ atRisk }) {
  if (!atRisk?.length) return 0;
  const first = Math.max(...atRisk.map((row) => widthOf(cellText(row.cells[0]?.value), kSize)));
  const names = atRisk.length > 1 ? atRisk.map((row) => kMark + widthOf(row.name, kSize)) : [0];
  return Math.max(...names) + first / 2 + 10;
}

/** Numbers at risk below the axis of time: a row for each group, at times that stay apart. */
function riskTable(picture, frame) {
  if (!picture.atRisk?.length) return { height: 0, parts: [] };
  const { atRisk } = picture;
  const times = atRisk[0].cells.map((cell) => cell.x);
  const widths = times.map((_, i) => Math.max(...atRisk.map((row) => widthOf(cellText(row.cells[i]?.value), kSize))));
  const kept = apart(times.map(frame.x), widths, 10);
  const top = frame.bottom + 3 * kLine + 4;
  const named = atRisk.length > 1;
  return {
    height: kLine * (atRisk.length + 1) + 6,
    parts: [
      text(named ? 8 : frame.left, top, named ? "start" : "middle", "at risk", soft),
      atRisk.map((row, r) => {
        const y = top + kLine * (r + 1);
        return [
          named ? svg("g", inColour(row.look), marker(row.look, 13, y - 4)) : null,
          named ? text(kMark, y, "start", fitted(row.name, frame.left - kMark - widths[0] / 2 - 4, kSize)) : null,
          kept.map((i) => text(frame.x(times[i]), y, "middle", cellText(row.cells[i]?.value))),
        ];
      }),
    ],
  };
}

function curves(picture, width) {
  const marks = ticks(picture.top);
  const left = Math.min(Math.max(leftOf(marks.map((value) => number(value))), riskNames(picture)), 0.38 * width);
  const sizes = { left, right: picture.right, top: picture.top };
  const risk = riskTable(picture, frameOf(picture, width, { ...sizes, below: 0 }));
  const frame = frameOf(picture, width, { ...sizes, below: 2 * kLine + 12 + risk.height });
  return [frame, [
    yAxis(frame, marks, picture.y),
    xAxis(frame, ticks(picture.right), picture.x),
    diagonal(picture, frame),
    picture.series.map(({ look, points }) => svg("path", {
      d: `${path(bandOf(points, frame.x, frame.y))}Z`, fill: "currentColor", class: "pic-band", ...inColour(look) })),
    picture.series.map(({ look, points }) => [
      line(path(points.map((p) => [frame.x(p.x), frame.y(p.y)])), {
        "stroke-width": 2, "stroke-dasharray": seriesLook(look).dash.join(" "), ...inColour(look) }),
      svg("g", inColour(look), marker(look, frame.x(points.at(-1).x), frame.y(points.at(-1).y)))]),
    picture.marksEnd ? endMarks(picture, frame) : null,
    risk.parts,
  ]];
}

/** ✕ behind curves that end early, one below the other where several end at one time. */
function endMarks(picture, frame) {
  const ends = picture.series.filter(({ points }) => points.at(-1).x < picture.right).map(({ look, points }) => (
    { look, x: frame.x(points.at(-1).x), y: frame.y(points.at(-1).y) }));
  return spread(ends, kLine, frame.top, frame.bottom).map(({ look, x, labelY }) =>
    text(x + 9, labelY + 4, "middle", kSuppressed, inColour(look)));
}

function diagonal(picture, frame) {
  if (!picture.diagonal) return null;
  return line(`M${frame.x(0)} ${frame.y(0)}L${frame.x(1)} ${frame.y(1)}`, { class: "pic-axis", "stroke-dasharray": "3 4" });
}

function values(picture, width) {
  const marks = ticks(picture.top);
  const frame = frameOf(picture, width, { left: leftOf(marks.map((value) => number(value))), right: picture.right,
                                          top: picture.top, below: 2 * kLine + 12 });
  const step = picture.series.length > 1 ? 6 : 0;  // series side by side
  return [frame, [
    yAxis(frame, marks, picture.y),
    xAxis(frame, ticks(picture.right), picture.x),
    diagonal(picture, frame),
    picture.series.map(({ look, points }, s) => {
      const shift = step * (s - (picture.series.length - 1) / 2);
      return svg("g", inColour(look), points.map((point) => {
        const x = frame.x(point.x) + shift;
        if (point.y === null) return text(x, frame.bottom - 4, "middle", kSuppressed);
        const band = svg("rect", { x: frame.x(point.from), width: frame.x(point.to) - frame.x(point.from),
                                   y: frame.y(point.high), height: frame.y(point.low) - frame.y(point.high),
                                   fill: "currentColor", class: "pic-band" });
        return [picture.series.length === 1 ? band : null, whisker(x, frame.y(point.low), frame.y(point.high)),
                marker(look, x, frame.y(point.y))];
      }));
    }),
  ]];
}

/** Bars side by side, or one below the other where the names of the cells need the room. */
function bars(picture, width) {
  const [first] = picture.series;
  const tops = picture.series.flatMap(({ points }) => points.map((p) => Math.max(p.y ?? 0, p.high ?? 0)));
  const top = Math.max(...tops, 1e-9) * 1.04;
  const longest = Math.max(...first.points.map((point) => widthOf(point.label, kSize)));
  const left = leftOf(ticks(top).map((value) => number(value)));
  const slot = (width - left - kRight) / first.points.length;
  const across = picture.edges || longest < slot - 6;
  return across ? upright(picture, width, top, left) : lying(picture, width, top, longest);
}

function barsOf(look, draw) {
  const [definition, fill] = barFill(look);
  return svg("g", inColour(look), definition, draw(fill));
}

function upright(picture, width, top, left) {
  const [first] = picture.series;
  const count = first.points.length;
  const frame = frameOf(picture, width, { left, right: count, top, below: kLine + 12 });
  const slot = frame.x(1) - frame.x(0);
  const each = Math.min(64, (picture.edges ? 0.94 : 0.78) * slot / picture.series.length);
  const edges = picture.edges?.map((edge) => number(edge)) ?? [];
  const kept = apart(edges.map((_, i) => frame.x(i)), edges.map((edge) => widthOf(edge, kSize)), 6);
  return [frame, [
    yAxis(frame, ticks(top), picture.y),
    line(`M${frame.left} ${frame.bottom}H${frame.right}`, { class: "pic-axis" }),
    picture.series.map(({ look, points }, s) => barsOf(look, (fill) => points.map((point, i) => {
      const x = frame.x(i + 0.5) + (s - (picture.series.length - 1) / 2) * each;
      if (point.y === null) return text(x, frame.bottom - 5, "middle", kSuppressed);
      const y = frame.y(Math.max(0, point.y));
      return [svg("rect", { x: x - each / 2 + 0.5, y, width: each - 1, height: frame.bottom - y, class: "pic-bar", ...fill }),
              isNumber(point.low) && isNumber(point.high)
                ? svg("g", { class: "pic-over" }, whisker(x, frame.y(Math.max(0, point.low)), frame.y(point.high), Math.min(4, each / 4))) : null];
    }))),
    picture.edges ? kept.map((i) => [line(`M${frame.x(i)} ${frame.bottom}v4`, { class: "pic-axis" }),
                                     text(frame.x(i), frame.bottom + kLine + 1, "middle", edges[i])])
      : first.points.map((point, i) => text(frame.x(i + 0.5), frame.bottom + kLine + 1, "middle", point.label)),
  ]];
}

function lying(picture, width, top, longest) {
  const [first] = picture.series;
  const left = Math.min(longest + 14, 0.4 * width);
  const each = picture.series.length === 1 ? 20 : 14;
  const row = picture.series.length * each + 8;
  const height = row * first.points.length;
  const right = width - kRight;
  const x = (value) => left + ((right - left) * value) / top;
  const frame = { left, right, top: 4, bottom: 4 + height, width, height: height + 2 * kLine + 14, x };
  return [frame, [
    ticks(top).map((value) => line(`M${x(value)} ${frame.top}V${frame.bottom}`, { class: "pic-rule" })),
    xAxis(frame, ticks(top), picture.y),
    first.points.map((point, i) => text(left - 7, frame.top + row * (i + 0.5) + 4, "end", fitted(point.label, left - 10, kSize))),
    picture.series.map(({ look, points }, s) => barsOf(look, (fill) => points.map((point, i) => {
      const y = frame.top + row * i + 4 + each * (s + 0.5);
      if (point.y === null) return text(left + 9, y + 4, "middle", kSuppressed);
      const end = x(Math.max(0, point.y));
      return [svg("rect", { x: left, y: y - each / 2 + 1, width: end - left, height: each - 2, class: "pic-bar", ...fill }),
              isNumber(point.low) && isNumber(point.high)
                ? svg("g", { class: "pic-over" }, line(`M${x(Math.max(0, point.low))} ${y - 4}v8m0 -4H${x(point.high)}m0 -4v8`, { "stroke-width": 1.5 })) : null];
    }))),
  ]];
}

const kWideEnough = 480;  // for numbers behind the rows

/** "1.65 (1.52 to 1.79)" */
const numbersOf = ({ x, low, high }) =>
  (x === null ? "" : `${number(x)} (${number(low)} to ${high === Infinity ? "∞" : number(high)})`);

function ranges(picture, width) {
  const { rows, edges, neutral, isLogarithmic } = picture;
  const known = [...edges, neutral, ...rows.flatMap((row) => (row.x === null ? [] : [row.x, row.low, row.high]))]
    .filter((value) => isNumber(value) && (!isLogarithmic || value > 0));
  const from = Math.min(...known), to = Math.max(...known);
  const numbers = picture.hasNumbers && width >= kWideEnough ? rows.map(numbersOf) : [];
  const left = Math.min(leftOf(rows.map((row) => row.label)), 0.4 * width);
  const row = 30;
  const right = width - Math.max(kRight, ...numbers.map((words) => widthOf(words, kSize) + 12));
  const scaled = (value) => (isLogarithmic ? Math.log(value) : value);
  // Ends beyond the axis, such as infinite ones, are the axis's.
  const x = (value) => left + 6 + (right - left - 6) * (scaled(Math.min(Math.max(value, from), to)) - scaled(from))
    / Math.max(scaled(to) - scaled(from), 1e-12);
  const frame = { left, right, top: 4, bottom: 4 + row * rows.length, width, x };
  frame.height = frame.bottom + 2 * kLine + 12;
  const marks = edges.length > 0 ? edges : (isLogarithmic ? logarithmicTicks : ticks)(to, from);
  return [frame, [
    marks.map((value) => line(`M${x(value)} ${frame.top}V${frame.bottom}`, { class: "pic-rule" })),
    xAxis(frame, marks, picture.x),
    isNumber(neutral) ? line(`M${x(neutral)} ${frame.top}V${frame.bottom}`, { class: "pic-axis", "stroke-dasharray": "3 4" }) : null,
    rows.map((each, i) => {
      const y = frame.top + row * (i + 0.5);
      const mark = each.x === null ? text(left + 12, y + 4, "middle", kSuppressed)
        : [svg("rect", { x: x(each.low), y: y - 6, width: x(each.high) - x(each.low), height: 12, fill: "currentColor", class: "pic-band" }),
           line(`M${x(each.low)} ${y - 6}v12m0 -6H${x(each.high)}m0 -6v12`, { "stroke-width": 1.5 }),
           marker(0, x(each.x), y)];
      return [text(left - 7, y + 4, "end", fitted(each.label, left - 10, kSize)), svg("g", inColour(0), mark),
              numbers.length > 0 ? text(width - 4, y + 4, "end", numbers[i]) : null];
    }),
  ]];
}

const kDrawings = { curve: curves, points: values, bars, ranges };

/** A line for each series below the picture. */
const legendParts = (picture, frame, legend) => legend.map(([look, words], i) => {
  const y = frame.height + kLine * (i + 1);
  const mark = picture.kind === "bars" ? svg("g", { transform: `translate(8 ${y - 10})` }, barSwatch(look))
    : svg("g", inColour(look), line(`M6 ${y - 4}H34`, { "stroke-width": 2, "stroke-dasharray": seriesLook(look).dash.join(" ") }),
          marker(look, 36, y - 4));
  return [mark, text(46, y, "start", words)];
});

/**
 * The picture as an SVG element. `width`: of its place in the page; `legend`: [[look, words]] to be drawn below, for a
 * file of its own.
 */
export function drawingOf(picture, width, label, legend = []) {
  const [frame, parts] = kDrawings[picture.kind](picture, Math.min(width, kWidest));
  const height = frame.height + (legend.length > 0 ? kLine * (legend.length + 1) : 0);
  return svg("svg", { class: "picture", width: frame.width, height,
                      viewBox: `0 0 ${frame.width.toFixed(2)} ${height.toFixed(2)}`, role: "img", "aria-label": label },
             parts.flat(Infinity), legendParts(picture, frame, legend).flat(Infinity));
}

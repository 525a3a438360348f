// Charts over rounds: a heading, the drawing, a reading of it at one round, and the table behind
// it. uPlot draws; this file makes the drawing readable without colour and without a mouse.
import uPlot from "uplot";
import { h } from "./dom.js";
import { kAbsent, integer } from "./format.js";
import { farApart, powersOfTen, spread, usualLimit } from "./layout.js";
import { addMarker, cssVariable, hatch, hatchingTile, seriesLook, swatch } from "./looks.js";
import { foldedTable } from "./table.js";
import { onThemeChange } from "./theme.js";

const kFewPoints = 40;      // up to so many points of a line each has its marker,
const kFewLines = 8;        // unless there are more lines than this
const kLabelHeight = 12;    // CSS pixels between the marks at the ends of lines
const kHeight = 260;
const kDiscarded = "discarded";
const kHeightOnPhone = 220;

/**
 * Lines over rounds.
 *   title, note: words above; format: of a value; axisFormat: on the axis
 *   series: [{name, mark, look, values: Map(round → value)}]; mark: a letter or short word that
 *     stands at the end of the line where there are several; look: a number for seriesLook()
 *   range: (least, largest) → [bottom, top]
 *   references: [{value, label}], drawn as thin lines across
 *   mayBeLogarithmic: true where values far apart may call for a logarithmic axis
 *   empty: text in place of the chart when there is no value
 */
export function lineChart({ title, note, series, format, axisFormat = format, range,
                            references = [], mayBeLogarithmic = false, empty }) {
  const rounds = allRounds(series);
  const data = [rounds, ...series.map((line) => rounds.map((x) => line.values.get(x) ?? null))];
  const marked = series.length > 1;
  const logarithmic = mayBeLogarithmic && farApart(series.flatMap((line) => [...line.values.values()]));
  const yScale = logarithmic ? { distr: 3 } : { range: range && ((u, a, b) => range(a, b)) };
  const options = () => ({
    series: [{}, ...series.map((line) => lineOptions(line, rounds.length <= kFewPoints && series.length <= kFewLines))],
    scales: { x: { time: false, range: roundRange }, y: yScale },
    axes: axes(axisFormat, logarithmic),
    padding: [12, endPadding(series), 0, 0],
    focus: { alpha: 0.15 },
    hooks: {
      draw: [(u) => {
        for (const reference of references) drawReference(u, reference);
        drawEnds(u, series, marked);
      }],
    },
  });
  return chartFigure({
    title, note: [note, logarithmic ? " Logarithmic scale." : null], empty, data, options,
    legend: marked ? series.map((line) => [swatch(line.look), line.name]) : [],
    read: (i) => series.map((line, s) => [marked ? line.mark : "", format(data[s + 1][i])]),
    ends: marked ? series.map((line, s) => [line.mark, format(data[s + 1].findLast(isThere))]) : null,
    table: foldedTable(title, [
      { title: "Round", cell: (i) => integer(rounds[i]), head: true },
      ...series.map((line, s) => ({
        title: marked ? line.name : title,
        cell: (i) => format(data[s + 1][i]), number: true })),
    ], rounds.map((_, i) => i)),
  });
}

/**
 * Bars over rounds, cut into parts that add up.
 *   parts: [{name, values: Map(round → value)}], from the bottom; format: of a value
 * A few bars that are many times taller than the others are cut off, with their value above.
 */
export function stackedChart({ title, note, parts, format, axisFormat = format }) {
  const rounds = allRounds(parts);
  const values = parts.map((part) => rounds.map((x) => part.values.get(x) ?? 0));
  const tops = values.map((_, p) => rounds.map((__, i) =>
    values.slice(0, p + 1).reduce((sum, part) => sum + part[i], 0)));
  const totals = tops.at(-1) ?? [];
  const limit = usualLimit(totals);
  // The tallest is drawn first; each lower part then covers the rest of the bar.
  const order = parts.map((_, p) => p).reverse();
  const data = [rounds, ...order.map((p) => tops[p])];
  const options = () => ({
    series: [{}, ...order.map((p) => ({
      fill: (u) => u.ctx.createPattern(hatchingTile(p), "repeat"),
      stroke: cssVariable("--surface"), width: 0.5, points: { show: false },
      paths: uPlot.paths.bars({ size: [rounds.length > 60 ? 1 : 0.8, 46] }),
    }))],
    scales: {
      x: { time: false, range: (u, a, b) => [a - 0.5, b + 0.5] },
      y: { range: () => [0, Number.isFinite(limit) ? limit : 1.06 * Math.max(...totals, 1e-12)] },
    },
    axes: axes(axisFormat),
    padding: [18, 14, 0, 0],
    hooks: { draw: [(u) => drawCutBars(u, rounds, totals, limit, format)] },
  });
  const cutNote = totals.some((total) => total > limit)
    ? " Bars that are cut off have their value above them." : null;
  return chartFigure({
    title, note: [note, cutNote], data, options,
    legend: parts.map((part, p) => [hatchedBox(p), part.name]),
    read: (i) => [...parts.map((part, p) => [part.name, format(values[p][i])]), ["total", format(totals[i])]],
    table: foldedTable(title, [
      { title: "Round", cell: (i) => integer(rounds[i]), head: true },
      ...parts.map((part, p) => ({ title: part.name, cell: (i) => format(values[p][i]), number: true })),
      { title: "total", cell: (i) => format(totals[i]), number: true },
    ], rounds.map((_, i) => i)),
  });
}

/** To be called before charts within `element` are thrown away: the library keeps them otherwise. */
export function discardCharts(element) {
  for (const plot of element.querySelectorAll(".plot")) plot.dispatchEvent(new Event(kDiscarded));
}

/** A small box with the hatching of part `index`. */
export function hatchedBox(index) {
  const box = h("span", { class: "box", "aria-hidden": "true" });
  const paint = () => hatch(box, index);
  paint();
  onThemeChange(box, paint);
  return box;
}

function allRounds(series) {
  return [...new Set(series.flatMap((line) => [...line.values.keys()]))].sort((a, b) => a - b);
}

// Room for the marks at the ends of lines.
function endPadding(series) {
  if (series.length < 2) return 14;
  return 16 + 8 * Math.max(...series.map((line) => line.mark.length));
}

const roundRange = (u, first, last) => (first === last ? [first - 1, last + 1] : [first, last]);

function lineOptions(line, markers) {
  const { colour, dash, marker } = seriesLook(line.look);
  const stroke = cssVariable(colour);
  return {
    stroke, dash, width: 2, spanGaps: true,
    points: { show: markers, size: 7, stroke, fill: stroke,
              paths: markerPaths(marker) },
  };
}

/** uPlot's points, with the marker of the series. */
function markerPaths(marker) {
  return (u, s, first, last) => {
    const path = new Path2D();
    const radius = 3.2 * uPlot.pxRatio;
    for (let i = first; i <= last; i += 1) {
      if (u.data[s][i] === null) continue;
      addMarker(path, marker, u.valToPos(u.data[0][i], "x", true),
                u.valToPos(u.data[s][i], "y", true), radius);
    }
    return { fill: path, stroke: path };
  };
}

function axes(format, logarithmic = false) {
  const common = () => ({
    stroke: cssVariable("--ink-soft"),
    font: `12px ${cssVariable("--font")}`,
    grid: { stroke: cssVariable("--grid"), width: 1 },
    ticks: { stroke: cssVariable("--grid"), width: 1, size: 4 },
  });
  return [
    { ...common(), size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
      values: (u, ticks) => ticks.map(integer) },
    { ...common(), size: axisWidth, values: (u, ticks) => ticks.map(format),
      splits: logarithmic ? (u, axis, bottom, top) => powersOfTen(bottom, top) : undefined },
  ];
}

// As wide as the widest label needs.
function axisWidth(u, labels) {
  if (!labels) return 40;
  u.ctx.font = u.axes[1].font[0];
  return Math.ceil(Math.max(...labels.map((text) => u.ctx.measureText(text).width)) / uPlot.pxRatio) + 14;
}

const isThere = (value) => value !== null;

function onCanvas(u, draw) {
  u.ctx.save();
  draw(u.ctx, uPlot.pxRatio);
  u.ctx.restore();
}

function drawReference(u, { value, label }) {
  onCanvas(u, (context, scale) => {
    const y = u.valToPos(value, "y", true);
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
    context.strokeStyle = context.fillStyle = cssVariable("--ink-soft");
    context.lineWidth = scale;
    context.setLineDash([4 * scale, 4 * scale]);
    context.beginPath();
    context.moveTo(u.bbox.left, y);
    context.lineTo(u.bbox.left + u.bbox.width, y);
    context.stroke();
    context.font = `${11 * scale}px ${cssVariable("--font")}`;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText(label, u.bbox.left + u.bbox.width - 4 * scale, y - 2 * scale);
  });
}

/** The last point of every line: a marker, and its mark next to it when there are several. */
function drawEnds(u, series, marked) {
  onCanvas(u, (context, scale) => {
    const ends = [];
    context.setLineDash([]);
    series.forEach((line, s) => {
      const i = u.data[s + 1].findLastIndex(isThere);
      if (i < 0) return;
      const { colour, marker } = seriesLook(line.look);
      const x = u.valToPos(u.data[0][i], "x", true);
      const y = u.valToPos(u.data[s + 1][i], "y", true);
      context.fillStyle = cssVariable(colour);
      context.beginPath();
      addMarker(context, marker, x, y, 4 * scale);
      context.fill();
      ends.push({ x, y, text: line.mark, colour: context.fillStyle });
    });
    if (!marked) return;
    context.font = `600 ${11.5 * scale}px ${cssVariable("--font")}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    const lowest = u.bbox.top + u.bbox.height;
    for (const end of spread(ends, kLabelHeight * scale, u.bbox.top, lowest)) {
      context.fillStyle = context.strokeStyle = end.colour;
      context.lineWidth = scale;
      context.beginPath();
      context.moveTo(end.x + 5 * scale, end.y);
      context.lineTo(end.x + 11 * scale, end.labelY);
      context.stroke();
      context.strokeStyle = cssVariable("--surface");  // apart from the lines behind it
      context.lineWidth = 3 * scale;
      context.strokeText(end.text, end.x + 13 * scale, end.labelY);
      context.fillText(end.text, end.x + 13 * scale, end.labelY);
    }
  });
}

function drawCutBars(u, rounds, totals, limit, format) {
  onCanvas(u, (context, scale) => {
    context.fillStyle = cssVariable("--ink");
    context.font = `${11 * scale}px ${cssVariable("--font")}`;
    context.textBaseline = "bottom";
    let free = -Infinity;  // where the next label may begin
    rounds.forEach((round, i) => {
      if (totals[i] <= limit) return;
      const text = `↑ ${format(totals[i])}`;
      const width = context.measureText(text).width;
      const right = u.bbox.left + u.bbox.width;
      const x = Math.min(u.valToPos(round, "x", true) - 4 * scale, right - width);
      if (x < free) return;
      context.fillText(text, x, u.bbox.top - 3 * scale);
      free = x + width + 8 * scale;
    });
  });
}

/** What all charts share: words, drawing, legend, reading by mouse, finger or arrow keys, table. */
function chartFigure({ title, note, empty = "No values yet.", data, options, legend, read, ends, table }) {
  const plot = h("div", { class: "plot", tabindex: "0", role: "img",
                          "aria-label": `${title}, by round. Left and right arrow keys read single rounds; the table follows.` });
  const reading = h("p", { class: "reading", "aria-live": "polite" });
  const rounds = data[0];
  let chart = null;
  let at = rounds.length - 1;
  let chosen = null;  // the line that stands out; null: none

  const show = (i) => {
    at = i;
    write(`Round ${integer(rounds[i])}`, read(i));
  };
  function write(heading, values) {
    reading.replaceChildren(
      h("span", { class: "at" }, heading),
      ...values.filter(([, value]) => value !== kAbsent).map(([name, value]) =>
        h("span", { class: "value" }, name ? h("span", { class: "name" }, `${name} `) : null, value)));
  }
  function draw() {
    const width = plot.clientWidth;
    if (width === 0) return;  // folded away
    chart?.destroy();
    chart = new uPlot({
      width, height: window.innerWidth < 600 ? kHeightOnPhone : kHeight,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      ...withHook(options(), "setCursor", (u) => {
        if (u.cursor.idx !== null && u.cursor.idx !== undefined) show(u.cursor.idx);
      }),
    }, data, plot);
    stress();
  }
  const stress = () => chart.setSeries(chosen === null ? null : chosen + 1, { focus: chosen !== null });
  const entries = legend.map(([mark, name], i) =>
    (ends ? h("button", { type: "button", "aria-pressed": "false", title: "make this line stand out",
                          onclick: () => choose(i) }, mark, h("span", {}, name))
          : [mark, h("span", {}, name)]));
  function choose(i) {
    chosen = chosen === i ? null : i;
    entries.forEach((entry, k) => entry.setAttribute("aria-pressed", String(k === chosen)));
    stress();
  }
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -rounds.length, End: rounds.length };
    if (!(event.key in steps) || chart === null) return;
    event.preventDefault();
    show(Math.min(rounds.length - 1, Math.max(0, at + steps[event.key])));
    chart.setCursor({ left: chart.valToPos(rounds[at], "x"), top: 0 }, false);
  });

  if (rounds.length === 0) {
    return h("figure", { class: "card" }, h("h3", {}, title), h("p", { class: "note" }, empty));
  }
  if (ends) write("At the end", ends);
  else show(at);
  let drawnWidth = 0;
  const resized = new ResizeObserver(() => {
    if (plot.clientWidth === drawnWidth) return;
    drawnWidth = plot.clientWidth;
    draw();
  });
  resized.observe(plot);
  onThemeChange(plot, draw);
  plot.addEventListener(kDiscarded, () => {
    resized.disconnect();
    chart?.destroy();
    chart = null;
  });
  return h("figure", { class: "card" },
    h("h3", {}, title),
    note ? h("p", { class: "note" }, note) : null,
    plot,
    legend.length > 0
      ? h("ul", { class: "legend" }, entries.map((entry) => h("li", {}, entry)))
      : null,
    reading,
    table);
}

function withHook(options, name, hook) {
  return { ...options, hooks: { ...options.hooks, [name]: [hook] } };
}

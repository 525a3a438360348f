// Pictures of a query's answers: survival curves, counts over intervals, a ROC curve. Each is drawn
// as SVG beside the table of its numbers.
import { h, svg } from "../dom.js";
import { number } from "../format.js";
import { seriesLook, swatch } from "../looks.js";

const kWidth = 640, kHeight = 300;
const kFrame = { left: 56, right: 12, top: 10, bottom: 44 };

/** The number that a place begins with: "50", or the lower end of "[40, 50)"; NaN for other text. */
export function placeOf(at) {
  const text = at?.startsWith("[") ? at.slice(1, at.indexOf(",")) : at;
  return text === undefined || text.trim() === "" ? NaN : Number(text);
}

const isThere = (estimate) => typeof estimate.value === "number";

/** Estimates of a quantity by group, in the order of the answer: [[group, estimates]]. */
function groupsOf(answer, quantity) {
  const groups = new Map();
  for (const estimate of answer.estimates) {
    if (estimate.quantity !== quantity) continue;
    const name = estimate.group ?? "all";
    groups.set(name, [...(groups.get(name) ?? []), estimate]);
  }
  return [...groups];
}

/** Steps from (0, 1) that fall at each point. */
function steps(points) {
  const path = [{ x: 0, y: 1, low: 1, high: 1 }];
  for (const point of points) path.push({ ...path.at(-1), x: point.x }, point);
  return path;
}

function survival(answer) {
  const series = groupsOf(answer, "survival").map(([name, estimates]) => ({
    name,
    points: steps(estimates.filter(isThere).map((estimate) => (
      { x: placeOf(estimate.at), y: estimate.value, low: estimate.low ?? estimate.value,
        high: estimate.high ?? estimate.value }))),
  }));
  return { kind: "band", x: "time", y: "survival", top: 1, series };
}

function rocCurve(answer) {
  const rates = new Map(groupsOf(answer, "false positive rate"));
  const series = groupsOf(answer, "sensitivity").map(([name, sensitivities]) => {
    const at = new Map((rates.get(name) ?? []).map((estimate) => [estimate.at, estimate.value]));
    const points = sensitivities.filter((estimate) => isThere(estimate) && typeof at.get(estimate.at) === "number")
      .map((estimate) => ({ x: at.get(estimate.at), y: estimate.value }));
    return { name, points: [{ x: 0, y: 0 }, ...points.reverse()] };
  });
  return { kind: "line", x: "false positive rate", y: "true positive rate", right: 1, top: 1, series };
}

function counts(answer) {
  const [[name, estimates] = ["all", []]] = groupsOf(answer, "count");
  // The count of all has no place.
  const points = estimates.filter((estimate) => estimate.at).map((estimate, i) => (
    { x: i, y: estimate.value, low: estimate.low, high: estimate.high, label: estimate.at }));
  return { kind: "bars", x: "", y: "count", series: [{ name, points }] };
}

const kPictures = { survival, evaluation: rocCurve, histogram: counts };

/** What is drawn for an answer; null where fewer than two numbers are shown. */
export function pictureOf(answer) {
  const picture = kPictures[answer.kind]?.(answer);
  if (!picture) return null;
  const numbers = (series) => series.points.filter((point) => Number.isFinite(point.x) && typeof point.y === "number");
  const shown = picture.kind === "bars" ? picture.series
    : picture.series.map((series) => ({ ...series, points: numbers(series) }));
  const series = shown.filter((one) => numbers(one).length >= 2);
  return series.length > 0 ? { ...picture, series } : null;
}

/** Round values that divide [0, top] into two to five parts. */
export function ticks(top) {
  const power = 10 ** Math.floor(Math.log10(top / 2));
  const step = power * ([5, 2, 1].find((factor) => top / (factor * power) >= 2) ?? 1);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step);
}

const path = (points, x, y) => points.map((point, i) => `${i ? "L" : "M"}${x(point.x)} ${y(point.y)}`).join("");

function curve(picture, series, index, x, y) {
  const { colour, dash } = seriesLook(index);
  const style = { color: `var(${colour})` };
  const line = svg("path", { d: path(series.points, x, y), fill: "none", stroke: "currentColor",
                             "stroke-width": 2, "stroke-dasharray": dash.join(" "), style });
  if (picture.kind !== "band") return [line];
  const edge = [...series.points.map((p) => ({ x: p.x, y: p.high })),
                ...series.points.map((p) => ({ x: p.x, y: p.low })).reverse()];
  return [svg("path", { d: `${path(edge, x, y)}Z`, fill: "currentColor", opacity: 0.15, style }), line];
}

/** A bar with its interval as a whisker; a suppressed count is a cross on the axis. */
function bar(point, x, y, width) {
  const middle = x(point.x + 0.5);
  const label = svg("text", { x: middle, y: kHeight - kFrame.bottom + 16, "text-anchor": "middle" }, point.label);
  if (typeof point.y !== "number") {
    return [svg("text", { x: middle, y: y(0) - 4, "text-anchor": "middle" }, "✕"), label];
  }
  const top = y(Math.max(0, point.y));
  const whisker = typeof point.low === "number" && typeof point.high === "number"
    ? svg("path", { d: `M${middle} ${y(Math.max(0, point.low))}V${y(point.high)}`, stroke: "currentColor", "stroke-width": 1.5 })
    : null;
  return [svg("rect", { x: middle - 0.35 * width, y: top, width: 0.7 * width, height: y(0) - top,
                        fill: "currentColor", style: { color: "var(--series-0)" } }), whisker, label];
}

/** The picture of an answer with its axes and legend; null where there is none. */
export function answerPicture(answer) {
  const picture = pictureOf(answer);
  if (picture === null) return null;
  const points = picture.series.flatMap((series) => series.points);
  const right = picture.kind === "bars" ? picture.series[0].points.length
    : picture.right ?? Math.max(...points.map((point) => point.x), 1e-9);
  const top = picture.top ?? Math.max(...points.map((point) => Math.max(point.y ?? 0, point.high ?? 0)), 1e-9);
  const inner = kWidth - kFrame.left - kFrame.right;
  const x = (value) => kFrame.left + (inner * value) / right;
  const y = (value) => kHeight - kFrame.bottom - ((kHeight - kFrame.top - kFrame.bottom) * value) / top;
  const drawn = picture.kind === "bars"
    ? picture.series[0].points.flatMap((point) => bar(point, x, y, inner / right))
    : picture.series.flatMap((series, i) => curve(picture, series, i, x, y));
  return h("figure", {},
    svg("svg", { class: "picture", viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img",
                 "aria-label": `${picture.y} of ${answer.name}; the table below has the numbers` },
      ticks(top).map((value) => [
        svg("path", { d: `M${kFrame.left} ${y(value)}H${kWidth - kFrame.right}`, stroke: "currentColor", opacity: 0.15 }),
        svg("text", { x: kFrame.left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value))]),
      picture.kind === "bars" ? null : ticks(right).map((value) =>
        svg("text", { x: x(value), y: kHeight - kFrame.bottom + 16, "text-anchor": "middle" }, number(value))),
      svg("text", { x: kFrame.left + inner / 2, y: kHeight - 6, "text-anchor": "middle" }, picture.x),
      drawn),
    picture.series.length > 1
      ? h("ul", { class: "legend" }, picture.series.map((series, i) => h("li", {}, swatch(i), h("span", {}, series.name))))
      : null);
}

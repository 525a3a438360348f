// Arithmetic of axes, without a page.
import { powersOfTen } from "../layout.js";

/** Round values that divide [bottom, top] into two to five parts, from the first to the last of them within it. */
export function ticks(top, bottom = 0) {
  const span = top - bottom;
  const power = 10 ** Math.floor(Math.log10(span / 2));
  const step = power * ([5, 2, 1].find((factor) => span / (factor * power) >= 2) ?? 1);
  const first = Math.ceil(bottom / step - 1e-9);
  const last = Math.floor(top / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
}

const kMostTicks = 6;

/** Values for a logarithmic axis from bottom > 0 to top: powers of ten, with 2 and 5 times these where few are within. */
export function logarithmicTicks(top, bottom) {
  const powers = powersOfTen(bottom / 10, top);
  const marks = powers.flatMap((power) => [1, 2, 5].map((factor) => +(factor * power).toPrecision(12)))
    .filter((mark) => mark >= bottom && mark <= top);
  if (marks.length > kMostTicks) {
    const inside = powers.filter((power) => power >= bottom);
    const every = Math.ceil(inside.length / kMostTicks);
    return inside.filter((_, i) => i % every === 0);
  }
  return marks.length >= 3 ? marks : ticks(top, bottom);
}

/** Every k-th of the places, for the least k at which labels of these widths stay apart; the first is kept. */
export function apart(places, widths, gap) {
  const every = (k) => places.map((_, i) => i).filter((i) => i % k === 0);
  const fits = (kept) => kept.every((i, n) => n === 0
    || places[i] - places[kept[n - 1]] >= (widths[i] + widths[kept[n - 1]]) / 2 + gap);
  let k = 1;
  while (k < places.length && !fits(every(k))) k += 1;
  return every(k);
}

const kLetter = 0.58;  // mean width of a letter over the size of its font

/** About how wide a text is. */
export const widthOf = (text, size) => kLetter * size * [...text].length;

/** A text that fits, with … where it is cut. */
export function fitted(text, width, size) {
  const letters = [...text];
  const most = Math.max(1, Math.floor(width / (kLetter * size)));
  return letters.length <= most ? text : `${letters.slice(0, Math.max(1, most - 1)).join("")}…`;
}

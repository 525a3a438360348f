// Layout arithmetic that charts share, independent of a page.

/** Where the axis ends so that bars of usual height stay readable; infinite when none stands out. */
export function usualLimit(totals) {
  const sorted = [...totals].sort((a, b) => a - b);
  const usual = sorted[Math.floor(0.9 * (sorted.length - 1))];
  return sorted.length >= 4 && sorted.at(-1) > 4 * usual ? 1.5 * usual : Infinity;
}

/** Whether values lie so far apart that the smaller could not be read on a linear axis. */
export function farApart(values) {
  const positive = values.filter((value) => value > 0);
  return positive.length === values.length && Math.max(...positive) > 30 * Math.min(...positive);
}

/** The powers of ten from the one at or above `bottom` to the one at or below `top`. */
export function powersOfTen(bottom, top) {
  const first = Math.ceil(Math.log10(bottom) - 1e-9);
  const last = Math.floor(Math.log10(top) + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
}

/**
 * Gives the ends of lines that stop at one x a `labelY` each, at least `gap` apart and in the order
 * of their y, as near to it as that allows within [top, bottom].
 */
export function spread(ends, gap, top, bottom) {
  const columns = groupBy(ends, (end) => end.x);
  return [...columns.values()].flatMap((column) => {
    const sorted = [...column].sort((a, b) => a.y - b.y);
    const step = Math.min(gap, (bottom - top) / Math.max(1, sorted.length - 1));
    let next = top;
    const placed = sorted.map((end) => {
      const labelY = Math.max(end.y, next);
      next = labelY + step;
      return { ...end, labelY };
    });
    let last = bottom;
    for (const end of placed.reverse()) {
      end.labelY = Math.min(end.labelY, last);
      last = end.labelY - step;
    }
    return placed.reverse();
  });
}

function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

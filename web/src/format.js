// Numbers as readers of English expect them, with their units. Absent numbers are a dash.

export const kAbsent = "–";

const plain = (digits) =>
  new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const kInteger = plain(0);
const kSignificant = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

const whenNumber = (write) => (value) =>
  typeof value === "number" && Number.isFinite(value) ? write(value) : kAbsent;

/** Four significant digits: 830.712 → "830.7" */
export const number = whenNumber((value) => kSignificant.format(value));

/** "812 to 849", "0.3 or more", and a dash for a number without an interval. */
export const intervalText = (estimate) => {
  if (typeof estimate.low !== "number") return kAbsent;
  return typeof estimate.high === "number"
    ? `${number(estimate.low)} to ${number(estimate.high)}` : `${number(estimate.low)} or more`;
};

/** 486654 → "486,654" */
export const integer = whenNumber((value) => kInteger.format(value));

/** 0.78213 → "78.21 %" */
export const percent = whenNumber((value) => `${plain(2).format(100 * value)} %`);

/** A loss in nats: 4.129600 → "4.1296" */
export const loss = whenNumber((value) => plain(4).format(value));

/** 5.30567 → "5.306"; from 100 on one digit; below 0.001 in powers of ten. */
export const epsilon = whenNumber((value) => {
  if (value >= 100) return plain(1).format(value);
  return value > 0 && value < 0.001 ? power(value) : plain(3).format(value);
});

/** 1e-5 → "10⁻⁵", 2.5e-5 → "2.5·10⁻⁵"; numbers of ordinary size as they are. */
export const power = whenNumber((value) => {
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6)) {
    return kSignificant.format(value);
  }
  const [digits, exponent] = value.toExponential(2).split("e");
  const raised = [...String(Number(exponent))].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
  const factor = Number(digits);
  return factor === 1 ? `10${raised}` : `${kSignificant.format(factor)}·10${raised}`;
});

/** Decimal units: 1468340 → "1.47 MB" */
export const bytes = whenNumber((value) => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? kInteger.format(value) : threeDigits(value)} ${units[unit]}`;
});

function threeDigits(value) {
  const size = Math.abs(value);
  return plain(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2).format(value);
}

/** 0.0021 → "2.10 ms", 37.5 → "37.5 s", 1992 → "33 min 12 s", 7500 → "2 h 5 min" */
export const seconds = whenNumber((value) => {
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${threeDigits(1e6 * value)} µs`;
  if (value < 0.9995) return `${threeDigits(1e3 * value)} ms`;
  if (value < 99.95) return `${threeDigits(value)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(value / 60);
  return `${kInteger.format(Math.floor(minutes / 60))} h ${minutes % 60} min`;
});

/** Unix seconds → "2026-11-22 04:47 UTC" */
export const time = whenNumber((value) => {
  const text = new Date(1000 * value).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
});

/** plural(1, "round") → "1 round", plural(3, "round") → "3 rounds" */
export const plural = (count, noun) => `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The number of a series: 0 → "A", 25 → "Z", 26 → "A2". */
export const letter = (index) =>
  String.fromCharCode(65 + (index % 26)) + (index < 26 ? "" : String(1 + Math.floor(index / 26)));

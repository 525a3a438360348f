// Warnings about a run's labels, which name the protections that it lacks.
import { h } from "../dom.js";
import { fullName } from "./runs.js";

const kMeanings = {
  "insecure-seed": "its cohorts, noise and keys follow from a number that anybody can try",
  "no-encryption": "the server saw every update in the clear",
  "no-noise": "no noise was added: the model may tell what it was trained on",
  "no-clip": "updates were not clipped: one client's influence has no bound",
  "no-quantisation": "real numbers were added in the clear",
};

/** "insecure-seed: its cohorts, ..." for each label. */
export const labelMeanings = (labels) =>
  labels.map((label) => (kMeanings[label] ? `${label}: ${kMeanings[label]}` : label));

/** The chip that stands wherever an insecure run is named. */
export const insecureChip = () => h("strong", { class: "chip danger" }, "⚠ insecure");

/** The banner above everything; null when all runs are whole. */
export function warningBanner(runs) {
  const insecure = runs.filter((run) => run.labels.length > 0);
  if (insecure.length === 0) return null;
  const single = runs.length === 1;
  return h("div", { class: "banner", role: "alert" },
    h("p", { class: "banner-title" },
      single ? "⚠ Insecure: this run protects nobody"
             : `⚠ Insecure: ${insecure.length} of ${runs.length} runs protect nobody`),
    h("ul", {}, insecure.map((run) => h("li", {},
      single ? null : h("strong", {}, `${fullName(run)}: `),
      labelMeanings(run.labels).join("; "), "."))));
}

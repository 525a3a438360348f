// Terms of the agreement in words.
import { h } from "../dom.js";
import { privacyStatement } from "../report/privacy.js";
import { panel } from "./panel.js";

/** A guarantee from the server in the shape of a report's statement. */
const asRun = (guarantee) => ({
  labels: [], privacy: guarantee.privacy, statement: guarantee.statement, facts: { permitted_attempts: guarantee.attempts } });

export function agreementPanel() {
  return panel(({ agreement }) => agreement, (agreement) => {
    if (!agreement) return h("p", { class: "note" }, "Being asked for.");
    const { words, whole, manifest } = agreement;
    return [
      h("div", { class: "card wide" }, h("pre", { class: "words", tabindex: "0", role: "region", "aria-label": "The agreement" }, words)),
      whole
        ? h("details", {}, h("summary", {}, `The guarantee for all ${whole.attempts} attempts that may ever be begun`), privacyStatement(asRun(whole)))
        : h("p", { class: "note" }, "The guarantee is being worked out."),
      h("p", { class: "note hash" }, `Every message carries the manifest's hash, ${manifest.manifest_hash}.`),
    ];
  });
}

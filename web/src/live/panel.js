// Parts of a page that are drawn again only when their content has changed. Everything that a
// reader has unfolded, focused or scrolled to stays.
import { discardCharts } from "../chart.js";
import { h } from "../dom.js";

/** pick: status → what is shown, as JSON; draw: of that → an element, or a list of them. */
export function panel(pick, draw, attributes = {}) {
  const element = h("div", attributes);
  let shown;
  return {
    element,
    update(status) {
      const picked = pick(status);
      const key = JSON.stringify(picked ?? null);
      if (key === shown) return;
      shown = key;
      const unfolded = [...element.querySelectorAll("details")].map((details) => details.open);
      discardCharts(element);
      element.replaceChildren(...[draw(picked)].flat(3).filter((child) => child !== null && child !== undefined));
      element.querySelectorAll("details").forEach((details, i) => { if (unfolded[i]) details.open = true; });
    },
  };
}

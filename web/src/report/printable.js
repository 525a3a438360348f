// A picture of the page as a file of its own, for print: in light colours, without style sheets.
import { inLightTheme } from "../theme.js";

const kProperties = ["color", "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "text-anchor", "font-family", "font-size"];
const kNames = "http://www.w3.org/2000/svg";

/** Writes what the style sheet says about each element into the element. */
function inline(from, to) {
  const style = getComputedStyle(from);
  for (const property of kProperties) {
    const value = style.getPropertyValue(property);
    if (value !== "") to.setAttribute(property, value);
  }
  to.removeAttribute("style");
  to.removeAttribute("class");
  [...from.children].forEach((child, i) => inline(child, to.children[i]));
}

/** The text of an SVG file. */
export function printable(drawing) {
  const copy = drawing.cloneNode(true);
  inLightTheme(() => inline(drawing, copy));
  const paper = document.createElementNS(kNames, "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", "#ffffff");
  copy.prepend(paper);
  copy.setAttribute("xmlns", kNames);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

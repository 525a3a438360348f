// Light or dark theme: the system's setting, until the reader chooses.
import { h } from "./dom.js";

const kChoices = ["auto", "light", "dark"];
const kKey = "tacet-theme";
const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");

// A page opened from a file may have no storage: the choice then holds until it is closed.
function stored() {
  try {
    return window.localStorage.getItem(kKey);
  } catch {
    return null;
  }
}
function store(choice) {
  try {
    window.localStorage.setItem(kKey, choice);
  } catch {
    // Nothing to do: see above.
  }
}

let choice = kChoices.includes(stored()) ? stored() : "auto";

function apply() {
  const dark = choice === "dark" || (choice === "auto" && darkSystem.matches);
  show(dark ? "dark" : "light");
}

function show(theme) {
  if (document.documentElement.dataset.theme === theme) return;
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new CustomEvent("themechange"));
}

/** Sets the theme now and follows the system; `onThemeChange` callbacks redraw what CSS cannot. Paper is light. */
export function startTheme() {
  apply();
  darkSystem.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => show("light"));
  window.addEventListener("afterprint", apply);
}

/** Calls `read` while styles are those of the light theme; nothing is drawn in between. */
export function inLightTheme(read) {
  const { theme } = document.documentElement.dataset;
  document.documentElement.dataset.theme = "light";
  try {
    read();
  } finally {
    document.documentElement.dataset.theme = theme;
  }
}

const redraws = new WeakMap();  // element → what draws it again

/** Calls `redraw` at every change of the theme, as long as somebody else holds the element. */
export function onThemeChange(element, redraw) {
  redraws.set(element, redraw);
  const weak = new WeakRef(element);
  document.addEventListener("themechange", function again() {
    const held = weak.deref();
    if (held) redraws.get(held)();
    else document.removeEventListener("themechange", again);
  });
}

/** Three buttons: auto, light, dark. */
export function themeSwitch() {
  const buttons = kChoices.map((name) =>
    h("button", { type: "button", "aria-pressed": String(name === choice), onclick: () => choose(name) },
      name[0].toUpperCase() + name.slice(1)));
  function choose(name) {
    choice = name;
    store(name);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(kChoices[i] === name)));
    apply();
  }
  return h("div", { class: "theme", role: "group", "aria-label": "Colours" }, buttons);
}

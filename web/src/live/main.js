// The page of a running server.
import { h } from "../dom.js";
import { startTheme, themeSwitch } from "../theme.js";
import { agreementPanel } from "./agreement.js";
import { ask, hasToken, setToken, startToken, WrongToken } from "./connection.js";
import { eventsPanel, requestsPanel } from "./events.js";
import { nowPanel } from "./now.js";
import { mailPanel, operatorsPanel } from "./operators.js";
import { roundsPanel } from "./rounds.js";
import { spentPanel } from "./spent.js";
import { wholeSeconds } from "./words.js";

const kEvery = 2000;         // milliseconds between questions,
const kWhenLost = 5000;      // and while the server does not answer
const page = document.getElementById("page");
const connection = h("span", { class: "chip", role: "status" }, "connecting");

function part(title, ...children) {
  return h("section", { class: "part" }, h("h2", {}, title), children);
}

function frame(...children) {
  page.replaceChildren(
    h("nav", { class: "bar" }, h("span", { class: "brand" }, "tacet"), h("span", { class: "kind" }, "server"),
      connection, themeSwitch()),
    h("main", {}, children),
    h("footer", {}, h("p", {}, "The server holds no key: it sees how many uploads there are and when, never what they hold. This page names no member but those of the agreement, and asks no other server for anything.")));
}

function say(level, text) {
  connection.className = `chip ${level}`;
  if (connection.textContent !== text) connection.textContent = text;
}

/** Asks for the token, then continues. */
function askForToken(why) {
  say("warn", "no access");
  const input = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = h("form", {
    class: "card token",
    onsubmit: (event) => {
      event.preventDefault();
      setToken(input.value);
      if (hasToken()) show();
    },
  },
  h("h1", {}, "This page needs its token"),
  h("p", { class: "note" }, why),
  h("p", { class: "note" }, "The server named its file when it was started. The operator can read it."),
  h("label", { for: "token" }, "Token"), input,
  h("button", { type: "submit", class: "choice" }, "Open"));
  frame(form);
  input.focus();
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Draws the page and keeps it up to date until the server refuses the token. */
async function show() {
  const now = nowPanel();
  const rounds = roundsPanel(), spent = spentPanel(), events = eventsPanel();
  const requests = requestsPanel(), agreed = agreementPanel();
  const operators = operatorsPanel(), mail = mailPanel();
  const parts = [
    now.element, part("Operators", operators.element), part("Mailbox", h("div", { class: "card wide" }, mail.element)),
    part("Rounds", rounds.element), part("Privacy spent and left", spent.element),
    part("Events and warnings", events.element),
    part("Requests", h("div", { class: "card wide" }, requests.element)), part("What was agreed", agreed.element),
  ];
  let agreement = null;
  let answered = null;  // when, by the clock of this page
  const clock = setInterval(() => {
    if (answered !== null) now.tick((performance.now() - answered) / 1000);
  }, 1000);
  while (true) {
    let status;
    try {
      status = await ask("/api/status");
      if (agreement === null || agreement.whole === null) agreement = await ask("/api/agreement");
    } catch (error) {
      if (error instanceof WrongToken) break;
      say("danger", answered === null ? "no answer" : `no answer for ${wholeSeconds((performance.now() - answered) / 1000)}`);
      await pause(kWhenLost);
      continue;
    }
    if (answered === null) frame(parts);
    answered = performance.now();
    say("good", "live");
    document.title = `${agreement.manifest.federation} – tacet server`;
    for (const panel of [now, operators, mail, rounds, spent, events, requests, agreed]) panel.update({ status, agreement });
    await pause(kEvery);
  }
  clearInterval(clock);
  setToken("");
  askForToken("The server does not know the token that was given.");
}

startTheme();
startToken();
frame();
if (hasToken()) show();
else askForToken("Anyone who has it may see the progress of the federation.");

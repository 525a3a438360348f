// The report of one run or several, from the data that the page carries.
import { h } from "../dom.js";
import { time } from "../format.js";
import { startTheme, themeSwitch } from "../theme.js";
import { queryAnswers } from "./answers.js";
import { phasesByRound, phasesOfRuns, privacyChart, qualityCharts, timeCharts, trafficCharts } from "./charts.js";
import { comparedOverview, provenance, singleOverview } from "./overview.js";
import { allObservers, privacyComparison, privacyStatement } from "./privacy.js";
import { isInsecure, numberedRuns } from "./runs.js";
import { settingsComparison, settingsList } from "./settings.js";
import { insecureChip, warningBanner } from "./warnings.js";

function part(title, ...children) {
  return h("section", { class: "part" }, h("h2", {}, title), children);
}

const grid = (charts) => h("div", { class: "grid" }, charts);

function singleReport(run) {
  return [
    singleOverview(run),
    part("Privacy guarantee", privacyStatement(run), allObservers(run)),
    run.query ? part("Answers", queryAnswers(run))
              : part("How good the model is", grid(qualityCharts([run]))),
    part("What it costs", grid([privacyChart([run]), ...timeCharts([run]), ...trafficCharts([run])])),
    part("The run", settingsList(run), provenance(run)),
  ];
}

function comparedReport(runs) {
  return [
    comparedOverview(runs),
    part("Privacy guarantee", privacyComparison(runs)),
    part("How good the models are", grid(qualityCharts(runs))),
    part("What they cost",
      grid([privacyChart(runs), ...timeCharts(runs), ...trafficCharts(runs), phasesOfRuns(runs)])),
    part("What was set differently", settingsComparison(runs)),
    part("Each run", runs.map(runDetails)),
  ];
}

function runDetails(run) {
  return h("details", { class: "run", id: `run-${run.letter}` },
    h("summary", {}, h("b", {}, run.letter), h("span", {}, run.name), isInsecure(run) ? insecureChip() : null),
    privacyStatement(run), allObservers(run), run.query ? queryAnswers(run) : null,
    run.rounds.length > 0 ? grid([phasesByRound(run)]) : null,
    settingsList(run), provenance(run));
}

/** A link to a run's part opens it. */
function openLinkedPart() {
  const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

const data = JSON.parse(document.getElementById("data").textContent);
const runs = numberedRuns(data);
startTheme();
document.getElementById("page").replaceChildren(
  h("nav", { class: "bar" }, h("span", { class: "brand" }, "tacet"), h("span", { class: "kind" }, "report"),
    themeSwitch()),
  h("main", {}, warningBanner(runs), runs.length === 1 ? singleReport(runs[0]) : comparedReport(runs)),
  h("footer", {},
    h("p", {}, "ε bounds what an observer can learn about one protected unit from everything it sees: 0 is nothing; the meaning of the same ε to an attacker is next to each guarantee. Amplification by sampling counts only against those who do not know who took part."),
    h("p", {}, `Written ${time(data.made_at)} by tacet ${data.version}. This page asks no network for anything.`)));
window.addEventListener("hashchange", openLinkedPart);
openLinkedPart();

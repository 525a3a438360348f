// Bundles the pages: one minified script and one style sheet each, the same bytes on every machine.
// usage: node build.mjs [OUTPUT_FOLDER]      default: dist/
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = path.resolve(process.argv[2] ?? path.join(here, "dist"));

// The licence of what is bundled travels with it.
const licence = readFileSync(path.join(here, "node_modules/uplot/LICENSE"), "utf8").trim();

await build({
  absWorkingDir: here,
  entryPoints: { "report": "src/report/main.js", "live": "src/live/main.js", "page": "src/page.css" },
  entryNames: "[name]",
  outdir: output,
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: ["chrome110", "firefox110", "safari16.4"],
  banner: { js: `/*! with uPlot:\n${licence}\n*/`, css: `/*! with uPlot:\n${licence}\n*/` },
  legalComments: "inline",
  logLevel: "warning",
});

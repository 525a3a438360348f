#!/usr/bin/env bash
# Bundles web/src into one script and one style sheet, with esbuild from npm.
# usage: tools/web.sh WORK_FOLDER            into web/dist, which is committed: builds need no Node
#        tools/web.sh WORK_FOLDER --check    compares with web/dist instead, which must be current
# WORK_FOLDER keeps the npm packages between calls.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tools/web.sh WORK_FOLDER [--check]" >&2; exit 2; }
web=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../web")
mkdir -p -- "$1"
work=$(realpath -- "$1")

cp -- "$web"/{package.json,package-lock.json,.npmrc,build.mjs} "$work"
rm -rf -- "$work/src" "$work/dist"
cp -r -- "$web/src" "$work/src"
cd -- "$work"
if ! cmp -s package-lock.json node_modules/installed-lock.json; then
  npm ci --ignore-scripts --loglevel=error
  cp package-lock.json node_modules/installed-lock.json
fi
node build.mjs dist

if [ "${2:-}" != --check ]; then
  rm -rf -- "$web/dist"
  cp -r dist "$web/dist"
elif ! diff -rq dist "$web/dist"; then
  echo "web/dist is not what web/src makes: run \`make web\` and commit web/dist" >&2
  exit 1
else
  echo "web/dist is current"
fi

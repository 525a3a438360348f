#!/usr/bin/env bash
# Writes a manual page for every program and subcommand, from what they say themselves with --help.
# usage: tools/manual_pages.sh FOLDER-OF-PROGRAMS VERSION OUT [EMULATOR...]
# OUT gets the folders program/ and server/. The pages have the month of the source.
set -euo pipefail
SOURCE_DATE_EPOCH=$("$(dirname -- "${BASH_SOURCE[0]}")/source_date.sh")
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8
programs=$1 version=$2 out=$3 emulator=("${@:4}")
rm -rf "$out"
mkdir -p "$out/program" "$out/server"

# page FOLDER WORD...: the page of one command, such as `tacet client run`, and those below it.
page() {
  local folder=$1 help name subcommand
  shift
  help=$("${emulator[@]}" "$programs"/"$@" --help)
  name=$(tr ' ' - <<< "$*")
  help2man --no-info --no-discard-stderr --version-string="$version" \
    --name="$(head -n 1 <<< "$help")" "${emulator[*]:+${emulator[*]} }$programs/$*" |
    sed -E -e "s/^\.TH .* (\"[A-Z][a-z]+ [0-9]+\") .*/.TH ${name^^} 1 \1 \"tacet $version\" \"User Commands\"/" \
      -e "s/^$* (\\\\- )/$name \1/" > "$out/$folder/$name.1"
  for subcommand in $(sed -n '/^Subcommands:/,$ s/^  ([a-z-]*) .*/\1/p' -E <<< "$help"); do
    # `tacet server` only starts the program that has a page of its own.
    [ "$subcommand" = server ] || page "$folder" "$@" "$subcommand"
  done
}

page program tacet
page server tacet-server
gzip -9 -n "$out"/*/*.1

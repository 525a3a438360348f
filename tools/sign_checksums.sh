#!/usr/bin/env bash
# Writes SHA256SUMS of a release's files into FOLDER, and its signature SHA256SUMS.sig by an SSH key.
# docs/deploy.md, "Packages", has the commands that verify them.
# usage: tools/sign_checksums.sh PRIVATE-KEY FOLDER
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: tools/sign_checksums.sh PRIVATE-KEY FOLDER" >&2; exit 2; }
key=$(realpath -- "$1")
cd -- "$2"
rm -f SHA256SUMS SHA256SUMS.sig
find . -maxdepth 1 -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 -r sha256sum -- > .sums
[ -s .sums ] || { rm .sums; echo "sign_checksums: $2 has no files" >&2; exit 1; }
mv .sums SHA256SUMS
ssh-keygen -q -Y sign -f "$key" -n tacet-release SHA256SUMS

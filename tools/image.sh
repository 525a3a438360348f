#!/usr/bin/env bash
# Builds the container image of server and client from Debian packages, with the builder that is
# here: podman, buildah or docker.
# usage: tools/image.sh FOLDER-WITH-PACKAGES NAME [ARGUMENT-OF-THE-BUILDER...]
set -euo pipefail
containerfile=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../packaging" && pwd)/Containerfile
packages=$1 name=$2
shift 2
if command -v podman > /dev/null; then
  builder=(podman build)
elif command -v buildah > /dev/null; then
  builder=(buildah build)
elif docker info > /dev/null 2>&1; then
  builder=(docker build)
else
  echo "image: no builder works here; install podman, buildah or docker" >&2
  exit 1
fi
"${builder[@]}" --file "$containerfile" --tag "$name" "$@" "$packages"

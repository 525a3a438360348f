#!/usr/bin/env bash
# Prints the path of helm 3: the one in PATH, else one that Go compiles into FOLDER (minutes, once).
# usage: tools/helm.sh FOLDER
set -euo pipefail
version=v3.18.6
if command -v helm; then exit 0; fi
go=$(command -v go || echo /usr/local/go/bin/go)
[ -x "$go" ] || {
  echo "helm: neither helm 3 nor Go is here; install one of them" >&2
  exit 1
}
mkdir -p "$1"
folder=$(cd -- "$1" && pwd)
[ -x "$folder/helm" ] || GOBIN=$folder "$go" install -trimpath "helm.sh/helm/v3/cmd/helm@$version" >&2
echo "$folder/helm"

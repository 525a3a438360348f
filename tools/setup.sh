#!/usr/bin/env bash
# Installs the Debian 12 packages of the named sets (tools/packages/) that are missing.
# usage: tools/setup.sh SET...
# TACET_SKIP_SETUP=1 in the environment does nothing: for machines that have the libraries by other
# means.
set -euo pipefail

fail() {
  echo "setup: $*" >&2
  exit 1
}

folder=$(dirname -- "${BASH_SOURCE[0]}")/packages
[ $# -gt 0 ] || fail "usage: tools/setup.sh SET... with sets from: $(cd "$folder" && echo *)"
[ "${TACET_SKIP_SETUP:-}" != 1 ] || exit 0

wanted=()
for set in "$@"; do
  [ -f "$folder/$set" ] || fail "no package set \"$set\"; there are: $(cd "$folder" && echo *)"
  # A line is "PACKAGE" or "PACKAGE unless COMMAND": not needed where the command is already there.
  while read -r package unless command; do
    [ "$unless" = unless ] && command -v "$command" > /dev/null || wanted+=("$package")
  done < <(sed 's/#.*//; /^[[:space:]]*$/d' "$folder/$set")
done

command -v dpkg-query > /dev/null && command -v apt-get > /dev/null ||
  fail "this is not a Debian system; tacet needs what these Debian 12 packages hold: ${wanted[*]}." \
    "With the libraries in place set TACET_SKIP_SETUP=1"

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] ||
    missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

(. /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ]) ||
  echo "setup: the package names are those of Debian 12, this system is another" >&2

as_root=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C)
if [ "$(id -u)" != 0 ]; then
  command -v sudo > /dev/null ||
    fail "packages are missing and neither root nor sudo is at hand; as root run:" \
      "apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo "${as_root[@]}")
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" > "$log" 2>&1 < /dev/null
}
update() {
  echo "setup: updating the lists of packages"
  apt update || { cat "$log" >&2; fail "apt-get update failed"; }
}

# Tests start a PostgreSQL of their own; the system is not to run one because of them.
if [[ " ${missing[*]} " == *" postgresql-"* ]]; then
  no_cluster=/etc/postgresql-common/createcluster.d/tacet-setup.conf
  trap '"${as_root[@]}" rm -f "$no_cluster"; rm -f "$log"' EXIT
  "${as_root[@]}" mkdir -p "$(dirname "$no_cluster")"
  echo 'create_main_cluster = false' | "${as_root[@]}" tee "$no_cluster" > /dev/null
fi

# The lists may be missing (a new system) or too old for the mirror: update only then.
updated=no
if ! apt --simulate install --no-install-recommends "${missing[@]}"; then
  update
  updated=yes
fi
# --assume-no answers before anything happens, after it has told the sizes.
apt --assume-no install --no-install-recommends "${missing[@]}" || true
grep -q '^Need to get' "$log" || { cat "$log" >&2; fail "apt-get cannot install ${missing[*]}"; }
count=$(sed -n 's/^[0-9]* upgraded, \([0-9]*\) newly installed.*/\1/p' "$log")
download=$(sed -n 's/^Need to get \(.*\) of archives\.$/\1/p' "$log")
disk=$(sed -n 's/^After this operation, \(.*\) of additional disk space will be used\.$/\1/p' "$log")
echo "setup: installing ${#missing[@]} Debian packages for \"$*\": ${missing[*]}"
echo "setup: with what they need ${count:-?} packages, $download to download, ${disk:-nothing} more on disk"

if ! apt install --no-install-recommends "${missing[@]}"; then
  # An old list names files that the mirror no longer has.
  [ $updated = no ] || { tail -n 30 "$log" >&2; fail "apt-get install failed"; }
  update
  apt install --no-install-recommends "${missing[@]}" ||
    { tail -n 30 "$log" >&2; fail "apt-get install failed"; }
fi
echo "setup: done"

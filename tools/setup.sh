#!/usr/bin/env bash
# Installs the Debian packages of the named sets (tools/packages/) that are missing. Says first
# which packages these are, and their size.
# usage: tools/setup.sh SET...
# TACET_SKIP_SETUP=1 in the environment: do nothing, for a machine that has the libraries from
# elsewhere.
set -euo pipefail

fail() {
  echo "setup: $*" >&2
  exit 1
}

here=$(dirname -- "${BASH_SOURCE[0]}")
folder=$here/packages
[ $# -gt 0 ] || fail "usage: tools/setup.sh SET..., with sets from: $(cd "$folder" && echo *)"
[ "${TACET_SKIP_SETUP:-}" != 1 ] || exit 0

wanted=()
for set in "$@"; do
  [ -f "$folder/$set" ] || fail "no package set \"$set\"; the sets are: $(cd "$folder" && echo *)"
  # A line is "PACKAGE" or "PACKAGE unless COMMAND": not needed where the command already exists.
  while read -r package unless command; do
    [ "$unless" = unless ] && command -v "$command" > /dev/null || wanted+=("$package")
  done < <(sed 's/#.*//; /^[[:space:]]*$/d' "$folder/$set")
done

command -v dpkg-query > /dev/null && command -v apt-get > /dev/null ||
  fail "this is not a Debian system. Install what these Debian 12 or 13 packages contain: ${wanted[*]}." \
    "Then set TACET_SKIP_SETUP=1."

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] ||
    missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

(. /etc/os-release && [ "${ID:-}" = debian ] && [[ ${VERSION_ID:-} =~ ^1[23]$ ]]) ||
  echo "setup: this is neither Debian 12 nor 13, where these package names come from" >&2

as_root=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C)
if [ "$(id -u)" != 0 ]; then
  command -v sudo > /dev/null ||
    fail "packages are missing. Run as root:" \
      "apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo "${as_root[@]}")
fi
apt_get=(apt-get -q -y -o DPkg::Lock::Timeout=300)
# An installation that would remove packages is refused.
install=(install --no-install-recommends --no-remove "${missing[@]}")
quiet=$here/quiet.sh

plan=
# Needs no root and changes nothing. `--assume-no` is no substitute: next to -y apt-get ignores it and
# installs.
make_plan() { plan=$(LC_ALL=C "${apt_get[@]}" --print-uris "${install[@]}" 2>&1); }
updated=no
update() {
  updated=yes
  "$quiet" "setup: update package lists" "${as_root[@]}" "${apt_get[@]}" update
}

# A new system has no package lists.
if ! make_plan; then
  update
  make_plan || {
    echo "$plan" >&2
    fail "apt-get cannot install ${missing[*]}"
  }
fi
count=$(sed -n 's/^[0-9]* upgraded, \([0-9]*\) newly installed.*/\1/p' <<< "$plan")
download=$(sed -n 's|^Need to get \([^/]*\)\(/.*\)\? of archives\.$|\1|p' <<< "$plan")
disk=$(sed -n 's/^After this operation, \(.*\) of additional disk space will be used\.$/\1/p' <<< "$plan")
echo "setup: ${#missing[@]} Debian packages are missing: ${missing[*]}"
echo "setup: installs ${count:-?} packages with their dependencies:" \
  "${download:-0 B} to download, ${disk:-0 B} on disk"
if [ -t 0 ] && [ -t 1 ]; then
  echo "setup: begins in 5 seconds; Ctrl-C stops it"
  sleep 5
fi

# Tests start a PostgreSQL of their own. The package must not start one for the whole system.
if [[ " ${missing[*]} " == *" postgresql-"* ]]; then
  no_cluster=/etc/postgresql-common/createcluster.d/tacet-setup.conf
  trap '"${as_root[@]}" rm -f "$no_cluster"' EXIT
  "${as_root[@]}" mkdir -p "$(dirname "$no_cluster")"
  echo 'create_main_cluster = false' | "${as_root[@]}" tee "$no_cluster" > /dev/null
fi

install_packages() { # [--retried]
  "$quiet" "$@" --steps $((3 * ${count:-0})) '^(Get:|Unpacking |Setting up )' \
    "setup: install packages" "${as_root[@]}" "${apt_get[@]}" "${install[@]}"
}
if [ $updated = yes ]; then
  install_packages
elif ! install_packages --retried; then
  # Old package lists name files that the mirror no longer has.
  update
  install_packages
fi

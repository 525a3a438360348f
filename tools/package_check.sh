#!/usr/bin/env bash
# Installs the packages in a bare Debian 12 below a temporary folder, runs them, upgrades and removes
# them, and compares the system before and after. Run as root.
# usage: tools/package_check.sh FOLDER-WITH-PACKAGES
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
packages=$(cd -- "$1" && pwd)

fail() {
  echo "package_check: $*" >&2
  exit 1
}
step() { "$here/quiet.sh" "$@"; }

[ "$(id -u)" = 0 ] || fail "run it as root: it makes a system of its own below a temporary folder"
root=$(mktemp -d /tmp/tacet-packages.XXXXXX)
finish() {
  umount -R "$root/proc" 2> /dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT

step "bare Debian 12" mmdebstrap --variant=minbase --mode=root bookworm "$root"
mount -t proc proc "$root/proc"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
apt_get() { inside apt-get -q -y -o APT::Sandbox::User=root "$@"; }
export -f inside apt_get
export root

# What the packages need stays, so that what they leave behind is seen.
step "packages that they need" bash -c 'apt_get update && apt_get install --no-install-recommends \
  adduser systemd $(for deb in "$root"/packages/*.deb; do
    dpkg-deb -f "$deb" Depends | tr , "\n" | sed -E "s/[(|].*//; /^ *tacet/d"; done)'
files() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./packages -o -path ./var/cache -o -path ./var/log \
    -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./run -o -path ./tmp -o -path ./sys -o -path ./dev \) \
    -prune -o -print | sort)
}
files > "$root/packages/before"
cp "$root/etc/passwd" "$root/packages/passwd"

step "install" bash -c 'apt_get install --no-install-recommends $(cd "$root" && echo ./packages/*.deb)'
for user in tacet tacet-server; do
  [ "$(inside stat -c '%U %a' "/var/lib/$user")" = "$user 700" ] || fail "/var/lib/$user is not $user's"
done
inside tacet --version
inside tacet privacy --clients 100 --cohort 50 --rounds 10 --noise-multiplier 8 --json > /dev/null
inside tacet-server --version
[ -e "$root/usr/share/man/man1/tacet-client-run.1.gz" ] || fail "the manual pages are missing"
inside systemd-analyze --man=no verify tacet-client.service tacet-server.service
for unit in tacet-client tacet-server; do
  inside systemd-analyze security --offline=true --threshold=25 "$unit.service" > /dev/null ||
    fail "$unit.service: $(inside systemd-analyze security --offline=true "$unit.service" | tail -1)"
done

# As the site's own user: keys are made in the folder that the package made.
inside su -s /bin/sh tacet -c 'tacet client request --home /var/lib/tacet/site --name north \
  --key-file /var/lib/tacet/key' > /dev/null
before=$(inside sha256sum /var/lib/tacet/site/north.request)

# A later version of the same packages.
version=$(dpkg-deb -f "$packages"/tacet_*.deb Version)
for deb in "$root"/packages/*.deb; do
  unpacked=$root/packages/unpacked
  dpkg-deb -R "$deb" "$unpacked"
  sed -i "s/^Version: .*/Version: $version+1/; s/tacet (= $version)/tacet (= $version+1)/" \
    "$unpacked/DEBIAN/control"
  mkdir -p "$root/packages/next"
  dpkg-deb -b "$unpacked" "$root/packages/next" > /dev/null
  rm -r "$unpacked"
done
step "upgrade" bash -c 'apt_get install --no-install-recommends $(cd "$root" && echo ./packages/next/*.deb)'
[ "$(inside sha256sum /var/lib/tacet/site/north.request)" = "$before" ] ||
  fail "the upgrade touched a site's folder"
said=$(inside su -s /bin/sh tacet -c 'tacet client show --home /var/lib/tacet/site' 2>&1 || true)
[[ $said == *"client join"* ]] || fail "the later version does not read the site's folder: $said"

step "remove" bash -c 'apt_get purge tacet tacet-server tacet-dev'
[ -e "$root/var/lib/tacet/site/north.request" ] || fail "a purge deleted a site's keys"
rm -r "$root/var/lib/tacet"
# Debian keeps users: their numbers must not come back as somebody else.
for name in group gshadow passwd shadow subuid subgid; do rm -f "$root/etc/$name-"; done
files > "$root/packages/after"
sed -i '/\.\/etc\/[a-z]*-$/d' "$root/packages/before"
diff "$root/packages/before" "$root/packages/after" || fail "the packages left files behind"
diff "$root/packages/passwd" "$root/etc/passwd" | grep '^[<>]' | grep -v '^> tacet' &&
  fail "the packages changed other users"
echo "packages: installed, run, upgraded, removed"

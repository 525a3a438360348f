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

# The packages that they need stay, so that what they leave behind is seen.
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

# A federation and a run with the format numbers of version 0.2, in which each file had 1. The byte
# with the number of a database is the 64th, of other files the 5th.
cat > "$root/packages/old_state.sh" << 'END'
set -e
mkdir -m 700 /var/lib/tacet/old
cd /var/lib/tacet/old
cat > agreed.toml << 'TOML'
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 2
[privacy]
noise_multiplier = 6
scale = 1e-2
TOML
cat > run.toml << 'TOML'
[data]
handwriting_writers = 4
handwriting_classes = 2
handwriting_min_samples = 10
handwriting_max_samples = 20
[model]
name = "logistic"
[federation]
rounds = 1
[privacy]
noise_multiplier = 6
scale = 1e-2
TOML
value() { sed -n "s/^$1  *//p"; }
coordinator=$(tacet federation init --name wards --config agreed.toml --members 3 --key-file key | value coordinator)
for name in north south west hub; do
  [ $name = hub ] && host="--server-host localhost" || host=
  fingerprint=$(tacet client request --home $name --name $name --key-file key $host | value fingerprint)
  tacet federation enrol $name --request $name/$name.request --fingerprint "$fingerprint" --server hub --key-file key
done
tacet federation seal-key --key-file key
for name in north hub; do
  tacet client join federation/invitations/$name-epoch-0.tacet --home $name --coordinator "$coordinator" --key-file key
done
timeout 3 tacet-server --home hub --key-file key --listen 127.0.0.1:0 --admin 127.0.0.1:0 || true
tacet simulate --config run.toml --out run
old() { printf '\001' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
old hub/server.sqlite 63
for file in north/invitation federation/epochs/0000000000.manifest federation/invitations/*.tacet \
  run/ledger run/ledger.anchor; do
  old $file 4
done
END
step "state of version 0.2" inside su -s /bin/sh tacet -c 'sh /packages/old_state.sh'

# A later version of the same packages.
version=$(dpkg-deb -f "$packages"/tacet_*.deb Version)
for deb in "$root"/packages/*.deb; do
  unpacked=$root/packages/unpacked
  dpkg-deb -R "$deb" "$unpacked"
  sed -i "s/^Version: .*/Version: $version+1/; s/tacet (= $version)/tacet (= $version+1)/" \
    "$unpacked/DEBIAN/control"
  mkdir -p "$root/packages/next"
  dpkg-deb -Znone -b "$unpacked" "$root/packages/next" > /dev/null
  rm -r "$unpacked"
done
step "upgrade" bash -c 'apt_get install --no-install-recommends $(cd "$root" && echo ./packages/next/*.deb)'
[ "$(inside sha256sum /var/lib/tacet/site/north.request)" = "$before" ] ||
  fail "the upgrade touched a site's folder"
said=$(inside su -s /bin/sh tacet -c 'tacet client show --home /var/lib/tacet/site' 2>&1 || true)
[[ $said == *"client join"* ]] || fail "the later version does not read the site's folder: $said"

# Each file is refused by its name and its number, with what to do, and stays unchanged.
sums() { inside sh -c 'cd /var/lib/tacet/old && find . -type f ! -name page.token -exec sha256sum {} + | sort'; }
kept=$(sums)
refused() {
  local said
  said=$(inside su -s /bin/sh tacet -c "cd /var/lib/tacet/old && $2" 2>&1) &&
    fail "a later version reads $1 of version 0.2"
  [[ $said == *"$1"*" 1, this program reads"*"$3"* ]] || fail "of $1 of version 0.2 it says: $said"
  [ "$(sums)" = "$kept" ] || fail "$2 changed the state of version 0.2"
}
again="begin again in an empty folder"
refused server.sqlite "tacet-server --home hub --key-file key --listen 127.0.0.1:0 --admin 127.0.0.1:0" \
  "Give this server another database"
refused invitation "tacet client run --home north --key-file key --server localhost:7443" "$again"
refused invitation "tacet client show --home north" "$again"
refused 0000000000.manifest "tacet federation show" "$again"
refused run/ledger "tacet ledger show run/ledger" "what it charged stays spent"

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
echo "packages: installed, run, upgraded, removed; state of version 0.2 refused"

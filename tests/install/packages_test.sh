#!/usr/bin/env bash
# Packages made from a build folder: their files, their scripts and what systemd says of the units.
# usage: packages_test.sh BUILD-FOLDER SCRATCH-FOLDER
set -euo pipefail
build=$1 scratch=$2

fail() {
  echo "packages_test: $*" >&2
  exit 1
}

here=$(dirname -- "${BASH_SOURCE[0]}")
tools=$here/../../tools
cmake --build "$build" --target manual_pages bills_of_materials > /dev/null
rm -rf "$scratch"
mkdir -p "$scratch/control"
# A package has the same modes when the builder's umask hides files.
(umask 077; "$tools/pack.sh" "$build" -B "$scratch/packages") > "$scratch/cpack.log" ||
  { cat "$scratch/cpack.log"; fail "cpack failed"; }
for name in tacet tacet-server tacet-dev; do
  deb=$(echo "$scratch/packages/${name}_"*.deb)
  [ -f "$deb" ] || fail "$name was not packaged"
  dpkg-deb -x "$deb" "$scratch/root"
  dpkg-deb -e "$deb" "$scratch/control/$name"
  [ -f "$scratch/root/usr/share/doc/$name/copyright" ] || fail "$name has no copyright file"
done

# One file is in one package.
twice=$(for deb in "$scratch"/packages/*.deb; do dpkg-deb -c "$deb" | grep -v '/$' | awk '{print $6}'; done |
  sort | uniq -d)
[ -z "$twice" ] || fail "in two packages: $twice"
outside=$(cd "$scratch/root" && find . -type f -not -path './usr/*')
[ -z "$outside" ] || fail "outside of /usr: $outside"

for page in tacet tacet-client-run tacet-federation-init tacet-server; do
  zcat "$scratch/root/usr/share/man/man1/$page.1.gz" | grep -q '^\.SH OPTIONS' || fail "no page $page"
done
grep -q '^complete .* tacet$' "$scratch/root/usr/share/bash-completion/completions/tacet" ||
  fail "bash does not complete tacet"
grep -q '^#compdef tacet$' "$scratch/root/usr/share/zsh/vendor-completions/_tacet" ||
  fail "zsh does not complete tacet"
grep -q 'libabsl' "$scratch/control/tacet/control" || fail "tacet depends on no library"
grep -q '^Depends:.* tacet (= ' "$scratch/control/tacet-server/control" ||
  fail "tacet-server takes another version of tacet"
for script in "$scratch"/control/tacet{,-server}/{postinst,prerm,postrm}; do
  sh -n "$script" && [ -x "$script" ] || fail "$script cannot run"
done

# Bills of materials name what the packages need and what the programs load.
for name in tacet tacet-server tacet-dev; do
  program=$scratch/root/usr/bin/$name
  [ -x "$program" ] || program=
  python3 -B "$here/bill_of_materials_test.py" "$scratch/root/usr/share/doc/$name/$name.cdx.json" \
    "$scratch/control/$name/control" $program || fail "the bill of $name is wrong"
done

# Files are as old as the source, and nobody but their owner may change them.
seconds=$("$tools/source_date.sh")
TZ=UTC dpkg-deb --fsys-tarfile "$scratch/packages/tacet_"*.deb | TZ=UTC tar -tv --full-time |
  awk '{print $4, $5}' | sort -u > "$scratch/times"
[ "$(cat "$scratch/times")" = "$(date -u -d "@$seconds" '+%F %T')" ] ||
  fail "times of files: $(head -3 "$scratch/times")"
wrong=$(find "$scratch/root/usr" \( -perm /022 -o -not -perm -044 -o -type d -not -perm -011 \) -not -type l)
[ -z "$wrong" ] || fail "others may change it, or may not read it: $wrong"

# The units next to those of the system that they name.
units=$scratch/root/usr/lib/systemd/system
mkdir -p "$scratch/root/etc" "$scratch/root/bin"
cp -n /usr/lib/systemd/system/*.target /lib/systemd/system/*.{slice,mount,socket,service} "$units" 2> /dev/null || true
cp "$(type -P true)" "$scratch/root/bin/sh"
for unit in tacet-client tacet-server; do
  said=$(systemd-analyze --man=no --root="$scratch/root" verify "$unit.service" 2>&1 | grep "$unit" || true)
  [ -z "$said" ] || fail "$said"
  systemd-analyze security --offline=true --threshold=25 "$units/$unit.service" > "$scratch/$unit.txt" ||
    fail "$unit.service: $(tail -n 1 "$scratch/$unit.txt")"
done

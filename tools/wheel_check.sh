#!/usr/bin/env bash
# Installs the Python package's wheel in a bare Debian 12 below a temporary folder, without the
# packages for compilation, uses it there, and runs the federation of the Python guide: a server and
# three sites, trained and audited in at most three minutes and ten commands. Run as root.
# usage: tools/wheel_check.sh FOLDER-WITH-WHEELS
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
wheels=$(realpath -- "$1")

fail() {
  echo "wheel_check: $*" >&2
  exit 1
}
step() { "$here/quiet.sh" "$@"; }

[ "$(id -u)" = 0 ] || fail "run it as root: it makes a system of its own below a temporary folder"
root=$(mktemp -d /tmp/tacet-wheel.XXXXXX)
finish() {
  umount -R "$root/proc" "$root/dev" 2> /dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT

step "bare Debian 12" mmdebstrap --variant=minbase --mode=root --include=python3,python3-venv \
  bookworm "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev" # /dev/null
mkdir "$root/wheels" "$root/federation"
cp "$wheels"/tacet-*.whl "$here/wheel_use.py" "$root/wheels"
step "NumPy's wheel" python3 -m pip download --quiet --disable-pip-version-check \
  --only-binary :all: --python-version 3.11 --dest "$root/wheels" "numpy>=1.24"
# The programs of the guide.
PYTHONPATH=$here python3 -B - "$here/../docs/guide/python.md" "$root/federation" << 'END'
import pathlib, sys
import run_guide
guide, folder = map(pathlib.Path, sys.argv[1:])
for _, _, mark, content in run_guide.blocks(guide.read_text(encoding="utf-8")):
    if mark is not None and mark[0] == "file":
        (folder / mark[1]).write_text(content, encoding="utf-8")
END
inside() {
  env -i PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    chroot "$root" sh -c 'cd /federation && exec "$@"' sh "$@"
}

# From here on nothing but the wheel: these are the commands of a user.
commands=0
begin=$SECONDS
run() {
  commands=$((commands + 1))
  inside "$@"
}
run python3 -m venv /venv
run pip install --quiet --disable-pip-version-check --no-index --find-links /wheels tacet
run python found.py
run tacet-server --home hub --listen 127.0.0.1:7465 --admin 127.0.0.1:9486 --log server.log \
  --key-file trial.key &
server=$!
sites=()
for site in north south west; do
  commands=$((commands + 1))
  inside python site.py $site $site.npz > "$root/federation/$site.log" 2>&1 &
  sites+=($!)
done
for process in "${sites[@]}"; do
  wait "$process" || fail "a site failed: $(cat "$root"/federation/*.log)"
done
run tacet audit write north/run --out north.json
run tacet audit verify north.json
commands=$((commands + 1)) # the server's: it runs in the background
seconds=$((SECONDS - begin))
kill -TERM "$(pgrep -P "$server" || echo "$server")"
wait "$server" || fail "the server failed: $(tail -n 3 "$root/federation/server.log")"
cmp "$root"/federation/{north,south}/run/model.f32
[ "$commands" -le 10 ] || fail "the federation took $commands commands"
[ "$seconds" -le 180 ] || fail "the federation took $seconds s"

inside python /wheels/wheel_use.py /use
! inside ldconfig -p | grep -E 'libcurl|libsodium|libabsl' ||
  fail "the system has libraries of the build: this was no test"
for wheel in "$wheels"/tacet-*.whl; do
  bytes=$(stat -c %s "$wheel")
  [ "$bytes" -le 25000000 ] || fail "$wheel has $bytes bytes, more than 25 MB"
done
echo "wheel_check: a federation in $seconds s and $commands commands"

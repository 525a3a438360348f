#!/usr/bin/env bash
# Installs the Python package's wheel in a bare Debian 12 below a temporary folder, without the
# packages for compilation, and uses it there. Run as root.
# usage: tools/wheel_check.sh WHEEL
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
wheel=$(realpath -- "$1")

fail() {
  echo "wheel_check: $*" >&2
  exit 1
}
step() { "$here/quiet.sh" "$@"; }

[ "$(id -u)" = 0 ] || fail "run it as root: it makes a system of its own below a temporary folder"
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 25000000 ] || fail "$wheel has $bytes bytes, more than 25 MB"
root=$(mktemp -d /tmp/tacet-wheel.XXXXXX)
finish() {
  umount -R "$root/proc" 2> /dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT

step "bare Debian 12" mmdebstrap --variant=minbase --mode=root --include=python3,python3-venv \
  bookworm "$root"
mount -t proc proc "$root/proc"
mkdir "$root/wheels"
cp "$wheel" "$root/wheels"
step "NumPy's wheel" python3 -m pip download --quiet --disable-pip-version-check \
  --only-binary :all: --dest "$root/wheels" "numpy>=1.24"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" "$@"; }
export -f inside
export root
step "install" bash -c 'inside python3 -m venv /venv && inside /venv/bin/python -m pip install \
  --quiet --disable-pip-version-check --no-index --find-links /wheels tacet'

cat > "$root/use.py" << 'END'
import numpy as np

import tacet
from tacet import secagg, statistics

noise = tacet.calibrate(target_epsilon=6, clients=100, cohort=50, rounds=20, delta=1e-4)
assert 6 < noise < 6.5, noise
run = tacet.simulate(
    lambda model, client, round_: np.full_like(model, 0.1),
    clients=6,
    initial=np.zeros(50, dtype=np.float32),
    privacy=tacet.Privacy(noise_multiplier=2, delta=1e-3),
    rounds=2,
    out="/run-of-wheel",
)
assert run.epsilon is not None
release = statistics.ask(
    {"north": {"age": [40, 50]}, "south": {"age": [60, 70]}},
    [statistics.count()],
    target_epsilon=1,
    max_units=5,
    out="/answers-of-wheel",
)
secagg.MemberKey.generate()
try:
    tacet.Member("/none", server="127.0.0.1:1", data="/use.py", key_file="/none.key")
except tacet.NotFoundError as error:
    assert "holds no identity" in str(error), error
END
inside /venv/bin/python /use.py
# Time of the processor, since other programs may run; the least of five starts.
seconds=$(for _ in 1 2 3 4 5; do
  inside /venv/bin/python -c "import time
begin = time.process_time()
import tacet
print(f'{time.process_time() - begin:.3f}')"
done | sort -n | head -1)
awk -v s="$seconds" 'BEGIN { exit !(s <= 0.2) }' || fail "the import took $seconds s, more than 0.2 s"
! inside ldconfig -p | grep -E 'libcurl|libsodium|libabsl' ||
  fail "the system has libraries of the build: this was no test"
echo "wheel_check: $((bytes / 1000)) kB, imported in $seconds s"

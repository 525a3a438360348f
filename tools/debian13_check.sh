#!/usr/bin/env bash
# Builds the commit in a bare Debian 13 below a temporary folder: `make demo`, then `make test` with
# its compiler and libraries, then the product once more by clang as C++23. A warning is an error.
# Run as root.
# usage: tools/debian13_check.sh [TARGET...]
# TARGETs are those of make, by default: demo test. TACET_DEBIAN_CACHE names a folder that keeps
# packages and compiled files for the next call.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(dirname -- "$here")
targets=("$@")
[ $# -gt 0 ] || targets=(demo test)

fail() {
  echo "debian13_check: $*" >&2
  exit 1
}
step() { "$here/quiet.sh" "$@"; }

[ "$(id -u)" = 0 ] || fail "run it as root: it makes a system of its own below a temporary folder"
root=$(mktemp -d /tmp/tacet-debian13.XXXXXX)
cache=${TACET_DEBIAN_CACHE:-$root.cache}
finish() {
  umount -R "$root/var/cache/apt/archives" "$root/ccache" "$root/proc" "$root/dev" 2> /dev/null || true
  rm -rf --one-file-system "$root" "$root.cache"
}
trap finish EXIT

step "bare Debian 13" mmdebstrap --variant=minbase --mode=root \
  --include=make,git,ca-certificates,ccache trixie "$root"
mkdir -p "$root/ccache" "$cache/ccache" "$cache/archives/partial"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# Else an unmount here would unmount what lies below this system's /dev.
mount --make-rslave "$root/dev"
mount --bind "$cache/ccache" "$root/ccache"
mount --bind "$cache/archives" "$root/var/cache/apt/archives"
echo 'APT::Sandbox::User "root";' > "$root/etc/apt/apt.conf.d/90root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# The authorities that this system trusts, for the indexes of npm and of Python's packages.
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/tacet/authorities.pem"
git clone -q --no-local "$source" "$root/tacet"
authorities=/usr/local/share/tacet/authorities.pem
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR=/ccache \
    CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros \
    DEBIAN_FRONTEND=noninteractive JOBS="${JOBS:-$(nproc)}" PIP_CERT=$authorities \
    NODE_EXTRA_CA_CERTS=$authorities npm_config_cafile=$authorities \
    chroot "$root" sh -c 'cd /tacet && exec "$@"' sh "$@"
}
for target in "${targets[@]}"; do
  inside make "$target"
done

inside tools/setup.sh demo server test
export -f inside
export root authorities
step "clang, C++23" bash -c 'inside cmake -G Ninja -B build/clang -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_STANDARD=23 -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DTACET_WERROR=ON \
  -DTACET_TESTS=OFF -DTACET_MPI=OFF -DTACET_NETWORK=ON &&
  inside cmake --build build/clang'
echo "Debian 13: $(inside c++ --version | head -n 1), $(inside clang++ --version | head -n 1)"

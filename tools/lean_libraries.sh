#!/usr/bin/env bash
# Builds lean forms of two libraries for wheels into FOLDER, from Debian's sources: libcurl with HTTP,
# TLS and proxies alone, libpq without GSSAPI and LDAP. Debian's own need 25 more libraries, which a
# wheel would have to bring. Names and versions of their symbols are Debian's, so they take the place
# of Debian's when a wheel is put together. A second call without a change needs no network.
# usage: tools/lean_libraries.sh FOLDER
set -euo pipefail

[ $# = 1 ] || {
  echo "usage: tools/lean_libraries.sh FOLDER" >&2
  exit 2
}
# Another system's libraries go into the wheel as they are.
command -v dpkg-query > /dev/null && command -v dpkg-source > /dev/null || exit 0
mkdir -p "$1"
folder=$(cd -- "$1" && pwd)
# The sources of the packages that are installed here.
mapfile -t sources < <(dpkg-query -W -f '${source:Package}=${source:Version}\n' libcurl4 libpq5)
stamp=$folder/sources.$(printf '%s\n' "${sources[@]}" | cat - "${BASH_SOURCE[0]}" | cksum | tr ' ' -)
[ ! -e "$stamp" ] || exit 0

build=$folder/build
rm -rf "$build" "$folder/lib"
mkdir -p "$build"/apt/{lists,cache}/partial "$folder/lib"
. /etc/os-release
keys=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in "$VERSION_CODENAME" "$VERSION_CODENAME-updates"; do
  echo "deb-src [signed-by=$keys] http://deb.debian.org/debian $suite main"
done > "$build/apt/sources.list"
echo "deb-src [signed-by=$keys] http://deb.debian.org/debian-security $VERSION_CODENAME-security main" \
  >> "$build/apt/sources.list"
apt_get=(apt-get -q -y -o APT::Sandbox::User=root -o Debug::NoLocking=1
  -o Dir::Etc::SourceList="$build/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::lists="$build/apt/lists" -o Dir::Cache="$build/apt/cache")
"${apt_get[@]}" update
(cd "$build" && "${apt_get[@]}" source "${sources[@]}")

jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
(
  cd "$build"/curl-*/
  # Debian's last two patches are for its builds with other TLS libraries.
  for name in 99_nss 90_gnutls; do patch -R -p1 -s < "debian/patches/$name.patch"; done
  ./configure --disable-static --enable-versioned-symbols --with-openssl \
    --with-ca-path=/etc/ssl/certs --disable-ldap --disable-ldaps --disable-manual --disable-ftp \
    --disable-file --disable-dict --disable-gopher --disable-imap --disable-mqtt --disable-pop3 \
    --disable-rtsp --disable-smb --disable-smtp --disable-telnet --disable-tftp --disable-hsts \
    --disable-alt-svc --disable-websockets --without-zlib --without-brotli --without-zstd \
    --without-libidn2 --without-libpsl --without-libssh2 --without-librtmp --without-nghttp2 \
    --without-gssapi
  make -j "$jobs" -C lib libcurl.la
  cp -P lib/.libs/libcurl.so.4* "$folder/lib"
)
(
  cd "$build"/postgresql-*/
  ./configure --with-openssl --without-gssapi --without-ldap --without-readline --without-zlib \
    --without-icu
  make -j "$jobs" -C src/backend generated-headers
  make -j "$jobs" -C src/interfaces/libpq all-lib
  cp -P src/interfaces/libpq/libpq.so.5* "$folder/lib"
)
strip "$folder"/lib/*.so.*.*
symbols() { nm -D --defined-only --with-symbol-versions "$1" | awk '{print $3}' | sort; }
for name in libcurl.so.4 libpq.so.5; do
  debian=$(/sbin/ldconfig -p | awk -v name=$name '$1 == name {print $NF; exit}')
  absent=$(comm -23 <(symbols "$debian") <(symbols "$folder/lib/$name"))
  [ -z "$absent" ] || {
    echo "lean_libraries: $name lacks symbols of Debian's: $absent" >&2
    exit 1
  }
done
rm -r "$build"
touch "$stamp"

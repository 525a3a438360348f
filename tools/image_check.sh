#!/usr/bin/env bash
# Builds the container image on a Debian 12 of its own, without a registry, and runs the federation of
# packaging/compose.yaml in it until the training is complete. Images, containers, volumes and networks
# lie below a temporary folder. Run as root.
# usage: tools/image_check.sh FOLDER-WITH-PACKAGES
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
packages=$(cd -- "$1" && pwd)

fail() {
  echo "image_check: $*" >&2
  exit 1
}
step() { "$here/quiet.sh" "$@"; }

[ "$(id -u)" = 0 ] || fail "run it as root: it makes containers with networks of their own"
root=$(mktemp -d /tmp/tacet-image.XXXXXX)
project=tacet-image-check
compose_file=$here/../packaging/compose.yaml
finish() {
  podman-compose -p "$project" -f "$compose_file" down -v > /dev/null 2>&1 || true
  podman network prune -f > /dev/null 2>&1 || true
  umount "$root/storage/overlay" 2> /dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT

cat > "$root/storage.conf" << END
[storage]
driver = "overlay"
graphroot = "$root/storage"
runroot = "$root/run"
END
# Where limits may not be raised, those of this process do.
cat > "$root/containers.conf" << END
[containers]
default_ulimits = ["nofile=$(ulimit -n):$(ulimit -n)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "$root/networks"
END
export CONTAINERS_STORAGE_CONF=$root/storage.conf CONTAINERS_CONF=$root/containers.conf TMPDIR=$root
export TACET_IMAGE=localhost/tacet:check TACET_POSTGRES_IMAGE=localhost/postgres:check TACET_ADMIN_PORT=19464
base=localhost/debian:12

step "base system" mmdebstrap --variant=minbase bookworm "$root/debian.tar"
step "base image" podman import "$root/debian.tar" "$base"
rm "$root/debian.tar"
step "image" "$here/image.sh" "$packages" "$TACET_IMAGE" --build-arg "BASE=$base" --network host

# PostgreSQL as its official image starts it: user, database and password from the environment.
mkdir "$root/postgres"
cat > "$root/postgres/start" << 'END'
#!/bin/bash
set -euo pipefail
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
data=/var/lib/postgresql/data
as_user() { setpriv --reuid postgres --regid postgres --clear-groups env PATH="$PATH" "$@"; }
if [ ! -e "$data/PG_VERSION" ]; then
  chown postgres "$data"
  install -m 0400 -o postgres "$POSTGRES_PASSWORD_FILE" /tmp/password
  as_user initdb -D "$data" --username "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  [ "$POSTGRES_DB" = postgres ] ||
    as_user postgres --single -D "$data" postgres <<< "CREATE DATABASE $POSTGRES_DB"
fi
exec setpriv --reuid postgres --regid postgres --clear-groups env PATH="$PATH" postgres -D "$data" \
  -c "listen_addresses=*" -c unix_socket_directories=/tmp
END
chmod +x "$root/postgres/start"
cat > "$root/postgres/Containerfile" << END
FROM $base
RUN mkdir -p /etc/postgresql-common/createcluster.d \\
 && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/none.conf \\
 && apt-get update && apt-get install -y --no-install-recommends postgresql
COPY start /start
VOLUME /var/lib/postgresql/data
ENTRYPOINT ["/start"]
END
step "image of PostgreSQL" podman build --network host --tag "$TACET_POSTGRES_IMAGE" "$root/postgres"

podman run --rm --network none --read-only --cap-drop ALL "$TACET_IMAGE" --version ||
  fail "the image does not run without rights"
[ "$(podman run --rm --network none --entrypoint id "$TACET_IMAGE" -u)" = 10001 ] ||
  fail "the image does not run as user 10001"
# The default number of threads is what the quota allows.
cores() { # ARGUMENT-OF-PODMAN...
  podman run --rm --network none --read-only --tmpfs /out -v "$here/../configs:/configs:ro" "$@" \
    --entrypoint sh "$TACET_IMAGE" -c 'tacet simulate --config /configs/demo-drawn.toml --rounds 1 \
      --out /out/run > /dev/null && sed -n "s/.*\"cores\": *\([0-9]*\).*/\1/p" /out/run/summary.json'
}
[ "$(nproc)" = 1 ] || [ "$(cores)" = "$(nproc)" ] || fail "a container without a quota uses $(cores) threads"
[ "$(cores --cpus 1)" = 1 ] || fail "a container with a quota of one processor uses $(cores --cpus 1) threads"

step "start the federation" podman-compose -p "$project" -f "$compose_file" up -d
state() { podman inspect --format '{{.State.Status}} {{.State.ExitCode}}' "${project}_$1_1"; }
sites=(north south west)
deadline=$((SECONDS + 1800))
for site in "${sites[@]}"; do
  until [ "$(state "$site")" = "exited 0" ]; do
    if [ $SECONDS -gt $deadline ]; then
      for name in enrolment database hub "${sites[@]}"; do
        echo "== $name: $(state "$name")"
        podman logs --tail 20 "${project}_${name}_1" 2>&1 || true
      done >&2
      fail "$site has not ended its training"
    fi
    sleep 2
  done
done
podman exec "${project}_hub_1" bash -c 'exec 3<>/dev/tcp/127.0.0.1/9464
  printf "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3
  grep -q "^HTTP/1.1 200" <&3' || fail "the server is not healthy"
! podman exec "${project}_hub_1" touch /usr/written 2> /dev/null || fail "the server's system is writable"
volume() { podman volume inspect --format '{{.Mountpoint}}' "${project}_$1"; }
for site in "${sites[@]}"; do
  cmp "$(volume north)/home/run/model.f32" "$(volume "$site")/home/run/model.f32"
  grep -q "4 of 4 rounds.* 0 protocol violations" <<< "$(podman logs "${project}_${site}_1" 2>&1)" ||
    fail "$site did not complete the training without a violation"
done
[ ! -e "$(volume hub)/home/server.sqlite" ] || fail "the server did not use PostgreSQL"
sha256sum "$(volume north)/home/run/model.f32"
echo "image: built, run without rights, a federation of three sites is complete"

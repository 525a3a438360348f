#!/bin/sh
# Enrols the server and the three sites of packaging/compose.yaml, as the people of a federation do
# on machines of their own: requests, invitations, acceptance. Runs once, as root in a container that
# has every party's volume below /homes.
set -eu
user=10001
done=/homes/coordinator/enrolled
[ ! -e "$done" ] || exit 0

as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs "$@"; }
field() { sed -n "s/^$1 *//p"; }

for party in coordinator hub north south west; do
  chown "$user:$user" "/homes/$party"
  chmod 0700 "/homes/$party"
done

# The server's password of the database, for both sides.
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
umask 077
printf '%s' "$password" > /homes/database/password
printf 'database:5432:tacet:tacet:%s\n' "$password" > /homes/hub/pgpass
chown "$user:$user" /homes/hub/pgpass

coordinator="--folder /homes/coordinator/folder --key-file /homes/coordinator/key"
as_user tacet federation init $coordinator --name rehearsal --config /etc/tacet/agreed.toml \
  --members 3 > /tmp/init
for party in hub north south west; do
  [ "$party" = hub ] && host="--server-host hub" || host=
  as_user tacet client request --home "/homes/$party/home" --name "$party" $host \
    --key-file "/homes/$party/key" > /tmp/request
  as_user tacet federation enrol "$party" $coordinator --server hub \
    --request "/homes/$party/home/$party.request" --fingerprint "$(field fingerprint < /tmp/request)"
done
as_user tacet federation seal-key $coordinator
for party in hub north south west; do
  as_user tacet client join "/homes/coordinator/folder/invitations/$party-epoch-0.tacet" \
    --home "/homes/$party/home" --key-file "/homes/$party/key" \
    --coordinator "$(field coordinator < /tmp/init)"
done
: > "$done"

#!/usr/bin/env bash
# Makes the Debian packages of a build folder, with the same modes whatever the caller's umask is.
# usage: tools/pack.sh BUILD-FOLDER [ARGUMENT-OF-CPACK...]
set -euo pipefail
umask 022
cpack --config "$1/CPackConfig.cmake" "${@:2}"

#!/usr/bin/env bash
# Runs a command with its output in a log, and shows the log only if the command fails.
# usage: tools/quiet.sh [--tests | --steps N PATTERN] [--retried] TITLE COMMAND [ARGUMENT...]
#   --tests            the command is ctest: failed tests are printed with their output, at once
#   --steps N PATTERN  progress: N lines of the output match the regular expression PATTERN; without
#                      it, progress is read from ninja's "[12/345]"
#   --retried          on failure print nothing: the caller tries again
# The log is build/logs/TITLE.log, or in the folder $TACET_LOGS. The exit status is the command's.
# A terminal shows one line of progress, other output a line per quarter. VERBOSE=1 prints it all.
set -euo pipefail
shopt -s lastpipe

usage() {
  sed -n '3s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

kind=ninja steps=0 pattern='' retried=no
while [[ ${1:-} == --* ]]; do
  case $1 in
    --tests) kind=tests ;;
    --steps)
      [ $# -ge 3 ] || usage
      kind=steps steps=$2 pattern=$3
      shift 2
      ;;
    --retried) retried=yes ;;
    *) usage ;;
  esac
  shift
done
[ $# -ge 2 ] || usage
title=$1
shift

logs=${TACET_LOGS:-$(dirname -- "${BASH_SOURCE[0]}")/../build/logs}
mkdir -p -- "$logs"
name=${title//[^A-Za-z0-9]/-}
log=$(realpath -- "$logs")/${name//--/-}.log
shown_log=$(realpath --relative-base=. -- "$log")
: > "$log"

terminal=no
[ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && terminal=yes
quarter=0
show_progress() { # DONE ALL
  [ "$2" -gt 0 ] || return 0
  local percent=$(($1 < $2 ? 100 * $1 / $2 : 100))
  if [ $terminal = yes ]; then
    printf '\r\033[K%s: %d %%' "$title" "$percent"
  elif [ $((percent / 25)) -gt $quarter ] && [ $percent -lt 100 ]; then
    quarter=$((percent / 25))
    echo "$title: $percent %"
  fi
}
clear_line() { [ $terminal = no ] || printf '\r\033[K'; }
show() {
  clear_line
  printf '%s\n' "$1"
}

# ctest's output. A failed test's output follows its line, and may itself hold lines of another
# ctest: a line is this ctest's if its number is the next one and the total has not changed.
finished=0 total=0 part=tests showing=no skipped=0
result_line='^ *([0-9]+)/([0-9]+) Test +#[0-9]+: '
read_tests_line() {
  local line=$1
  if [[ $part = tests && $line =~ $result_line && ${BASH_REMATCH[1]} -eq $((finished + 1)) &&
    ($total -eq 0 || ${BASH_REMATCH[2]} -eq $total) ]]; then
    finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} showing=no
    show_progress "$finished" "$total"
    if ! [[ $line =~ \.\ +Passed\ +[0-9.]+\ sec || $line =~ \*\*\*Skipped ]]; then
      showing=yes
      show "$line"
    fi
  elif [[ $part = tests && $finished -eq $total &&
    $line =~ ^[0-9]+%\ tests\ passed,.*\ out\ of\ ([0-9]+)$ && ${BASH_REMATCH[1]} -eq $total ]]; then
    part=summary
    show "$line"
  elif [ $part = tests ]; then
    [[ $showing = no || $line =~ ^\ +Start\ +[0-9]+:\  ]] || show "$line"
  elif [[ $line =~ ^[[:space:]]+[0-9]+\ -\ .*\(Skipped\)$ ]]; then
    skipped=$((skipped + 1))
  elif [[ $line = 'Total Test time'* || $line = *' FAILED:' || $line =~ ^[[:space:]]+[0-9]+\ -\  ]]; then
    show "$line"
  fi
}

ninja_line='^\[([0-9]+)/([0-9]+)\] '
seen=0
read_line() {
  printf '%s\n' "$1" >> "$log"
  if [ "${VERBOSE:-}" = 1 ]; then
    printf '%s\n' "$1"
  elif [ $kind = tests ]; then
    read_tests_line "$1"
  elif [ $kind = steps ]; then
    ! [[ $1 =~ $pattern ]] || show_progress $((seen += 1)) "$steps"
  elif [[ $1 =~ $ninja_line ]]; then
    show_progress "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  fi
}

[ $terminal = yes ] || echo "$title"
begin=$SECONDS
set +e
"$@" 2>&1 < /dev/null | while IFS= read -r line || [ -n "$line" ]; do read_line "$line"; done
status=${PIPESTATUS[0]}
set -e
clear_line
[ $skipped -eq 0 ] || echo "skipped on this machine: $skipped tests, named in $shown_log"

if [ "$status" -eq 0 ]; then
  echo "$title: done in $((SECONDS - begin)) s"
elif [ $retried = no ]; then
  # ninja's output from the first failure on, and the end of any other output.
  if [ "${VERBOSE:-}" != 1 ] && [ $part != summary ]; then
    if grep -q '^FAILED: ' "$log"; then
      sed -n '/^FAILED: /,$p' "$log" | sed '/^\[[0-9]*\/[0-9]*\] /d' | sed -n '1,200p' >&2
    else
      tail -n 60 "$log" >&2
    fi
  fi
  echo "$title: failed with status $status; the full log is $shown_log" >&2
fi
exit "$status"

#!/usr/bin/env python3
"""Compares what bash completes with what the program's help lists.

usage: completion_test.py PROGRAM

Every command and flag of every --help has to be completed, and nothing else. Where the help lists
the values of a flag, these are its completions. The script of zsh has to hold the same words, and
zsh has to accept it where this machine has one. `tacet server` is left out: another program runs.
"""

import re
import shutil
import subprocess
import sys

FLAG = re.compile(r"^  (?:-[a-z],)?(--[a-z-]+)(?: ([A-Z]+\S*))?", re.MULTILINE)
POSITIONAL = re.compile(r"^  [a-z]+ ([A-Z]+\S*)", re.MULTILINE)
COMMAND = re.compile(r"^  ([a-z-]+) ", re.MULTILINE)
PROGRAM = sys.argv[1]


def run(*words, **options):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def choices(kind):
    """Of the help's "TEXT:{csv,images}=csv"."""
    found = re.search(r":\{([^}]*)\}", kind)
    return found[1].split(",") if found else []


def listed(command):
    """Of the help of a command: those below it, its flags with their kinds, its words."""
    text, _, commands = run(PROGRAM, *command, "--help").partition("\nSubcommands:\n")
    words, _, flags = text.partition("\nOptions:\n")
    values = [value for kind in POSITIONAL.findall(words) for value in choices(kind)]
    return COMMAND.findall(commands), dict(FLAG.findall(flags)), values


def expected():
    """Lines without the word `tacet`, and the words that complete them."""
    lines = {}
    waiting = [()]
    while waiting:
        command = waiting.pop()
        if command == ("server",):
            continue
        below, flags, values = listed(command)
        waiting += [(*command, name) for name in below]
        lines[(*command, "")] = {*below, *flags, *values}
        lines[(*command, "--")] = set(flags)
        for flag, kind in flags.items():
            if kind:
                lines[(*command, flag, "")] = set(choices(kind))
                lines[(*command, flag, "run", "--")] = set(flags)  # the value is no command
    return lines


def completed(script, lines):
    """The completions of bash at the end of each line."""
    asked = "".join(
        f"COMP_WORDS=(tacet {' '.join(line[:-1])} '{line[-1]}'); COMP_CWORD={len(line)}; _tacet; "
        'echo "${COMPREPLY[*]}"\n' for line in lines)
    # compgen fails where nothing fits.
    answers = run("bash", "--norc", "-u", input=script + asked).splitlines()
    assert len(answers) == len(lines), (len(answers), len(lines))
    return [set(answer.split()) for answer in answers]


def main():
    lines = expected()
    assert {("client", "run", ""), ("privacy", "--unit", ""), ("completion", "")} <= lines.keys()
    bash = run(PROGRAM, "completion", "bash")
    wrong = [(line, found ^ words) for found, (line, words)
             in zip(completed(bash, lines), lines.items()) if found != words]
    for line, difference in wrong:
        print(f"tacet {' '.join(line)}: {' '.join(sorted(difference))}", file=sys.stderr)
    zsh = run(PROGRAM, "completion", "zsh")
    missing = {word for words in lines.values() for word in words if word not in zsh}
    if missing:
        print(f"not in the script of zsh: {' '.join(sorted(missing))}", file=sys.stderr)
    if shutil.which("zsh"):
        run("zsh", "-f", "-n", input=zsh)
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())

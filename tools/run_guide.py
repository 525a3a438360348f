#!/usr/bin/env python3
"""Runner of a guide's commands, in their order, in one shell and a temporary folder.

usage: tools/run_guide.py --program PROGRAM GUIDE.md

- A block ```sh is run. `tacet` is PROGRAM; `configs` and `examples` are the repository's.
- Ledgers of sites lie in the temporary folder, too: XDG_DATA_HOME is there.
- A block after `<!-- file: NAME -->` is written to the file NAME.
- A block ```sh after `<!-- not run: REASON -->` is not run.
- A block ```text, ```toml, ```csv or ```ini without such a comment shows output or a format.

Any other block is an error, so that no command of a guide is left out by accident. The status is 0
if every command succeeded, else 1. It is 77 (skipped) if the guide needs `tacet server` or NumPy and
this machine lacks it. Processes that the guide started in the background are ended.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = {"text", "toml", "csv", "ini"}
SKIPPED = 77

FENCE = re.compile(r"^( *)```(\w*)\s*$")
MARK = re.compile(r"^ *<!-- (file|not run): (.+?) -->\s*$")


class GuideError(Exception):
    """A guide that breaks the rules above."""


def blocks(text):
    """Yields (line of the first command, language, mark or None, content) of each block."""
    lines = text.split("\n")
    mark = None
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = FENCE.match(line)
        if fence is None:
            if line.lstrip().startswith("```"):
                raise GuideError(f"line {number + 1}: {line.strip()} is not a block's beginning")
            found = MARK.match(line)
            if found or line.strip():
                mark = found.groups() if found else None
            number += 1
            continue
        indent, language = fence.groups()
        content = []
        first = number + 2
        number += 1
        while number < len(lines) and lines[number].strip() != "```":
            content.append(lines[number].removeprefix(indent))
            number += 1
        if number == len(lines):
            raise GuideError(f"line {first - 1}: the block does not end")
        yield first, language, mark, "\n".join(content) + "\n"
        mark = None
        number += 1


def script_of(guide):
    """The bash script that does what a reader of the guide does."""
    parts = ["set -euo pipefail"]
    for line, language, mark, content in blocks(guide.read_text(encoding="utf-8")):
        kind, value = mark or (None, None)
        if kind == "file":
            parts.append(f"mkdir -p -- \"$(dirname -- {shlex.quote(value)})\"")
            parts.append(f"cat >{shlex.quote(value)} <<'END-OF-FILE'\n{content}END-OF-FILE")
        elif language == "sh" and kind is None:
            parts.append(f"guide_line={line}\n{content.rstrip()}")
        elif not (language == "sh" or language in SHOWN):
            raise GuideError(f"line {line - 1}: a block of language \"{language}\" is neither run, "
                             "a file nor output")
    return "\n".join(parts) + "\n"


def has_server(program):
    """True if the program was built with the commands of a network."""
    listed = subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=True)
    return re.search(rb"^ +server ", listed.stdout, re.MULTILINE) is not None


def python_for(script):
    """The Python that runs the guide's programs, with NumPy if they need it; None: there is none."""
    if "train_logistic.py" not in script:
        return sys.executable
    for python in ("python3", "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import numpy"], check=False,
                                                   stderr=subprocess.DEVNULL).returncode == 0:
            return shutil.which(python)
    return None


def run(program, guide, seconds):
    """Runs the guide; returns the exit status."""
    script = script_of(guide)
    python = python_for(script)
    if python is None or ("tacet server" in script and not has_server(program)):
        print(f"{guide.name}: skipped, NumPy or `tacet server` is missing")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="tacet-guide-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "bin").mkdir()
        for name, path in (("tacet", program), ("python3", python)):
            wrapper = folder / "bin" / name
            wrapper.write_text(f"#!/bin/sh\nexec {shlex.quote(path)} \"$@\"\n", encoding="utf-8")
            wrapper.chmod(0o755)
        work = folder / "work"
        work.mkdir()
        shutil.copytree(ROOT / "configs", work / "configs")
        shutil.copytree(ROOT / "examples", work / "examples")
        failed = ("trap 'status=$?; [ $status -eq 0 ] || "
                  "echo \"the block at line ${guide_line:-0} failed\"' EXIT\n")
        environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}",
                           XDG_DATA_HOME=str(folder / "data"))
        with open(folder / "output.txt", "w+b") as output:
            shell = subprocess.Popen(["bash", "-c", failed + script], cwd=work, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = shell.wait(seconds)
            except subprocess.TimeoutExpired:
                status = f"timeout after {seconds} s"
            finally:
                try:
                    os.killpg(shell.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                shell.wait()
            output.seek(0)
            sys.stdout.write(output.read().decode(errors="replace"))
        print(f"{guide.name}: {'passed' if status == 0 else f'failed ({status})'}")
        return 0 if status == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the built tacet")
    parser.add_argument("--seconds", type=float, default=540, help="limit for the whole guide")
    parser.add_argument("guide", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        return run(os.path.realpath(arguments.program), arguments.guide, arguments.seconds)
    except GuideError as error:
        print(f"{arguments.guide}: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())

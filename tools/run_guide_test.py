#!/usr/bin/env python3
"""Tests of run_guide.py: commands, files and marks are obeyed, and each kind of failure is seen."""

import pathlib
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent

# Name, text of the guide, expected status, words that the output must have.
CASES = [
    ("passes", "# A\n```sh\nx=1\n```\ntext\n```sh\ntest $x = 1 && ls examples && echo seen\n```\n",
     0, ["seen", "passed"]),
    ("writes a file", "<!-- file: a/b.toml -->\n```toml\nkey = '$HOME'\n```\n"
     "```sh\ngrep -F '$HOME' a/b.toml\n```\n", 0, ["key = '$HOME'"]),
    ("leaves out a marked block", "<!-- not run: it fails -->\n\n```sh\nfalse\n```\n", 0, ["passed"]),
    ("a mark holds for the next block only", "<!-- not run: it fails -->\n```sh\nfalse\n```\n"
     "```sh\nfalse\n```\n", 1, ["the block at line 6 failed"]),
    ("a mark ends at other text", "<!-- not run: it fails -->\ntext\n```sh\nfalse\n```\n", 1,
     ["the block at line 4 failed"]),
    ("a failed command", "```sh\nfalse\ntrue\n```\n", 1, ["the block at line 2 failed"]),
    ("a failed pipe", "```sh\nfalse | cat\n```\n", 1, ["failed"]),
    ("an unset variable", "```sh\necho $missing\n```\n", 1, ["missing"]),
    ("output is not run", "```text\nfalse\n```\n", 0, ["passed"]),
    ("a block without language", "```\ntrue\n```\n", 1, ["neither run, a file nor output"]),
    ("an unknown language", "```bash\ntrue\n```\n", 1, ["neither run, a file nor output"]),
    ("a block without end", "```sh\ntrue\n", 1, ["does not end"]),
    ("a command that hangs", "```sh\nsleep 60 & sleep 60\n```\n", 1, ["timeout"]),
    ("no server", "```sh\ntacet server\n```\n", 77, ["skipped"]),
]


def main():
    failures = 0
    for name, text, expected, words in CASES:
        with tempfile.TemporaryDirectory() as folder:
            guide = pathlib.Path(folder) / "guide.md"
            guide.write_text(text, encoding="utf-8")
            seconds = "1" if "timeout" in words else "60"
            result = subprocess.run([sys.executable, TOOLS / "run_guide.py", "--program", "/bin/true",
                                     "--seconds", seconds, guide], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, check=False)
        output = result.stdout.decode()
        if result.returncode != expected or not all(word in output for word in words):
            failures += 1
            print(f"{name}: status {result.returncode}, expected {expected} and {words}\n{output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

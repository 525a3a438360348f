#!/usr/bin/env python3
"""Test of how many commands a federation of five sites takes, by docs/guide/federation.md.

The commands of the guide up to the server's start run with a program that only writes down who runs
what. The guide's own test runs them with the real one. The last command of a site comes from its
kit: `tacet client run` (tests/integration/kit_test.cc).
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_guide  # noqa: E402  (beside this file)

GUIDE = run_guide.ROOT / "docs" / "guide" / "federation.md"
AT_THE_COORDINATOR = 10
AT_A_SITE = 3

# Writes down the folder that a command is about, and says what scripts read from its output.
RECORDER = """#!/bin/bash
who=coordinator
words=("$@")
for i in "${!words[@]}"; do
  [ "${words[$i]}" = --home ] && who=${words[$((i + 1))]}
done
echo "$who $1 $2" >>"$COMMANDS"
echo 'coordinator 0123'
echo 'fingerprint 4567'
"""


class CommandsTest(unittest.TestCase):
    def test_a_federation_of_five_sites(self):
        text = GUIDE.read_text(encoding="utf-8")
        setup, rest = text.split("\n## 6. The server\n")
        self.assertIn("tacet server", rest)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "setup.md").write_text(setup, encoding="utf-8")
            recorder = folder / "tacet"
            recorder.write_text(RECORDER, encoding="utf-8")
            recorder.chmod(0o755)
            environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}",
                               COMMANDS=str(folder / "commands.txt"))
            subprocess.run(["bash", "-c", run_guide.script_of(folder / "setup.md")], check=True,
                           cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            commands = (folder / "commands.txt").read_text(encoding="utf-8").splitlines()
        count = collections.Counter(command.split()[0] for command in commands)
        coordinator = count.pop("coordinator")
        self.assertLessEqual(coordinator, AT_THE_COORDINATOR)
        self.assertEqual(sum("federation enrol" in command for command in commands), 6)
        self.assertEqual(len(count), 6)  # five sites and the server
        for who, commands_of_party in count.items():
            # The last one is `tacet client run`, or `tacet server`.
            self.assertLessEqual(commands_of_party + 1, AT_A_SITE, who)


if __name__ == "__main__":
    unittest.main()

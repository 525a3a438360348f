#!/usr/bin/env python3
"""Test of how many commands a federation of five sites takes, by its guides.

The commands of docs/guide/federation.md and docs/guide/one-hospital-federation.md up to the server's
start run with a program that only writes down who runs what. The guides' own tests run them with the
real one. The last command of a site comes from its kit: `tacet client run`
(tests/integration/kit_test.cc).
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_guide  # noqa: E402  (beside this file)

GUIDES = run_guide.ROOT / "docs" / "guide"
AT_THE_COORDINATOR = 10
AT_A_SITE = 3
FIRST_MODEL_AT_THE_COORDINATOR = 12

# Writes down the folder that a command is about, and says what scripts read from its output.
RECORDER = """#!/bin/bash
who=coordinator
words=("$@")
for i in "${!words[@]}"; do
  [ "${words[$i]}" = --home ] && who=${words[$((i + 1))]}
done
[ "$who $2" = "coordinator policy" ] && who=officer
mkdir -p "$who"
echo "$who $1 $2" >>"$COMMANDS"
echo 'coordinator 0123'
echo 'fingerprint 4567'
"""


class CommandsTest(unittest.TestCase):
    def commands_before(self, guide, section):
        """The commands of a guide before a section, each with the party that runs it."""
        text = (GUIDES / guide).read_text(encoding="utf-8")
        setup, rest = text.split(f"\n## {section}\n")
        self.assertIn("tacet server", rest)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "setup.md").write_text(setup, encoding="utf-8")
            for name in ("examples", "configs"):
                (folder / name).symlink_to(run_guide.ROOT / name)
            recorder = folder / "tacet"
            recorder.write_text(RECORDER, encoding="utf-8")
            recorder.chmod(0o755)
            environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}",
                               COMMANDS=str(folder / "commands.txt"))
            subprocess.run(["bash", "-c", run_guide.script_of(folder / "setup.md")], check=True,
                           cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            return (folder / "commands.txt").read_text(encoding="utf-8").splitlines()

    def test_a_federation_of_five_sites(self):
        commands = self.commands_before("federation.md", "6. The server")
        count = collections.Counter(command.split()[0] for command in commands)
        coordinator = count.pop("coordinator")
        self.assertLessEqual(coordinator, AT_THE_COORDINATOR)
        self.assertEqual(sum("federation enrol" in command for command in commands), 6)
        self.assertEqual(len(count), 6)  # five sites and the server
        for who, commands_of_party in count.items():
            # The last one is `tacet client run`, or `tacet server`.
            self.assertLessEqual(commands_of_party + 1, AT_A_SITE, who)

    def test_a_first_model_of_five_hospitals_with_a_policy_each(self):
        commands = self.commands_before("one-hospital-federation.md", "8. The first training")
        of_coordinator = [c for c in commands if c.split()[1] == "federation"]
        self.assertLessEqual(len(of_coordinator), FIRST_MODEL_AT_THE_COORDINATOR)
        pins = [c for c in commands if c.endswith("client policy") and not c.startswith("officer")]
        self.assertEqual(len(pins), 5)

    def test_each_change_is_one_command_of_the_coordinator(self):
        text = (GUIDES / "one-hospital-federation.md").read_text(encoding="utf-8")
        for section, command in (("10. The second training", "train"), ("11. A site leaves", "remove"),
                                 ("12. A query", "ask")):
            body = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
            lines = "".join(content for _, language, _, content in run_guide.blocks(body)
                            if language == "sh")
            self.assertEqual(re.findall(r"^tacet federation (\S+)", lines, re.MULTILINE), [command])
            self.assertNotIn("tacet client", lines)


if __name__ == "__main__":
    unittest.main()

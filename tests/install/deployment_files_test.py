"""Compares the files below packaging/ with the programs: each option that a service, a container or a
chart passes is in the help of its command, and a chart reads each of its values.

usage: deployment_files_test.py PROGRAM SERVER
"""

import functools
import pathlib
import re
import subprocess
import sys
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging"
PROGRAM, SERVER = sys.argv.pop(1), sys.argv.pop(1)
COMMAND = re.compile(r"(?<![\w./-])(?:/usr/bin/)?(tacet-server|tacet (?:[a-z][a-z-]*(?: |$))+)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")


@functools.cache
def help_of(command):
    """Names of the options of a command: `tacet client run`, `tacet-server`."""
    words = command.split()
    program = [SERVER] if command in ("tacet-server", "tacet server") else [PROGRAM, *words[1:]]
    said = subprocess.run([*program, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", said, re.M))


def commands_in_lists(text):
    """Commands of containers, `[client, run, --home=...]` or one word a line, with their options."""
    for words in re.findall(r"^ +(?:args|command): *(\[[^\]]*\]|\n(?: +(?:- .*|\{\{.*)\n)+)", text, re.M):
        listed = re.findall(r"(?:^ +- |[\[,]\s*)([a-z][a-z-]*)(?=[,\]\n])", words, re.M)
        if listed[:1] == ["server"] or listed[:1] == ["client"]:
            yield " ".join(["tacet", *listed]), OPTION.findall(words)


def commands_in_lines(text):
    """Commands of scripts and units, with the options up to the end of their line."""
    for line in text.replace("\\\n", " ").splitlines():
        # Options of other programs come first, such as those of setpriv.
        found = COMMAND.search(line)
        if found and not line.lstrip().startswith("#"):
            yield found[1].strip(), OPTION.findall(line[found.end(1):])


class Options(unittest.TestCase):
    def check(self, name, commands, least):
        checked = 0
        for command, options in commands:
            for option in options:
                self.assertIn(option, help_of(command), f"{name}: {command}")
                checked += 1
        self.assertGreaterEqual(checked, least, f"{name}: options were not found")

    def test_compose_file(self):
        text = (PACKAGING / "compose.yaml").read_text()
        self.check("compose.yaml", commands_in_lists(text), 24)

    def test_enrolment_of_the_compose_file(self):
        text = (PACKAGING / "compose/enrol.sh").read_text()
        text = text.replace("$coordinator", "--folder --key-file").replace("$host", "--server-host")
        self.check("enrol.sh", commands_in_lines(text), 15)

    def test_charts(self):
        for name, least in (("server", 8), ("site", 8)):
            text = (PACKAGING / f"helm/templates/{name}.yaml").read_text()
            self.check(name, commands_in_lists(text), least)

    def test_units(self):
        for name in ("tacet-client", "tacet-server"):
            text = (PACKAGING / f"systemd/{name}.service").read_text()
            self.check(name, commands_in_lines(text), 3)

    def test_an_unknown_option_is_seen(self):
        text = "    command: [client, run, --hom=x]\n"
        with self.assertRaisesRegex(AssertionError, "--hom"):
            self.check("a text", commands_in_lists(text), 1)


def value_paths(text):
    """Paths of the keys in values.yaml, such as `server.storage.size`, without those of flow style."""
    above, paths = [], set()
    for indent, key in re.findall(r"^( *)([A-Za-z]+):", text, re.M):
        above[len(indent) // 2:] = [key]
        paths.add(".".join(above))
    return paths


class Values(unittest.TestCase):
    def test_the_templates_read_all_values_and_no_other(self):
        known = value_paths((PACKAGING / "helm/values.yaml").read_text())
        helpers = (PACKAGING / "helm/templates/_helpers.tpl").read_text()
        read = set(re.findall(r"\.Values\.([A-Za-z.]+)", helpers))
        for part in ("server", "site"):
            text = (PACKAGING / f"helm/templates/{part}.yaml").read_text()
            read |= {f"{part}.{path}" for path in re.findall(rf"\${part}\.([A-Za-z.]+)", text)}
            read |= set(re.findall(r"\.Values\.([A-Za-z.]+)", text))
        self.assertEqual(read - known, set())
        for path in sorted(known):
            # A part that is read as a whole is read with all that is below it.
            self.assertTrue(any(path == one or path.startswith(one + ".") or one.startswith(path + ".")
                                for one in read if one not in ("server", "site")),
                            f"no template reads {path}")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Runs setup.sh and demo_data.sh with stand-ins for apt-get, dpkg-query, id and sudo."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
# `apt-get --print-uris install` of two packages on Debian 12, the mirror's name replaced.
PLAN = (TOOLS / "fixtures" / "setup" / "plan.txt").read_text(encoding="utf-8")

# Each stand-in appends its arguments to the file `calls`. apt-get says and does what the files
# plan, plan.status, install and install.status hold.
STAND_INS = {
    "apt-get": r"""#!/bin/bash
echo "apt-get $*" >> "$STAND_INS/calls"
case " $* " in
  *" update "*) mv -f "$STAND_INS/plan.new" "$STAND_INS/plan"; rm -f "$STAND_INS"/*.status ;;
  *" --print-uris "*) cat "$STAND_INS/plan"; exit "$(cat "$STAND_INS/plan.status" || echo 0)" ;;
  *) cat "$STAND_INS/install"; exit "$(cat "$STAND_INS/install.status" || echo 0)" ;;
esac 2> /dev/null
""",
    "dpkg-query": r"""#!/bin/bash
grep -qx -- "${!#}" "$STAND_INS/installed" && printf installed
""",
    "id": "#!/bin/sh\ncat \"$STAND_INS/user\"\n",
}
SUDO = "#!/bin/bash\necho \"sudo $*\" >> \"$STAND_INS/calls\"\nexec \"$@\"\n"
COMMANDS = ("bash", "cat", "dirname", "env", "grep", "mkdir", "mv", "realpath", "rm", "sed", "sh",
            "tail")


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for command in COMMANDS:
            (self.folder / command).symlink_to(shutil.which(command))
        for name, text in STAND_INS.items():
            self.write_program(name, text)
        self.write("plan", PLAN)
        self.write("install", "Get:1 package\nUnpacking package\nSetting up package\n")
        self.write("user", "0\n")
        self.write("installed", "")
        self.write("calls", "")
        # The scripts look for package sets next to themselves.
        tools = self.folder / "tools"
        (tools / "packages").mkdir(parents=True)
        for script in ("setup.sh", "quiet.sh"):
            (tools / script).symlink_to(TOOLS / script)
        self.write("tools/packages/small", "# Needed by nothing.\nlibbenchmark-dev\n")

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def write_program(self, name, text):
        self.write(name, text)
        (self.folder / name).chmod(0o755)

    def setup_packages(self, *sets, **variables):
        environment = {"PATH": str(self.folder), "STAND_INS": str(self.folder),
                       "TACET_LOGS": str(self.folder / "logs"), **variables}
        return subprocess.run([self.folder / "tools" / "setup.sh", *sets], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, check=False)

    def calls(self):
        """The calls, of each apt-get the command only."""
        lines = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        return ["plan" if "--print-uris" in line else "update" if "update" in line.split()
                else "install" for line in lines if line.startswith("apt-get")]

    def test_says_what_it_installs_before_it_installs(self):
        result = self.setup_packages("small", VERBOSE="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        said, installed = result.stdout.split("setup: install packages\n", 1)
        self.assertEqual(said, "setup: 1 Debian packages are missing: libbenchmark-dev\n"
                               "setup: installs 5 packages with their dependencies: "
                               "175 kB to download, 4606 kB on disk\n")
        self.assertIn("Unpacking package", installed)
        self.assertEqual(self.calls(), ["plan", "install"])

    def test_installs_what_it_said_and_removes_nothing(self):
        self.setup_packages("small")
        plan, install = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(plan.replace(" --print-uris", ""), install)
        self.assertIn(" --no-remove ", install)
        self.assertNotIn("--assume-no", plan)

    def test_installed_packages_need_nothing(self):
        self.write("installed", "libbenchmark-dev\n")
        result = self.setup_packages("small")
        self.assertEqual((result.returncode, result.stdout, self.calls()), (0, "", []))

    def test_skipped(self):
        result = self.setup_packages("small", TACET_SKIP_SETUP="1")
        self.assertEqual((result.returncode, result.stdout, self.calls()), (0, "", []))

    def test_output_of_apt_is_hidden(self):
        result = self.setup_packages("small")
        self.assertNotIn("Unpacking", result.stdout + result.stderr)
        log = (self.folder / "logs" / "setup-install-packages.log").read_text(encoding="utf-8")
        self.assertIn("Unpacking", log)

    def test_missing_lists_are_updated_first(self):
        self.write("plan.new", PLAN)
        self.write("plan", "E: Unable to locate package libbenchmark-dev\n")
        self.write("plan.status", "100")
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calls(), ["plan", "update", "plan", "install"])
        self.assertNotIn("Unable to locate", result.stdout + result.stderr)

    def test_old_lists_are_updated_after_a_failure(self):
        self.write("plan.new", PLAN)
        self.write("install.status", "100")
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calls(), ["plan", "install", "update", "install"])
        self.assertEqual(result.stderr, "")

    def test_failed_installation_shows_the_log_and_keeps_the_status(self):
        self.write("plan", "E: Unable to locate package libbenchmark-dev\n")
        self.write("plan.new", PLAN)
        self.write("plan.status", "100")
        self.write_program("apt-get", STAND_INS["apt-get"].replace(
            "install.status\" || echo 0", "none\" || echo 100"))
        self.write("install", "E: the disk is full\n")
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 100)
        self.assertIn("E: the disk is full\n", result.stderr)
        self.assertIn("logs/setup-install-packages.log", result.stderr)

    def test_impossible_plan_is_shown(self):
        self.write("plan", "E: Packages need to be removed but remove is disabled.\n")
        self.write("plan.new", "E: Packages need to be removed but remove is disabled.\n")
        self.write_program("apt-get", STAND_INS["apt-get"].replace(
            "plan.status\" || echo 0", "none\" || echo 100"))
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 1)
        self.assertIn("remove is disabled", result.stderr)
        self.assertNotIn("install", self.calls())

    def test_without_root_sudo_installs(self):
        self.write("user", "1000\n")
        self.write_program("sudo", SUDO)
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 0, result.stderr)
        sudo = [line for line in (self.folder / "calls").read_text(encoding="utf-8").splitlines()
                if line.startswith("sudo")]
        self.assertEqual(len(sudo), 1)
        self.assertIn("DEBIAN_FRONTEND=noninteractive", sudo[0])

    def test_without_root_and_sudo_it_says_what_to_run(self):
        self.write("user", "1000\n")
        result = self.setup_packages("small")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install --no-install-recommends libbenchmark-dev", result.stderr)
        self.assertEqual(self.calls(), [])

    def test_unknown_set_is_named(self):
        result = self.setup_packages("nothing")
        self.assertEqual(result.returncode, 1)
        self.assertIn('no package set "nothing"', result.stderr)


class DemoDataTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "tacet"
        self.folder.mkdir()

    def choose(self, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "TACET_DATA"}
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f'. "{TOOLS}/demo_data.sh"; echo "<$data>"'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            cwd=self.folder, env={**environment, **variables})
        return result.returncode, result.stdout.splitlines()[-1:], result.stderr

    def test_a_named_data_set_comes_first(self):
        (self.folder / "data").mkdir()
        self.assertEqual(self.choose(TACET_DATA=str(TOOLS))[:2], (0, [f"<{TOOLS}>"]))

    def test_then_the_folder_data(self):
        (self.folder / "data").mkdir()
        self.assertEqual(self.choose()[:2], (0, ["<data>"]))
        self.assertEqual(self.choose(TACET_DATA="")[:2], (0, ["<>"]))

    def test_nothing_else_is_searched(self):
        (self.folder.parent / "shared" / "data" / "femnist-400").mkdir(parents=True)
        self.assertEqual(self.choose()[:2], (0, ["<>"]))

    def test_a_missing_data_set_is_an_error(self):
        status, _, message = self.choose(TACET_DATA="/no/such/data")
        self.assertEqual(status, 1)
        self.assertIn("/no/such/data", message)


if __name__ == "__main__":
    unittest.main()

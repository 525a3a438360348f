#!/usr/bin/env python3
"""Runs quiet.sh on commands that succeed and fail, and compares output, log and exit status."""

import os
import pathlib
import pty
import re
import subprocess
import tempfile
import unittest

QUIET = pathlib.Path(__file__).resolve().parent / "quiet.sh"

BUILD = r"""
echo '[1/4] Building CXX object good.o'
echo 'good.cc:1: warning: noise'
echo '[2/4] Building CXX object bad.o'
echo 'FAILED: bad.o'
echo 'bad.cc:7: error: what is wrong'
echo '[3/4] Building CXX object other.o'
echo 'ninja: build stopped: subcommand failed.'
exit 3
"""

# The failing test prints what a ctest of its own would print.
TESTS = r"""
add_test(passes "/bin/sh" "-c" "echo output of the passing test")
add_test(skipped "/bin/sh" "-c" "echo reason; exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(fails "/bin/sh" "-c" "echo first line; echo '1/1 Test #1: inner ....   Passed    0.01 sec'; echo '100% tests passed, 0 tests failed out of 1'; echo last line; exit 1")
add_test(also_passes "/bin/true")
add_test(fails_last "/bin/sh" "-c" "echo '100% tests passed, 0 tests failed out of 1'; echo the end; exit 1")
"""


class QuietTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "TACET_LOGS": str(self.folder / "logs")}
        self.environment.pop("VERBOSE", None)
        # The tests of a ctest end in their order.
        self.environment["CTEST_PARALLEL_LEVEL"] = "1"

    def run_quiet(self, *arguments, stdout=subprocess.PIPE, **variables):
        return subprocess.run([QUIET, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
                              env={**self.environment, **variables}, check=False)

    def log(self, name):
        return (self.folder / "logs" / name).read_text(encoding="utf-8")

    def test_success_hides_the_output(self):
        result = self.run_quiet("a title", "sh", "-c", "echo noise; echo more >&2")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"\Aa title\na title: done in \d+ s\n\Z")
        self.assertEqual(result.stderr, "")
        self.assertEqual(self.log("a-title.log"), "noise\nmore\n")

    def test_failed_build_shows_its_errors(self):
        result = self.run_quiet("build", "sh", "-c", BUILD)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout, "build\nbuild: 25 %\nbuild: 50 %\nbuild: 75 %\n")
        self.assertEqual(result.stderr, "FAILED: bad.o\nbad.cc:7: error: what is wrong\n"
                         "ninja: build stopped: subcommand failed.\n"
                         "build: failed with status 3; the full log is "
                         f"{self.folder}/logs/build.log\n")
        self.assertIn("good.cc:1: warning: noise", self.log("build.log"))

    def test_many_errors_are_cut(self):
        result = self.run_quiet("build", "sh", "-c", "echo FAILED: a; seq 100000; exit 3")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.splitlines()[199], "199")
        self.assertIn("failed with status 3", result.stderr.splitlines()[200])

    def test_other_failure_shows_the_end(self):
        result = self.run_quiet("list", "sh", "-c", "seq 1000; exit 100")
        self.assertEqual(result.returncode, 100)
        self.assertEqual(result.stderr.splitlines()[:-1], [str(n) for n in range(941, 1001)])
        self.assertIn("failed with status 100", result.stderr)

    def test_last_line_may_lack_its_end(self):
        result = self.run_quiet("line", "sh", "-c", "printf 'no end'; exit 1")
        self.assertIn("no end\n", result.stderr)

    def test_missing_command(self):
        result = self.run_quiet("missing", "/no/such/command")
        self.assertEqual(result.returncode, 127)
        self.assertIn("/no/such/command", result.stderr)

    def test_retried_failure_is_silent(self):
        result = self.run_quiet("--retried", "first", "sh", "-c", "echo noise; exit 5")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (5, "first\n", ""))

    def test_steps_are_counted(self):
        result = self.run_quiet("--steps", "2", "^Get:", "steps", "sh", "-c",
                                "echo Get:1; echo other; echo Get:2")
        self.assertEqual(result.stdout.splitlines()[:2], ["steps", "steps: 50 %"])

    def test_verbose_prints_everything(self):
        result = self.run_quiet("build", "sh", "-c", BUILD, VERBOSE="1")
        self.assertEqual(result.returncode, 3)
        self.assertIn("good.cc:1: warning: noise\n", result.stdout)

    @staticmethod
    def read_until_closed(terminal):
        shown = b""
        try:
            while part := os.read(terminal, 10000):
                shown += part
        except OSError:  # its other side is closed and everything was read
            pass
        return shown.decode()

    def test_terminal_shows_one_line(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a container without /dev/pts
            self.skipTest(f"this machine has no pseudo-terminals: {error}")
        try:
            result = self.run_quiet("build", "sh", "-c", "seq -f '[%g/4] Building' 4",
                                    stdout=theirs, TERM="xterm")
            os.close(theirs)
            shown = self.read_until_closed(ours)
        finally:
            os.close(ours)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(shown, r"\A(\r\x1b\[Kbuild: (25|50|75|100) %){4}\r\x1b\[K"
                                r"build: done in \d+ s\r\n\Z")

    def test_failed_tests_are_shown_in_full(self):
        (self.folder / "CTestTestfile.cmake").write_text(TESTS, encoding="utf-8")
        result = self.run_quiet("--tests", "test", "ctest", "--test-dir", self.folder,
                                "--output-on-failure")
        self.assertEqual(result.returncode, 8)
        lines = [re.sub(r" \.*\*\*\*Failed .*", " FAILED", line) for line in
                 result.stdout.splitlines() if line and not line.startswith("Total Test time")]
        self.assertEqual(lines, [
            "test", "test: 40 %", "test: 60 %",
            "3/5 Test #3: fails FAILED",
            "first line",
            "1/1 Test #1: inner ....   Passed    0.01 sec",
            "100% tests passed, 0 tests failed out of 1",
            "last line",
            "test: 80 %",
            "5/5 Test #5: fails_last FAILED",
            "100% tests passed, 0 tests failed out of 1",
            "the end",
            "60% tests passed, 2 tests failed out of 5",
            "The following tests FAILED:",
            "\t  3 - fails (Failed)",
            "\t  5 - fails_last (Failed)",
            f"skipped on this machine: 1 tests, named in {self.folder}/logs/test.log"])
        self.assertEqual(result.stderr, "test: failed with status 8; the full log is "
                                        f"{self.folder}/logs/test.log\n")


if __name__ == "__main__":
    unittest.main()

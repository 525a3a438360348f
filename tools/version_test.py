#!/usr/bin/env python3
"""Holds every place that names tacet's version against the one that sets it, CMakeLists.txt."""

import pathlib
import re
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


class Version(unittest.TestCase):
    """One number: what others say follows from the project's."""

    def setUp(self):
        self.version = re.search(r"project\(tacet VERSION ([0-9.]+)", text("CMakeLists.txt"))[1]

    def test_the_wheel_reads_it(self):
        package = tomllib.loads(text("pyproject.toml"))
        self.assertNotIn("version", package["project"])
        source = package["tool"]["scikit-build"]["metadata"]["version"]
        found = re.search(source["regex"], text(source["input"]))
        self.assertEqual(found["value"], self.version)

    def test_the_r_package_has_it(self):
        self.assertEqual(re.search(r"^Version: (.+)$", text("r/DESCRIPTION"), re.M)[1], self.version)

    def test_the_newest_changes_are_of_it(self):
        self.assertEqual(re.search(r"^## ([0-9.]+)", text("CHANGELOG.md"), re.M)[1], self.version)

    def test_programs_of_others_ask_for_it(self):
        wanted = ".".join(self.version.split(".")[:2])
        for name in ("docs/library.md", "examples/CMakeLists.txt", "tests/install/install_test.cmake"):
            asked = re.findall(r"find_package\(tacet ([0-9.]+) REQUIRED[^)]*\)", text(name))
            self.assertEqual(set(asked), {wanted}, name)

    def test_packages_are_named_after_it(self):
        named = set(re.findall(r"tacet(?:-server)?_([0-9.]+)_amd64\.deb", text("docs/deploy.md")))
        self.assertEqual(named, {self.version})

    def test_the_citation_has_it(self):
        self.assertEqual(re.search(r'^version: "?([0-9.]+)"?$', text("CITATION.cff"), re.M)[1],
                         self.version)

    def test_chart_and_compose_file_take_its_image(self):
        chart = text("packaging/helm/Chart.yaml")
        self.assertEqual(re.findall(r"^(?:version|appVersion): \"?([0-9.]+)", chart, re.M),
                         [self.version] * 2)
        images = re.findall(r"localhost/tacet:([0-9.]+)", text("packaging/compose.yaml"))
        self.assertEqual(set(images), {self.version})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Figures and commands of README.md, held against the records and files that they are from.

The page must show each phrase below, with the figures that the stored records have now. A digit
outside of these phrases, of code and of addresses has no record, and fails the test.
"""

import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# Phrases with figures that other tests or files hold.
HELD = [
    # tests/demo_test.sh, tests/documented_figures_test.py
    "2,000 people",
    "89 to 90 % accuracy at ε = 1.40 (δ = 10⁻⁵) against every observer that has a guarantee",
    "an AUC of 0.84 at ε = 2.00",
    "For those who know, ε = 19.13.",
    # Names
    "[table 1]", "[table 2]", "x86-64", "Debian 12", "ARM of 64 bits", "version 1.0", "Apache-2.0",
]


def record(name):
    return json.loads((ROOT / "docs" / name).read_text(encoding="utf-8"))


def one_line(text):
    return " ".join(text.split())


def percent(share, digits):
    return f"{100 * share:.{digits}f} %"


def of_peers():
    peers = record("peers/peers.json")
    rows = {row["name"]: row for row in peers["rows"]}
    tacet, flower, nvflare = (rows[name] for name in
                              ("tacet", "Flower SecAgg+", "NVFLARE HE (TenSEAL)"))
    seats = tacet["reads_update"].split(" committee")[0]
    neighbours = re.match(r"(\d) of a client's (\d) neighbours with the server",
                          flower["reads_update"])
    assert nvflare["reads_update"].startswith("every client, and the server with one of them")
    return [
        f"With it, {seats} committee seats could.",
        f"Flower SecAgg+: {neighbours[1]} of {neighbours[2]} neighbours with the server.",
        f"| {1e3 * tacet['protect_s']:.2f} ms | Flower SecAgg+ {1e3 * flower['protect_s']:.1f} ms, "
        f"NVFLARE HE {1e3 * nvflare['protect_s']:.0f} ms |",
        f"| {tacet['upload_bytes'] / 1e6:.2f} MB | Flower SecAgg+ {flower['upload_bytes'] / 1e6:.2f} MB, "
        f"NVFLARE HE {nvflare['upload_bytes'] / 1e6:.1f} MB |",
        f"({peers['dimension']:,} values)",
        f"| {tacet['epsilon']:.2f} | the paper's accountant "
        f"{record('experiments/table1/noise.json')['epsilon']:.2f} |",
    ]


def of_experiments():
    noise = record("experiments/table1/noise.json")
    table = record("experiments/table2/table.json")
    remarks = record("experiments/remarks/remarks.json")
    shared = next(row for row in remarks["scale"]
                  if row["name"] == f"scale-{remarks['local']['setting']['scale']}")
    assert noise["delta"] == 1e-5
    return [
        f"| {percent(noise['accuracy'], 2)} | the paper {percent(noise['published_accuracy'], 2)} |",
        f"its {noise['setting']['clients']:,} writers, {noise['setting']['cohort']:,} a round, "
        "at δ = 10⁻⁵",
        f"Adding {table['participants']:,} updates",
        f"| {table['measured']['compact']['aggregate_s']:.3f} s, by a scheme of its own "
        f"| the paper {table['published']['aggregate_s']:.1f} s, on another processor |",
        f"with {remarks['local']['setting']['cohort']:,} clients a round, "
        f"[{percent(remarks['local']['accuracy'], 1)} where shared noise gives "
        f"{percent(shared['accuracy'], 1)}]",
    ]


def of_wheels():
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wheel = (ROOT / "tools" / "python_wheels.py").read_text(encoding="utf-8")
    python = re.search(r'requires-python = ">=([0-9.]+)"', package)[1]
    glibc = re.search(r"manylinux_(\d+)_(\d+)", wheel)
    return [f"glibc {glibc[1]}.{glibc[2]} and Python {python}"]


class Readme(unittest.TestCase):
    """The front page is short, and nothing in it is without a record."""

    def test_it_is_short(self):
        self.assertLessEqual(len(README.splitlines()), 120)

    def test_every_figure_has_a_record(self):
        phrases = [*HELD, *of_peers(), *of_experiments(), *of_wheels()]
        for phrase in phrases:
            self.assertIn(phrase, one_line(README))
        rest = re.sub(r"^```.*?^```", " ", README, flags=re.DOTALL | re.MULTILINE)
        rest = one_line(re.sub(r"`[^`]*`", " ", re.sub(r"\]\([^)]*\)", "]", rest)))
        for phrase in phrases:
            rest = rest.replace(phrase, " ")
        self.assertEqual(re.findall(r"\S*\d\S*", rest), [])

    def test_every_target_exists(self):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        named = set(re.findall(r"(?m)(?:^|`)make ([a-z-]+)", README))
        self.assertLessEqual({"demo", "test", "wheels"}, named)
        for target in named:
            self.assertRegex(makefile, rf"(?m)^{target}:")

    def test_nobody_is_sent_to_the_project_of_the_same_name(self):
        """The project `tacet` on PyPI is another one (docs/design/wheels.md)."""
        paths = [path for folder in ("docs/guide", "examples", "python/tacet")
                 for path in (ROOT / folder).rglob("*") if path.suffix in (".ipynb", ".md", ".py")]
        self.assertGreater(len(paths), 50)
        self.assertEqual([str(path.relative_to(ROOT)) for path in paths if re.search(
            r"pip install ['\"]?tacet", path.read_text(encoding="utf-8"))], [])


if __name__ == "__main__":
    unittest.main()

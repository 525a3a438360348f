#!/usr/bin/env python3
"""Tests of tools/documentation_site.py: sources of the pages, and dead links of a built site."""

import pathlib
import re
import tempfile
import unittest

import documentation_site
from documentation_site import ROOT, Source, dead_links


class Site(unittest.TestCase):
    """Links of the repository's pages lead to the site's pages."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_links_lead_to_pages_of_the_site(self):
        source = Source(self.folder)
        guide = ROOT / "docs" / "guide" / "python.md"
        notebook = "[notebook](../../examples/notebooks/first-steps.ipynb)"
        self.assertEqual(source.moved(guide, notebook),
                         "[notebook](../../examples/notebooks/first-steps.md)")
        self.assertEqual(source.moved(guide, "[front](../../README.md#demo)"),
                         "[front](../../index.md#demo)")
        self.assertEqual(source.moved(guide, "[records](../experiments/table1/)"), "records")
        self.assertEqual(source.moved(guide, "[peers](../peers/)"), "[peers](../../docs/peers/README.md)")
        code = "```text\n[records](../experiments/table1/)\n```\n"
        self.assertEqual(source.moved(guide, code), code)
        source.moved(guide, "[program](../../examples/secure_sum.cc)")
        self.assertTrue((self.folder / "examples" / "secure_sum.cc").is_file())

    def test_the_side_bar_has_every_page_of_the_index(self):
        entries = set(re.findall(r"^/(\S+)$", Source(self.folder).tree(ROOT / "README.md"), re.M))
        self.assertLessEqual({"docs/overview.md", "docs/guide/python.md", "SECURITY.md",
                              "docs/design/structure.md", "reference.md",
                              "examples/notebooks/hospitals.md"}, entries)

    def test_a_notebook_is_texts_and_programs(self):
        text = documentation_site.notebook_text(
            ROOT / "examples" / "notebooks" / "first-steps.ipynb")
        self.assertTrue(text.startswith("# First steps\n"))
        self.assertIn("```python\nimport tempfile\n", text)

    def test_dead_links_are_seen(self):
        (self.folder / "a.html").write_text(
            '<a id="here"></a><a href="#here">x</a><a href="#gone">x</a><a href="b.html#there">x</a>'
            '<a href="b.html#gone">x</a><img src="lost.png"><a href="https://example.org/#x">x</a>',
            encoding="utf-8")
        (self.folder / "b.html").write_text('<h1 id="there">B</h1>', encoding="utf-8")
        self.assertEqual(dead_links(self.folder), [
            "a.html: #gone has no such anchor", "a.html: b.html#gone has no such anchor",
            "a.html: lost.png"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Site of the documentation: guides, notebooks, design, formats and security, with search.

usage: tools/documentation_site.py OUT REFERENCE

Makes the site in the folder OUT, which is replaced. REFERENCE has the pages of tools/python_pages.py,
which become OUT/reference. The sources are the Markdown pages of the repository, unchanged but for
links that a site has elsewhere. Sphinx builds it; a warning is an error. Then every link within the
site is followed. The status is 1 if one leads nowhere.
"""

from __future__ import annotations

import html.parser
import json
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["*.md", "docs/**/*.md", "examples/**/README.md", "r/**/README.md"]
FENCE = re.compile(r"^( *)(```|~~~).*?^ *\2[^\n]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
REFERENCE = """# Reference of the Python package

Every public class and function, with shapes, units and errors. These pages have a search of their
own.
"""


def notebook_text(path: pathlib.Path) -> str:
    """A notebook as Markdown: its texts, and its programs as blocks."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
    return "\n\n".join(parts) + "\n"


class Source:
    """The pages, and the files that they link to, in a folder that Sphinx reads."""

    def __init__(self, folder: pathlib.Path) -> None:
        """Find the pages of the repository."""
        self.folder = folder
        pages = {page for pattern in PAGES for page in ROOT.glob(pattern)}
        self.notebooks = set(ROOT.glob("examples/notebooks/*.ipynb"))
        self.pages = sorted(pages | self.notebooks)

    def name(self, path: pathlib.Path) -> str:
        """The name of a page in the site."""
        relative = path.relative_to(ROOT)
        return "index.md" if str(relative) == "README.md" else str(relative.with_suffix(".md"))

    def write(self, reference: pathlib.Path) -> None:
        """Write all pages, and put those of the Python package next to them."""
        for path in self.pages:
            text = notebook_text(path) if path in self.notebooks else path.read_text("utf-8")
            target = self.folder / self.name(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.moved(path, text) + self.tree(path), encoding="utf-8")
        extra = self.folder / "extra"
        shutil.copytree(reference, extra / "reference")
        modules = sorted(path.relative_to(reference) for path in reference.glob("tacet*/**/*.html"))
        links = [f'- <a href="reference/{path}">{".".join(path.with_suffix("").parts)}</a>\n'
                 for path in [pathlib.Path("tacet.html"), *modules]]
        (self.folder / "reference.md").write_text(REFERENCE + "\n" + "".join(links), "utf-8")
        shutil.copytree(ROOT / "docs" / "images", extra / "docs" / "images")

    def moved(self, page: pathlib.Path, text: str) -> str:
        """The text with the links of the site; a link to a folder becomes its text."""

        def link(match: re.Match[str]) -> str:
            mark, words, address = match.groups()
            path, _, anchor = address.partition("#")
            if not path or re.match(r"[a-z]+:", path):
                return match.group(0)
            target = (page.parent / path).resolve()
            if target.is_dir():
                target /= "README.md"
                if target not in self.pages:
                    return words
            if target in self.pages:
                here = pathlib.Path(self.name(page)).parent
                new = pathlib.PurePath(self.name(target))
                up = "../" * len(here.parts)
                return f"{mark}[{words}]({up}{new}{'#' + anchor if anchor else ''})"
            copy = self.folder / target.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, copy)
            return match.group(0)

        parts, last = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(link, text[last : fence.start()]), fence.group(0)]
            last = fence.end()
        return "".join([*parts, LINK.sub(link, text[last:])])

    def tree(self, page: pathlib.Path) -> str:
        """The entries of an index for the bar at the side, each page once."""
        if page == ROOT / "README.md":
            index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
            sections = re.split(r"^## +(.+)$", index, flags=re.MULTILINE)[1:]
            base, seen = ROOT / "docs", {page}
        elif page == ROOT / "docs" / "formats" / "README.md":
            sections, base, seen = ["", page.read_text(encoding="utf-8")], page.parent, {page}
        else:
            return ""
        text = ""
        for title, body in zip(sections[::2], sections[1::2], strict=True):
            entries = []
            for _, _, address in LINK.findall(body):
                target = (base / address.partition("#")[0]).resolve()
                inside = base == ROOT / "docs" or target.parent == base
                if target in self.pages and target not in seen and inside:
                    seen.add(target)
                    entries.append(f"/{self.name(target)}")
            if base == ROOT / "docs" and title == "For users":
                entries.append("/reference.md")
            options = f":caption: {title}\n" if title else ""
            text += f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n{options}\n"
            text += "\n".join(entries) + "\n```\n"
        return text


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note a link, or a place that a link can lead to."""
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src", "srcset") and value:
                self.links.append(value)


def dead_links(site: pathlib.Path) -> list[str]:
    """All links within the site that lead nowhere."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = path
            if address.path:
                target = (path.parent / urllib.parse.unquote(address.path)).resolve()
            anchor = urllib.parse.unquote(address.fragment)
            if not target.is_file():
                dead.append(f"{path.relative_to(site)}: {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                dead.append(f"{path.relative_to(site)}: {link} has no such anchor")
    return sorted(set(dead))


def build(source: pathlib.Path, out: pathlib.Path, version: str) -> int:
    """The status of Sphinx, which made the pages."""
    from sphinx.application import Sphinx

    options = {
        "project": "tacet",
        "version": version,
        "extensions": ["myst_parser"],
        "exclude_patterns": ["extra"],
        "html_extra_path": [str(source / "extra")],
        "html_theme": "furo",
        "html_title": f"tacet {version}",
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "myst_heading_anchors": 6,
        # Pages that only other pages lead to, and blocks in languages without colours. Anchors of
        # HTML are unknown here: `dead_links` finds them.
        "suppress_warnings": [
            "toc.not_included", "misc.highlighting_failure", "myst.xref_missing",
        ],
    }
    site = Sphinx(str(source), None, str(out), str(source / "trees"), "html", options,
                  status=None, warningiserror=True)
    site.build()
    return site.statuscode


def main() -> None:
    """Make the site and follow its links."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, reference = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(out, ignore_errors=True)
    version = re.search(r"project\(tacet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    with tempfile.TemporaryDirectory(prefix="tacet-site-") as folder:
        source = Source(pathlib.Path(folder))
        source.write(reference)
        if build(source.folder, out, version):
            sys.exit("Sphinx has warnings, see above")
    if dead := dead_links(out):
        sys.exit("dead links:\n" + "\n".join(dead))
    print(f"{len(list(out.rglob('*.html')))} pages: {out / 'index.html'}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks the links between pages: each file exists, and each anchor is a heading of its page.

usage: tools/check_links.py [ROOT]

Reads every Markdown file below ROOT that git knows or would add, or all of them where ROOT is not in
a repository. Prints `file:line: rule` for each dead link, and leaves with status 1 if there is any.
Addresses of other sites are not asked. Needs nothing but the standard library of Python 3.
"""

import functools
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^( *)(```|~~~).*?^ *\2[^\n]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|\b(?:src|srcset|href)=\"([^\"]+)\"")
# Folders of a copy without git that hold no pages of the project.
SKIPPED = {"build", "data", "fixtures", "node_modules", "runs"}
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


def blank(match):
    """As many blanks as the match has characters, so that lines stay the same."""
    return re.sub(r"[^\n]", " ", match.group(0))


@functools.cache
def anchors(page):
    """The anchors of a page's headings, as forges make them."""
    found, times = set(), {}
    text = FENCE.sub(blank, page.read_text(encoding="utf-8"))
    for heading in HEADING.findall(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.replace("*", "").lower()).replace(" ", "-")
        count = times.get(slug, 0)
        times[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def check_page(root, page):
    """Yields (line, rule) for each dead link of a page."""
    text = CODE.sub(blank, FENCE.sub(blank, page.read_text(encoding="utf-8")))
    for match in LINK.finditer(text):
        address = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        line = text.count("\n", 0, match.start()) + 1
        if not target.exists():
            yield line, f"link to {path}, which does not exist"
        elif not target.is_relative_to(root):
            yield line, f"link to {path}, which is outside of the repository"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield line, f"link to #{anchor}, which is not a heading of {target.relative_to(root)}"


def pages(root):
    """The Markdown files of a repository, or of a folder that is none."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    found = [root / name for name in names if name] or list(root.rglob("*.md"))
    return sorted(page for page in found
                  if page.is_file() and not SKIPPED & set(page.relative_to(root).parts))


def check(root):
    """All dead links below `root`."""
    return [f"{page.relative_to(root)}:{line}: {rule}"
            for page in pages(root) for line, rule in check_page(root, page)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    dead = check(root.resolve())
    print("\n".join(dead), end="\n" if dead else "")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())

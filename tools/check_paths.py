#!/usr/bin/env python3
"""Checks that every file that a comment or a page names exists.

usage: tools/check_paths.py [ROOT]

Looks at comments of C++, Python, R, shell, JavaScript and CMake, at strings of Python in three quotes,
and at code in Markdown. A path with a folder is searched from ROOT, tacet/, include/, docs/
and the folder of the file that names it. The name of a source file without a folder has to be that of some file of
the tree. Prints one line for each name that is found nowhere, sorted, and leaves with status 1 if
there is any.
"""

import pathlib
import re
import sys

PLACES = ["apps", "cmake", "configs", "docs", "examples", "fuzz", "include", "lab", "packaging",
          "python", "r", "tacet", "tests", "tools", "web", "CMakeLists.txt", "CONTRIBUTING.md", "Makefile",
          "README.md", "SECURITY.md"]
LEFT_OUT = {"node_modules", "dist", "fixtures", "corpus", "__pycache__"}

ENDINGS = "h|cc|py|sh|cmake|mjs|md|toml"
SOURCES = (".h", ".cc", ".py", ".sh", ".cmake", ".mjs")
# `conv_first.h`, `he/security.h`, `docs/formats/keys.md`. A star stands for any letters.
NAME = re.compile(rf"(?<![\w/.<>~$}}-])((?:[\w*.-]+/)*[\w*-]+(?:\.[\w*-]+)*\.(?:{ENDINGS}))(?![\w/-]|\.\w)")
# Names of any file, of a user's file, of other projects, and of files that a build makes.
ELSEWHERE = re.compile(r"(.*/)?(x_\w+|x|.*NAME|my_\w+|train_visits|app|main|model|server|site|config|"
                       r"Python|mpi|tacetConfig|CTestTestfile)\.\w+|absl/.*")

COMMENTS = {
    ".h": re.compile(r"//.*"),
    ".cc": re.compile(r"//.*"),
    ".js": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    ".mjs": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    ".R": re.compile(r"#.*"),
    ".py": re.compile(r"#[^\n]*|\"\"\".*?\"\"\"", re.DOTALL),
    ".sh": re.compile(r"#.*"),
    ".txt": re.compile(r"#.*"),
    ".cmake": re.compile(r"#.*"),
    ".md": re.compile(r"`[^`\n]+`"),
}


def files(root):
    """Every file that is checked."""
    for place in PLACES:
        top = root / place
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            inside = set(path.relative_to(root).parts)
            if path.is_file() and not inside & LEFT_OUT:
                yield path


def exists(root, path, name, names):
    """Whether `name`, which the file `path` names, is a file of the tree."""
    if ELSEWHERE.fullmatch(name):
        return True
    if "/" not in name:
        return name in names or "*" in name
    for base in (root, root / "tacet", root / "include", root / "docs", path.parent):
        if any(base.glob(name)) if "*" in name else (base / name).exists():
            return True
    return False


def check(root):
    """All names of files that do not exist, sorted."""
    everything = list(files(root))
    names = {path.name for path in everything}
    tops = {place for place in PLACES if (root / place).is_dir()}  # and no folder that a run made
    tops |= {path.name for path in (root / "tacet").iterdir() if path.is_dir()}
    found = []
    for path in everything:
        comment = COMMENTS.get(path.suffix)
        if comment is None or path.suffix == ".py" and "test" in path.name:
            continue  # tests of the tools name files that they make
        text = path.read_text(encoding="utf-8")
        for part in comment.finditer(text):
            for match in NAME.finditer(part.group()):
                name = match.group(1)
                if not name.endswith(SOURCES) and name.split("/")[0] not in tops:
                    continue  # a page or a configuration of somebody else
                if not exists(root, path, name, names):
                    line = text.count("\n", 0, part.start() + match.start()) + 1
                    found.append(f"{path.relative_to(root)}:{line}: {name} does not exist")
    return sorted(found)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = check(root.resolve())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

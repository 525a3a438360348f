#!/usr/bin/env python3
"""Checks the prose of documents and comments: words, openings, lengths, links, index.

usage: tools/check_prose.py [ROOT]

Prints `file:line: rule` for each violation, sorted, and leaves with status 1 if there is any. Needs
nothing but the standard library of Python 3. A word that has to be quoted goes into `backticks`.
"""

import pathlib
import re
import sys

# The places that are checked: a file, a pattern, or a folder with everything below it. Add a line
# to cover another folder.
PLACES = [
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md", "RELEASING.md", "ROADMAP.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/guide",
    "docs/design",
    "docs/experiments",
    "docs/formats",
    "docs/releases",
    "docs/security",
    "apps",
    "cmake",
    "configs",
    "examples",
    "fuzz",
    "include",
    "lab",
    "python",
    "r",
    "tacet",
    "tests",
    "tools",
    "web/src",
]

# Below a place, folders of these names are left out.
SKIPPED_FOLDERS = {"fixtures"}

# The endings of source files, whose first comment is checked; so is that of a CMakeLists.txt. All
# comments of C++ are.
CPP = {".cc", ".h"}
SOURCES = {".R", ".cc", ".cmake", ".css", ".h", ".js", ".mjs", ".py", ".sh", ".toml"}

MAX_LINE = 100

# The most words of a sentence in a page, but for this share of its sentences.
MAX_WORDS = 25
LONGER_SENTENCES = 0.05

# The most lines of a version's section in CHANGELOG.md. The versions before kept longer ones.
MAX_CHANGES = 150
LONGER_CHANGES = ("0.2.0", "0.1.0")

# A banned expression (without regard to case) and the words to use instead.
WORDS = {
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix",
    r"who(?:m|so)?ever": "anyone who",
    r"(?:stands?|stood|standing) in": "is in, replaces",
    r"(?<!far\s)(?<!long\s)(?<!often\s)(?<!soon\s)as it is": "unchanged",
    r"dear(?:er|est|ly)?": "expensive",
    r"(?<!there\s)(?:is|are) no(?! longer| more| less| fewer| better| worse)": "is not, has no",
    r"by a way": "through a channel",
    r"there is what": "a sentence with a subject",
    r"promis(?:e|es|ed|ing)": "guarantee",
    r"linear tags?": "linearly homomorphic MAC",
    r"cover(?: |-)uploads?": "dummy uploads",
    r"witness(?:es)?": "attestor",
    r"outsiders?": "external observer",
    r"accusations?": "membership claim",
    r"(?<!false[-\s])alarms?": "protocol violation",
    r"attempt books?": "attempt state",
    r"spools?": "blob store",
    r"openers?": "committee member",
    r"closed sums?": "aggregated ciphertext",
    r"lanes?": "slots",
    r"cohort-knowing": "cohort-aware",
    r"traffic(?: |-)observers?": "traffic-aware observer",
    r"beside": "next to, in addition to, compared with",
    r"(?:goes|go|going|went|gone) on": "continues",
    r"(?:is|are|was|were|be|been) away": "is offline, is absent",
    r"hand(?:s|ed|ing)? out": "returns, sends",
    r"for good": "permanently",
}
# Not looked for in comments of C++: a vector has lanes.
IN_PAGES_ONLY = {r"lanes?"}

# The same for names in C++: a banned part and the part to use instead. Text in quotes is left out.
NAME_PARTS = {
    "accusation": "claim",
    "alarms": "violations",
    "gift": "submission",
    "gifts": "submissions",
    "opener": "seat",
    "openers": "seats",
    "outsider": "external",
    "outsiders": "external",
    "patience": "retry policy",
    "promised": "guaranteed",
    "promises": "guarantees",
    "spool": "blobs",
    "witness": "attestor",
    "witnesses": "attestors",
}

# A sentence or heading has a thing as its subject.
OPENING = r"(?:What|Who|Whom|Whose|How)\b"
# A comment says what a declaration is, or what it does.
COMMENT_OPENING = r"\s*(Of|From|What|Who|Whom|Whose|How)\b(?![^.!?]*\?)"


def word_rules(patterns):
    """Compiled expressions, each with the words to use instead.

    A blank of a pattern is any white space, since an expression may go over the end of a line.
    """
    return [(re.compile(r"(?<![\w-])(?:" + pattern.replace(" ", r"\s+") + r")(?![\w-])",
                        re.IGNORECASE), WORDS[pattern]) for pattern in patterns]


WORD_RULES = word_rules(WORDS)
COMMENT_RULES = word_rules(WORDS.keys() - IN_PAGES_ONLY)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+")
SENTENCE_OPENING = re.compile(rf"(?:^|[.!:][\"')*_]*\s)[\s*_(\[\"]*({OPENING})(?![^.!?]*\?)")
HEADING = re.compile(r"^#{1,6} +[*_`]*" + OPENING)
LIST_MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")


def covered(root):
    """The files of PLACES that exist, each once, sorted."""
    found = set()
    for place in PLACES:
        for path in root.glob(place):
            inside = path.rglob("*") if path.is_dir() else [path]
            found |= {p for p in inside if p.is_file()
                      and not SKIPPED_FOLDERS & set(p.relative_to(root).parts)}
    return sorted(found)


def blank(match):
    """As many blanks as the match has characters, so that places in the text stay the same."""
    return re.sub(r"[^\n]", " ", match.group(0))


def prose_lines(text):
    """The lines of a Markdown text with code, comments, tags and addresses blanked out."""
    text = re.sub(r"^( *)(```|~~~).*?^ *\2[^\n]*$", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", blank, text, flags=re.DOTALL)
    text = re.sub(r"(?<=\])\([^)]*\)", blank, text)
    text = re.sub(r"<[^<>]*>", blank, text)
    text = re.sub(r"https?://\S+", blank, text)
    return text.split("\n")


def units(lines):
    """Yields (number of the first line, text) of each paragraph, list item, heading and cell."""
    first, gathered = 0, []
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        starts = not stripped or stripped[0] in "|#>" or LIST_MARKER.match(line)
        if starts and gathered:
            yield first, "\n".join(gathered)
            gathered = []
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                yield number, cell.strip()
        elif stripped.startswith("#"):
            yield number, re.sub(r"^#+\s*", "", stripped)
        elif stripped:
            if not gathered:
                first = number
                line = LIST_MARKER.sub("", line)
            gathered.append(line)
    if gathered:
        yield first, "\n".join(gathered)


def words(text, rules=None):
    """Yields (offset, rule) for each banned expression, also when it goes over a line's end."""
    for pattern, instead in rules or WORD_RULES:
        for match in pattern.finditer(text):
            found = re.sub(r"\s+", " ", match.group(0))
            yield match.start(), f'"{found}": say "{instead}"'


def sentences(lines):
    """Yields (line, number of words) of each sentence in paragraphs and list items."""
    for first, unit in units(["" if line.strip()[:1] in ("|", "#") else line for line in lines]):
        if all(line.startswith("    ") for line in unit.split("\n")):
            continue  # a formula
        start = 0
        for end in [*(match.end() for match in SENTENCE_END.finditer(unit)), len(unit)]:
            count = sum(1 for word in unit[start:end].split() if re.search(r"\w", word))
            if count > 0:
                yield first + unit.count("\n", 0, start), count
            start = end


def long_sentences(lines):
    """Yields (line, rule) for each long sentence of a page that has too many of them."""
    found = list(sentences(lines))
    longer = [(line, count) for line, count in found if count > MAX_WORDS]
    if len(longer) > LONGER_SENTENCES * len(found):
        for line, count in longer:
            yield line, (f"{count} words in a sentence; {len(longer)} of {len(found)} in this page "
                         f"have more than {MAX_WORDS}")


def can_be_wrapped(line):
    """True if a long line of Markdown has a blank at which it could end."""
    if line.lstrip().startswith("|"):
        return False
    rest = LIST_MARKER.sub("", line).strip()
    return " " in re.sub(r"!?\[[^\]]*\]\([^)]*\)", lambda m: m.group(0).replace(" ", "_"), rest)


def check_markdown(root, path):
    """Yields (line, rule) for each violation in one Markdown file."""
    text = path.read_text(encoding="utf-8")
    lines = prose_lines(text)
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r" *(```|~~~)", line):
            in_code = not in_code
        elif not in_code and len(line) > MAX_LINE and can_be_wrapped(line):
            yield number, f"{len(line)} characters, more than {MAX_LINE}"
        if not in_code and HEADING.match(line):
            yield number, "a heading is a noun phrase: it begins with What, Who, Whose or How"
    for first, unit in units(lines):
        for offset, rule in words(unit):
            yield first + unit.count("\n", 0, offset), rule
        if HEADING.match(text.split("\n")[first - 1]):
            continue
        for match in SENTENCE_OPENING.finditer(unit):
            yield (first + unit.count("\n", 0, match.start(1)),
                   f'a sentence begins with "{match.group(1)}"')
    yield from long_sentences(lines)
    shown = re.sub(r"^( *)(```|~~~).*?^ *\2[^\n]*$", blank, text, flags=re.DOTALL | re.MULTILINE)
    for match in LINK.finditer(shown):
        target = match.group(1).split("#")[0]
        if target and ":" not in target and not (path.parent / target).exists():
            yield shown.count("\n", 0, match.start()) + 1, f"link to {target}, which does not exist"


def check_changes(path):
    """Yields (line, rule) for each version's section of the changes that nobody would read."""
    sections = re.split(r"^(?=## )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = 1
    for section in sections:
        count = section.rstrip("\n").count("\n") + 1
        version = re.match(r"## (\S+)", section)
        if version and version.group(1) not in LONGER_CHANGES and count > MAX_CHANGES:
            yield line, f"{count} lines of changes in {version.group(1)}, more than {MAX_CHANGES}"
        line += section.count("\n")


def file_heading(path):
    """The first comment of a source file as (line, text), or None."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("#!") or not line.strip():
            continue
        match = re.match(r'^(//+|/\*+|#(?!(?:include|ifndef|pragma)\b)|[ru]?""")\s*(.*)', line)
        if match is None:
            return None
        gathered = [match.group(2)]
        mark = match.group(1)
        for following in lines[number:]:
            if mark in ("//", "#") and not following.startswith(mark):
                break
            if mark not in ("//", "#") and re.search(r'\*/|"""', gathered[-1]):
                break
            gathered.append(following)
        return number, "\n".join(gathered)
    return None


def comments(path):
    """Yields (line, text) of each block of `//` lines in a C++ file, and of each at a line's end."""
    first, gathered = 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        alone = re.match(r"\s*//+(.*)", line)
        if gathered and not alone:
            yield first, "\n".join(gathered)
            gathered = []
        if alone:
            first = first if gathered else number
            gathered.append(alone.group(1))
        elif (at_end := re.search(r"\s//(.*)", line)) is not None:
            yield number, at_end.group(1)
    if gathered:
        yield first, "\n".join(gathered)


def names(path):
    """Yields (line, rule) for each name in a C++ file with a banned part."""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//")[0]
        for name in re.findall(r"[A-Za-z_]\w*", code):
            for part in re.findall(r"[A-Z]?[a-z]+", name.replace("FalseAlarm", "")):
                if (instead := NAME_PARTS.get(part.lower())) is not None:
                    yield number, f'the name {name}: say "{instead}"'


def check_source(path):
    """Yields (line, rule) for each violation in the comments and names of a source file."""
    if path.suffix in CPP:
        yield from names(path)
        for first, text in comments(path):
            text = re.sub(r"`[^`]*`", blank, text)
            if (opening := re.match(COMMENT_OPENING, text)) is not None:
                yield first, f'a comment begins with "{opening.group(1)}"'
            for offset, rule in words(text, COMMENT_RULES):
                yield first + text.count("\n", 0, offset), rule
    heading = file_heading(path)
    if heading is None:
        return
    first, text = heading
    text = re.sub(r"`[^`]*`", blank, text)
    if path.suffix not in CPP and re.match(OPENING, text):
        yield first, "a file heading is a noun phrase: it begins with What, Who, Whose or How"
    for offset, rule in words(text):
        yield first + text.count("\n", 0, offset), rule


def check_index(root):
    """Yields (file, line, rule) for each page of docs/ that no index leads to.

    The index is docs/README.md; a README.md of a folder that it leads to is an index too.
    """
    index = root / "docs" / "README.md"
    seen, waiting = {index}, [index]
    while waiting:
        page = waiting.pop()
        if page.name != "README.md" or not page.is_file():
            continue
        for match in LINK.finditer(page.read_text(encoding="utf-8")):
            target = (page.parent / match.group(1).split("#")[0]).resolve()
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    for page in sorted((root / "docs").rglob("*.md")):
        if page not in seen:
            yield str(page.relative_to(root)), 1, "docs/README.md does not lead to this page"


def check(root):
    """All violations below `root`, sorted."""
    found = list(check_index(root))
    for path in covered(root):
        name = path.relative_to(root)
        if path.name == "CHANGELOG.md":
            found += [(str(name), line, rule) for line, rule in check_changes(path)]
        if path.suffix == ".md":
            found += [(str(name), line, rule) for line, rule in check_markdown(root, path)]
        elif path.suffix in SOURCES or path.name == "CMakeLists.txt":
            found += [(str(name), line, rule) for line, rule in check_source(path)]
    return [f"{name}:{line}: {rule}" for name, line, rule in sorted(set(found))]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations = check(root.resolve())
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that no class has more than 20 functions or 12 data members.

usage: tools/check_classes.py [ROOT]

A class with more is several classes. Functions are all that a class declares, without friends,
without those that are deleted or defaulted, and without accessors: const functions without
arguments whose body is one return in the class. Data members are those of an object: no static
ones. A plain struct, without private parts, may have any number of members.

Prints one line for each violation, sorted, and leaves with status 1 if there is any. Needs nothing
but the standard library of Python 3.
"""

import pathlib
import re
import sys

MOST_FUNCTIONS = 20
MOST_MEMBERS = 12

# Classes that are larger for a reason that stays.
EXEMPT = {"JsonValue"}

SOURCE_FOLDERS = ["tacet", "apps", "lab", "include", "python", "examples"]

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# Marks that take arguments, as ABSL_GUARDED_BY(mutex_) and alignas(64).
MARK = re.compile(r"\b(?:ABSL_\w+|alignas|__attribute__|explicit(?=\s*\())\s*\((?:[^()]|\([^()]*\))*\)")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
HEAD = re.compile(r"\b(class|struct)\s+((?:\w+::)*\w+)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?$")
ACCESS = re.compile(r"^\s*(?:(public|private|protected)\s*:(?!:)\s*)+")
ACCESSOR = re.compile(r"\(\s*\)\s*const\s*(?:noexcept|override|final|\s)*$")
ONE_RETURN = re.compile(r"^\{\s*return\b[^;{}]*;\s*\}$")
NOT_MEMBER = re.compile(r"^(?:using|typedef|friend|static_assert|enum|union|class|struct)\b")


def plain_text(text):
    """`text` without comments, literals, directives and marks; lines keep their numbers."""
    def blank(match):
        return "\n" * match.group(0).count("\n") or " "
    text = COMMENT_OR_TEXT.sub(blank, text)
    text = DIRECTIVE.sub(blank, text)
    return ATTRIBUTE.sub(blank, MARK.sub(blank, text))


def without_template_arguments(text):
    """`text` without the <...> of templates, so that std::function<void()> has no parenthesis."""
    text = re.sub(r"\boperator\s*(?:<=>|<<|>>|<=|>=|<|>|->)=?", "operator", text)
    before = None
    while before != text:
        before = text
        text = re.sub(r"<[^<>;{}]*>", " ", text)
    return text


def past_group(text, at):
    """The index behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "({[":
            depth += 1
        elif text[i] in ")}]":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


class ClassCounter:
    """The functions and members of every class in one text."""

    def __init__(self, text):
        self.text = text
        self.found = []  # (name, functions, members, line)

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def read_scope(self, at, end, names):
        """Reads declarations up to `end`; returns (functions, members, has private parts)."""
        functions = members = 0
        private = False
        start = at
        while at < end:
            char = self.text[at]
            if char == "(":
                at = past_group(self.text, at)
                continue
            if char not in ";{":
                at += 1
                continue
            said = self.text[start:at]
            access = ACCESS.match(said)
            while access:
                private = private or "private" in access.group(0) or "protected" in access.group(0)
                said = said[access.end():]
                access = ACCESS.match(said)
            said = re.sub(r"^\s*(?:template\s*<(?:[^<>]|<[^<>]*>)*>\s*)+", "", said).strip()
            if char == ";":
                more_functions, more_members = count(said)
                functions, members = functions + more_functions, members + more_members
                at = start = at + 1
                continue
            head = HEAD.search(without_template_arguments(said))
            close = past_group(self.text, at)
            if re.match(r"^(?:inline\s+)?namespace\b", said) or re.match(r"^extern\s*$", said):
                self.read_scope(at + 1, close - 1, names)
                at = start = close
            elif head and not re.match(r"^enum\b", said):
                self.read_class(head, at, close, names)
                at = close
                while at < end and self.text[at] != ";":
                    at += 1
                at = start = at + 1
            elif self.is_initializer(said):
                at = close
            elif re.match(r"^(?:enum|union)\b", said):
                at = close
            else:
                body = self.text[at:close]
                if not (ACCESSOR.search(said) and ONE_RETURN.match(body)):
                    functions += count(said)[0]
                at = start = close
                while at < end and self.text[at] in " \n;":
                    at += 1
                start = at
        return functions, members, private

    def is_initializer(self, said):
        """Whether a brace behind `said` holds the value of a member, not a function's body."""
        cleaned = without_template_arguments(said)
        if "(" not in cleaned:
            return True
        # Of a default argument or of a member in a constructor's list.
        in_list = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", cleaned)
        return bool(in_list and re.search(r"[\w>]\s*$", said)) or cleaned.rstrip().endswith("=")

    def read_class(self, head, at, close, names):
        name = "::".join(names + [head.group(2)])
        functions, members, private = self.read_scope(at + 1, close - 1, names + [head.group(2)])
        is_plain = head.group(1) == "struct" and not private
        self.found.append((name, functions, 0 if is_plain else members, self.line(at)))


def count(said):
    """(functions, members) that one declaration declares."""
    cleaned = without_template_arguments(said).strip()
    if not cleaned or NOT_MEMBER.match(cleaned) and "(" not in cleaned:
        return 0, 0
    if re.match(r"^(?:friend|using|typedef|static_assert)\b", cleaned):
        return 0, 0
    if re.search(r"=\s*(?:delete|default)\s*$", cleaned):
        return 0, 0
    before_value = cleaned.split("=")[0].split("{")[0] if "operator" not in cleaned else cleaned
    if "(" in before_value:
        return 1, 0
    if re.match(r"^(?:mutable\s+)?(?:static|constexpr|extern)\b", cleaned):
        return 0, 0
    depth = 0
    members = 1
    for char in cleaned:
        if char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            members += 1
    return 0, members


def is_test(path):
    return (path.stem.endswith(("_test", "_for_test")) or
            "fixtures" in path.parts or "tests" in path.parts)


def check(root):
    """All violations below `root`, sorted."""
    found = []
    for top in SOURCE_FOLDERS:
        for path in sorted((root / top).rglob("*")):
            relative = path.relative_to(root)
            if path.suffix not in (".cc", ".h") or is_test(relative):
                continue
            counter = ClassCounter(plain_text(path.read_text(encoding="utf-8")))
            counter.read_scope(0, len(counter.text), [])
            for name, functions, members, line in counter.found:
                if name in EXEMPT:
                    continue
                if functions > MOST_FUNCTIONS:
                    found.append(f"{relative}:{line}: {name} has {functions} functions, the most "
                                 f"are {MOST_FUNCTIONS}")
                if members > MOST_MEMBERS:
                    found.append(f"{relative}:{line}: {name} has {members} data members, the most "
                                 f"are {MOST_MEMBERS}")
    return sorted(found)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations = check(root.resolve())
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

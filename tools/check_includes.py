#!/usr/bin/env python3
"""Checks that every include and every link follows the arrows of docs/design/structure.md.

usage: tools/check_includes.py [ROOT]

Prints one line for each violation, sorted, and leaves with status 1 if there is any. Needs nothing
but the standard library of Python 3.
"""

import pathlib
import re
import sys

# The folders that one of tacet/ stands on directly; it may use itself and everything below.
ARROWS = {
    "base": [],
    "table": ["base"],
    "crypto": ["base"],
    "ring": ["crypto"],
    "he": ["ring"],
    "dp": ["crypto"],
    "accounting": ["dp"],
    "secagg": ["he", "dp"],
    "agreement": ["secagg", "accounting"],
    "api/core": ["agreement"],
    "ledger": ["agreement"],
    "policy": ["ledger"],
    "protocol": ["agreement"],
    "trainer": ["agreement"],
    "server": ["protocol"],
    "member": ["protocol", "policy", "trainer"],
    "statistics": ["table", "trainer"],
    "simulation": ["protocol", "ledger", "trainer"],
    "attack": ["crypto"],
    "data": ["table", "accounting"],
    "models": ["crypto"],
    "training": ["attack", "data", "models", "trainer"],
    "report": ["accounting"],
    "audit": ["report", "ledger", "protocol"],
    "transport/http": ["crypto"],
    "transport/https": ["member", "server", "transport/http"],
    "transport/mpi": ["simulation"],
    "transport/relay": ["protocol"],
    "storage/file": ["member", "server", "simulation"],
    "storage/sqlite": ["server"],
    "storage/postgres": ["server"],
    "config": ["policy", "statistics", "data"],
    "run": ["config", "simulation", "storage/file", "audit"],
    "site": ["run", "member", "transport/https", "transport/relay"],
    "coordinator": ["config", "protocol", "storage/file"],
    "host": ["server", "transport/https", "transport/relay", "storage/file", "storage/sqlite", "storage/postgres", "report"],
    "api/live": ["api/core", "run", "site", "coordinator", "host"],
}

# Folders whose subfolders are libraries of their own.
NESTED = {folder.split("/")[0] for folder in ARROWS if "/" in folder}

# The same for the folders of apps/; a main.cc may use all folders.
PROGRAM_ARROWS = {
    "tacet/program": [],
    "tacet/privacy": ["tacet/program"],
    "tacet/ledger": ["tacet/program"],
    "tacet/keys": ["tacet/program"],
    "tacet/simulate": ["tacet/program"],
    "tacet/statistics": ["tacet/program"],
    "tacet/data": ["tacet/simulate"],
    "tacet/federation": ["tacet/simulate"],
    "tacet/client": ["tacet/simulate"],
    "tacet/audit": ["tacet/program"],
    "tacet/report": ["tacet/program"],
    "tacet/attack": ["tacet/simulate"],
    "tacet/first_steps": ["tacet/program"],
    "tacet-server": ["tacet/program"],
}

# The same for the folders of lab/, which may use all of the library and of apps/.
LAB_ARROWS = {
    "attack": [],
    "baselines": [],
    "bench": [],
    "kernels": [],
    "load": [],
    "python_speed": [],
    "reproduce": ["bench"],
}

# Where the sources are. Folders other than tacet/, include/ and examples/ may use all of the library.
SOURCE_FOLDERS = ["tacet", "include", "apps", "lab", "tests", "fuzz", "examples", "python"]

# The installed headers are include/tacet/NAME.h, included as "tacet/NAME.h". They include each
# other, the standard library and ABSEIL. Of tacet/ two folders implement and include them.
PUBLIC = re.compile(r"tacet/\w+\.h")
ABSEIL = ("absl/status/status.h", "absl/status/statusor.h")
PUBLIC_FOLDERS = ("api/core", "api/live")
# Folders that see of the library what its users see.
USERS = ["include", "examples"]

# The folders that one outside tacet/ may include besides tacet/ and itself.
ALSO = {"lab": ["apps", "tests"], "tests": ["apps"], "fuzz": ["apps"]}

# An epsilon is computed in one place: accountants are for each other, for tests and for that file.
ACCOUNTANT = re.compile(r"tacet/accounting/\w+_accountant\.(h|cc)")
USER_OF_ACCOUNTANTS = "tacet/accounting/epsilon_bounds.cc"

# A digest of parameters or answers is computed in one place, under a key. Other files that have them
# as bytes hash nothing, and of the Python package only the file that hashes code.
PARAMETER_BYTES = "tacet/base/float_bytes.h"
DIGESTS_OF_PARAMETERS = "tacet/secagg/digest_key.cc"
HASH = re.compile(r"\b(Sha256|Sha256Hasher|HmacSha256|OneTimeHash|EVP_\w+)\b")
PYTHON_PACKAGE = "python/tacet"
DIGEST_OF_CODE = "app_code.py"
PYTHON_HASH = re.compile(r"^\s*(?:import|from)\s+(hashlib|hmac|zlib|binascii)\b", re.MULTILINE)

# State machines decide without input or output: no file that they include, directly or not, is one of
# these, and they include no header of the system that waits, locks or reads.
MACHINE = re.compile(
    r"tacet/member/(?:member_(?:action|event|machine|situation)|epoch_entry|turn\w*)\.(?:h|cc)")
INPUT_OUTPUT = re.compile(
    r"tacet/(?:base/(?:mutex|unix_clock)|ledger/\w+|member/(?:member_state|node_log|remote_server)"
    r"|protocol/wire|secagg/journal|trainer/\w+)\.h")
WAITS = re.compile(r"thread|mutex|shared_mutex|condition_variable|chrono|fstream|iostream|filesystem")

# Costly to compile: each is included by a single .cc outside the tests.
ONCE = {
    "CLI11": ("CLI/",),
    "toml++": ("toml++/", "toml.hpp"),
    "nlohmann-json": ("nlohmann/",),
    "spdlog": ("spdlog/",),
    "Boost.Asio": ("boost/asio",),
    "prometheus-cpp": ("prometheus/",),
}

# Besides tests: what else may include a helper of tests, x_for_test.h.
HELPERS_ALLOWED = {"fuzz", "tacet/he/constant_time_check.cc"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
LINK = re.compile(r"tacet_library\(\s*(\w+)(.*?)\)", re.DOTALL)


def reachable(arrows, first):
    """`first` and every folder that the arrows lead to from there."""
    found = set()
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += arrows[name]
    return found


def below(folder):
    """Every folder of tacet/ that `folder` may use, without itself."""
    return reachable(ARROWS, ARROWS[folder])


def folder_in(top, parts):
    """The folder of `top` that a path from the root belongs to, None for main.cc and all others."""
    if parts[0] != top or len(parts) < 3 or parts[-1] in ("main.cc", "CMakeLists.txt"):
        return None
    return "/".join(parts[1:-1])


def library_folder(parts):
    """The folder of tacet/ that a path below tacet/ belongs to: "he", "transport/local"."""
    if parts[0] in NESTED and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def check_file(root, path, users_of_once):
    """Yields the violations of one source file."""
    relative = path.relative_to(root)
    text = path.read_text(encoding="utf-8")
    top = relative.parts[0]
    is_test = top == "tests" or path.stem.endswith(("_test", "_for_test"))
    if path.suffix == ".h" and not path.stem.endswith("_for_test") and (
            top == "tests" or "testing" in relative.parts):
        yield f"{relative}: a header of tests is x_for_test.h"
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{relative}:{text.count(chr(10), 0, match.start(2)) + 1}"
        if name.endswith("_for_test.h") and not (is_test or top in HELPERS_ALLOWED
                                                 or str(relative) in HELPERS_ALLOWED):
            yield f"{where}: only tests may include {name}"
        for library, prefixes in ONCE.items():
            if name.startswith(prefixes) and not is_test:
                users_of_once[library].add(str(relative))
        if top == "include" and not (PUBLIC.fullmatch(name) or name in ABSEIL
                                     or quote == "<" and "/" not in name and "." not in name):
            yield f"{where}: a public header must not include {name}"
            continue
        if PUBLIC.fullmatch(name):
            if not (root / "include" / name).is_file():
                yield f"{where}: include/{name} does not exist"
            elif top == "tacet" and library_folder(relative.parts[1:]) not in PUBLIC_FOLDERS:
                yield (f"{where}: of tacet/ only {' and '.join(PUBLIC_FOLDERS)} may include the "
                       f"public {name}")
            continue
        if name.split("/")[0] not in SOURCE_FOLDERS:
            if quote == '"' and (path.parent / name).exists():
                yield f"{where}: \"{name}\" is not written from the root of the repository"
            continue
        if not (root / name).is_file():
            yield f"{where}: {name} does not exist"
            continue
        if (ACCOUNTANT.fullmatch(name) and not ACCOUNTANT.fullmatch(str(relative)) and not is_test
                and str(relative) != USER_OF_ACCOUNTANTS):
            yield f"{where}: only {USER_OF_ACCOUNTANTS} may include {name}"
        hash_of = HASH.search(text)
        if (name == PARAMETER_BYTES and hash_of and not is_test
                and str(relative) != DIGESTS_OF_PARAMETERS):
            yield (f"{where}: only {DIGESTS_OF_PARAMETERS} may include {name} and call "
                   f"{hash_of.group(1)}")
        included = pathlib.PurePosixPath(name).parts
        if included[0] != "tacet":
            if included[0] != top and included[0] not in ALSO.get(top, []):
                yield f"{where}: {top}/ must not include {included[0]}/"
            for outer, arrows in (("apps", PROGRAM_ARROWS), ("lab", LAB_ARROWS)):
                user, used = folder_in(outer, relative.parts), folder_in(outer, included)
                if (user in arrows and included[0] == outer and used is not None
                        and used not in reachable(arrows, [user])):
                    yield f"{where}: {outer}/{user} must not include {'/'.join(included[:-1])}"
            continue
        if top in USERS:
            yield f"{where}: {top}/ may include public headers only, not {name}"
        if top != "tacet":
            continue
        folder = library_folder(relative.parts[1:])
        other = library_folder(included[1:])
        if other != folder and other not in below(folder):
            yield f"{where}: tacet/{folder} must not include tacet/{other}"


def check_machine(root, path):
    """Yields the input and output that a state machine reaches."""
    machine = str(path.relative_to(root))
    seen, waiting = set(), [machine]
    while waiting:
        name = waiting.pop()
        if name in seen or not (root / name).is_file():
            continue
        seen.add(name)
        for _, included in INCLUDE.findall((root / name).read_text(encoding="utf-8")):
            waits = name == machine and WAITS.fullmatch(included)
            if waits or INPUT_OUTPUT.fullmatch(included):
                yield f"{machine}: a state machine must not reach {included}, which {name} includes"
            waiting.append(included)


def check_python(root, path):
    """Yields the hashes that a file of the Python package imports."""
    for match in PYTHON_HASH.finditer(path.read_text(encoding="utf-8")):
        yield (f"{path.relative_to(root)}: the package must not import {match.group(1)}: a digest "
               "of parameters is Client.model_digest")


def check_links(root, path):
    """Yields the violations of the tacet_library() calls in one CMakeLists.txt."""
    relative = path.relative_to(root)
    folder = "/".join(relative.parts[1:-1])
    for call in LINK.finditer(path.read_text(encoding="utf-8")):
        if call.group(1) != folder.replace("/", "_"):
            yield f"{relative}: the library of tacet/{folder} is called {call.group(1)}"
        for other in re.findall(r"tacet::(\w+)", call.group(2)):
            if other not in {name.replace("/", "_") for name in below(folder)}:
                yield f"{relative}: tacet/{folder} must not link tacet::{other}"


def check(root):
    """All violations below `root`, sorted."""
    found = []
    library = root / "tacet"
    folders = {library_folder(p.relative_to(library).parts) for p in library.rglob("*.*")
               if p.is_file() and p.parent != library}
    unknown = {folder for folder in folders if folder not in ARROWS}
    found += [f"tacet/{folder}: tools/check_includes.py does not know this folder" for folder in unknown]
    for outer, arrows in (("apps", PROGRAM_ARROWS), ("lab", LAB_ARROWS)):
        there = {folder_in(outer, path.relative_to(root).parts)
                 for path in (root / outer).rglob("*.*") if path.suffix in (".h", ".cc")}
        found += [f"{outer}/{folder}: tools/check_includes.py does not know this folder"
                  for folder in there - set(arrows) - {None}]
    for path in (root / PYTHON_PACKAGE).glob("*.py"):
        if path.name != DIGEST_OF_CODE:
            found += check_python(root, path)
    users_of_once = {name: set() for name in ONCE}
    for top in SOURCE_FOLDERS:
        for path in (root / top).rglob("*"):
            inside = path.relative_to(root).parts
            if top == "tacet" and (len(inside) < 3 or library_folder(inside[1:]) in unknown):
                continue
            if path.suffix in (".cc", ".h"):
                found += check_file(root, path, users_of_once)
                if MACHINE.fullmatch(str(path.relative_to(root))):
                    found += check_machine(root, path)
            elif top == "tacet" and path.name == "CMakeLists.txt":
                found += check_links(root, path)
    for name, users in users_of_once.items():
        if len(users) > 1 or any(user.endswith(".h") for user in users):
            found.append(f"{name} must be included by one .cc only, not by {', '.join(sorted(users))}")
    return sorted(found)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations = check(root.resolve())
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

"""Look of the build backend for Debian's packages, with another dpkg and another PATH.

Each function of the backend runs in a process of its own, as pip runs it. scikit-build-core is
replaced by a module that writes down its calls.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = "tools/setup.sh demo server python"

SCIKIT_BUILD = """
import os, sys

def _call(name, result):
    def called(*arguments):
        with open(os.environ["CALLS"], "a") as calls:
            calls.write(f"{name} {arguments}\\n")
        if os.environ.get("COMPILATION") == "fails" and name.startswith("build_"):
            print("CMake Error", file=sys.stderr)
            raise SystemExit(1)
        return result
    return called

for _name in ("build_wheel", "build_editable", "build_sdist", "prepare_metadata_for_build_wheel",
              "prepare_metadata_for_build_editable"):
    globals()[_name] = _call(_name, "tacet.whl")
for _name in ("wheel", "editable", "sdist"):
    _name = f"get_requires_for_build_{_name}"
    globals()[_name] = _call(_name, ["cmake>=3.25"])
"""

DPKG_QUERY = """#!{python}
import sys
there = open({installed!r}).read().split()
for name in sys.argv[4:]:
    if name in there:
        print(name, "installed")
    elif name == "libfmt-dev":
        print(name, "config-files")  # removed, but not purged
sys.exit(1)
"""


def listed(*sets: str) -> list[str]:
    lines = "".join((ROOT / "tools" / "packages" / name).read_text("utf-8") for name in sets)
    return [line.split()[0] for line in lines.splitlines() if line and line[0] != "#"]


@dataclass
class Machine:
    """A machine with a dpkg, programs and the backend."""

    folder: Path

    def set_programs(self, *names: str) -> None:
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        for name in names:
            (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (programs / name).chmod(0o755)

    def set_installed(self, packages: list[str]) -> None:
        known = self.folder / "installed"
        known.write_text(" ".join(packages), encoding="utf-8")
        self.set_programs("dpkg-query")
        text = DPKG_QUERY.format(python=sys.executable, installed=str(known))
        (self.folder / "bin" / "dpkg-query").write_text(text, encoding="utf-8")

    def call(self, function: str, *arguments: object, **variables: str) -> tuple[int, str, str]:
        """Call a function of the backend that pyproject.toml names; status, result, errors."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        build = project["build-system"]
        stub = self.folder / "scikit_build_core"
        stub.mkdir(exist_ok=True)
        (stub / "__init__.py").touch()
        (stub / "build.py").write_text(SCIKIT_BUILD, encoding="utf-8")
        code = (
            f"import sys; sys.path[:0] = {[*build.get('backend-path', []), str(self.folder)]}\n"
            f"import {build['build-backend']} as backend\n"
            f"print(backend.{function}(*{arguments!r}))"
        )
        environment = {
            "PATH": str(self.folder / "bin"),
            "CALLS": str(self.folder / "calls"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-I", "-c", code],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.strip(), done.stderr

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.split()[0] for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a Debian that has everything."""
    made = Machine(tmp_path)
    made.set_programs("c++", "cmake", "ninja", "pkg-config")
    made.set_installed(listed("demo", "server", "python"))
    return made


needs_headers = pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(),
    reason="this Python has no headers",
)

HOOKS = (
    "get_requires_for_build_wheel",
    "get_requires_for_build_editable",
    "build_wheel",
    "build_editable",
)


def arguments_of(hook: str) -> tuple[object, ...]:
    return () if hook.startswith("get") else ("wheels", None, None)


@needs_headers
@pytest.mark.parametrize("hook", HOOKS)
def test_a_machine_with_everything_is_not_spoken_to(machine: Machine, hook: str) -> None:
    status, result, errors = machine.call(hook, *arguments_of(hook))
    assert (status, errors) == (0, "")
    assert result == ("['cmake>=3.25']" if hook.startswith("get") else "tacet.whl")
    assert machine.calls == [hook]


@pytest.mark.parametrize("hook", HOOKS)
def test_missing_packages_are_named_with_the_command_before_compilation(
    machine: Machine, hook: str
) -> None:
    absent = {"libfmt-dev", "zlib1g-dev"}
    machine.set_installed([p for p in listed("demo", "python") if p not in absent])
    begin = time.monotonic()
    status, _, errors = machine.call(hook, *arguments_of(hook))
    assert time.monotonic() - begin < 5
    assert status == 1
    assert "Traceback" not in errors
    assert "compilation needs Debian packages that are missing: libfmt-dev zlib1g-dev.\n" in errors
    assert f"in addition: {' '.join(listed('server'))}.\n" in errors
    assert f"\n  {SETUP}\n" in errors
    install = f"apt-get install --no-install-recommends libfmt-dev zlib1g-dev {listed('server')[0]}"
    assert install in errors
    assert "TACET_SKIP_SETUP=1" in errors
    assert machine.calls == []


def test_every_library_of_the_list_is_looked_for(machine: Machine) -> None:
    machine.set_installed([])
    (machine.folder / "bin" / "c++").unlink()
    (machine.folder / "bin" / "pkg-config").unlink()
    _, _, errors = machine.call("get_requires_for_build_wheel")
    packages = errors.partition("missing: ")[2].partition(".\n")[0].split()
    brought = {"cmake", "ninja-build", "python3-dev", "python3-venv"}
    assert [p for p in packages if p not in brought] == [
        p for p in listed("demo", "python") if p not in brought
    ]


@needs_headers
def test_programs_that_pip_brings_are_missed_by_the_compilation_only(machine: Machine) -> None:
    for name in ("cmake", "ninja"):
        (machine.folder / "bin" / name).unlink()
    assert machine.call("get_requires_for_build_wheel")[0] == 0
    status, _, errors = machine.call("build_wheel", "wheels")
    assert status == 1
    assert "missing: cmake ninja-build.\n" in errors


@needs_headers
def test_a_compiler_of_another_name_is_enough(machine: Machine) -> None:
    (machine.folder / "bin" / "c++").unlink()
    assert "missing: g++.\n" in machine.call("build_wheel", "wheels")[2]
    assert machine.call("build_wheel", "wheels", CXX="/opt/g++-14")[0] == 0


@needs_headers
def test_a_wheel_without_the_servers_libraries_says_so_in_a_line(machine: Machine) -> None:
    machine.set_installed([p for p in listed("demo", "server", "python") if p != "libpqxx-dev"])
    status, result, errors = machine.call("build_wheel", "wheels")
    assert (status, result) == (0, "tacet.whl")
    assert errors.count("\n") == 1
    assert "live federations (tacet.Member) are left out" in errors
    assert "missing: libpqxx-dev. To have them: " + SETUP in errors
    # Wanted: they are missed. Not wanted: not a word.
    wanted = {"cmake.define.TACET_NETWORK": "ON"}
    assert "missing: libpqxx-dev.\n" in machine.call("build_wheel", "wheels", wanted)[2]
    unwanted = {"cmake.define.TACET_NETWORK": "OFF"}
    assert machine.call("build_wheel", "wheels", unwanted)[::2] == (0, "")


def test_the_check_is_skipped_where_the_user_says_so(machine: Machine) -> None:
    machine.set_installed([])
    status, result, errors = machine.call("build_wheel", "wheels", TACET_SKIP_SETUP="1")
    assert (status, result, errors) == (0, "tacet.whl", "")


@needs_headers
def test_another_system_is_told_what_is_needed_and_goes_on(machine: Machine) -> None:
    (machine.folder / "bin" / "dpkg-query").unlink()
    assert machine.call("get_requires_for_build_wheel")[0] == 0
    status, result, errors = machine.call("build_wheel", "wheels")
    assert (status, result) == (0, "tacet.whl")
    assert errors.count("\n") == 1
    assert "this is not a Debian system" in errors
    assert "libabsl-dev libfmt-dev" in errors
    # A failure of CMake is followed by the list, since its own text names no package.
    status, _, errors = machine.call("build_wheel", "wheels", COMPILATION="fails")
    assert status == 1
    assert "libabsl-dev libfmt-dev" in errors.partition("CMake Error")[2]


def test_another_system_without_a_compiler_is_stopped(machine: Machine) -> None:
    for name in ("dpkg-query", "c++"):
        (machine.folder / "bin" / name).unlink()
    status, _, errors = machine.call("get_requires_for_build_wheel")
    assert status == 1
    assert "This machine lacks: g++" in errors
    assert machine.calls == []


def test_a_source_distribution_needs_no_package(machine: Machine) -> None:
    machine.set_installed([])
    for hook in ("get_requires_for_build_sdist", "build_sdist"):
        arguments = () if hook.startswith("get") else ("archives",)
        assert machine.call(hook, *arguments)[::2] == (0, "")
    for kind in ("wheel", "editable"):
        assert machine.call(f"prepare_metadata_for_build_{kind}", "metadata")[::2] == (0, "")


def test_interpreters_are_found_and_not_assumed(tmp_path: Path) -> None:
    def python(name: str, code: str) -> Path:
        path = tmp_path / name / "python3"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    # A release tells its numbers and whether it has headers; a shim may have no Python behind it.
    later = python("later", "echo 3 99 1 0")
    same = python("same", "echo 3 99 1 1")
    old = python("old", "echo 3 10 2 1")
    free_threaded = python("free-threaded", "exit 0")
    shim = python("shim", "exit 127")
    pyenv = python("of-pyenv", "echo 3 98 0 1")
    versions = tmp_path / "versions" / "3.98.0"
    versions.mkdir(parents=True)
    (versions / "bin").symlink_to(pyenv.parent)
    there = [shim, free_threaded, old, later, same]
    told = subprocess.run(
        [sys.executable, ROOT / "tools" / "python_interpreters.py"],
        env={"TACET_PYTHONS": ":".join(map(str, there)), "PYENV_ROOT": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in told.stdout.splitlines()]
    assert lines[-2:] == [
        ["3.98.0", "headers", str(pyenv)],
        ["3.99.1", "no-headers", str(later)],
    ]
    assert not any(path in {str(old), str(shim), str(same)} for *_, path in lines)

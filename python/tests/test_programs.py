"""Bundled programs: console commands, and the functions that call them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tacet
from tacet import programs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tacet.Run:
    """Return a small run that was kept."""
    return tacet.simulate(
        lambda model, client, round_: np.full_like(model, 0.1),
        clients=6,
        initial=np.zeros(50, dtype=np.float32),
        privacy=tacet.Privacy(noise_multiplier=2, delta=1e-3),
        rounds=2,
        out=tmp_path_factory.mktemp("runs") / "run",
    )


def commands() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    scripts: dict[str, str] = project["scripts"]
    return scripts


@pytest.mark.parametrize("name", ["tacet", "tacet-server"])
def test_a_console_command_is_the_program(name: str) -> None:
    module, _, function = commands()[name].partition(":")
    # The script that pip writes, without its search for the environment.
    code = f"import sys\nfrom {module} import {function}\nsys.exit({function}())"

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-X", "importtime", "-c", code, *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    told = call("--version")
    assert told.returncode == 0
    assert told.stdout.startswith(f"{name} {tacet.__version__}")
    imported = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert module in imported
    assert not imported & {"tacet", "tacet._core", "numpy"}  # a command begins without them
    refused = call("--no-such-flag")
    assert refused.returncode == 2  # the program's code
    assert f"{name}: unknown flag `--no-such-flag`" in refused.stderr


def test_programs_find_each_other() -> None:
    assert programs.call("server", "--version").startswith("tacet-server ")


def test_a_package_without_a_program_says_what_to_install() -> None:
    with pytest.raises(tacet.FailedPreconditionError, match=r"no tacet-lab: .*tools/setup.sh"):
        programs.path_of_program("tacet-lab")


def test_the_page_of_a_run(run: tacet.Run, tmp_path: Path) -> None:
    assert run.path is not None
    page = tacet.report(run)
    assert page == run.path / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    both = tacet.report([run, run.path], out=tmp_path / "both.html")
    assert "2 runs" in both.read_text(encoding="utf-8")
    with pytest.raises(tacet.ProgramError, match="holds no run"):
        tacet.report(tmp_path)
    with pytest.raises(ValueError, match="runs is empty"):
        tacet.report([])


def test_a_record_that_was_changed_is_not_valid(run: tacet.Run, tmp_path: Path) -> None:
    assert run.path is not None
    written = tacet.audit.write(run, out=tmp_path / "audit.json")
    assert written.path == tmp_path / "audit.json"
    assert "epsilon" in written.model_card.read_text(encoding="utf-8").lower()
    assert written.facts["charged_attempts"] == 2
    valid = tacet.audit.verify(
        written.path,
        signer=written.signer,
        model=run.path / "model.f32",
        digest_key=run.path / "digest-0.key",
    )
    assert valid.pinned
    assert valid.model is not None
    assert valid.facts["charged_epsilon"] == pytest.approx(run.charged_epsilon)
    assert not tacet.audit.verify(written.path).pinned
    record = written.path.read_text(encoding="utf-8")
    assert "charged_epsilon" in record
    written.path.write_text(record.replace('"charged_epsilon"', '"charged_epsilom"'))
    with pytest.raises(tacet.ProgramError, match=r"signature|signed"):
        tacet.audit.verify(written.path)
    other = "0" * 64
    written.path.write_text(record)
    with pytest.raises(tacet.ProgramError, match=written.signer[:8]):
        tacet.audit.verify(written.path, signer=other)


def test_the_ledger_of_a_run(run: tacet.Run, tmp_path: Path) -> None:
    ledger = tacet.ledger.show(run)
    assert (ledger.charges, ledger.delta) == (2, 1e-3)
    assert ledger.epsilon is not None
    assert ledger.budget_epsilon is None
    assert ledger.epsilon_left is None
    assert run.path is not None
    assert tacet.ledger.show(run.path / "ledger") == ledger
    with pytest.raises(tacet.ProgramError, match="none"):
        tacet.ledger.show(tmp_path / "none")


def test_a_run_that_was_not_kept_has_no_page(run: tacet.Run) -> None:
    lost = dataclasses.replace(run, path=None)
    for function in (tacet.report, tacet.audit.write, tacet.ledger.show):
        with pytest.raises(ValueError, match=r"was not kept: give tacet\.simulate"):
            function(lost)


def test_names_that_look_like_flags_are_names(run: tacet.Run, tmp_path: Path) -> None:
    assert run.path is not None
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        Path("--json").symlink_to(run.path)
        page = tacet.report("--json", out="page.html")
        assert page.exists()
        assert tacet.ledger.show("--json/ledger").charges == 2
    finally:
        os.chdir(before)
    assert json.loads((run.path / "summary.json").read_text(encoding="utf-8"))["rounds"] == 2

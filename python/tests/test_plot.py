"""Plots of a run, by a program without a display and in a notebook, with the real matplotlib."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

import tacet

PROGRAM = """
import sys
import tacet

axes = tacet.open_run(sys.argv[1]).plot()
lines = {line.get_label(): list(line.get_xdata()) for line in axes.get_lines()}
assert lines == {"accuracy": [1, 2], "loss": [1, 2], "charged epsilon": [1, 2]}, lines
axes.figure.savefig(sys.argv[2])
"""


@pytest.fixture
def run(tmp_path: Path) -> tacet.Run:
    return tacet.simulate(
        lambda model, client, round_: np.zeros_like(model),
        clients=6,
        initial=np.zeros(50, dtype=np.float32),
        privacy=tacet.Privacy(noise_multiplier=2.0, delta=1e-3),
        rounds=2,
        evaluate=lambda model: {"accuracy": 0.5, "loss": 1.0, "samples": 7},
        out=tmp_path / "run",
    )


def test_a_program_without_a_display_stores_a_plot(run: tacet.Run, tmp_path: Path) -> None:
    picture = tmp_path / "run.png"
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in displays}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(run.path), str(picture)],
        env=environment | {"MPLCONFIGDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_notebook_shows_the_plot(
    run: tacet.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    cell = new_code_cell(f"import tacet\ntacet.open_run({str(run.path)!r}).plot();")
    NotebookClient(
        new_notebook(cells=[cell]), timeout=300, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()  # fmt: skip
    assert any("image/png" in output.get("data", {}) for output in cell["outputs"])


def test_a_machine_without_matplotlib_is_told(
    run: tacet.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        run.plot()

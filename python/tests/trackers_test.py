"""The guide's programs for TensorBoard and MLflow, run with both: the rounds arrive there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import mlflow
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tacet

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "python.md"


def run_program(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tacet.Run:
    """Run the file of this name in the guide; return its run."""
    found = re.search(
        rf"<!-- file: {re.escape(name)} -->\n```python\n(.*?)```",
        GUIDE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert found is not None
    (folder / name).write_text(found[1], encoding="utf-8")
    monkeypatch.chdir(folder)
    run = runpy.run_path(name)["run"]
    assert isinstance(run, tacet.Run)
    return run


def rounds_of(run: tacet.Run) -> list[tuple[int, float]]:
    rounds = [(line["round"], pytest.approx(line["charged_epsilon"])) for line in run.rounds]
    assert len(rounds) == 3
    return rounds


def test_tensorboard_has_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_program("tensorboard_run.py", tmp_path, monkeypatch)
    board = EventAccumulator(str(tmp_path / "board")).Reload()
    assert [(event.step, event.value) for event in board.Scalars("epsilon")] == rounds_of(run)


def test_mlflow_has_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "tracked").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    run = run_program("mlflow_run.py", tmp_path, monkeypatch)
    client = mlflow.MlflowClient()
    (tracked,) = client.search_runs(["0"])
    history = client.get_metric_history(tracked.info.run_id, "epsilon")
    assert [(metric.step, metric.value) for metric in history] == rounds_of(run)

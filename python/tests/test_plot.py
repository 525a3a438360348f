"""Plots of a run, by a program without a display and in a notebook, with the real matplotlib."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

import tacet
from tacet import statistics

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


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> statistics.Release:
    rng = np.random.default_rng(3)
    cells = statistics.Cells
    tables = {}
    for site in ("north", "south"):
        ill = rng.random(600) < 0.3
        tables[site] = {
            "time": rng.exponential(300, 600).round(),
            "died": (rng.random(600) < 0.6).astype(int),
            "sex": rng.choice(["f", "m"], 600),
            "ill": ill.astype(int),
            "score": np.clip(rng.normal(np.where(ill, 0.6, 0.35), 0.15), 0, 1),
            "age": rng.integers(20, 99, 600),
        }
    return statistics.ask(
        tables,
        [
            statistics.survival("time", cells(low=0, high=1000, bins=10), event="died",
                                event_value=1, group="sex", groups=["f", "m"], name="survival"),
            statistics.evaluation("score", cells(bins=10, high=1), label="ill", positive=1,
                                  name="model"),
            statistics.histogram("sex", cells(categories=["f", "m", "x"]), name="sexes"),
            statistics.histogram("age", cells(edges=[20, 40, 60, 99]), name="ages"),
            statistics.crosstab("sex", cells(categories=["f", "m"]), "ill",
                                cells(categories=[0, 1]), name="pairs"),
            statistics.quantiles("age", cells(edges=[20, 40, 60, 80, 99]), name="quartiles"),
            statistics.mean("age", low=20, high=99, name="mean"),
        ],
        values=["sex one-of=f,m,x"],
        target_epsilon=20, floor=60, max_units=1000, insecure_seed=1,
        out=tmp_path_factory.mktemp("asked") / "run",
    )  # fmt: skip


def texts_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_survival_has_bands_and_numbers_at_risk(release: statistics.Release) -> None:
    axes = release["survival"].plot()
    curves = {line.get_label(): line for line in axes.get_lines()}
    assert set(curves) == {"f", "m"}
    shown = [each.value for each in release["survival"].find("survival", group="f")]
    kept = shown[: shown.index(None)] if None in shown else shown
    assert list(curves["f"].get_ydata()) == [1.0, *kept]
    assert len(axes.collections) == 2  # bands
    assert "at risk f" in texts_of(axes)
    first = release["survival"].find("at risk", group="m", at="0")[0].value
    assert f"{first:,.0f}" in texts_of(axes)
    if None in shown:
        assert "✕" in texts_of(axes)


def test_roc_and_calibration_of_an_evaluation(release: statistics.Release) -> None:
    model = release["model"]
    axes = model.plot()
    (label,) = [text.get_text() for text in axes.get_legend().get_texts()]
    assert label.startswith(f"AUC {model['auc'].value:.3g} (")
    assert len(axes.patches) == 1  # the band
    calibration = model.plot(what="calibration")
    points = calibration.containers[0].lines[0]
    shares = [each.value for each in model.find("observed share") if not each.suppressed]
    assert list(points.get_ydata()) == shares
    assert "✕" in texts_of(calibration)  # few scores lie at the ends
    with pytest.raises(ValueError, match=r"no plot 'forest'; it has: roc, calibration"):
        model.plot(what="forest")


def test_counts_are_bars_with_whiskers_and_marks(release: statistics.Release) -> None:
    axes = release["sexes"].plot()
    heights = [bar.get_height() for bar in axes.patches]
    counts = [each for each in release["sexes"].find("count") if each.at]
    assert heights == [each.value for each in counts if not each.suppressed]
    # Nobody is x, and the smaller one of the others would give it away with the total.
    assert texts_of(axes) == ["✕", "✕"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["f", "m", "x"]
    pairs = release["pairs"].plot()
    assert len(pairs.containers) == 4  # bars of two series, and their whiskers
    assert [text.get_text() for text in pairs.get_legend().get_texts()] == ["0", "1"]


def test_quantiles_show_the_edges_of_the_cells(release: statistics.Release) -> None:
    assert release["quartiles"].edges == (20, 40, 60, 80, 99)
    axes = release["quartiles"].plot()
    edges = [line.get_xdata()[0] for line in axes.get_lines() if line.get_color() == "lightgray"]
    assert edges == [20, 40, 60, 80, 99]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["25 %", "50 %", "75 %"]


def test_a_mean_has_no_plot(release: statistics.Release) -> None:
    with pytest.raises(ValueError, match=r"the answer 'mean' \(mean\) has no plot None; it has: n"):
        release["mean"].plot()


def test_groups_stand_side_by_side(tmp_path: Path) -> None:
    tables = {"north": {"sex": ["f", "m"] * 300, "age": [20, 30, 40, 50] * 150}}
    release = statistics.ask(
        tables | {"south": tables["north"]},
        [
            statistics.histogram(
                "age", statistics.Cells(edges=[20, 40, 60]), group="sex", name="ages"
            ),
            statistics.median(
                "age", statistics.Cells(edges=[20, 40, 60]), group="sex", name="middle"
            ),
        ],
        values=["sex one-of=f,m"], target_epsilon=20, max_units=1000, out=tmp_path / "run",
    )  # fmt: skip
    axes = release["ages"].plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["f", "m"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["[20, 40)", "[40, 60]"]
    axes = release["middle"].plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["f 50 %", "m 50 %"]


def effect(
    quantity: str, group: str, value: float | None, low: float = np.nan, high: float = np.nan
) -> statistics.Estimate:
    return statistics.Estimate(quantity, group, "", value, 0.1, 0.2, low, high)


def model(kind: str, *estimates: statistics.Estimate) -> statistics.Answer:
    return statistics.Answer("death", kind, estimates, ())


def ends_of(axes: Any) -> list[list[float]]:
    return [list(line.get_xdata()) for line in axes.get_lines() if line.get_marker() == "|"]


@pytest.mark.parametrize(
    ("kind", "ratio"), [("glm", "odds ratio"), ("glm", "rate ratio"), ("cox", "hazard ratio")]
)
def test_ratios_of_any_model_are_a_forest_around_one(kind: str, ratio: str) -> None:
    axes = model(
        kind,
        effect("coefficient", "age", 0.5, 0.1, 0.9),
        effect("coefficient", "sex = m", None),
        effect("coefficient", "stage", -900, -1000, -800),
        effect(ratio, "age", 1.6, 1.1, 2.5),
        effect(ratio, "sex = m", None),
        effect(ratio, "stage", 0.0, 0.0, np.inf),  # beyond all numbers
        effect("likelihood ratio", "", 7, 1, 9),
    ).plot()
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == ratio
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "sex = m", "stage"]
    assert ends_of(axes) == [[1.1, 2.5], [1.0, 2.5]]
    assert [line.get_xdata()[0] for line in axes.get_lines() if line.get_linestyle() == ":"] == [1]
    assert texts_of(axes) == ["✕"]
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert "1" in labels
    assert "$" not in "".join(labels)


def test_coefficients_without_ratios_are_a_forest_around_zero() -> None:
    linear = model("glm", effect("coefficient", "age", 0.5, 0.1, 0.9))
    axes = linear.plot(what="coefficients")
    assert axes.get_xscale() == "linear"
    assert ends_of(axes) == [[0.1, 0.9]]
    assert [line.get_xdata()[0] for line in axes.get_lines() if line.get_linestyle() == ":"] == [0]


def test_a_discriminant_has_no_forest() -> None:
    with pytest.raises(ValueError, match="has no plot None; it has: none"):
        model("regression", effect("coefficient", "age", 0.5)).plot()


def test_a_model_that_is_suppressed_shows_no_effect() -> None:
    hidden = model("glm", effect("coefficient", "age", None), effect("odds ratio", "age", None))
    axes = hidden.plot()
    assert ends_of(axes) == []
    assert texts_of(axes) == ["✕"]

"""NVFLARE's example jobs: converted in a line, and run with real members and a real server."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from app_federation import MOST_LINES, AppFederation, convert

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "nvflare"
SITES = ["site-1", "site-2", "site-3"]
INITIAL = {
    "numpy-mean": {"numpy_key": np.zeros((1, 3))},
    "numpy-logistic": {"numpy_key": np.zeros((1, 4))},
    "sklearn-logistic": {"coef": np.zeros((1, 4)), "intercept": np.zeros(1)},
    "sklearn-sgd": {"coef": np.zeros(4), "intercept": np.zeros(1)},
    "pytorch": None,
}
NEEDS = {"sklearn-logistic": "sklearn", "sklearn-sgd": "sklearn", "pytorch": "torch"}


def initial_of(name, folder):
    if INITIAL[name] is not None:
        return INITIAL[name]
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {key: value.numpy() for key, value in module.Net().state_dict().items()}


def test_all_jobs_are_here():
    assert sorted(INITIAL) == sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", INITIAL)
def test_a_line_changes(tmp_path, name):
    assert 1 <= convert(EXAMPLES / name, tmp_path / "after") <= MOST_LINES


@pytest.mark.parametrize("name", INITIAL)
def test_a_converted_job_trains_and_its_server_keeps_no_model(tmp_path, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    after = tmp_path / "after"
    convert(EXAMPLES / name, after)
    federation = AppFederation(
        tmp_path / "sites", SITES, initial_of(name, after), {"note": "agreed"}, rounds=2
    )
    try:
        federation.start_members()
        done = subprocess.run(
            [sys.executable, "job.py"], cwd=after, capture_output=True, text=True, timeout=600,
            check=False,
            env=os.environ | {
                "HOME": str(tmp_path),
                "NVFLARE_SIMULATOR_WORKSPACE_ROOT": str(tmp_path / "workspace"),
                "TACET_SERVER_HOME": str(federation.path / "hub"),
                "TACET_SOCKET": str(federation.path / "{name}-app" / "app.sock"),
            },
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        federation.wait_for_members()
    finally:
        federation.close()
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert np.abs(models[0] - federation.initial).max() > 0
    for file in (tmp_path / "workspace").rglob("*"):
        if file.is_file():
            assert models[0].tobytes() not in file.read_bytes()

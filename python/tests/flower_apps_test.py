"""Flower's example apps: converted in five lines, and run with real members and a real server."""

from __future__ import annotations

import importlib
import pathlib
import pickle
import sys
import tomllib

import numpy as np
import pytest
from app_federation import MOST_LINES, AppFederation, convert
from flower_threads import run_in_threads
from flwr.app import ArrayRecord
from flwr.superlink.grid import InMemoryGrid

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "flower"
APPS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
NEEDS = {"sklearn-logistic": "sklearn", "sklearn-sgd": "sklearn", "pytorch": "torch"}
SITES = ["site-0", "site-1", "site-2"]


class RecordingGrid(InMemoryGrid):
    """Flower's grid, which keeps everything that the server sends and receives."""

    seen: bytes = b""

    def push_messages(self, messages):
        sent = list(messages)
        RecordingGrid.seen += pickle.dumps(sent)
        return super().push_messages(sent)

    def pull_messages(self, message_ids):
        replies = list(super().pull_messages(message_ids))
        RecordingGrid.seen += pickle.dumps(replies)
        return replies


@pytest.fixture(params=APPS)
def app(request, monkeypatch, tmp_path):
    """An app, as (name, folder before, folder after the conversion, lines that changed)."""
    for package in [NEEDS.get(request.param)]:
        if package:
            pytest.importorskip(package)
    monkeypatch.setattr(RecordingGrid, "seen", b"")
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.chdir(tmp_path)
    lines = convert(EXAMPLES / request.param, tmp_path / "after")
    return request.param.replace("-", ""), EXAMPLES / request.param, tmp_path / "after", lines


def load(monkeypatch, package, folder):
    """Import the app's modules from a folder; returns them and its configuration."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    config = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    names = ("task", "client_app", "server_app")
    return [importlib.import_module(f"{package}.{name}") for name in names], config


def initial_of(task):
    """Public initial values of an app, as its server makes them."""
    if hasattr(task, "initial_weights"):
        return ArrayRecord(task.initial_weights())
    if hasattr(task, "new_model"):
        return ArrayRecord(task.get_params(task.new_model()))
    return ArrayRecord(task.Net().state_dict())


def spied(monkeypatch, client_app, task):
    """Keeps what the app trains, as the bytes that its plain reply would have."""
    trained = []
    original = client_app.ArrayRecord

    def record(*arguments):
        made = original(*arguments)
        trained.extend(array.numpy().tobytes() for array in made.values())
        return made

    monkeypatch.setattr(client_app, "ArrayRecord", record)
    return trained


@pytest.mark.parametrize("name", APPS)
def test_five_lines_change(tmp_path, name):
    assert 2 <= convert(EXAMPLES / name, tmp_path / "after") <= MOST_LINES


def test_a_converted_app_trains_and_its_server_sees_no_model(app, monkeypatch, tmp_path):
    package, before, after, _ = app
    # The plain app: the search below finds each site's model in what the server receives.
    (task, client, server), config = load(monkeypatch, package, before)
    trained = spied(monkeypatch, client, task)
    run_in_threads(
        server.app, client.app, nodes=3, threads=3, grid_class=RecordingGrid, run_config=config
    )
    assert trained
    assert all(model in RecordingGrid.seen for model in trained)
    RecordingGrid.seen = b""
    # The converted one.
    (task, client, server), config = load(monkeypatch, package, after)
    agreed = config | {"lr": config["learning-rate"]}
    initial = {name: array.numpy() for name, array in initial_of(task).items()}
    federation = AppFederation(
        tmp_path / "sites", SITES, initial, agreed, rounds=config["num-server-rounds"]
    )
    monkeypatch.setenv("TACET_SERVER_HOME", str(federation.path / "hub"))
    monkeypatch.setenv("TACET_SOCKET", str(federation.path / "site-{partition-id}-app/app.sock"))
    trained = spied(monkeypatch, client, task)
    try:
        federation.start_members()
        run_in_threads(
            server.app, client.app, nodes=3, threads=3, grid_class=RecordingGrid, run_config=config
        )
        federation.wait_for_members()
    finally:
        federation.close()
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert np.abs(models[0] - federation.initial).max() > 0
    assert len(trained) >= len(SITES) * config["num-server-rounds"]
    assert not any(model in RecordingGrid.seen for model in trained)
    assert models[0].tobytes() not in RecordingGrid.seen

"""The example app on Flower's own SuperLink and SuperNodes: processes that talk over HTTP."""

from __future__ import annotations

import contextlib
import difflib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from tacet.site import Site, enrol

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "flower"
SITES = 3


def test_five_lines_change():
    changed = []
    for path in sorted((EXAMPLES / "secagg").rglob("*.*")):
        if path.suffix not in (".py", ".toml"):
            continue
        other = EXAMPLES / "tacet" / path.relative_to(EXAMPLES / "secagg")
        lines = difflib.ndiff(path.read_text().splitlines(), other.read_text().splitlines())
        changed += [line for line in lines if line.startswith("+ ")]
    assert len(changed) == 5, changed


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def processes(folder, environment):
    """Start programs of Flower, each with its log; ends them and their children."""
    started = []

    def start(name, program, *arguments):
        with (folder / f"{name}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [pathlib.Path(sys.executable).parent / program, *map(str, arguments)],
                    env=environment,
                    cwd=folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    try:
        yield start
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.5)
    pytest.fail(f"{what} did not happen")


def test_a_round_between_processes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES / "tacet"))
    from patients.task import initial_weights  # noqa: PLC0415

    sites = tmp_path / "sites"
    enrol(
        sites,
        initial_weights(),
        sites=SITES,
        rounds=1,
        noise_multiplier=1.5,
        neighbouring="zero-out",
        spare_attempts=1,
        min_participants=2,
    )
    home = tmp_path / "home"
    home.mkdir()
    port = free_port()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\n'
        "insecure = true\n"
    )
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "PATH": path,
    }
    with processes(tmp_path, environment) as start:
        start(
            "superlink",
            "flower-superlink",
            "--insecure",
            "--disable-runtime-dependency-installation",
            "--port",
            port,
        )
        for number in range(SITES):
            start(
                f"node-{number}",
                "flower-supernode",
                "--insecure",
                "--superlink",
                f"127.0.0.1:{port}",
                "--port",
                free_port(),
                "--node-config",
                f'partition-id={number} tacet-home="{sites}/site-{number}" '
                f'tacet-key-file="{sites}/unlock.key"',
            )
        log = tmp_path / "superlink.log"
        wait_for(lambda: log.read_text().count("Activated node_id") == SITES, "activation")
        settings = f'terms="{sites}/terms.json" num-clients={SITES} num-server-rounds=1'
        start(
            "run", "flwr", "run", EXAMPLES / "tacet", "here", "--run-config", settings, "--stream"
        )
        run = tmp_path / "run.log"
        wait_for(lambda: "Run finished 1 round" in run.read_text(), "the end of the run")
        text = run.read_text()
    assert "tacet: round 1 has an outcome" in text, text
    models = [
        Site(sites / f"site-{number}", key_file=sites / "unlock.key").model
        for number in range(SITES)
    ]
    for model in models[1:]:
        for tensor, first in zip(model, models[0], strict=True):
            np.testing.assert_array_equal(tensor, first)
    assert models[0][0].any()
    # The model is in nothing that the server's process wrote.
    for file in home.rglob("*"):
        if file.is_file():
            assert models[0][0].tobytes() not in file.read_bytes()

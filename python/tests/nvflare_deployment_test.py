"""Jobs on NVFLARE's own server and clients: processes that talk by mutual TLS."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from app_federation import AppFederation, convert
from nvflare.fuel.flare_api.flare_api import new_secure_session

from tacet.nvflare import app_digest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "nvflare"
SITES = 3
ADMIN = "admin@nvidia.com"


def wait_for(condition, what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.25)
    return pytest.fail(f"{what} did not happen")


class Deployment:
    """NVFLARE's server and clients, each a group of processes."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "HOME": str(folder),
            "NVFLARE_POC_WORKSPACE": str(folder / "poc"),
        }
        programs = pathlib.Path(sys.executable).parent
        subprocess.run(
            [programs / "nvflare", "poc", "prepare", "-n", str(SITES)],
            check=True, capture_output=True, env=self.environment,
        )  # fmt: skip
        self.kits = folder / "poc" / "example_project" / "prod_00"

    def resources(self, name: str, change) -> None:
        """Write a site's own resources, as its administrator does."""
        local = self.kits / name / "local"
        resources = json.loads((local / "resources.json.default").read_text())
        change(resources)
        (local / "resources.json").write_text(json.dumps(resources))

    def start(self, name: str, **environment: str) -> None:
        kind = "server" if name == "server" else "client"
        kit = self.kits / name
        words = [
            sys.executable, "-u", "-m", f"nvflare.private.fed.app.{kind}.{kind}_train",
            "-m", str(kit), "-s", f"fed_{kind}.json",
            "--set", "secure_train=true", "config_folder=config", "org=nvidia",
        ]  # fmt: skip
        if kind == "client":
            words.append(f"uid={name}")
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words, stdout=log, stderr=log, cwd=kit, start_new_session=True,
                env=self.environment | environment,
            )  # fmt: skip

    def kill(self, name: str) -> None:
        """End a node as a power cut does, with the processes of its job."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        marker = f"/{name}"
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                if str(self.kits) + marker in words:
                    os.kill(int(entry.name), signal.SIGKILL)

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def session(self):
        def connected():
            with contextlib.suppress(Exception):
                session = new_secure_session(ADMIN, str(self.kits / ADMIN))
                if len(session.get_system_info().client_info) == SITES:
                    return session
                session.close()
            return None

        return wait_for(connected, "the connection of all clients")


SLOW = """
import os, pathlib, time

_FLModel = flare.FLModel


def _slow(*arguments, **more):
    marker = pathlib.Path(os.environ["SLOW"]) if "SLOW" in os.environ else None
    if marker and not marker.exists():
        marker.write_text("training")
        time.sleep(600)
    return _FLModel(*arguments, **more)


flare.FLModel = _slow
"""


@pytest.fixture
def deployment(tmp_path):
    made = Deployment(tmp_path)
    yield made
    made.close()


def exported(folder: pathlib.Path, script: str) -> pathlib.Path:
    """Export the converted job of `numpy-mean` with another script; returns the job's folder."""
    after = folder / "after"
    convert(EXAMPLES / "numpy-mean", after)
    (after / "client.py").write_text(script)
    job = after / "job.py"
    options = '{"collecting_seconds": 40, "retry_seconds": 2, "grace_seconds": 5}'
    job.write_text(
        job.read_text().replace(
            "min_clients=args.n_clients", f"min_clients=2, server_options={options}"
        )
    )
    subprocess.run(
        [sys.executable, "job.py", "--export", "--export-dir", folder / "job"], cwd=after,
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "job" / "numpy-mean"


def client_app(job: pathlib.Path) -> pathlib.Path:
    return next(job.rglob("config_fed_client.json")).parent.parent


def permit_workflow(resources) -> None:
    resources["class_allow_list"].append("tacet.nvflare.")


def test_a_site_killed_in_mid_round(tmp_path, deployment):
    """Client and member of a site end in mid-training, as in a power cut, and come back.

    The sites pin the job's app. A job that differs in one byte is submitted first.
    """
    script = (EXAMPLES / "numpy-mean" / "client.py").read_text()
    script = script.replace("\n\ndef main", SLOW + "\n\ndef main", 1)
    job = exported(tmp_path / "good", script)
    other = exported(tmp_path / "other", script.replace("600", "601"))
    sites = [f"site-{number}" for number in range(1, SITES + 1)]
    federation = AppFederation(
        tmp_path / "sites", sites, {"numpy_key": np.zeros((1, 3))}, {}, rounds=2
    )
    digest = app_digest(client_app(job))

    def pin(resources):
        resources["allow_log_streaming"] = False
        resources["app_validator"] = {"path": "tacet.nvflare.PinnedApp", "args": {"digest": digest}}

    marker = tmp_path / "marker"

    def start_client(name):
        deployment.start(
            name,
            TACET_SOCKET=str(federation.socket(name)),
            **({"SLOW": str(marker)} if name == sites[0] else {}),
        )

    deployment.resources("server", permit_workflow)
    try:
        federation.start_members()
        deployment.start("server", TACET_SERVER_HOME=str(federation.path / "hub"))
        for name in sites:
            deployment.resources(name, pin)
            start_client(name)
        with contextlib.closing(deployment.session()) as session:
            session.monitor_job(session.submit_job(str(other)), timeout=60)
            assert "this site permits" in (tmp_path / "server.log").read_text()
            assert not marker.exists()
            number = session.submit_job(str(job))
            wait_for(marker.exists, "the first training", 120)
            deployment.kill(sites[0])
            federation.kill_member(sites[0])
            federation.start_member(sites[0])
            start_client(sites[0])
            federation.wait_for_members(900, sites[1:])
            session.monitor_job(number, timeout=240)
            # NVFLARE starts no job at a client that comes back: the job again brings it the rest.
            again = session.submit_job(str(job))
            federation.wait_for_members(300, sites[:1])
            session.monitor_job(again, timeout=240)
    finally:
        federation.close()
        for name in ("server", *sites):
            print((tmp_path / f"{name}.log").read_text()[-2500:])
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert models[0].any()
    # Each attempt is charged once: to the site that came back those in which it took part.
    attempts = federation.attempts(sites[1])
    assert [federation.charges(name) for name in sites[1:]] == [attempts] * 2
    assert 1 <= federation.charges(sites[0]) <= attempts
    for file in (deployment.kits / "server").rglob("*"):
        if file.is_file():
            assert models[0].tobytes() not in file.read_bytes()

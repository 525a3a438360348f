"""Apps on Flower's own SuperLink and SuperNodes: processes that talk over HTTP."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from app_federation import AppFederation, convert

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "flower"
PROGRAMS = pathlib.Path(sys.executable).parent
SITES = 3
APP_USER = 65534


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.25)
    return pytest.fail(f"{what} did not happen")


class Deployment:
    """A SuperLink and SuperNodes, each a group of processes with a log."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.port = free_port()
        self.home = folder / "superlink"
        self.home.mkdir()
        (self.home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{self.port}"\n'
            "insecure = true\n"
        )

    def environment(self, home: pathlib.Path, **more: str) -> dict[str, str]:
        return os.environ | more | {
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        }  # fmt: skip

    def start(self, name, program, *arguments, home=None, user=None, **environment):
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [PROGRAMS / program, *map(str, arguments)],
                env=self.environment(home or self.home, **environment),
                cwd=home or self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **({} if user is None else {"user": user, "group": user, "extra_groups": []}),
            )
        return self.processes[name]

    def log(self, name) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def start_superlink(self, **environment: str) -> None:
        self.start(
            "superlink", "flower-superlink", "--insecure",
            "--disable-runtime-dependency-installation", "--port", self.port, **environment,
        )  # fmt: skip

    def start_node(self, name, *, home=None, user=None, config="", **environment) -> None:
        self.start(
            name, "flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{self.port}",
            "--port", free_port(),
            *(["--node-config", config] if config else []),
            home=home, user=user, **environment,
        )  # fmt: skip

    def wait_for_nodes(self, count: int) -> None:
        def active():
            assert all(process.poll() is None for process in self.processes.values())
            return self.log("superlink").count("Activated node_id") >= count

        wait_for(active, "the activation of all nodes", 60)

    def run(self, name, app, *arguments):
        return self.start(name, "flwr", "run", app, "here", "--stream", *arguments)

    def kill(self, name: str) -> None:
        """End a node as a power cut does, with the processes of its app."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture
def deployment(tmp_path):
    made = Deployment(tmp_path)
    yield made
    made.close()


def copy_app(source, target, *, task=""):
    """Copy an app, with more lines at the end of its task.py."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (file,) = target.rglob("task.py")
    file.write_text(file.read_text() + task)


def pinned_home(folder: pathlib.Path, app: pathlib.Path, environment) -> pathlib.Path:
    """A node's folder of Flower, in which one app is installed and none can be added."""
    home = folder / "node"
    (home / "apps").mkdir(parents=True)
    built = folder / "fab"
    built.mkdir()
    flwr = [PROGRAMS / "flwr"]
    done = subprocess.run(
        [*flwr, "build", "--app", app], cwd=built, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (fab,) = built.glob("*.fab")
    subprocess.run(
        [*flwr, "install", fab], env=environment | {"FLWR_HOME": str(home)}, check=True,
        capture_output=True,
    )  # fmt: skip
    subprocess.run(["chmod", "-R", "a-w,a+rX", home / "apps"], check=True)
    return home


def test_a_pinned_node_runs_one_app_only(tmp_path, deployment):
    """Flower's server delivers the code of the clients' app: any app, to a plain node."""
    if os.geteuid() == 0:  # root writes to every folder: the node runs as another user
        for parent in tmp_path.parents[:2]:
            parent.chmod(0o755)
        tmp_path.chmod(0o755)
        user = APP_USER
    else:
        user = None
    proof = tmp_path / "proof"
    proof.mkdir()
    proof.chmod(0o777)
    mark = "\nimport os\nif 'PROOF' in os.environ: open(os.environ['PROOF'] + '-%s', 'w').close()\n"
    for name in ("good", "gooe"):  # one byte
        copy_app(EXAMPLES / "numpy-ridge", tmp_path / name, task=mark % name)
    home = pinned_home(tmp_path, tmp_path / "good", deployment.environment(tmp_path / "build"))
    deployment.start_superlink()
    for name in ("pinned-0", "pinned-1"):
        deployment.start_node(
            name, home=home, user=user, config="partition-id=0", HOME=str(proof),
            PROOF=str(proof / name),
        )  # fmt: skip
    (tmp_path / "plain").mkdir()
    deployment.start_node(
        "plain", home=tmp_path / "plain", config="partition-id=0", PROOF=str(proof / "plain")
    )
    deployment.wait_for_nodes(3)
    settings = "num-server-rounds=1 fraction-evaluate=0.0"
    for name in ("gooe", "good"):
        deployment.run(name, tmp_path / name, "--run-config", settings)
        wait_for(lambda name=name: "finished" in deployment.log(name), f"the end of {name}", 90)
    ran = sorted(path.name for path in proof.iterdir() if path.is_file())
    assert ran == ["pinned-0-good", "pinned-1-good", "plain-good", "plain-gooe"]


SLOW = """

_train = train


def train(*arguments):
    import os, pathlib, time

    marker = pathlib.Path(os.environ["SLOW"]) if "SLOW" in os.environ else None
    if marker and not marker.exists():
        marker.write_text("training")
        time.sleep(600)
    return _train(*arguments)
"""


def test_a_site_killed_in_mid_round(tmp_path, deployment):
    """Node and member of a site end in mid-training, as in a power cut, and come back."""
    convert(EXAMPLES / "numpy-logistic", tmp_path / "converted")
    app = tmp_path / "app"
    copy_app(tmp_path / "converted", app, task=SLOW)
    server = app / "numpylogistic" / "server_app.py"
    options = 'server_options={"collecting_seconds": 40, "retry_seconds": 2, "grace_seconds": 5}, '
    server.write_text(server.read_text().replace("FedAvg(frac", f"FedAvg({options}frac"))
    sites = [f"site-{number}" for number in range(SITES)]
    initial = {"0": np.zeros(3), "1": np.zeros(1)}
    config = {"lr": 0.3, "local-steps": 30}
    federation = AppFederation(tmp_path / "sites", sites, initial, config, rounds=2)
    marker = tmp_path / "marker"

    def start_node(number):
        deployment.start_node(
            sites[number],
            config=f'partition-id={number} tacet-socket="{federation.socket(sites[number])}"',
            **({"SLOW": str(marker)} if number == 0 else {}),
        )

    try:
        federation.start_members()
        deployment.start_superlink(TACET_SERVER_HOME=str(federation.path / "hub"))
        for number in range(SITES):
            start_node(number)
        deployment.wait_for_nodes(SITES)
        deployment.run("run", app)
        wait_for(marker.exists, "the first training")
        deployment.kill(sites[0])
        federation.kill_member(sites[0])
        federation.start_member(sites[0])
        start_node(0)
        federation.wait_for_members(900)
        wait_for(lambda: "finished: " in deployment.log("run"), "the end of the run")
    finally:
        federation.close()
        print(deployment.log("run")[-3000:])
    assert "<FedAvgResult, 2 rounds" in deployment.log("run")
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert models[0].any()
    # Each attempt is charged once: to the site that came back those in which it took part.
    attempts = federation.attempts(sites[1])
    assert [federation.charges(name) for name in sites[1:]] == [attempts] * 2
    assert 1 <= federation.charges(sites[0]) <= attempts
    # The model is in nothing that Flower's server wrote.
    for file in deployment.home.rglob("*"):
        if file.is_file():
            assert models[0].tobytes() not in file.read_bytes()

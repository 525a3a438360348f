"""A live federation for tests: the program enrols its sites, a real server serves them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

AGREED = """
[model]
name = "external"
architecture = "{dimension} numbers"
{model}
[federation]
rounds = {rounds}
{federation}
[privacy]
{privacy}
"""
CLIENTS = "clip_norm = 1.0\nnoise_multiplier = 2.0\nscale = 1e-3\n"


def at_once(calls: Sequence[Callable[[], Any]], seconds: float = 300) -> list[Any]:
    """Return what calls return that run at once, each in a thread.

    A site that fails leaves the others waiting for it. So the first error is raised without them.
    """
    ended: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()

    def work(number: int) -> None:
        try:
            ended.put((number, calls[number](), None))
        except BaseException as error:
            ended.put((number, None, error))

    for number in range(len(calls)):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    found = {}
    for _ in calls:
        number, found[number], error = ended.get(timeout=seconds)
        if error is not None:
            raise error
    return [found[number] for number in range(len(calls))]


class LiveFederation:
    """Homes of all sites below `path`, joined, and the server's address."""

    def __init__(
        self,
        path: Path,
        sites: list[str],
        initial: NDArray[np.float32],
        *,
        rounds: int = 3,
        federation: str = "",
        privacy: str = CLIENTS,
        query: str = "",
        model: str = "",
    ) -> None:
        self.path = path
        self.sites = sites
        self.address = ""
        self._server: subprocess.Popen[bytes] | None = None
        initial.astype("<f4").tofile(path / "initial.f32")
        terms = path / "agreed.toml"
        if query:
            terms.write_text(query)
            what = ["--query", terms]
        else:
            terms.write_text(
                AGREED.format(
                    dimension=initial.size,
                    rounds=rounds,
                    federation=federation,
                    privacy=privacy,
                    model=model,
                )
            )
            what = ["--config", terms, "--initial-model", path / "initial.f32"]
        made = self._tacet(
            "federation", "init", "--folder", path / "coordinator", "--name", "trial", *what,
            "--members", len(sites), "--key-file", path / "c.key", "--json",
        )  # fmt: skip
        self.coordinator = json.loads(made)["coordinator"]
        for name in ["hub", *sites]:
            self.enrol(name)
        self._tacet(
            "federation", "seal-key", "--folder", path / "coordinator",
            "--key-file", path / "c.key",
        )  # fmt: skip
        for name in ["hub", *sites]:
            self._tacet(
                "client", "join", path / f"coordinator/invitations/{name}-epoch-0.tacet",
                "--home", path / name, "--key-file", path / f"{name}.key",
                "--coordinator", self.coordinator,
            )  # fmt: skip
            (path / f"{name}.csv").write_text(f"age,ill\n40,1\n{len(name)},0\n# {name}\n")

    def enrol(self, name: str) -> None:
        hosts = ["--server-host", "127.0.0.1"] if name == "hub" else []
        made = self._tacet(
            "client", "request", "--home", self.path / name, "--name", name, *hosts,
            "--key-file", self.path / f"{name}.key",
        )  # fmt: skip
        fingerprint = next(
            line.removeprefix("fingerprint ")
            for line in made.splitlines()
            if line.startswith("fingerprint ")
        )
        self._tacet(
            "federation", "enrol", name, "--folder", self.path / "coordinator",
            "--request", self.path / name / f"{name}.request", "--server", "hub",
            "--fingerprint", fingerprint, "--key-file", self.path / "c.key",
        )  # fmt: skip

    def _tacet(self, *words: object) -> str:
        done = subprocess.run(
            [os.environ["TACET_PROGRAM"], *map(str, words)],
            capture_output=True, text=True, check=False, env=self.environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_DATA_HOME": str(self.path / "user")}

    def options(self, name: str) -> dict[str, Any]:
        """Keywords of `tacet.Member` for a site."""
        return {
            "home": self.path / name,
            "server": self.address,
            "data": self.path / f"{name}.csv",
            "key_file": self.path / f"{name}.key",
            "ledger": self.path / f"{name}-ledger",
        }

    def start_server(self) -> None:
        log = self.path / "server.log"
        self._server = subprocess.Popen(
            [
                os.environ["TACET_PROGRAM"], "server", "--home", self.path / "hub",
                "--key-file", self.path / "hub.key",
                "--listen", self.address or "127.0.0.1:0", "--admin", "127.0.0.1:0",
                "--log", log, "--grace-seconds", "1", "--retry-seconds", "1",
                "--collecting-seconds", "20", "--unmasking-seconds", "20",
            ],
            env=self.environment(),
        )  # fmt: skip
        while not self.address:
            assert self._server.poll() is None
            for line in log.read_text().splitlines() if log.exists() else []:
                event = json.loads(line) if line.endswith("}") else {}
                if event.get("event") == "listening":
                    self.address = f"127.0.0.1:{event['port']}"
            time.sleep(0.05)

    def stop_server(self) -> None:
        assert self._server is not None
        self._server.send_signal(signal.SIGTERM)
        self._server.wait()
        self._server = None

    def start_program(self, name: str, *train_with: object) -> subprocess.Popen[str]:
        """A member that `tacet client run` runs with a training program."""
        words = [
            os.environ["TACET_PROGRAM"], "client", "run", "--home", self.path / name,
            "--server", self.address, "--data", self.path / f"{name}.csv",
            "--key-file", self.path / f"{name}.key", "--ledger", self.path / f"{name}-ledger",
            "--json", "--train-with", train_with[0],
        ]  # fmt: skip
        for argument in train_with[1:]:
            words += ["--train-argument", argument]
        return subprocess.Popen(
            list(map(str, words)), stdout=subprocess.PIPE, text=True, env=self.environment()
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()

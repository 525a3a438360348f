"""A federation whose sites train with the app of a framework: homes, member processes, results."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from live_federation import LiveFederation
from numpy.typing import NDArray

from tacet import open_run
from tacet.ferry import agreed_tensors

MOST_LINES = 5


def convert(app: Path, target: Path) -> int:
    """Copy an example app and apply its `tacet.diff`; returns how many lines that changes."""
    shutil.copytree(app, target, ignore=shutil.ignore_patterns("__pycache__"))
    patch = ["patch", "-p1", "-i", "tacet.diff"]
    done = subprocess.run(patch, cwd=target, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    changed = 0
    for path in app.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".toml"):
            before = path.read_text().splitlines()
            after = (target / path.relative_to(app)).read_text().splitlines()
            for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after).get_opcodes():
                if kind != "equal":
                    changed += max(b - a, d - c)
    return changed


class AppFederation(LiveFederation):
    """Sites whose member processes listen at `SITE/app.sock`, and a server's home `hub`."""

    def __init__(
        self,
        path: Path,
        sites: list[str],
        model: dict[str, Any],
        config: dict[str, Any],
        *,
        member_words: tuple[object, ...] = (),
        **options: Any,
    ) -> None:
        path.mkdir(parents=True, exist_ok=True)
        tensors, initial = agreed_tensors(model)
        app = json.dumps({"tensors": tensors, "config": config, "digest": "00"})
        super().__init__(path, sites, initial, model=f"app = '''{app}'''", **options)
        self.initial = initial
        self.member_words = member_words  # further arguments of `tacet client run`
        self.members: dict[str, subprocess.Popen[bytes]] = {}

    def socket(self, name: str) -> Path:
        # The home itself is closed to other users, as the member makes it.
        return self.path / f"{name}-app" / "app.sock"

    def start_member(self, name: str) -> None:
        self.socket(name).parent.mkdir(exist_ok=True, mode=0o700)
        with (self.path / f"{name}.log").open("ab") as log:
            self.members[name] = subprocess.Popen(
                [
                    os.environ["TACET_PROGRAM"], "client", "run", "--home", self.path / name,
                    "--key-file", self.path / f"{name}.key", "--data", self.path / f"{name}.csv",
                    "--ledger", self.path / f"{name}-ledger", "--app", self.socket(name), "--json",
                    *map(str, self.member_words),
                ],
                stdout=log, stderr=log, env=self.environment(),
            )  # fmt: skip

    def start_members(self) -> None:
        for name in self.sites:
            self.start_member(name)

    def kill_member(self, name: str) -> None:
        process = self.members.pop(name)
        process.kill()
        process.wait()

    def wait_for_members(self, seconds: float = 180, names: list[str] | None = None) -> None:
        """Wait until member processes, by default all, have ended by themselves."""
        end = time.monotonic() + seconds
        for name in names or list(self.members):
            code = self.members[name].wait(max(0.1, end - time.monotonic()))
            assert code == 0, (self.path / f"{name}.log").read_text()

    def models(self) -> list[NDArray[np.float32]]:
        return [open_run(self.path / name / "run").model for name in self.sites]

    def charges(self, name: str) -> int:
        """Number of attempts that a site's ledger has charged."""
        ledger = self.path / f"{name}-ledger" / "main.ledger"
        return json.loads(self._tacet("ledger", "show", ledger, "--json"))["charges"]

    def attempts(self, name: str) -> int:
        """Number of attempts of the rounds that a site has applied."""
        lines = (self.path / name / "run" / "metrics.jsonl").read_text().splitlines()
        return sum(json.loads(line)["attempts"] for line in lines)

    def close(self) -> None:
        for process in self.members.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        super().close()

"""Coordinator, enrolment and server from Python, with members that train."""

from __future__ import annotations

import functools
import os
import pty
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_federation import at_once

import tacet
from tacet.coordinator import Epoch

AGREED = """
[model]
name = "external"
architecture = "3 numbers"
[federation]
rounds = 2
[privacy]
clip_norm = 1.0
noise_multiplier = 2.0
scale = 1e-3
"""
SITES = ["north", "south", "west"]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "all.key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / name for name in ["hub", *SITES]}


@pytest.fixture
def coordinator(tmp_path: Path, key: Path, homes: dict[str, Path]) -> tacet.Coordinator:
    """Return a coordinator that has enrolled all parties."""
    config = tmp_path / "agreed.toml"
    config.write_text(AGREED, encoding="utf-8")
    made = tacet.Coordinator.found(
        tmp_path / "coordinator",
        name="trial",
        config=config,
        initial_model=np.zeros(3, dtype=np.float32),
        members=3,
        key_file=key,
    )
    for name, home in homes.items():
        is_server = name == "hub"
        hosts = ["127.0.0.1"] if is_server else []
        request = tacet.enrolment.request(home, name=name, server_hosts=hosts, key_file=key)
        with pytest.raises(tacet.ProgramError, match="has the fingerprint"):
            made.enrol(name, request.path, fingerprint="0" * 64, server=is_server)
        made.enrol(name, request.path, fingerprint=request.fingerprint, server=is_server)
    return made


@pytest.fixture
def epoch(coordinator: tacet.Coordinator, key: Path, homes: dict[str, Path]) -> Epoch:
    """Return the first epoch, which all parties have joined."""
    sealed = coordinator.seal()
    for name, home in homes.items():
        with pytest.raises(tacet.ProgramError):  # of another coordinator
            tacet.enrolment.join(
                home, sealed.invitations[name], coordinator="0" * 64, key_file=key
            )
        agreement = tacet.enrolment.join(
            home, sealed.invitations[name], coordinator=sealed.coordinator, key_file=key
        )
        assert agreement["federation"] == "trial"
        assert agreement["privacy"]["worst"]["epsilon"] > 0
    return sealed


def test_epochs_of_a_coordinator(
    coordinator: tacet.Coordinator, epoch: Epoch, tmp_path: Path, key: Path
) -> None:
    assert coordinator.federation == "trial"
    assert (epoch.number, sorted(epoch.invitations)) == (0, ["hub", *SITES])
    assert len(epoch.kits) == 3
    again = tacet.Coordinator(tmp_path / "coordinator", key_file=key)
    assert again.seal().facts["manifest_hash"] == epoch.facts["manifest_hash"]
    assert again.show()["epoch"] == 0
    with pytest.raises(tacet.ProgramError, match="exchange keys"):  # of the epoch before
        again.rotate()
    after = again.rotate(keep_exchange_keys=True)
    assert after.number == 1
    assert after.facts["kept_exchange_keys"]["committee"] == SITES
    with pytest.raises(tacet.ProgramError, match="none"):
        tacet.Coordinator(tmp_path / "none", key_file=key)


def test_no_call_waits_for_an_answer_at_the_terminal(
    coordinator: tacet.Coordinator, tmp_path: Path, key: Path
) -> None:
    request = tacet.enrolment.request(tmp_path / "east", name="east", key_file=key)
    user, terminal = pty.openpty()
    standard_input = os.dup(0)
    try:
        os.dup2(terminal, 0)
        os.write(user, b"yes\n")  # not the question whether the fingerprint was told
        with pytest.raises(tacet.ProgramError, match="--fingerprint is needed"):
            coordinator.enrol("east", request.path)
    finally:
        os.dup2(standard_input, 0)
        for file in (user, terminal, standard_input):
            os.close(file)
    assert "east" not in coordinator.show()["enrolled"]


def test_members_train_at_a_server(
    epoch: Epoch, homes: dict[str, Path], tmp_path: Path, key: Path
) -> None:
    assert epoch.number == 0
    with pytest.raises(tacet.ProgramError, match="is a site's folder"):
        tacet.Server(homes["north"], listen="127.0.0.1:0", admin="127.0.0.1:0", key_file=key)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(tacet.ProgramError, match=address):
            tacet.Server(homes["hub"], listen=address, admin="127.0.0.1:0", key_file=key)
    events: list[dict[str, Any]] = []
    models: dict[str, Any] = {}

    def take_part(name: str) -> None:
        data = tmp_path / f"{name}.csv"
        data.write_text(f"age\n{len(name)}\n", encoding="utf-8")
        member = tacet.Member(
            homes[name],
            server=f"127.0.0.1:{server.port}",
            data=data,
            key_file=key,
            ledger=tmp_path / f"{name}-ledger",
        )
        models[name] = member.run(lambda model, client, round_: np.full_like(model, 0.5)).model

    def listener(event: dict[str, Any]) -> None:
        events.append(event)
        raise RuntimeError("a listener's own fault does not end the server")

    with tacet.Server(
        homes["hub"],
        listen="127.0.0.1:0",
        admin="127.0.0.1:0",
        key_file=key,
        grace_seconds=1,
        on_event=listener,
    ) as server:
        assert server.running
        assert server.page is not None
        at_once([functools.partial(take_part, name) for name in SITES])
    assert not server.running
    server.close()  # once more
    assert sorted(models) == SITES
    assert all((model == models["north"]).all() for model in models.values())
    names = [event["event"] for event in events]
    assert names[0] == "server-started"
    assert names[-1] == "server-stopped"
    record = tacet.audit.write(homes["north"] / "run")
    assert tacet.audit.verify(record.path).facts["rounds"] == 2


def test_what_python_can_see_is_refused_before_a_program_runs(tmp_path: Path, key: Path) -> None:
    with pytest.raises(ValueError, match=r"float64 and shape \(3,\): wanted float32"):
        tacet.Coordinator.found(
            tmp_path / "c", name="trial", initial_model=np.zeros(3), key_file=key
        )
    with pytest.raises(TypeError, match="grace_seconds = -1"):
        tacet.Server(tmp_path, grace_seconds=-1)
    with pytest.raises(TypeError, match="name = 3: wanted a text"):
        tacet.enrolment.request(tmp_path, name=3)  # type: ignore[arg-type]


def test_a_home_without_keys_is_no_servers(tmp_path: Path, key: Path) -> None:
    with pytest.raises(tacet.ProgramError, match="holds no identity"):
        tacet.Server(tmp_path / "none", listen="127.0.0.1:0", key_file=key)

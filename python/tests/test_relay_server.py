from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from live_federation import LiveFederation

import tacet


def test_a_home_is_needed(tmp_path: Path) -> None:
    with pytest.raises(tacet.NotFoundError, match="nowhere"):
        tacet.RelayServer(tmp_path / "nowhere")


def test_bundles_and_events_of_a_server(tmp_path: Path) -> None:
    federation = LiveFederation(tmp_path, ["a", "b", "c"], np.zeros(3, dtype=np.float32), rounds=2)
    with pytest.raises(tacet.FailedPreconditionError, match="is a site's folder"):
        tacet.RelayServer(federation.path / "a")
    events: list[str] = []
    with tacet.RelayServer(federation.path / "hub", on_event=events.append) as server:
        assert (server.done, server.round, server.rounds) == (False, 0, 2)
        assert server.exchange({}, 0) == {}
        # A node whose bundle holds no request, or is none, is answered at once: without calls.
        answered = server.exchange({"node 1": b"", "node 2": b"no bundle"}, 60)
        assert sorted(answered) == ["node 1", "node 2"]
        assert set(answered.values()) == {b"TCT3" + bytes([1, 0]) + bytes(8)}
        with pytest.raises(tacet.InvalidArgumentError, match="wait_seconds is -1"):
            server.exchange({}, -1)
        with pytest.raises(tacet.InvalidArgumentError, match="give bytes"):
            server.exchange({"node": "text"}, 0)  # type: ignore[dict-item]
    with pytest.raises(tacet.FailedPreconditionError, match="was closed"):
        server.exchange({}, 0)
    server.close()
    names = [json.loads(event)["event"] for event in events]
    assert names[0] == "server-started"
    assert "request-refused" in names
    assert names[-1] == "server-stopped"

"""Flower apps with tacet in place of SecAgg+, in Flower's own simulation runtime."""

from __future__ import annotations

import logging
import os
import pathlib
import pickle

import numpy as np
import pytest
from flwr.app import Context
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.compat.common import recorddict_compat as compat
from flwr.server import LegacyContext, ServerConfig
from flwr.server.strategy import FedAdam, FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_PARAMS_RECORD
from flwr.serverapp import ServerApp
from flwr.superlink.grid import InMemoryGrid

from tacet.flower import TacetWorkflow, tacet_mod
from tacet.flower_threads import run_in_threads
from tacet.site import Site, enrol

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
SITES, ROUNDS = 5, 2
INITIAL = [np.zeros((3, 2), np.float32), np.full(5, 0.25, np.float32)]
# Almost as long as the clip norm 1 allows, different at each site.
STEPS = [np.full(11, 0.3 - 0.005 * site, np.float32) for site in range(SITES)]


class RecordingGrid(InMemoryGrid):
    """Flower's grid, which keeps everything that the server sends and receives."""

    latest = None

    def __init__(self, state_factory):
        super().__init__(state_factory=state_factory)
        self.seen = b""  # all messages, pickled before anybody takes them apart
        RecordingGrid.latest = self

    def send_and_receive(self, messages, *, timeout=None):
        sent = list(messages)
        self.seen += pickle.dumps(sent)
        replies = list(super().send_and_receive(sent, timeout=timeout))
        self.seen += pickle.dumps(replies)
        return replies


class LosingGrid(RecordingGrid):
    """Loses this many answers to the first outcome."""

    lost = 0

    def send_and_receive(self, messages, *, timeout=None):
        sent = list(messages)
        replies = super().send_and_receive(sent, timeout=timeout)
        if sent[0].content.config_records["tacet"]["stage"] == "apply":
            replies, self.lost = replies[self.lost :], 0
        return replies


class EndingGrid(RecordingGrid):
    """Ends the server's process when the sites have got an outcome."""

    def send_and_receive(self, messages, *, timeout=None):
        sent = list(messages)
        replies = super().send_and_receive(sent, timeout=timeout)
        if sent[0].content.config_records["tacet"]["stage"] == "apply":
            raise ConnectionAbortedError
        return replies


def run_flower(server_app, app_of, *, nodes, grid_class=RecordingGrid):
    """Run both apps; returns the server's context, and the grid that saw all messages."""
    context = run_in_threads(server_app, app_of, nodes=nodes, grid_class=grid_class)
    return context, RecordingGrid.latest


class Steps(NumPyClient):
    """Adds its own step to the model; `broken` changes the result."""

    def __init__(self, site, broken=None):
        self.site = site
        self.broken = broken or (lambda tensors: (tensors, 1, {}))

    def get_parameters(self, config):
        return [STEPS[self.site]]

    def fit(self, parameters, config):
        assert [p.shape for p in parameters] == [t.shape for t in INITIAL]
        step = STEPS[self.site]
        return self.broken([parameters[0] + step[:6].reshape(3, 2), parameters[1] + step[6:]])

    def evaluate(self, parameters, config):
        return float(np.abs(parameters[1]).mean()), 10, {"accuracy": 0.5}


def client_app(site, *, mods, broken=None):
    def client_fn(context: Context):
        return Steps(site, broken).to_client()

    return ClientApp(client_fn=client_fn, mods=mods)


def server_app(fit_workflow, *, rounds=ROUNDS, strategy=None, initial=True):
    app = ServerApp()
    plan = strategy or FedAvg(
        min_available_clients=SITES,
        fraction_evaluate=0.0,
        initial_parameters=ndarrays_to_parameters(INITIAL) if initial else None,
    )

    @app.main()
    def main(grid, context):
        legacy = LegacyContext(context, config=ServerConfig(num_rounds=rounds), strategy=plan)
        DefaultWorkflow(fit_workflow=fit_workflow)(grid, legacy)
        context.state = legacy.state

    return app


class Federation:
    """Sites of one test, their apps, and a run."""

    def __init__(self, folder, **more):
        self.folder = folder / "sites"
        options = {
            "rounds": ROUNDS,
            "noise_multiplier": 0.5,
            "neighbouring": "zero-out",
            "min_participants": 4,
            "spare_attempts": 2,
        }
        publish = more.pop("publish_evaluation", False)
        self.terms = enrol(
            self.folder, INITIAL, sites=SITES, publish_evaluation=publish, **(options | more)
        )
        self.workflow = TacetWorkflow(self.folder / "terms.json")

    def mod(self):
        return tacet_mod(
            str(self.folder / "site-{partition-id}"), key_file=str(self.folder / "unlock.key")
        )

    def app(self, site, broken=None):
        return client_app(site, mods=[self.mod()], broken=broken)

    def run(self, apps=None, *, grid_class=RecordingGrid, **server):
        apps = apps or {}
        all_apps = {site: apps.get(site) or self.app(site) for site in range(SITES)}
        return run_flower(
            server_app(self.workflow, **server),
            all_apps.__getitem__,
            nodes=SITES,
            grid_class=grid_class,
        )

    def site(self, number):
        return Site(self.folder / f"site-{number}", key_file=self.folder / "unlock.key")

    def step(self, rounds, participants=range(SITES)):
        """Mean step of a coordinate, and what noise alone moves it (false alarm 1e-9).

        The noise in one coordinate's mean has a tenth of this power: it is averaged over all 11.
        """
        count = len(participants)
        stddev = self.terms.agreement.sum_stddev(count) / count * np.sqrt(rounds / 11)
        return rounds * np.mean([STEPS[site][0] for site in participants]), 6.1 * stddev


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path)


def everything_in(grid):
    return grid.seen


def assert_trained(federation, rounds, participants=range(SITES), sites=range(SITES)):
    models = [federation.site(site).model for site in sites]
    for model in models[1:]:
        for tensor, first in zip(model, models[0], strict=True):
            np.testing.assert_array_equal(tensor, first)
    moved = np.concatenate([(t - i).ravel() for t, i in zip(models[0], INITIAL, strict=True)])
    mean, tolerance = federation.step(rounds, participants)
    assert abs(moved.mean() - mean) < tolerance < mean
    return models[0]


def test_a_training_whose_server_sees_no_model(federation):
    context, grid = federation.run()
    assert federation.workflow.failures == []
    model = assert_trained(federation, ROUNDS)
    assert federation.site(0).epsilon > 0
    assert federation.site(0).charged_attempts == ROUNDS
    # Neither an update nor a model after training is in anything that passed the server.
    seen = everything_in(grid)
    for site in range(SITES):
        trained = INITIAL[1] + STEPS[site][6:]
        assert STEPS[site].tobytes() not in seen
        assert trained.tobytes() not in seen
    assert model[0].tobytes() not in seen
    assert model[1].tobytes() not in seen
    opaque = compat.arrayrecord_to_parameters(context.state.array_records[MAIN_PARAMS_RECORD], True)
    assert opaque.tensor_type == "tacet"
    with pytest.raises(ValueError, match="pickle"):
        parameters_to_ndarrays(opaque)


def test_the_same_search_finds_what_others_send():
    """Flower's plain workflow sends updates, and SecAgg+ gives its server the model."""
    plain = {site: client_app(site, mods=[]) for site in range(SITES)}
    _, grid = run_flower(server_app(None, rounds=1), plain.__getitem__, nodes=SITES)
    for site in range(SITES):
        assert (INITIAL[1] + STEPS[site][6:]).tobytes() in everything_in(grid)
    apps = {site: client_app(site, mods=[secaggplus_mod]) for site in range(SITES)}
    context, _ = run_flower(
        server_app(SecAggPlusWorkflow(3, 2, max_weight=1.0), rounds=1),
        apps.__getitem__,
        nodes=SITES,
    )
    record = context.state.array_records[MAIN_PARAMS_RECORD]
    model = parameters_to_ndarrays(compat.arrayrecord_to_parameters(record, True))
    np.testing.assert_allclose(model[0], np.mean([s[0] for s in STEPS]), atol=1e-3)


BROKEN = {
    "weights": (lambda tensors: (tensors, 137, {}), "num_examples = 137"),
    "integers": (lambda tensors: ([tensors[0].astype(np.int64), tensors[1]], 1, {}), "int64"),
    "shapes": (lambda tensors: ([tensors[0].T, tensors[1]], 1, {}), "shapes"),
    "fewer tensors": (lambda tensors: (tensors[:1], 1, {}), "shapes"),
    "exception": (lambda tensors: 1 / 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_refused_update_leaves_nothing(federation, caplog, name):
    broken, reason = BROKEN[name]
    logging.getLogger("flwr").propagate = True
    _, grid = federation.run({1: federation.app(1, broken)}, rounds=1)
    # The others make the round; the server reads that site 1 refused, and not why.
    assert_trained(federation, 1, [0, 2, 3, 4])
    (failure,) = [f for f in federation.workflow.failures if "seal" in f]
    assert "refused by this site" in failure
    assert reason not in failure
    assert reason.encode() not in everything_in(grid)
    assert reason in caplog.text
    assert federation.site(1).charged_attempts == 0
    assert (INITIAL[1] + STEPS[1][6:]).tobytes() not in everything_in(grid)


def test_a_nan_is_sealed_as_zeros(federation, caplog):
    logging.getLogger("flwr").propagate = True

    def broken(tensors):
        tensors[0][0, 0] = np.nan
        return tensors, 1, {"why": "nan"}

    federation.run({1: federation.app(1, broken)}, rounds=1)
    assert federation.workflow.failures == []
    model = federation.site(0).model
    assert all(np.isfinite(tensor).all() for tensor in model)
    assert "NaN or an infinity" in caplog.text


def test_a_missing_mod_sends_nothing(federation):
    _, grid = federation.run({1: client_app(1, mods=[])}, rounds=1)
    # The app finds no parameters to train on.
    assert any("did not answer 'seal'" in failure for failure in federation.workflow.failures)
    assert (INITIAL[1] + STEPS[1][6:]).tobytes() not in everything_in(grid)
    for site in (0, 2, 3, 4):
        assert federation.site(site).round == 1


def test_a_client_that_skips_the_seal_is_left_out(federation):
    def skipping(message, context, call_next):
        """Trains, and answers with its plain parameters."""
        inner = compat.fitins_to_recorddict(
            compat.FitIns(ndarrays_to_parameters(INITIAL), {}), keep_input=True
        )
        message.content = inner
        return call_next(message, context)

    federation.run({1: client_app(1, mods=[skipping])}, rounds=1)
    assert any("is missing at this client" in failure for failure in federation.workflow.failures)
    assert_trained(federation, 1, [0, 2, 3, 4], sites=[0, 2, 3, 4])


def test_the_mod_refuses_another_server(tmp_path, federation):
    """A server that runs SecAgg+, or Flower's plain workflow, gets no update."""
    for workflow in (None, SecAggPlusWorkflow(3, 2, max_weight=1.0)):
        apps = {site: federation.app(site) for site in range(SITES)}
        _, grid = run_flower(
            server_app(workflow, rounds=1, initial=False), apps.__getitem__, nodes=SITES
        )
        seen = everything_in(grid)
        for site in range(SITES):
            assert STEPS[site].tobytes() not in seen  # get_parameters would give it
            assert (INITIAL[1] + STEPS[site][6:]).tobytes() not in seen
        assert all(federation.site(site).charged_attempts == 0 for site in range(SITES))


def test_other_terms_are_refused(tmp_path, federation):
    other = Federation(tmp_path / "other", noise_multiplier=0.6)
    federation.workflow = TacetWorkflow(other.folder / "terms.json")
    federation.run(rounds=1)
    assert len(federation.workflow.failures) == SITES
    assert all(federation.site(site).charged_attempts == 0 for site in range(SITES))


def test_too_few_sites_give_no_outcome_and_a_spare_attempt(federation):
    fail = lambda tensors: (tensors, 2, {})  # noqa: E731
    federation.run({0: federation.app(0, fail), 1: federation.app(1, fail)}, rounds=1)
    assert federation.workflow.relay.round == 0
    assert federation.site(2).round == 0
    # The next round of Flower tries again; both attempts are charged.
    federation.run(rounds=1)
    assert_trained(federation, 1)
    assert federation.site(2).charged_attempts == 2
    assert federation.site(0).charged_attempts == 1


def test_a_site_that_was_away_catches_up(federation):
    federation.run({3: client_app(3, mods=[])}, rounds=1)
    assert federation.site(3).round == 0
    federation.run(rounds=1)
    assert federation.site(3).round == 2
    for tensor, other in zip(federation.site(3).model, federation.site(0).model, strict=True):
        np.testing.assert_array_equal(tensor, other)


def test_a_server_that_restarts_goes_on(federation):
    state = federation.folder / "relay"
    for _ in range(ROUNDS):
        federation.workflow = TacetWorkflow(federation.folder / "terms.json", state=state)
        federation.run(rounds=1)
        assert federation.workflow.failures == []
    assert_trained(federation, ROUNDS)
    again = TacetWorkflow(federation.folder / "terms.json", state=state)
    assert again.relay.round == ROUNDS
    # A server without its state cannot pass off a round as a new one.
    federation.workflow = TacetWorkflow(federation.folder / "terms.json")
    federation.run(rounds=1)
    assert federation.workflow.relay.round == 0
    assert federation.site(0).charged_attempts == ROUNDS


@pytest.mark.parametrize("lost", [SITES, 2])
def test_lost_answers_to_an_outcome_stop_no_round(federation, monkeypatch, lost):
    monkeypatch.setattr(LosingGrid, "lost", lost)
    federation.run(grid_class=LosingGrid)
    assert federation.workflow.failures == []
    assert_trained(federation, ROUNDS)
    assert [federation.site(site).charged_attempts for site in range(SITES)] == [ROUNDS] * SITES


def test_a_server_that_ends_while_it_sends_an_outcome_goes_on(federation):
    state = federation.folder / "relay"
    federation.workflow = TacetWorkflow(federation.folder / "terms.json", state=state)
    with pytest.raises(ConnectionAbortedError):
        federation.run(grid_class=EndingGrid)
    federation.workflow = TacetWorkflow(federation.folder / "terms.json", state=state)
    assert federation.workflow.relay.round == 1
    federation.run(rounds=ROUNDS - 1)
    assert federation.workflow.failures == []
    assert_trained(federation, ROUNDS)
    assert [federation.site(site).charged_attempts for site in range(SITES)] == [ROUNDS] * SITES


def test_evaluation_needs_the_consent_of_the_site(tmp_path):
    strategy = {"min_available_clients": SITES}
    quiet = Federation(tmp_path / "quiet")
    results = []

    class Keep(FedAvg):
        def aggregate_evaluate(self, server_round, got, failures):
            results.append((len(got), len(failures)))
            return super().aggregate_evaluate(server_round, got, failures)

    quiet.run(rounds=1, strategy=Keep(**strategy))
    open_ = Federation(tmp_path / "open", publish_evaluation=True)
    open_.run(rounds=1, strategy=Keep(**strategy))
    assert results == [(0, SITES), (SITES, 0)]


def test_a_strategy_with_a_model_at_the_server_is_refused(federation):
    adam = FedAdam(initial_parameters=ndarrays_to_parameters(INITIAL))
    with pytest.raises(TypeError, match="FedAdam computes the next model at the server"):
        federation.run(rounds=1, strategy=adam)
    central = FedAvg(
        initial_parameters=ndarrays_to_parameters(INITIAL), evaluate_fn=lambda *_: (0.0, {})
    )
    with pytest.raises(TypeError, match="evaluate_fn"):
        federation.run(rounds=1, strategy=central)


def test_more_rounds_than_agreed_are_refused(federation):
    with pytest.raises(RuntimeError, match="all 2 agreed rounds are done"):
        federation.run(rounds=ROUNDS + 1)
    assert federation.site(0).charged_attempts == ROUNDS


def test_a_node_has_one_home(tmp_path, federation):
    """Without an argument the mod reads the node's configuration, and says what is missing."""
    apps = {site: client_app(site, mods=[tacet_mod()]) for site in range(SITES)}
    federation.run(apps, rounds=1)
    assert len(federation.workflow.failures) == SITES
    assert pathlib.Path(federation.folder / "site-0").exists()

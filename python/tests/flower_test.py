"""Flower's apps with tacet: what a node answers, whatever its app and its server do."""

from __future__ import annotations

import json
import logging
import pickle
import struct

import numpy as np
import pytest
from fake_member import EXCHANGE, REQUESTS, FakeMember, frame, train_frame
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp as FlowersClientApp
from flwr.serverapp.strategy import FedAvg as FlowersFedAvg
from flwr.supercore.task_identity import TaskIdentity

import tacet
from tacet.flower import ClientApp, FedAvg, SiteError

MODEL = np.linspace(0, 1, 8, dtype=np.float32)
AGREED = {
    "tensors": [{"name": "w", "shape": [3, 2]}, {"name": "b", "shape": [2]}],
    "config": {"lr": 0.5, "local-steps": 3},
}
STEP = 0.125
SECRET = "patient 17 has HIV"


@pytest.fixture(autouse=True)
def _task():
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 7


def context(socket):
    """A node's context, with a run configuration that the server chose."""
    return Context(1, 7, {"tacet-socket": str(socket)}, RecordDict(), {"local-steps": 10**6})


def request(bundle=b"answers", *, kind="train", config=None):
    content = RecordDict({"tacet": ConfigRecord({"bundle": bundle})})
    if config:
        content.config_records["config"] = ConfigRecord(config)
    return Message(content, dst_node_id=7, message_type=kind, group_id=SECRET)


def trained(msg, **more):
    arrays = [array + np.float32(STEP) for array in msg.content["arrays"].to_numpy_ndarrays()]
    named = dict(zip(msg.content["arrays"], arrays, strict=True))
    record = ArrayRecord({name: Array(a) for name, a in named.items()})
    return Message(RecordDict({"arrays": record, **more}), reply_to=msg)


def app_with(train):
    app = ClientApp()
    app.train()(train)
    return app


def ask(tmp_path, train, *, script=None, message=None):
    """One message to a node whose member asks for a training; returns the reply and the member."""
    frames = script or [train_frame(MODEL, agreed=AGREED), frame(REQUESTS, b"sealed")]
    with FakeMember(tmp_path / "app.sock", frames) as member:
        try:
            reply = app_with(train)(message or request(), context(member.path))
        except SiteError as error:
            return error, member
    return reply, member


def assert_only_bundle(reply, bundle=b"sealed"):
    assert list(reply.content) == ["tacet"]
    assert dict(reply.content["tacet"]) == {"bundle": bundle, "ended": False}
    assert SECRET.encode() not in pickle.dumps(reply.content)


def test_a_training_leaves_as_the_members_bytes(tmp_path):
    seen = []

    def train(msg, context):
        seen.append((msg, context))
        metrics = MetricRecord({"num-examples": 137, "loss": 0.25})
        return trained(msg, metrics=metrics, note=ConfigRecord({"text": SECRET}))

    reply, member = ask(tmp_path, train, message=request(config={"lr": 99.0}))
    assert_only_bundle(reply)
    np.testing.assert_allclose(member.updates()[0], STEP, atol=1e-6)
    assert member.got[0] == (EXCHANGE, b"answers")
    # The configuration is the agreed one, wherever the app looks for it.
    (msg, own) = seen[0]
    assert dict(msg.content["config"]) == AGREED["config"] | {"server-round": 1}
    assert dict(own.run_config) == AGREED["config"]
    assert msg.metadata.group_id == ""
    np.testing.assert_array_equal(msg.content["arrays"]["b"].numpy(), MODEL[6:])


UNITS = [train_frame(MODEL, agreed=AGREED, units=[4, 7]), frame(REQUESTS, b"sealed")]


def test_units_and_their_norm_reach_the_app_alone(tmp_path):
    def train(msg, context):
        units = msg.content["units"]
        assert dict(units) == {"drawn": [4, 7], "clip-norm": 1.0}
        total = {
            name: Array(np.full(array.shape, len(units["drawn"]) * STEP))
            for name, array in msg.content["arrays"].items()
        }
        return Message(RecordDict({"sum": ArrayRecord(total)}), reply_to=msg)

    reply, member = ask(tmp_path, train, script=list(UNITS))
    assert_only_bundle(reply)
    np.testing.assert_array_equal(member.updates()[0], np.full(8, 2 * STEP))


def test_a_trained_model_is_no_sum_over_units(tmp_path):
    """Its parts were not clipped by unit, however short it is."""
    reply, member = ask(tmp_path, lambda msg, context: trained(msg), script=list(UNITS))
    assert_only_bundle(reply)
    assert (len(member.failures()), member.updates()) == (1, [])


def raising(error):
    def train(msg, context):
        raise error

    return train


def replying(change):
    def train(msg, context):
        reply = trained(msg)
        change(reply.content)
        return reply

    return train


FAILING = {
    "an exception": raising(ValueError(SECRET)),
    "sys.exit": raising(SystemExit(SECRET)),
    "no message": lambda msg, context: SECRET,
    "an error": lambda msg, context: Message(Error(code=1, reason=SECRET), reply_to=msg),
    "no arrays": replying(lambda content: content.pop("arrays")),
    "two models": replying(lambda content: content.__setitem__("more", content["arrays"])),
    "other names": replying(
        lambda content: content.__setitem__("arrays", ArrayRecord([MODEL[:6], MODEL[6:]]))
    ),
    "fewer tensors": replying(lambda content: content["arrays"].pop("b")),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_looks_like_a_training(tmp_path, caplog, name):
    """The member seals zeros: no answer of a node depends on how its app ended."""
    logging.getLogger("tacet").propagate = True
    reply, member = ask(tmp_path, FAILING[name])
    assert_only_bundle(reply)
    assert member.failures() == [struct.pack("<II", 0, 0)]
    assert member.updates() == []
    assert "the training failed" in caplog.text


def test_a_nan_goes_to_the_member_only(tmp_path):
    def spoil(content):
        content["arrays"] = ArrayRecord(
            {
                "w": Array(np.full((3, 2), np.nan, np.float32)),
                "b": content["arrays"]["b"],
            }
        )

    reply, member = ask(tmp_path, replying(spoil))
    assert_only_bundle(reply)
    assert np.isnan(member.updates()[0]).any()


@pytest.mark.parametrize("kind", ["evaluate", "query", "train.other"])
def test_other_messages_reach_no_function(tmp_path, kind):
    called = []
    app = ClientApp()
    for register in (app.evaluate, app.query):
        register()(lambda msg, context: called.append(msg))
    app.train("other")(lambda msg, context: called.append(msg))
    with FakeMember(tmp_path / "app.sock", []) as member:
        for message in (request(kind=kind), Message(RecordDict(), 7, message_type=kind)):
            with pytest.raises(SiteError):
                app(message, context(member.path))
    assert called == []
    assert member.got == []


def test_flowers_own_server_gets_no_update(tmp_path):
    """Flower's FedAvg sends a model to train: the attack that the plain app falls for."""
    arrays = ArrayRecord([MODEL[:6].reshape(3, 2), MODEL[6:]])
    content = RecordDict({"arrays": arrays, "config": ConfigRecord({"server-round": 1})})
    message = Message(content, dst_node_id=7, message_type="train")
    called = []

    def train(msg, context):
        called.append(msg)
        return trained(msg, metrics=MetricRecord({"num-examples": 137}))

    plain = FlowersClientApp()
    plain.train()(train)
    with FakeMember(tmp_path / "app.sock", []) as member:
        answer = plain(message, context(member.path))
        assert answer.content["metrics"]["num-examples"] == 137  # and the update in the clear
        results, _ = FlowersFedAvg(min_train_nodes=1).aggregate_train(1, [answer])
        np.testing.assert_allclose(results["1"].numpy(), MODEL[6:] + STEP)
        called.clear()
        with pytest.raises(SiteError) as refusal:
            app_with(train)(message, context(member.path))
    assert called == []
    assert str(refusal.value) == "tacet: this site did not answer; the reason is in its own log"


@pytest.mark.parametrize("fault", ["no member", "the member's error", "a text as bundle"])
def test_a_site_without_a_member_says_nothing(tmp_path, monkeypatch, fault):
    monkeypatch.setattr("tacet.ferry.Ferry.__init__.__kwdefaults__", {"wait_seconds": 0.0})
    script = [frame(18, json.dumps({"error": SECRET}).encode())]
    bundle = "text" if fault == "a text as bundle" else b""
    where = "nowhere.sock" if fault == "no member" else "app.sock"
    with (
        FakeMember(tmp_path / "app.sock", script),
        pytest.raises(SiteError) as refusal,
    ):
        app_with(trained)(request(bundle), context(tmp_path / where))
    assert SECRET not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_an_end_is_told(tmp_path):
    with FakeMember(tmp_path / "app.sock", []) as member:
        reply = app_with(trained)(request(), context(member.path))
    assert dict(reply.content["tacet"]) == {"bundle": b"", "ended": True}


def test_a_lifespan_that_raises_tells_nothing(tmp_path):
    app = app_with(trained)

    @app.lifespan()
    def lifespan(context):
        raise ValueError(SECRET)
        yield

    frames = [train_frame(MODEL, agreed=AGREED), frame(REQUESTS, b"sealed")]
    with FakeMember(tmp_path / "app.sock", frames) as member:
        assert_only_bundle(app(request(), context(member.path)))


def test_the_strategy_takes_flowers_arguments_and_no_others(tmp_path):
    FedAvg(home=tmp_path, fraction_evaluate=0.5, min_available_nodes=3)
    with pytest.raises(TypeError, match="fraction_trai"):
        FedAvg(home=tmp_path, fraction_trai=0.5)
    with pytest.raises(tacet.InvalidArgumentError, match="TACET_SERVER_HOME"):
        FedAvg()
    with pytest.raises(tacet.InvalidArgumentError, match="evaluate_fn"):
        FedAvg(home=tmp_path).start(None, evaluate_fn=lambda *_: None)


def test_flowers_older_api_is_named():
    with pytest.raises(TypeError, match=r"@app.train\(\)"):
        ClientApp(lambda context: None)

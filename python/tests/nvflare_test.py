"""NVFLARE's executor and pin with tacet: what a site answers, whatever its script and server do."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest
from fake_member import ENDED, EXCHANGE, REQUESTS, FakeMember, frame, train_frame
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.executors.client_api_executor import ClientAPIExecutor
from nvflare.app_common.utils.fl_model_utils import FLModelUtils

import tacet
from tacet.nvflare import (
    FedAvgRecipe,
    MemberExecutor,
    NumpyFedAvgRecipe,
    PinnedApp,
    SklearnFedAvgRecipe,
    app_digest,
)

MODEL = np.linspace(0, 1, 8, dtype=np.float32)
AGREED = {
    "tensors": [{"name": "w", "shape": [3, 2]}, {"name": "b", "shape": [2]}],
    "config": {"lr": 0.5},
}
STEP = np.float32(0.125)
SECRET = "patient 17 has HIV"


def request(bundle=b"answers"):
    return DXO(DataKind.APP_DEFINED, data={"bundle": bundle}).to_shareable()


def moved(params):
    return {name: value + STEP for name, value in params.items()}


class Script:
    """The values that NVFLARE's executor gets from a script of the Client API."""

    def __init__(self, answer):
        self.answer = answer
        self.seen = []

    def __call__(self, executor, task_name, shareable, fl_ctx, abort_signal):
        self.seen.append((task_name, FLModelUtils.from_shareable(shareable)))
        result = self.answer(self.seen[-1][1])
        return FLModelUtils.to_shareable(result) if isinstance(result, FLModel) else result


def ask(tmp_path, monkeypatch, answer, *, script=None, shareable=None, task="tacet", logs=False):
    """One task for a site whose member asks for a training; returns reply, member and script."""
    frames = (
        [train_frame(MODEL, number=4, agreed=AGREED), frame(REQUESTS, b"sealed")]
        if script is None
        else script
    )
    ran = Script(answer)

    def execute(self, *arguments):
        return ran(self, *arguments)

    monkeypatch.setattr(ClientAPIExecutor, "execute", execute)
    monkeypatch.setattr("tacet.ferry.Ferry.__init__.__kwdefaults__", {"wait_seconds": 0.0})
    monkeypatch.setattr("tacet.nvflare.is_log_streaming_allowed", lambda fl_ctx: logs)
    context = FLContext()
    context.set_prop(ReservedKey.IDENTITY_NAME, "site-1", private=False, sticky=True)
    with FakeMember(tmp_path / "site-1.sock", frames) as member:
        executor = MemberExecutor("client.py", socket=str(tmp_path / "{name}.sock"))
        reply = executor.execute(task, shareable or request(), context, Signal())
    return reply, member, ran


def assert_only_bundle(reply):
    dxo = from_shareable(reply)
    assert dxo.data_kind == DataKind.APP_DEFINED
    assert dxo.data == {"bundle": b"sealed", "ended": False}
    assert dxo.meta == {}
    assert SECRET.encode() not in pickle.dumps(dict(reply))


def test_a_training_leaves_as_the_members_bytes(tmp_path, monkeypatch):
    def train(model):
        return FLModel(
            params=moved(model.params),
            metrics={"accuracy": 0.5},
            meta={"NUM_STEPS_CURRENT_ROUND": 137, "note": SECRET},
        )

    reply, member, script = ask(tmp_path, monkeypatch, train)
    assert_only_bundle(reply)
    np.testing.assert_allclose(member.updates()[0], STEP, atol=1e-6)
    assert member.got[0] == (EXCHANGE, b"answers")
    ((task, model),) = script.seen
    assert task == "train"
    assert model.current_round == 4
    assert model.meta["lr"] == 0.5
    np.testing.assert_array_equal(model.params["b"], MODEL[6:])


def test_differences_are_updates(tmp_path, monkeypatch):
    def train(model):
        steps = {name: np.full_like(value, STEP) for name, value in model.params.items()}
        return FLModel(params=steps, params_type="DIFF")

    reply, member, _ = ask(tmp_path, monkeypatch, train)
    assert_only_bundle(reply)
    np.testing.assert_array_equal(member.updates()[0], np.full(8, STEP))


UNITS = [train_frame(MODEL, agreed=AGREED, units=[4, 7]), frame(REQUESTS, b"sealed")]


def test_units_and_their_norm_reach_the_script_alone(tmp_path, monkeypatch):
    def train(model):
        assert model.meta["units"] == [4, 7]
        assert model.meta["clip_norm"] == 1.0
        parts = {name: np.full_like(value, 2 * STEP) for name, value in model.params.items()}
        return FLModel(params=parts, params_type="DIFF")

    reply, member, _ = ask(tmp_path, monkeypatch, train, script=list(UNITS))
    assert_only_bundle(reply)
    np.testing.assert_array_equal(member.updates()[0], np.full(8, 2 * STEP))


def test_a_trained_model_is_no_sum_over_units(tmp_path, monkeypatch):
    """Its parts were not clipped by unit, however short it is."""
    train = FLModel(params={"w": np.zeros((3, 2)), "b": np.zeros(2)})
    reply, member, _ = ask(tmp_path, monkeypatch, lambda model: train, script=list(UNITS))
    assert_only_bundle(reply)
    assert (len(member.failures()), member.updates()) == (1, [])


def raising(error):
    def train(model):
        raise error

    return train


FAILING = {
    "an exception": raising(ValueError(SECRET)),
    "sys.exit": raising(SystemExit(SECRET)),
    "a failed script": lambda model: make_reply(ReturnCode.EXECUTION_EXCEPTION, {"why": SECRET}),
    "metrics only": lambda model: FLModel(metrics={"accuracy": 0.5}),
    "other names": lambda model: FLModel(params={"w": model.params["w"], SECRET: MODEL[6:]}),
    "integers": lambda model: FLModel(
        params={name: value.astype(np.int64) for name, value in model.params.items()}
    ),
    "other shapes": lambda model: FLModel(
        params={name: value.T.copy() for name, value in model.params.items()}
    ),
    "no result": lambda model: Shareable(),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_looks_like_a_training(tmp_path, monkeypatch, name):
    """The member seals zeros: no answer of a site depends on how its script ended."""
    reply, member, _ = ask(tmp_path, monkeypatch, FAILING[name])
    assert_only_bundle(reply)
    assert member.failures() == [struct.pack("<II", 4, 0)]
    assert member.updates() == []


def test_a_nan_goes_to_the_member_only(tmp_path, monkeypatch):
    def train(model):
        return FLModel(params={name: value * np.nan for name, value in model.params.items()})

    reply, member, _ = ask(tmp_path, monkeypatch, train)
    assert_only_bundle(reply)
    assert np.isnan(member.updates()[0]).all()


NOT_OURS = {
    "NVFLARE's task": ("train", FLModelUtils.to_shareable(FLModel(params={"w": MODEL}))),
    "a validation": ("validate", request()),
    "a model as bundle": ("tacet", FLModelUtils.to_shareable(FLModel(params={"w": MODEL}))),
    "a text as bundle": ("tacet", request("text")),
    "nothing": ("tacet", Shareable()),
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_other_tasks_reach_no_script(tmp_path, monkeypatch, name):
    task, shareable = NOT_OURS[name]
    reply, member, script = ask(
        tmp_path, monkeypatch, lambda model: model, shareable=shareable, task=task
    )
    assert reply.get_return_code() == ReturnCode.EXECUTION_EXCEPTION
    assert script.seen == []
    assert member.got == []


def test_a_site_that_sends_its_logs_runs_no_script(tmp_path, monkeypatch):
    """NVFLARE sends logs by default, and an exception of the script is in them."""
    reply, member, script = ask(tmp_path, monkeypatch, lambda model: model, logs=True)
    assert reply.get_return_code() == ReturnCode.EXECUTION_EXCEPTION
    assert script.seen == []
    assert member.got == []
    started = []
    monkeypatch.setattr(
        ClientAPIExecutor, "handle_event", lambda self, kind, fl_ctx: started.append(kind)
    )
    MemberExecutor("client.py").handle_event(EventType.START_RUN, FLContext())
    assert started == []
    MemberExecutor("client.py").handle_event(EventType.END_RUN, FLContext())
    assert started == [EventType.END_RUN]


def test_an_error_of_the_member_stays_at_the_site(tmp_path, monkeypatch):
    error = [frame(ENDED, json.dumps({"error": SECRET}).encode())]
    reply, _, _ = ask(tmp_path, monkeypatch, lambda model: model, script=error)
    assert reply.get_return_code() == ReturnCode.EXECUTION_EXCEPTION
    assert SECRET not in repr(dict(reply))


def test_logged_values_stay_at_the_site(monkeypatch):
    """`flare.log` and NVFLARE's SummaryWriter reach the executor here."""
    sent = []
    monkeypatch.setattr(
        "nvflare.app_common.executors.client_api_executor.send_analytic_dxo",
        lambda *arguments, **more: sent.append(more),
    )
    dxo = DXO(DataKind.ANALYTIC, data={"loss": 0.25})
    ClientAPIExecutor("in_process", task_script_path="client.py").fire_log_analytics(
        FLContext(), dxo
    )
    assert len(sent) == 1  # NVFLARE's own executor sends them
    MemberExecutor("client.py").fire_log_analytics(FLContext(), dxo)
    assert len(sent) == 1


@pytest.fixture
def job(tmp_path):
    """An exported job."""
    script = tmp_path / "client.py"
    script.write_text("import nvflare.client as flare\n")
    recipe = NumpyFedAvgRecipe(
        name="job", min_clients=2, num_rounds=3, train_script=str(script), train_args="--lr 0.5"
    )
    recipe.export(str(tmp_path / "jobs"))
    return next(path.parent.parent for path in tmp_path.rglob("config_fed_client.json"))


def test_an_exported_job_has_the_script_and_nothing_of_the_package(job):
    client = json.loads((job / "config/config_fed_client.json").read_text())
    (executor,) = client["executors"]
    assert executor["tasks"] == ["tacet"]
    assert executor["executor"]["path"] == "tacet.nvflare.MemberExecutor"
    assert executor["executor"]["args"]["task_script_args"] == "--lr 0.5"
    assert client["components"] == []
    assert [path.name for path in (job / "custom").rglob("*") if path.is_file()] == ["client.py"]


CHANGES = {
    "one byte of the script": lambda app: (app / "custom/client.py").write_text(
        "import nvflare.client as flarf\n"
    ),
    "the script's arguments": lambda app: (app / "config/config_fed_client.json").write_text(
        (app / "config/config_fed_client.json").read_text().replace("--lr 0.5", "--lr 0.6")
    ),
    "one file more": lambda app: (app / "custom/more.py").write_text(""),
    "one file less": lambda app: (app / "custom/client.py").unlink(),
    "another name": lambda app: (app / "custom/client.py").rename(app / "custom/clients.py"),
    "a link": lambda app: (app / "custom/link.py").symlink_to(app / "custom/client.py"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_pinned_site_takes_one_app_only(job, name):
    pin = PinnedApp(app_digest(job))
    assert pin.validate(str(job)) == ("", {})
    for made_anew in (".__nvfl_sig.json", ".__nvfl_submitter.crt"):  # by each submission
        (job / made_anew).write_text("{}")
    assert pin.validate(str(job)) == ("", {})
    CHANGES[name](job)
    error, _ = pin.validate(str(job))
    assert error.startswith("the job's app")


def test_names_and_contents_cannot_be_moved_into_each_other(tmp_path):
    for folder, name, text in (("a", "xy", "z"), ("b", "x", "yz")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    assert app_digest(tmp_path / "a") != app_digest(tmp_path / "b")
    (tmp_path / "c").mkdir()
    with pytest.raises(tacet.InvalidArgumentError, match="has no file"):
        app_digest(tmp_path / "c")


@pytest.mark.parametrize("recipe", [FedAvgRecipe, NumpyFedAvgRecipe, SklearnFedAvgRecipe])
def test_recipes_take_nvflares_arguments_and_no_others(tmp_path, recipe):
    script = tmp_path / "client.py"
    script.write_text("")
    recipe(min_clients=2, train_script=str(script), model=None, key_metric="loss")
    with pytest.raises(TypeError, match="models"):
        recipe(min_clients=2, train_script=str(script), models=None)

"""An NVFLARE job with tacet in place of homomorphic encryption, in NVFLARE's own simulator."""

import logging
import os
import pathlib
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from nvflare.apis.event_type import EventType
from nvflare.apis.filter import ContentBlockedException
from nvflare.apis.fl_constant import FLContextKey, ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_copy, make_reply
from nvflare.apis.signal import Signal
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from nvflare.app_common.shareablegenerators.full_model_shareable_generator import (
    FullModelShareableGenerator,
)
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather
from nvflare.job_config.api import FedJob
from nvflare.job_config.defs import FilterType
from nvflare_parts import INITIAL, NoModel, RecordingAggregator, Steps, trained_by

from tacet.nvflare import TacetAggregator, TacetModelFilter, TacetSealFilter
from tacet.relay import Relay
from tacet.requests import APPLY, SEAL
from tacet.site import Site, enrol

# Faults of the sites by their place; the others are honest.
FAULTS = {4: "differences", 5: "nan", 6: "weights", 7: "no seal", 8: "no model"}
HONEST = (1, 2, 3, 4, 5)
ROUNDS = 2


def enrol_all(folder, sites, **options):
    """Sites whose folders have NVFLARE's names, which count from 1."""
    names = sorted(INITIAL)
    terms = enrol(
        folder,
        [INITIAL[name] for name in names],
        names=names,
        sites=sites,
        neighbouring="zero-out",
        spare_attempts=2,
        committee_seats=3,
        **({"rounds": ROUNDS} | options),
    )
    for number in reversed(range(sites)):
        (folder / f"site-{number}").rename(folder / f"site-{number + 1}")
    return terms


@pytest.fixture(scope="module")
def environment():
    """The environment is restored after the module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def run(tmp_path_factory, environment):
    """Run a job with every fault at a site of its own."""
    folder = tmp_path_factory.mktemp("nvflare")
    here = str(pathlib.Path(__file__).parent)  # the simulator's processes import nvflare_parts
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment.setenv("PYTHONPATH", os.pathsep.join(paths))
    terms = enrol_all(folder / "sites", len(FAULTS) + 3, noise_multiplier=0.5, min_participants=5)
    job = FedJob("tacet")
    job.to_server(
        ScatterAndGather(
            min_clients=len(HONEST),
            num_rounds=ROUNDS,
            wait_time_after_min_received=5,
            shareable_generator_id="generator",
            aggregator_id="aggregator",
            allow_empty_global_weights=True,
        )
    )
    job.to_server(FullModelShareableGenerator(), id="generator")
    record = folder / "record"
    job.to_server(
        RecordingAggregator(str(folder / "sites" / "terms.json"), str(record)), id="aggregator"
    )
    paths = (str(folder / "sites" / "{name}"), str(folder / "sites" / "unlock.key"))
    for number in range(1, len(FAULTS) + 4):
        fault = FAULTS.get(number, "")
        name = f"site-{number}"
        job.to(Steps(fault), name, tasks=["train"])
        first = NoModel() if fault in ("no seal", "no model") else TacetModelFilter(*paths)
        job.to(first, name, filter_type=FilterType.TASK_DATA, tasks=["train"])
        if fault != "no seal":
            job.to(
                TacetSealFilter(*paths), name, filter_type=FilterType.TASK_RESULT, tasks=["train"]
            )
    job.simulator_run(str(folder / "workspace"), threads=len(FAULTS) + 3)

    def site(number):
        return Site(folder / "sites" / f"site-{number}", key_file=folder / "sites" / "unlock.key")

    return terms, site, record.read_bytes(), record.with_suffix(".log").read_text()


def test_the_sites_have_one_model(run):
    terms, site, _, log = run
    assert "round 1\n" in log
    assert "round 2\n" in log
    models = [site(number).model for number in HONEST]
    for model in models[1:]:
        for tensor, first in zip(model, models[0], strict=True):
            np.testing.assert_array_equal(tensor, first)
    moved = np.concatenate(
        [(t - INITIAL[n]).ravel() for t, n in zip(models[0], sorted(INITIAL), strict=True)]
    )
    # Sites 1 to 4, and zeros of site 5; false alarm below 1e-9.
    mean = ROUNDS * sum(trained_by(s)[0] - INITIAL["layer.bias"][0] for s in HONEST[:4]) / 5
    stddev = terms.agreement.sum_stddev(5) / 5 * np.sqrt(ROUNDS / len(moved))
    assert abs(moved.mean() - mean) < 6.1 * stddev
    assert [site(number).charged_attempts for number in HONEST] == [ROUNDS] * 5


def test_the_server_sees_no_update_and_no_model(run):
    _, site, seen, _ = run
    # Site 7 has no filter: the search finds its plain result. The others' are not there.
    assert trained_by(7).tobytes() in seen
    for number in (1, 2, 3, 4, 5, 6, 8):
        assert trained_by(number).tobytes() not in seen
        assert np.full(5, 0.3 - 0.01 * number, np.float32).tobytes() not in seen
    for tensor in site(1).model:
        assert tensor.tobytes() not in seen
    # Nor are metrics, but for site 7's.
    assert seen.count(b"loss") == seen.count(trained_by(7).tobytes()) > 0


def test_sites_that_differ_are_left_out(run):
    terms, site, _, log = run
    assert log.count("client site-7 is left out: its answer is not a sealed one") >= ROUNDS
    for number in (6, 7, 8):
        assert site(number).charged_attempts == 0
    # Site 6 refused its result only, so it follows the others' model.
    assert site(6).round == ROUNDS
    assert terms.agreement.min_participants == len(HONEST)


def test_a_task_brings_what_its_client_lacks(run):
    _, _, _, log = run
    for number in HONEST:
        assert f"task of site-{number}: round 0, 0 outcomes" in log
        assert f"task of site-{number}: round 1, 0 outcomes" in log


class Engine:
    """NVFLARE's engine at the server, which carries messages to filters in this process."""

    def __init__(self, sites, answer_of):
        self.answer_of = answer_of
        self.names = [f"site-{number + 1}" for number in range(sites)]
        self.unanswered = 0  # messages before the clients have started
        self.panic = False
        self.deaf = False  # no outcome reaches a client
        self.away = set()
        self.lost = set()  # clients whose answers to an outcome are lost
        self.sent = []  # stage and bytes of each message

    def fire_event(self, event_type, fl_ctx):
        self.panic |= event_type == EventType.FATAL_SYSTEM_ERROR

    def get_clients(self):
        return [SimpleNamespace(name=name) for name in self.names]

    def send_aux_request(self, targets, topic, request, timeout, fl_ctx):
        content = pickle.dumps(request)
        stage = request["tacet.fields"]["stage"]
        replies = {}
        for name in targets:
            self.sent.append((stage, len(content)))
            if self.unanswered or name in self.away or (self.deaf and stage == APPLY):
                continue
            reply = self.answer_of(name, topic, pickle.loads(content))
            lost = stage == APPLY and name in self.lost
            replies[name] = make_reply(ReturnCode.COMMUNICATION_ERROR) if lost else reply
        self.unanswered = max(0, self.unanswered - 1)
        return replies


class Job:
    """A job in this process, as the controller and the runners play it."""

    def __init__(self, folder, *, sites, **options):
        self.folder = folder / "sites"
        self.terms = enrol_all(self.folder, sites, noise_multiplier=2, **options)
        self.paths = (str(self.folder / "{name}"), str(self.folder / "unlock.key"))
        self.engine = Engine(sites, self.answer)
        self.restart()

    def restart(self):
        self.aggregator = TacetAggregator(
            str(self.folder / "terms.json"), state=str(self.folder / "relay")
        )

    def site(self, name):
        return Site(self.folder / name, key_file=self.folder / "unlock.key")

    def answer(self, name, topic, request):
        return TacetSealFilter(*self.paths)._answer(topic, request, context_of(name))

    def server_context(self, peer=None):
        context = FLContext()
        context.set_prop(ReservedKey.ENGINE, self.engine, private=True, sticky=False)
        if peer:
            context.set_peer_context(context_of(peer))
        return context

    def run_round(self):
        """Run a round; returns the bytes of each client's task."""
        context = self.server_context()
        self.aggregator.handle_event(AppEventType.ROUND_STARTED, context)
        if self.engine.panic:
            return {}
        task = Shareable()
        sizes = {}
        for name in self.engine.names:
            if name in self.engine.away:
                continue
            peer = self.server_context(name)
            peer.set_prop(AppConstants.TRAIN_SHAREABLE, task, private=True, sticky=False)
            self.aggregator.handle_event(AppEventType.BEFORE_TRAIN_TASK, peer)
            own = make_copy(task)
            peer.set_prop(FLContextKey.TASK_DATA, own, private=True, sticky=False)
            self.aggregator.handle_event(EventType.BEFORE_TASK_DATA_FILTER, peer)
            content = pickle.dumps(own)
            sizes[name] = len(content)
            client = context_of(name)
            try:
                given = TacetModelFilter(*self.paths).process(pickle.loads(content), client)
                result = Steps().execute("train", given, client, Signal())
                sealed = TacetSealFilter(*self.paths).process(result, client)
            except ContentBlockedException:
                sealed = make_reply(ReturnCode.TASK_DATA_FILTER_ERROR)
            self.aggregator.accept(sealed, peer)
        self.aggregator.aggregate(context)
        return sizes

    def assert_trained(self, rounds, names):
        sites = [self.site(name) for name in names]
        assert [site.round for site in sites] == [rounds] * len(names)
        assert len({site.model_digest for site in sites}) == 1
        assert self.aggregator.relay.round == rounds


def context_of(name):
    context = FLContext()
    context.set_prop(ReservedKey.IDENTITY_NAME, name, private=False, sticky=True)
    return context


@pytest.mark.parametrize("lost", [3, 2])
@pytest.mark.parametrize("restarted", [False, True])
def test_timeouts_of_an_outcome_stop_no_round(tmp_path, lost, restarted):
    job = Job(tmp_path, sites=3, rounds=4, min_participants=3)
    for number in range(4):
        job.engine.lost = set(job.engine.names[:lost]) if number in (1, 2) else set()
        job.run_round()
        if restarted and number == 1:
            job.restart()
    assert job.aggregator.relay.failures == []
    job.assert_trained(4, job.engine.names)
    assert [job.site(name).charged_attempts for name in job.engine.names] == [4] * 3


def test_a_task_does_not_grow_with_the_rounds(tmp_path):
    job = Job(tmp_path, sites=4, rounds=8, min_participants=3)
    first = job.run_round()
    outcome = len(job.aggregator.relay.outcomes[0])
    for _ in range(2):
        sizes = job.run_round()
        assert all(abs(sizes[name] - first[name]) < 100 for name in sizes)
    job.engine.away = {"site-4"}
    for _ in range(3):
        job.run_round()
    # A server that restarts does not know who has what.
    job.restart()
    job.engine.away = set()
    job.engine.sent.clear()
    sizes = job.run_round()
    assert all(abs(sizes[name] - first[name]) < 100 for name in sizes)
    # One client lacked three outcomes: it got them by itself.
    sent = sorted(length // outcome for stage, length in job.engine.sent if stage == APPLY)
    assert sent == [1] * 8 + [3]
    job.run_round()
    job.assert_trained(8, job.engine.names)
    assert [job.site(name).charged_attempts for name in job.engine.names] == [8, 8, 8, 5]


def test_a_client_that_lacks_more_than_a_task_brings_catches_up(tmp_path):
    """The restarted server's first round begins before the clients answer."""
    job = Job(tmp_path, sites=4, rounds=6, min_participants=3)
    job.engine.away = {"site-4"}
    for _ in range(4):
        job.run_round()
    job.restart()
    job.engine.away = set()
    job.engine.unanswered = 1
    sizes = job.run_round()
    # Site 4 refused this task, which brings one outcome, and has caught up with the round's own.
    assert max(sizes.values()) < 2 * len(job.aggregator.relay.outcomes[0])
    job.assert_trained(5, job.engine.names)
    job.run_round()
    job.assert_trained(6, job.engine.names)
    assert [job.site(name).charged_attempts for name in job.engine.names] == [6, 6, 6, 1]


def test_a_restarted_server_delivers_the_last_outcome(tmp_path):
    """Also when its first round begins before the clients answer."""
    job = Job(tmp_path, sites=3, rounds=2, min_participants=3)
    job.run_round()
    job.engine.deaf = True
    job.run_round()
    assert [job.site(name).round for name in job.engine.names] == [1] * 3
    job.engine.deaf = False
    job.restart()
    job.engine.unanswered = 1
    job.run_round()
    assert job.engine.panic  # all rounds are done
    job.assert_trained(2, job.engine.names)
    assert [job.site(name).charged_attempts for name in job.engine.names] == [2] * 3


@pytest.fixture
def one(tmp_path):
    """A site with its filters, outside of a job."""
    folder = tmp_path / "sites"
    terms = enrol_all(folder, 3, noise_multiplier=2, min_participants=2)
    paths = (str(folder / "{name}"), str(folder / "unlock.key"))
    context = FLContext()
    context.set_prop(ReservedKey.IDENTITY_NAME, "site-1", private=False, sticky=True)
    return terms, Site(folder / "site-1", key_file=folder / "unlock.key"), paths, context


def task_of(terms):
    task = Shareable()
    task["tacet.fields"] = Relay(terms).request(None, SEAL)
    return task


REFUSED = {
    "weights": "NUM_STEPS_CURRENT_ROUND = 137",
    "integers": "int64",
    "shapes": "shapes",
    "names": "'secret'",
    "metrics": "METRICS",
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refused_result_leaves_nothing(one, caplog, fault):
    terms, site, paths, context = one
    task = TacetModelFilter(*paths).process(task_of(terms), context)
    result = Steps(fault).execute("train", task, context, Signal())
    with pytest.raises(ContentBlockedException) as refusal:
        TacetSealFilter(*paths).process(result, context)
    assert str(refusal.value) == "tacet: refused by this site; the reason is in its own log"
    assert REFUSED[fault].lower() in caplog.text.lower()
    assert site.charged_attempts == 0


def test_a_nan_is_sealed_as_zeros_and_logged(one, caplog):
    terms, site, paths, context = one
    caplog.set_level(logging.ERROR)
    task = TacetModelFilter(*paths).process(task_of(terms), context)
    sealed = TacetSealFilter(*paths).process(
        Steps("nan").execute("train", task, context, Signal()), context
    )
    assert len(site.upload_of(0)) == terms.agreement.upload_bytes
    assert sealed.get_return_code() == ReturnCode.OK
    assert "NaN or an infinity" in caplog.text


def test_filters_refuse_what_is_not_theirs(one):
    terms, site, paths, context = one
    # A server without TacetAggregator, another server's terms, and a later stage in a task.
    other = task_of(terms)
    other["tacet.fields"] = dict(other["tacet.fields"], terms="00" * 32)
    late = Shareable()
    late["tacet.fields"] = Relay(terms).request(None, "apply")
    for task in (Shareable(), other, late):
        with pytest.raises(ContentBlockedException):
            TacetModelFilter(*paths).process(task, context)
    # A result without the model filter, and one of an executor that failed.
    task = NoModel().process(Shareable(), context)
    result = Steps().execute("train", task, context, Signal())
    for shareable in (result, make_reply(ReturnCode.EXECUTION_EXCEPTION)):
        with pytest.raises(ContentBlockedException):
            TacetSealFilter(*paths).process(shareable, context)
    assert site.charged_attempts == 0


def test_the_same_task_again_gives_the_same_upload(one):
    terms, site, paths, context = one
    uploads = []
    for _ in range(2):
        task = TacetModelFilter(*paths).process(task_of(terms), context)
        result = Steps().execute("train", task, context, Signal())
        sealed = TacetSealFilter(*paths).process(result, context)
        uploads.append(sealed["DXO"]["data"]["tacet.fields"]["upload"])
    assert uploads[0] == uploads[1]
    assert site.charged_attempts == 1

"""An NVFLARE job with tacet in place of homomorphic encryption, in NVFLARE's own simulator."""

import logging
import os
import pathlib

import numpy as np
import pytest
from nvflare.apis.filter import ContentBlockedException
from nvflare.apis.fl_constant import ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.app_common.shareablegenerators.full_model_shareable_generator import (
    FullModelShareableGenerator,
)
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather
from nvflare.job_config.api import FedJob
from nvflare.job_config.defs import FilterType
from nvflare_parts import INITIAL, NoModel, RecordingAggregator, Steps, trained_by
from tacet.nvflare import TacetModelFilter, TacetSealFilter
from tacet.relay import Relay
from tacet.requests import SEAL
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
        rounds=ROUNDS,
        neighbouring="zero-out",
        spare_attempts=2,
        committee_seats=3,
        **options,
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

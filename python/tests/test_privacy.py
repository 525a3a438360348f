from __future__ import annotations

import dataclasses
import math
import re
import threading
import time
import typing

import pytest

import tacet
from tacet import privacy

SMALL = {"clients": 100, "cohort": 20, "rounds": 10, "delta": 1e-5}


def test_the_rows_of_a_guarantee_hold_the_headline() -> None:
    g = tacet.guarantee(**SMALL, noise_multiplier=6)
    assert 0 < g.epsilon < 10
    assert g.headline is not None
    assert g.headline.epsilon == g.epsilon
    assert g.headline.standing == "guarantee"
    assert {row.observer for row in g.rows} >= {"external", "cohort-aware", "coalition"}
    assert all((row.epsilon is None) == (row.standing == "none") for row in g.rows)


def test_cohorts_are_hidden_unless_sampling_is_given() -> None:
    paper = {"clients": 100, "cohort": 20, "rounds": 10, "noise_multiplier": 6}
    hidden = tacet.guarantee(**paper)
    assert "traffic-aware" in {row.observer for row in hidden.rows}
    assert hidden.epsilon == tacet.guarantee(**paper, dummy_uploads=True).epsilon
    assert hidden.epsilon < tacet.guarantee(**paper, sampling="fixed-size").epsilon / 2
    with pytest.raises(ValueError, match="dummy_uploads is false and sampling is not given"):
        tacet.guarantee(**paper, dummy_uploads=False)
    with pytest.raises(ValueError, match="choose sampling"):
        tacet.Privacy(noise_multiplier=6, dummy_uploads=False)


def test_more_noise_is_a_smaller_epsilon() -> None:
    assert (
        tacet.guarantee(**SMALL, noise_multiplier=6).epsilon
        < tacet.guarantee(**SMALL, noise_multiplier=4).epsilon
    )


def test_a_guarantee_speaks() -> None:
    text = tacet.guarantee(**SMALL, noise_multiplier=6).explain(false_positive_rate=0.05)
    assert "5 %" in text or "0.05" in text
    with pytest.raises(tacet.InvalidArgumentError):
        tacet.guarantee(**SMALL, noise_multiplier=6).explain(false_positive_rate=2)


def test_calibrations_are_the_least_and_the_most() -> None:
    sigma = tacet.calibrate(target_epsilon=4, **SMALL)
    assert tacet.guarantee(**SMALL, noise_multiplier=sigma).epsilon <= 4
    assert tacet.guarantee(**SMALL, noise_multiplier=sigma * 0.999).epsilon > 4
    options = {**SMALL, "noise_multiplier": 6.0}
    rounds = tacet.calibrate(target_epsilon=4, find="rounds", **options)
    assert isinstance(rounds, int)
    assert tacet.guarantee(**{**options, "rounds": rounds}).epsilon <= 4
    assert tacet.guarantee(**{**options, "rounds": rounds + 1}).epsilon > 4


def test_an_observer_and_an_accountant_can_be_chosen() -> None:
    sigma = tacet.calibrate(
        target_epsilon=4, observer="external", accountant="moments", **SMALL
    )
    rows = tacet.guarantee(**SMALL, noise_multiplier=sigma).rows
    [row] = [r for r in rows if (r.observer, r.accountant) == ("external", "moments")]
    assert row.epsilon is not None
    assert math.isclose(row.epsilon, 4, rel_tol=1e-3)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"noise_multiplier": 0.0}, ValueError, "noise"),
        ({"noise_multiplier": math.nan}, ValueError, "noise"),
        ({"noise_stddev": -1.0}, ValueError, "noise_stddev is -1"),
        ({"noise_stddev": "6"}, TypeError, "noise_stddev = '6': wanted a number"),
        ({}, ValueError, "noise_multiplier and noise_stddev are both missing: give one of them"),
        (
            {"noise_multiplier": 6, "noise_stddev": 3},
            ValueError,
            "noise_multiplier and noise_stddev are both given: give one of them",
        ),
        ({"noise_multiplier": "6"}, TypeError, "noise_multiplier = '6': wanted a number"),
        ({"noise_multiplier": True}, TypeError, "noise_multiplier = True"),
        ({"noise_multiplier": 6, "cohort": 101}, ValueError, "101"),
        ({"noise_multiplier": 6, "cohort": 0}, ValueError, "cohort is 0, expected 1 or more"),
        ({"noise_multiplier": 6, "cohort": -1}, TypeError, "cohort = -1: wanted a whole number"),
        ({"noise_multiplier": 6, "cohort": 2.5}, TypeError, "cohort = 2.5"),
        ({"noise_multiplier": 6, "rounds": 0}, ValueError, "rounds"),
        ({"noise_multiplier": 6, "rounds": 2**64}, TypeError, "rounds"),
        ({"noise_multiplier": 6, "delta": 0.0}, ValueError, "delta"),
        ({"noise_multiplier": 6, "delta": 1.0}, ValueError, "delta"),
        ({"noise_multiplier": 6, "clients": 0}, ValueError, "clients"),
        ({"noise_multiplier": 6, "clip_norm": -1}, ValueError, "clip"),
        ({"noise_multiplier": 6, "unit": "patient"}, ValueError, '"client", "person", "record"'),
        ({"noise_multiplier": 6, "unit": 3}, TypeError, "unit = 3: wanted a string"),
        ({"noise_multiplier": 6, "neighbouring": "add"}, ValueError, '"replace-one"'),
        ({"noise_multiplier": 6, "sampling": "uniform"}, ValueError, '"fixed-size"'),
        ({"noise_multiplier": 6, "dummy_uploads": 1}, TypeError, "True or False"),
        ({"noise_multiplier": 6, "colluders": 100}, ValueError, "colluders"),
        ({"noise_multiplier": 6, "noise": 6}, TypeError, "no option 'noise'"),
        ({"noise_multiplier": 6, "unit": "record"}, ValueError, "expected all 100 sites"),
    ],
)
def test_a_wrong_option_is_named(
    options: dict[str, object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        tacet.guarantee(**{**SMALL, **options})  # type: ignore[arg-type]


def test_types_name_what_the_library_names() -> None:
    with pytest.raises(TypeError, match="there is no option 'nothing'") as unknown:
        tacet.guarantee(clients=3, nothing=1)  # type: ignore[call-arg]
    options = str(unknown.value).split("The options are ")[1].split(", ")
    assert list(privacy.FederationOptions.__annotations__) == options
    fields = {field.name for field in dataclasses.fields(tacet.Privacy)}
    assert fields - set(options) == {"target_epsilon"}
    with pytest.raises(tacet.InvalidArgumentError) as nobody:
        tacet.calibrate(target_epsilon=4, observer="nobody", **SMALL)  # type: ignore[call-overload]
    observers = re.findall(r'"([^"]+)"', str(nobody.value))[1:]
    assert list(typing.get_args(privacy.Observer)) == observers


def test_a_target_that_no_value_reaches_is_an_error() -> None:
    with pytest.raises(tacet.InvalidArgumentError):
        tacet.calibrate(target_epsilon=-1, **SMALL)
    with pytest.raises(tacet.NotFoundError):
        tacet.calibrate(
            target_epsilon=1e-9, find="rounds", **SMALL, noise_multiplier=1
        )
    with pytest.raises(ValueError, match="not one of"):
        tacet.calibrate(target_epsilon=4, find="noise", **SMALL)  # type: ignore[call-overload]
    with pytest.raises(tacet.InvalidArgumentError, match="observer = \"nobody\""):
        tacet.calibrate(target_epsilon=4, observer="nobody", **SMALL)  # type: ignore[call-overload]


def test_privacy_finds_the_noise() -> None:
    options = tacet.Privacy(target_epsilon=4, delta=1e-5).options(clients=100, cohort=20, rounds=10)
    assert tacet.guarantee(**options).epsilon <= 4
    one = "give one of noise_multiplier, noise_stddev, target_epsilon"
    with pytest.raises(ValueError, match=f"the noise is missing: {one}"):
        tacet.Privacy()
    for wrong in (
        {"noise_multiplier": 1.0, "target_epsilon": 1.0},
        {"noise_multiplier": 1.0, "noise_stddev": 1.0},
        {"noise_stddev": 1.0, "target_epsilon": 1.0},
    ):
        with pytest.raises(ValueError, match=f"{' and '.join(wrong)} are given: {one}"):
            tacet.Privacy(**wrong)


def test_the_noise_is_given_in_clip_norms_or_in_units_of_an_update() -> None:
    options = {**SMALL, "clip_norm": 0.5}
    same = tacet.guarantee(**options, noise_stddev=3.0)
    assert same.epsilon == tacet.guarantee(**options, noise_multiplier=6.0).epsilon
    assert same.epsilon != tacet.guarantee(**options, noise_multiplier=3.0).epsilon
    privacy = tacet.Privacy(noise_stddev=3.0, clip_norm=0.5)
    assert privacy.options(clients=100, rounds=10, cohort=20)["noise_stddev"] == 3.0
    wanted = {"target_epsilon": 4.0, **SMALL}
    assert tacet.calibrate(**wanted, noise_stddev=3.0) == tacet.calibrate(**wanted)


def test_other_threads_run_during_a_calibration() -> None:
    done = threading.Event()

    def calibrate() -> None:
        tacet.calibrate(target_epsilon=4, clients=3596, cohort=1000, rounds=100)
        done.set()

    thread = threading.Thread(target=calibrate)
    started = time.perf_counter()
    thread.start()
    longest = 0.0
    last = started
    while not done.is_set():
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
    thread.join()
    total = time.perf_counter() - started
    # A call that kept the lock would stop this loop for all of its time.
    assert longest < total / 2

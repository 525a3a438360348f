"""Training in the workers of an executor."""

from __future__ import annotations

import logging
import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tacet

D = 8


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def train(model: np.ndarray, client: int, round_: int) -> np.ndarray:
    return np.full(D, 0.01 * client + 0.001 * round_, dtype=np.float32)


def train_units(
    model: np.ndarray, client: int, units: list[int], clip_norm: float
) -> np.ndarray:
    return np.full(D, clip_norm / D * len(units), dtype=np.float32)


def train_in_a_child(model: np.ndarray, client: int, round_: int) -> np.ndarray:
    """Use what a DataLoader uses in a worker: logging, and a process of its own."""
    if multiprocessing.parent_process() is None:
        raise AssertionError("this is the caller's process")
    logging.getLogger("train").warning("client %d", client)
    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise AssertionError("the child failed")
    return np.zeros(D, dtype=np.float32)


def fail(model: np.ndarray, client: int, round_: int) -> np.ndarray:
    raise ZeroDivisionError(f"client {client}")


def run(function: Any, **changed: Any) -> tacet.Run:
    options: dict[str, Any] = {
        "clients": 6,
        "initial": np.zeros(D, dtype=np.float32),
        "privacy": tacet.Privacy(noise_multiplier=2, delta=1e-3),
        "rounds": 2,
        "insecure_seed": 3,
        **changed,
    }
    return tacet.simulate(function, **options)


def test_the_result_is_that_of_this_process(processes: Executor) -> None:
    record = tacet.Privacy(noise_multiplier=2, delta=1e-3, unit="record", coordinate_bound=5,
                            record_rate=0.5)  # fmt: skip
    for function, changed in ((train, {}), (train_units, {"privacy": record, "units": [9] * 6})):
        alone = run(function, **changed)
        np.testing.assert_array_equal(
            run(function, **changed, executor=processes).model, alone.model
        )
        with ThreadPoolExecutor(3) as threads:
            np.testing.assert_array_equal(
                run(function, **changed, executor=threads).model, alone.model
            )


def test_workers_log_and_fork(processes: Executor) -> None:
    assert run(train_in_a_child, rounds=1, executor=processes).summary["clients"] == 6


def test_as_many_calls_are_on_their_way_as_there_are_workers() -> None:
    # Each of two calls waits for the other one: it would end with an error if it came alone.
    with ThreadPoolExecutor(2) as pool:
        both = threading.Barrier(2, timeout=300)

        def meet(model: np.ndarray, client: int, round_: int) -> np.ndarray:
            both.wait()
            return np.zeros(D, dtype=np.float32)

        run(meet, rounds=1, executor=pool)


def test_errors_arrive(processes: Executor) -> None:
    with pytest.raises(ZeroDivisionError, match="client"):
        run(fail, executor=processes)
    with pytest.raises((AttributeError, TypeError, ValueError), match=r"pickle|local object"):
        run(lambda model, client, round_: model, executor=processes)
    with pytest.raises(TypeError, match=r"executor must be a concurrent.futures.Executor or None"):
        run(train, executor=3)

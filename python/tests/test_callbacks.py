from __future__ import annotations

import logging
import multiprocessing
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tacet

Array = NDArray[np.float32]
THREADS = 4


def simulate(out: Path, train: Any, **changed: Any) -> tacet.Run:
    return tacet.simulate(
        train, clients=THREADS, initial=np.zeros(50, dtype=np.float32), rounds=2, out=out,
        privacy=tacet.Privacy(noise_multiplier=5, delta=1e-3), **{"threads": THREADS, **changed},
    )  # fmt: skip


def log() -> None:
    logging.getLogger("worker").warning("started")


def exit_code_of_a_forked_worker() -> int | None:
    threading.current_thread()  # as logging, DataLoader and many others do
    worker = multiprocessing.get_context("fork").Process(target=log)
    worker.start()
    worker.join()
    return worker.exitcode


def test_a_worker_that_forks_in_a_callback_ends_well(tmp_path: Path) -> None:
    codes: list[int | None] = []
    trained_by: set[int] = set()
    together = threading.Barrier(THREADS, timeout=60)

    def train(model: Array, client: int, round_: int) -> Array:
        together.wait()  # so each of the threads calls
        log()
        trained_by.add(threading.get_ident())
        codes.append(exit_code_of_a_forked_worker())
        return np.zeros_like(model)

    def evaluate(model: Array) -> tacet.Evaluation:
        codes.append(exit_code_of_a_forked_worker())
        return {}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        simulate(tmp_path / "run", train, evaluate=evaluate,
                 on_round=lambda line: codes.append(exit_code_of_a_forked_worker()))  # fmt: skip
    assert len(trained_by) >= THREADS
    assert len(codes) >= 2 * (THREADS + 2)
    assert set(codes) == {0}


def test_only_a_fork_while_several_threads_train_is_warned_of(tmp_path: Path) -> None:
    together = threading.Barrier(THREADS, timeout=60)

    def fork_together(model: Array, client: int, round_: int) -> Array:
        together.wait()
        exit_code_of_a_forked_worker()
        together.wait()
        return np.zeros_like(model)

    def fork(model: Array, client: int, round_: int) -> Array:
        exit_code_of_a_forked_worker()
        return np.zeros_like(model)

    with pytest.warns(RuntimeWarning, match=f"{THREADS} threads train.*forkserver"):
        simulate(tmp_path / "together", fork_together)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        simulate(tmp_path / "alone", fork, threads=1)
    assert [str(each.message) for each in told if each.category is RuntimeWarning] == []


@pytest.mark.parametrize("kind", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
def test_what_a_callback_raises_in_any_thread_arrives(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    caller = threading.get_ident()
    together = threading.Barrier(THREADS, timeout=60)

    def train(model: Array, client: int, round_: int) -> Array:
        together.wait()
        if threading.get_ident() != caller:
            raise kind("of the training")
        return np.zeros_like(model)

    with pytest.raises(kind, match="of the training") as raised:
        simulate(tmp_path / "run", train)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "train"

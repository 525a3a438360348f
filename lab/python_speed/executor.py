#!/usr/bin/env python3
"""Time of a simulation in two processes against one, with 1,000 clients and a model in NumPy.

usage: executor.py [ROUNDS]

PYTHONPATH has the package. It prints the seconds of each way on the clock and of all processors
together, and their ratios; the start of the processes is measured alone and left out. On a machine
with other work the first ratio says little: it was 0.5 to 0.9 from run to run.
"""
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

import tacet  # noqa: E402

CLIENTS, ROWS, FEATURES, CLASSES, STEPS = 1000, 240, 100, 50, 30


def train(model: np.ndarray, client: int, round_: int) -> np.ndarray:
    """Steps of logistic regression on rows of the client's own."""
    draws = np.random.default_rng(client)
    x = draws.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = np.eye(CLASSES, dtype=np.float32)[draws.integers(0, CLASSES, ROWS)]
    weights = model.reshape(FEATURES, CLASSES).copy()
    for _ in range(STEPS):
        logits = x @ weights
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        weights -= 0.1 / ROWS * (x.T @ (shares - y))
    return weights.ravel() - model


def seconds(rounds: int, executor: ProcessPoolExecutor | None) -> float:
    begin = time.perf_counter()
    tacet.simulate(
        train, clients=CLIENTS, initial=np.zeros(FEATURES * CLASSES, dtype=np.float32),
        privacy=tacet.Privacy(noise_multiplier=1, delta=1e-4), rounds=rounds, executor=executor,
    )
    return time.perf_counter() - begin


def processor_seconds() -> float:
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def of_processors(work: Callable[[], float]) -> tuple[float, float]:
    """Return what work returns, and the processor seconds that it takes here and in children."""
    begin = processor_seconds()
    returned = work()
    return returned, processor_seconds() - begin


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1

    def in_two(work: Callable[[ProcessPoolExecutor], float]) -> float:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            list(processes.map(abs, range(4)))  # they have started
            return work(processes)

    _, of_start = of_processors(lambda: in_two(lambda _: 0.0))
    alone, of_alone = of_processors(lambda: seconds(rounds, None))
    both, of_both = of_processors(lambda: in_two(lambda processes: seconds(rounds, processes)))
    of_both -= of_start
    print(f"one process {alone:.1f} s, two {both:.1f} s, ratio {alone / both:.2f}")
    print(f"processors: one {of_alone:.1f} s, two {of_both:.1f} s after {of_start:.1f} s of start")
    print(f"on two idle processors: ratio {2 * of_alone / of_both:.2f}")


if __name__ == "__main__":
    main()

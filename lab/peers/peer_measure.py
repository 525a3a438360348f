"""Measurement of one peer: what it costs to protect and add the updates of K clients.

Times are processor seconds of the process, so that other work on the machine counts little. Each
peer runs in a process of its own, with one thread.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

SCALE = 4e-5  # step of the integers that exact peers add, as in tacet's published setting
NORM = 0.39
BOUND = 0.05  # coordinates of an update lie in [-BOUND, BOUND]


def updates(clients: int, dimension: int) -> np.ndarray:
    """Invented updates of a norm of about 0.39, float32 (clients, dimension): multiples of SCALE."""
    rng = np.random.default_rng(1)
    steps = np.rint(rng.normal(0, NORM / SCALE / np.sqrt(dimension), (clients, dimension)))
    limit = round(BOUND / SCALE)
    return (steps.clip(-limit, limit) * SCALE).astype(np.float32)


def seconds(work: Callable[[], object], repetitions: int = 1) -> tuple[float, object]:
    """Processor seconds of one call, the least of several, and the last call's result."""
    least, result = float("inf"), None
    for _ in range(repetitions):
        before = time.process_time()
        result = work()
        least = min(least, time.process_time() - before)
    return least, result


def wrong_values(total: np.ndarray, truth: np.ndarray) -> tuple[int, float]:
    """Sums that are not the true multiple of SCALE after rounding, and the largest error."""
    error = np.abs(np.asarray(total, float) - truth)
    return int((error > SCALE / 2).sum()), float(error.max())


def peak_mb() -> float:
    """Largest resident size of this process in 10^6 bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def report(row: dict) -> None:
    """Prints a row for run_peers.py."""
    row.setdefault("memory_mb", round(peak_mb(), 1))
    json.dump(row, sys.stdout)
    print()

"""A small training, which workers of an executor import."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import tacet

D = 8


def train(model: np.ndarray, client: int, round_: int) -> np.ndarray:
    """Return an update that tells client, round and model, and refuse the caller's process."""
    if os.environ.get("TACET_CALLER") == str(os.getpid()):
        raise AssertionError("this is the caller's process")
    return (0.01 * client + 0.001 * round_ + 0.1 * model).astype(np.float32)


def run(**changed: Any) -> tacet.Run:
    """Return a run whose bits are fixed; with an executor, other processes must train."""
    os.environ["TACET_CALLER"] = str(os.getpid()) if "executor" in changed else ""
    return tacet.simulate(
        train, clients=6, initial=np.zeros(D, dtype=np.float32), rounds=2, insecure_seed=3,
        privacy=tacet.Privacy(noise_multiplier=2, delta=1e-3), **changed,
    )  # fmt: skip

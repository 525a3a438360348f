"""Speed of the Python package: a seal next to that of C++, and training in threads.

usage: PYTHONPATH=build/ci/python python lab/python_speed/speed.py build/ci/lab/seal_speed

Prints one JSON object. Run it on an idle machine, or under a real-time scheduler (chrt -f 10).
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tacet
from tacet import secagg

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSION = 486_654
SEALS = 40
TURNS = 15


def median_ms(call: Callable[[], object]) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(SEALS):
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def seal_speed(program: str) -> dict[str, Any]:
    """Medians over turns, of the times and of each turn's ratios; C++ and Python in turns."""
    keys = [secagg.MemberKey.generate() for _ in range(5)]
    agreement = secagg.agree(
        members=[key.public_key for key in keys],
        dimension=DIMENSION,
        rounds=1,
        noise_multiplier=6,
        coordinate_bound=0.1,
    )
    client = secagg.Client(agreement, 0, keys[0], secagg.EpochKey.generate())
    attempt = secagg.AttemptId(0)
    update = (1e-3 * (np.arange(DIMENSION) % 3) - 1e-3).astype(np.float32)
    times: dict[str, list[float]] = {"cpp_ms": [], "array_ms": []}
    module: Any = None
    if importlib.util.find_spec("torch") is not None:
        import torch  # noqa: PLC0415

        import tacet.torch  # noqa: PLC0415

        module = torch.nn.Sequential(
            torch.nn.Conv2d(1, 128, 5), torch.nn.Conv2d(128, 64, 3),
            torch.nn.Linear(3136, 128), torch.nn.Linear(128, 62),
        )  # fmt: skip
        times["state_dict_ms"] = []
    for _ in range(TURNS):
        told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        times["cpp_ms"].append(float(told))
        times["array_ms"].append(median_ms(lambda: client.seal(attempt, update)))
        if module is not None:
            times["state_dict_ms"].append(
                median_ms(lambda: client.seal(attempt, tacet.torch.to_vector(module)))
            )
    middle = {name: statistics.median(found) for name, found in times.items()}
    ratios = {
        name.replace("_ms", "_over_cpp"): statistics.median(
            own / cpp for own, cpp in zip(times[name], times["cpp_ms"], strict=True)
        )
        for name in middle
        if name != "cpp_ms"
    }
    return {"dimension": DIMENSION, **middle, **ratios}


def thread_speed() -> dict[str, Any]:
    """Seconds of a round of four clients whose training is NumPy's, by threads."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 200)).astype(np.float32)
    y = rng.normal(size=(4000, 200)).astype(np.float32)

    def train(model: np.ndarray, client: int, round_: int) -> np.ndarray:
        w = model.reshape(200, 200).copy()
        for _ in range(5):
            w -= 1e-5 * (x.T @ (x @ w - y))
        return w.ravel() - model

    seconds = {}
    for threads in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            tacet.simulate(
                train,
                clients=4,
                initial=np.zeros(200 * 200, dtype=np.float32),
                privacy=tacet.Privacy(noise_multiplier=4, delta=1e-3, coordinate_bound=0.5),
                rounds=4,
                threads=threads,
                out=Path(folder) / "run",
                progress=False,
            )
            seconds[str(threads)] = (time.perf_counter() - begin) / 4
    return {"seconds_a_round": seconds, "speedup_4": seconds["1"] / seconds["4"]}


def main() -> None:
    """Print the record."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # the clients are the threads
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    print(
        json.dumps(
            {
                "processors": os.process_cpu_count()
                if hasattr(os, "process_cpu_count")
                else len(os.sched_getaffinity(0)),
                "seal": seal_speed(sys.argv[1]),
                "threads": thread_speed(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()

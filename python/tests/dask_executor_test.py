"""Test of training in Dask's workers, for a Python with distributed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from executor_training import run


def test_workers_of_dask_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        model = run(executor=client.get_executor()).model
    np.testing.assert_array_equal(model, run().model)

"""Test of training in processes of MPI, for a Python with mpi4py and a machine with MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from executor_training import run

PROGRAM = """
import sys
import numpy as np
from mpi4py.futures import MPIPoolExecutor
from executor_training import run

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        np.save(sys.argv[1], run(executor=executor).model)
"""


def test_processes_of_mpi_train(tmp_path: Path) -> None:
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    program, model = tmp_path / "program.py", tmp_path / "model.npy"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    done = subprocess.run(
        [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(program), str(model)],
        capture_output=True, text=True, check=False, env=environment, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(model), run().model)

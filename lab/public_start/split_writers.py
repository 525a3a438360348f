#!/usr/bin/env python3
"""A tenth of a data set's writers for tuning, and the others for reported figures.

    split_writers.py --data DIR --tenth TUNING --others FIGURES

Reads an IDX folder and writes two. Of M writers, in the order in which the files first name them,
the tenth has those numbered floor(i M / n), i < n = ceil(M / 10). No figure that is reported for
the others has then seen a writer that settings were chosen on.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from idx_files import read_idx, write_idx  # noqa: E402


def in_tenth(writers: np.ndarray) -> np.ndarray:
    """For each sample whether its writer is in the tenth: int32 (n,) to bool (n,)."""
    values, first = np.unique(writers, return_index=True)
    order = values[np.argsort(first)]
    count = -(-len(order) // 10)
    chosen = order[[i * len(order) // count for i in range(count)]]
    return np.isin(writers, chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, help="IDX folder to read")
    parser.add_argument("--tenth", required=True, type=pathlib.Path, help="folder to write")
    parser.add_argument("--others", required=True, type=pathlib.Path, help="folder to write")
    args = parser.parse_args()
    writers = read_idx(args.data / "writers-idx1-int").astype(np.int32)
    tenth = in_tenth(writers)
    for folder, chosen in ((args.tenth, tenth), (args.others, ~tenth)):
        folder.mkdir(parents=True, exist_ok=True)
        write_idx(folder / "writers-idx1-int", writers[chosen])
        print(f"{folder}: {chosen.sum()} samples of {len(np.unique(writers[chosen]))} writers")
    for name in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        array = read_idx(args.data / name)
        write_idx(args.tenth / name, array[tenth])
        write_idx(args.others / name, array[~tenth])


if __name__ == "__main__":
    main()

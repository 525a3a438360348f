"""The four hospitals of docs/experiments/hospitals/README.md in a user's own PyTorch loop.

For Debian's Python. $TACET_HEART_DISEASE names the folder of the data.
"""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

import tacet
import tacet.torch

LOSS = torch.nn.CrossEntropyLoss()
HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
DATA = Path(os.environ["TACET_HEART_DISEASE"])
CLINICAL = {  # public bounds, and the value of a missing one: configs/heart-disease.toml
    0: (0, 120, None), 1: (0, 1, None), 3: (60, 240, 0.0), 4: (50, 650, "indicator"),
    5: (0, 1, "indicator"), 7: (40, 220, 0.0), 8: (0, 1, 0.0), 9: (-5, 10, -0.333),
    11: (0, 3, "indicator"),
}  # fmt: skip
CATEGORIES = {2: (1, 2, 3, 4), 6: (0, 1, 2), 10: (1, 2, 3), 12: (3, 6, 7)}


def hospital(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of shape (patients, 28) and labels, scaled by public bounds."""
    table = np.genfromtxt(DATA / f"processed.{name}.data", delimiter=",", missing_values="?")
    table[:, [3, 4]] = np.where(table[:, [3, 4]] == 0, np.nan, table[:, [3, 4]])
    columns: list[np.ndarray] = []
    for index in range(13):
        column = table[:, index]
        missing = np.isnan(column)
        if index in CATEGORIES:
            columns += [column == value for value in CATEGORIES[index]]
            if index != 2:
                columns.append(missing)
            continue
        low, high, otherwise = CLINICAL[index]
        scaled = 2 * (column - low) / (high - low) - 1
        columns.append(np.where(missing, otherwise if isinstance(otherwise, float) else 0, scaled))
        if otherwise == "indicator":
            columns.append(missing)
    inputs = np.stack(columns, axis=1).astype(np.float32)
    return torch.from_numpy(inputs), torch.from_numpy((table[:, 13] > 0).astype(np.int64))


def area(scores: np.ndarray, ill: np.ndarray) -> float:
    """Area under the ROC curve."""
    of_ill, of_healthy = scores[ill], scores[~ill]
    above = (of_ill[:, None] > of_healthy).mean() + 0.5 * (of_ill[:, None] == of_healthy).mean()
    return float(above)


class HospitalsTest(unittest.TestCase):
    """The published result: accuracy 82.1 % and AUC 0.896 at epsilon 2, over 20 splits.

    Their deviations are 2.7 % and 0.024. Of that the noise is the smaller part: on these splits it
    moves the mean of three by about 0.6 % and 0.004.
    """

    def train(self, split: int, folder: Path) -> tacet.Run:
        rng = np.random.default_rng(split)
        own, held_out = [], []
        for name in HOSPITALS:
            inputs, targets = hospital(name)
            self.assertEqual(inputs.shape[1], 28)
            self.assertTrue(torch.isfinite(inputs).all())
            order = torch.from_numpy(rng.permutation(len(inputs)))
            cut = len(inputs) // 5
            held_out.append((inputs[order[:cut]], targets[order[:cut]]))
            own.append((inputs[order[cut:]], targets[order[cut:]]))
        all_inputs, all_targets = (torch.cat(part) for part in zip(*held_out, strict=True))
        net = torch.nn.Linear(28, 2)

        def train(model: np.ndarray, client: int, units: list[int], clip_norm: float) -> np.ndarray:
            inputs, targets = own[client]
            return tacet.torch.clipped_sum(
                net, model, inputs[units], targets[units], loss=LOSS, clip_norm=clip_norm
            )

        def evaluate(model: np.ndarray) -> tacet.Evaluation:
            tacet.torch.load_vector(net, model)
            with torch.no_grad():
                outputs = net(all_inputs)
            scores = (outputs[:, 1] - outputs[:, 0]).numpy()
            ill = all_targets.numpy() > 0
            return {
                "accuracy": float(((scores > 0) == ill).mean()),
                "loss": float(LOSS(outputs, all_targets)),
                "samples": len(ill),
                "auc": area(scores, ill),
            }

        return tacet.simulate(
            train, clients=4, units=[len(targets) for _, targets in own],
            initial=np.zeros(58, dtype=np.float32), rounds=100, spare_attempts=0,
            privacy=tacet.Privacy(
                unit="record", neighbouring="zero-out", record_rate=0.2, target_epsilon=2.0,
                coordinate_bound=64.0, scale=1e-2, delta=1e-5,
            ),
            learning_rate=0.5, learning_rate_final=0.1, momentum=0.5,
            evaluate=evaluate, evaluate_every=100, out=folder / str(split), progress=False,
        )  # fmt: skip

    def test_a_loop_of_the_users_own_is_as_good_as_the_program(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            runs = [self.train(split, Path(folder)) for split in (101, 102, 103)]
        accuracies = [run.rounds[-1]["accuracy"] for run in runs]
        areas = [run.rounds[-1]["auc"] for run in runs]
        for run in runs:
            assert run.epsilon is not None
            self.assertLessEqual(run.epsilon, 2.0)
            self.assertGreater(run.epsilon, 1.9)
            self.assertEqual(run.summary["unit"], "record")
        self.assertLess(abs(float(np.mean(accuracies)) - 0.821), 0.027, accuracies)
        self.assertLess(abs(float(np.mean(areas)) - 0.896), 0.024, areas)


if __name__ == "__main__":
    unittest.main()

"""Records of a user's own PyTorch module in a live federation, for Debian's Python."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from live_federation import LiveFederation, at_once

import tacet
import tacet.torch

LOSS = torch.nn.CrossEntropyLoss()


class LiveRecordsTest(unittest.TestCase):
    def test_records_of_a_module_in_a_live_federation(self) -> None:
        torch.manual_seed(1)
        truth = torch.randn(4, 3)
        data = {}
        for name, records in (("north", 60), ("south", 40)):
            inputs = torch.randn(records, 4)
            data[name] = (inputs, (inputs @ truth).argmax(dim=1))
        initial = np.zeros(4 * 8 + 8 + 8 * 3 + 3, dtype=np.float32)
        initial[: 4 * 8] = np.random.default_rng(1).normal(0, 0.5, 32)
        privacy = (
            'unit = "record"\nrecord_rate = 0.5\nexpected_batch = 50\nclip_norm = 1.0\n'
            "coordinate_bound = 60.0\nnoise_multiplier = 2.0\nscale = 1e-3\n"
        )
        drawn: dict[str, list[list[int]]] = {name: [] for name in data}

        def train_of(name: str) -> tacet.simulation.TrainUnits:
            net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
            inputs, targets = data[name]

            def train(
                model: np.ndarray, client: int, units: list[int], clip_norm: float
            ) -> np.ndarray:
                drawn[name].append(units)
                total = tacet.torch.clipped_sum(
                    net, model, inputs[units], targets[units], loss=LOSS, clip_norm=clip_norm
                )
                # The sum of an honest site is never refused, however long its records' gradients.
                self.assertLessEqual(float(np.linalg.norm(total)), len(units) * clip_norm + 1e-5)
                return total

            return train

        def missing(
            model: np.ndarray, client: int, units: list[int], clip_norm: float
        ) -> np.ndarray:
            return np.full_like(model, len(units) + 1.0)  # longer than clipped parts can be

        with tempfile.TemporaryDirectory() as folder:
            federation = LiveFederation(
                Path(folder), list(data), initial, rounds=2, privacy=privacy
            )

            def north() -> tacet.Run:
                member = tacet.Member(**federation.options("north"), records=60)
                return member.run(train_of("north"))

            def south() -> tacet.Run:
                member = tacet.Member(**federation.options("south"), records=40)
                with self.assertRaisesRegex(tacet.InvalidArgumentError, "clip each unit's part"):
                    member.run(missing)
                return tacet.open_run(member.home / "run")

            try:
                federation.start_server()
                runs = at_once([north, south])
            finally:
                federation.close()
        np.testing.assert_array_equal(runs[0].model, runs[1].model)
        self.assertFalse(np.array_equal(runs[0].model, initial))
        self.assertEqual(runs[0].summary["unit"], "record")
        # Coins of 0.5: fewer than 3 of 60, or all of them, once in 1e13 rounds.
        for units in drawn["north"]:
            self.assertTrue(3 <= len(units) < 60)
            self.assertEqual(units, sorted(set(units)))


if __name__ == "__main__":
    unittest.main()

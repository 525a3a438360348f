"""Tests of the examples that train adapters, for a Python with PyTorch, which has no pytest."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tacet
import tacet.torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "train_adapters.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("train_adapters", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class AdaptersTest(unittest.TestCase):
    def test_adapters_alone_are_sent_and_trained(self) -> None:
        adapters = example()
        net = adapters.make_network()
        frozen = {n: p.clone() for n, p in net.named_parameters() if not p.requires_grad}
        self.assertEqual({p.dtype for p in frozen.values()}, {torch.bfloat16})
        model = tacet.torch.to_vector(net)
        self.assertEqual(model.shape, (100,))
        update = tacet.torch.train_local(
            net, model, [adapters.sentences(0)] * 2, loss=adapters.loss,
            optimizer=lambda trained: torch.optim.Adam(trained, lr=0.02),
        )  # fmt: skip
        self.assertGreater(float(np.abs(update).min()), 0)
        words, classes = adapters.sentences(1)
        total = tacet.torch.clipped_sum(
            net, model, words, classes, loss=adapters.loss, clip_norm=0.1
        )
        self.assertEqual(total.shape, (100,))
        self.assertTrue(0 < np.linalg.norm(total) <= 16 * 0.1)
        now = dict(net.named_parameters())
        for name, value in frozen.items():
            self.assertTrue(torch.equal(now[name], value), name)

    def test_the_example_runs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            done = subprocess.run(
                [sys.executable, str(EXAMPLE), str(out)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"100 of 1206 parameters are sent\naccuracy .* epsilon")
            run = tacet.open_run(out)
        self.assertEqual(run.model.shape, (100,))
        self.assertLessEqual(run.epsilon or np.inf, 8)

    def test_adapters_of_a_frozen_transformer_are_fitted(self) -> None:
        done = subprocess.run(
            [sys.executable, str(EXAMPLE.with_name("train_lora.py"))],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(
            r"^2370 of 29602 parameters are sent\naccuracy (.*) at epsilon (.*)$", done.stdout
        )
        self.assertIsNotNone(found, done.stdout)
        assert found is not None
        self.assertGreater(float(found[1]), 0.6)  # half of the sentences are of each class
        self.assertLessEqual(float(found[2]), 4)


if __name__ == "__main__":
    unittest.main()
